//! Tests of what a server serves after the folder of its bundle changed.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::serve::compute::tests::{bundle, small};
use crate::treebank::starter;

#[test]
fn a_generation_that_cannot_be_opened_is_said_once_and_tried_again_later_and_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let snapshots = Snapshots::open(&path, &Device::CPU).unwrap();
    Bundle::open(&path).unwrap().build_index(&starter::train()[20..30], &|_| crate::Flow::Continue).unwrap();
    let (published, hidden) = (path.join("index/gen-000002"), folder.path().join("hidden"));
    std::fs::rename(&published, &hidden).unwrap();
    let start = Instant::now();
    assert!(matches!(snapshots.refresh(start), Refreshed::Failed { generation: 2, .. }));
    assert!(matches!(snapshots.refresh(start + FIRST_WAIT), Refreshed::Unchanged), "said twice");
    std::fs::rename(&hidden, &published).unwrap();
    assert!(matches!(snapshots.refresh(start + 2 * FIRST_WAIT), Refreshed::Unchanged), "tried again too early");
    assert!(matches!(snapshots.refresh(start + 3 * FIRST_WAIT), Refreshed::Switched(2)), "not tried again");
    assert!(matches!(snapshots.refresh(start + 4 * FIRST_WAIT), Refreshed::Unchanged), "switched twice");
}

#[test]
fn a_new_index_of_the_same_model_is_served_without_reading_the_model_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let snapshots = Snapshots::open(&path, &Device::CPU).unwrap();
    let before = snapshots.snapshot();
    let treebank = starter::train();
    before.explainer.bundle().evidence().remove(&[treebank[3].sent_id().unwrap()]).commit("").unwrap();
    assert!(matches!(snapshots.refresh(Instant::now()), Refreshed::Switched(2)));
    let after = snapshots.snapshot();
    assert!(std::ptr::eq(before.explainer.bundle().model(), after.explainer.bundle().model()));
    assert_eq!((before.explainer.edges().sentences(), after.explainer.edges().sentences()), (20, 19));
}

#[test]
fn another_bundle_in_its_place_is_served_though_its_generation_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let snapshots = Snapshots::open(&path, &Device::CPU).unwrap();
    let before = snapshots.snapshot();
    assert!(matches!(snapshots.refresh(Instant::now()), Refreshed::Unchanged));
    let other = folder.path().join("other.citree");
    let treebank = &starter::train()[20..40];
    Bundle::train(&other, &small(), treebank, treebank).unwrap();
    std::fs::rename(&path, folder.path().join("old.citree")).unwrap();
    assert!(matches!(snapshots.refresh(Instant::now()), Refreshed::Unchanged), "nothing is there at this moment");
    std::fs::rename(&other, &path).unwrap();
    assert!(matches!(snapshots.refresh(Instant::now()), Refreshed::Switched(1)));
    let after = snapshots.snapshot();
    assert_eq!(after.generation, before.generation);
    assert_ne!(after.fingerprint, before.fingerprint);
}
