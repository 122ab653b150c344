//! An index with a changed file and repaired checksums: opening, searching and verifying end in an answer or an error.
#![no_main]

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use citree_fuzz::{Files, alone, sign_container};
use citree_index::{Builder, Change, Error, GraphSpec, Index, Metric, Note, Record, SpaceSpec, Spec};
use libfuzzer_sys::fuzz_target;

const DIMS: usize = 4;
const RECORDS: usize = 24;

fn row(seed: usize) -> Vec<f32> {
    let values: Vec<f32> = (0..DIMS).map(|at| ((seed * 31 + at * 17) % 13) as f32 + 1.0).collect();
    let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.iter().map(|value| value / norm).collect()
}

fn spec(records: usize, contrasts: u64) -> Spec {
    Spec {
        spaces: [SpaceSpec { dims: DIMS, metric: Metric::Cosine }; 2],
        class_counts: vec![records as u64 / 2; 2],
        model: vec![1],
        content: vec![2],
        groupings: vec![3],
        contrasts,
        attachment: b"names".to_vec(),
        graph: GraphSpec { degree: 2, effort: 8, least: 4 },
    }
}

fn record(at: usize) -> Record {
    Record { source: at as u32 % 4, class: (at % 2) as u32, payload: [1, 2] }
}

/// One segment, built as a whole.
fn build(folder: &Path) -> Result<(), Error> {
    let mut builder = Builder::create(folder, spec(RECORDS, 5))?;
    for source in 0..4 {
        builder.add_source(format!("source {source}").as_bytes())?;
    }
    for at in 0..RECORDS {
        builder.add(record(at), &[at as u32 % 3], [&row(at), &row(at + 7)])?;
    }
    for at in 0..5 {
        builder.add_contrast(at % 4, [1, 3], &row(at as usize + 3))?;
    }
    builder.finish(&|_| ControlFlow::Continue(())).map(drop)
}

/// A second segment with another weight and a table of keys, and a source of the first removed.
fn change(folder: &Path) -> Result<(), Error> {
    let note = || Note { who: "a".to_string(), what: "b".to_string(), message: "c".to_string(), content: vec![3] };
    let mut change = Change::begin(folder)?;
    change.remove_source(1);
    let mut addition = change.add("added", spec(4, 1), &[], Some(|source| source), &|_, _, _| 0)?;
    let segment = addition.segment();
    for source in 4..8 {
        segment.add_source(format!("source {source}").as_bytes())?;
    }
    for at in 0..4 {
        segment.add(record(at), &[at as u32 % 3], [&row(at + 40), &row(at + 47)])?;
    }
    segment.add_contrast(1, [1, 3], &row(50))?;
    addition.weigh("added", 2.0)?;
    addition.publish(note(), &|_| ControlFlow::Continue(())).map(drop)
}

/// Opens, searches in every way, and verifies.
fn use_all(folder: &Path) -> Result<(), Error> {
    let index = Index::open(folder)?;
    let query = row(5);
    for space in index.spaces().iter().chain(index.contrasts().map(|contrasts| contrasts.space())) {
        if space.dims() != DIMS {
            continue;
        }
        let _ = space.nearest(&query).run();
        let _ = space.nearest(&query).count(9).effort(30).except_source(1).run();
        let _ = space.nearest(&query).class(1).exact().run();
        let _ = (space.sums(), space.total().len(), space.group_sums(0).len(), space.runs().len());
        let _ = (space.similarities(&query, 0..40), space.densities(&query, 8.0));
    }
    for number in 0..RECORDS as u32 + 6 {
        let _ = (index.record(number), index.source(number), index.group(0, number), index.segment_of_source(number));
        let _ = index.id(number).and_then(|id| index.number_of(id));
        let _ = (index.contrast_id(number), index.contrasts().map(|contrasts| contrasts.record(number)));
    }
    let _ = (index.sources_of(b"source 1", |source| source), index.sources_of(b"source 5", |source| source));
    let _ = (index.records_of(1).ranges().len(), index.segments(), index.records_in(1), index.log().len());
    let _ = (index.attachments().count(), index.intact());
    index.verify()
}

/// Both indexes, and the file of them that is changed.
struct Target {
    folders: [PathBuf; 2],
    files: Files,
    _folder: tempfile::TempDir,
}

fn target() -> Target {
    alone();
    let folder = citree_fuzz::folder();
    let folders = ["changed", "whole"].map(|name| folder.path().join(name));
    folders.iter().try_for_each(|folder| build(folder)).expect("an index");
    change(&folders[0]).expect("a changed index");
    folders.iter().try_for_each(|folder| use_all(folder)).expect("an index that verifies");
    Target { files: Files::of(&[folder.path()]), folders, _folder: folder }
}

fuzz_target!(|data: &[u8]| {
    thread_local!(static TARGET: RefCell<Target> = RefCell::new(target()));
    TARGET.with_borrow_mut(|target| {
        let sign = |name: &str, bytes: &mut Vec<u8>, _| {
            if name != "CURRENT" {
                sign_container(bytes)
            }
        };
        let Some(path) = target.files.change(data, sign) else { return };
        let folder = target.folders.iter().find(|folder| path.starts_with(folder)).expect("a file of an index");
        let _ = use_all(folder);
    });
});
