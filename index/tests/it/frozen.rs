//! Frozen indexes: every later version must open them, or report that it cannot.

use std::path::{Path, PathBuf};

use citree_index::Index;

use crate::make::Data;

fn folder(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frozen").join(format!("version-{version}"))
}

#[test]
fn an_index_of_version_1_opens_and_gives_the_same_answers() {
    let index = Index::open(folder(1)).unwrap();
    index.verify().unwrap();
    let data = Data::to_freeze();
    let order = data.order();
    assert_eq!(index.manifest().model, b"a model");
    assert_eq!(index.manifest().content, b"a treebank");
    assert_eq!(index.source(5), Some(&b"sentence 5"[..]));
    assert_eq!((index.groupings(), index.attachments().next()), (&[6, 7][..], Some(&b"names of groups"[..])));
    assert_eq!(index.spaces()[0].group_sums(1).len(), 7 * 6);
    for (number, i) in order.iter().enumerate() {
        assert_eq!(index.record(number as u32), Some(data.records[*i]));
        assert_eq!(index.spaces()[0].row(number as u32).unwrap(), data.row(*i));
        assert_eq!([0, 1].map(|grouping| index.group(grouping, number as u32).unwrap()), data.groups(*i));
        let answer = index.spaces()[0].nearest(data.row(*i)).count(1).run().unwrap();
        assert_eq!((answer.hits[0].record, answer.exact), (number as u32, false));
    }
}

#[test]
fn the_same_records_still_give_the_same_bytes() {
    let built = tempfile::tempdir().unwrap();
    Data::to_freeze().build(built.path());
    for name in ["manifest", "edges", "heads", "labels"] {
        let read = |folder: &Path| std::fs::read(folder.join("gen-000001").join(name)).unwrap();
        assert!(read(built.path()) == read(&folder(1)), "{name} differs from the file of version 1");
    }
}

#[test]
fn an_index_of_version_2_opens_and_gives_the_same_answers() {
    let index = Index::open(folder(2)).unwrap();
    index.verify().unwrap();
    let data = Data::to_freeze();
    let contrasts = index.contrasts().unwrap();
    for (number, row) in (0..).zip(data.contrasts_to_freeze().chunks(data.dims)) {
        assert_eq!(contrasts.record(number).unwrap().1, [number, 2 * number]);
        assert_eq!(contrasts.space().row(number).unwrap(), row);
        assert_eq!(contrasts.space().nearest(row).count(1).run().unwrap().hits[0].record, number);
    }
}

#[test]
fn the_same_records_and_contrasts_still_give_the_same_bytes() {
    let built = tempfile::tempdir().unwrap();
    Data::to_freeze().build_version_2(built.path());
    for name in ["manifest", "edges", "heads", "labels", "rejected", "rejected-edges"] {
        let read = |folder: &Path| std::fs::read(folder.join("gen-000001").join(name)).unwrap();
        assert!(read(built.path()) == read(&folder(2)), "{name} differs from the file of version 2");
    }
}

#[test]
fn an_index_of_version_3_opens_and_gives_the_same_answers() {
    let index = Index::open(folder(3)).unwrap();
    index.verify().unwrap();
    let data = Data::to_freeze();
    let facts = index.segments();
    assert_eq!(facts.iter().map(|segment| (segment.records, segment.removed)).collect::<Vec<_>>(), [(50, 1), (10, 0)]);
    assert_eq!((index.source(2), index.source(6)), (Some(&b"sentence 3"[..]), Some(&b"sentence 101"[..])));
    assert_eq!(index.sources_of(b"sentence 101", |source| source), [6]);
    for (i, row) in data.added_to_freeze().chunks(data.dims).enumerate() {
        let hit = index.spaces()[0].nearest(row).count(1).run().unwrap().hits[0];
        let record = index.record(hit.record).unwrap();
        assert_eq!((record.source, record.payload), (5 + i as u32 / 5, [i as u32, 0]));
        assert_eq!(index.id(hit.record).unwrap() >> 32, 2, "added by the second generation");
    }
    let removed = data.records.iter().position(|record| record.source == 2).unwrap();
    let hit = index.spaces()[0].nearest(data.row(removed)).count(1).exact().run().unwrap().hits[0];
    assert!(hit.similarity < 0.99999, "a removed record");
    assert_eq!(index.spaces()[0].sums().counts().iter().sum::<u64>(), 60);
    assert_eq!((index.log()[0].who.as_str(), index.log()[0].generation), ("somebody", 2));
    let contrasts = index.contrasts().unwrap();
    assert_eq!(contrasts.record(contrasts.space().count() as u32 - 1), Some((6, [7, 8])));
}

#[test]
fn the_same_change_still_gives_the_same_bytes() {
    let built = tempfile::tempdir().unwrap();
    Data::to_freeze().build_version_3(built.path());
    // The state says when the change was made, so it differs.
    for name in ["manifest", "edges", "heads", "labels", "rejected", "rejected-edges", "lookup"] {
        let read = |folder: &Path| std::fs::read(folder.join("seg-000002").join(name)).unwrap();
        assert!(read(built.path()) == read(&folder(3)), "{name} differs from the file of version 3");
    }
}
