//! Contrast records: stored and searched apart, checked like everything else, and invisible to the records.

use std::fs;
use std::ops::ControlFlow;

use citree_index::{Builder, Error, Index, Spec};

use crate::make::Data;
use crate::random::{Random, cone};

const CONTRASTS: usize = 150;

/// Rows of contrast records for an index of small data.
fn rows(data: &Data) -> Vec<f32> {
    cone(&mut Random::new(77), CONTRASTS, data.dims, 5, 0.95)
}

/// A builder with the records of small data and these contrast records.
fn filled(data: &Data, rows: &[f32], folder: &std::path::Path) -> Builder {
    let spec = Spec { contrasts: (rows.len() / data.dims) as u64, ..data.spec() };
    let mut builder = data.filled_with(folder, spec).unwrap();
    for (number, row) in rows.chunks(data.dims).enumerate() {
        builder.add_contrast(number as u32 % 20, [number as u32, 3], row).unwrap();
    }
    builder
}

#[test]
fn contrast_records_are_found_apart_from_records_and_keep_what_they_were_given() {
    let (data, folder) = (Data::small(1), tempfile::tempdir().unwrap());
    let rows = rows(&data);
    filled(&data, &rows, folder.path()).finish(&|_| ControlFlow::Continue(())).unwrap();
    let index = Index::open(folder.path()).unwrap();
    index.verify().unwrap();
    let contrasts = index.contrasts().unwrap();
    assert_eq!(contrasts.space().count(), CONTRASTS);
    for (number, row) in rows.chunks(data.dims).enumerate() {
        assert_eq!(contrasts.record(number as u32), Some((number as u32 % 20, [number as u32, 3])));
        let answer = contrasts.space().nearest(row).count(1).exact().run().unwrap();
        assert_eq!(answer.hits[0].record, number as u32);
    }
    assert_eq!(contrasts.record(CONTRASTS as u32), None);
}

#[test]
fn the_files_of_the_records_are_the_same_with_and_without_contrasts() {
    let data = Data::small(2);
    let [with, without] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    filled(&data, &rows(&data), with.path()).finish(&|_| ControlFlow::Continue(())).unwrap();
    data.build(without.path());
    for name in ["edges", "heads", "labels"] {
        let read = |folder: &std::path::Path| fs::read(folder.join("gen-000001").join(name)).unwrap();
        assert!(read(with.path()) == read(without.path()), "{name}");
    }
    assert!(Index::open(without.path()).unwrap().contrasts().is_none());
}

#[test]
fn contrast_records_must_be_as_many_as_announced_of_known_sources_and_fit_the_first_space() {
    let (data, folder) = (Data::small(3), tempfile::tempdir().unwrap());
    let mut none = data.filled(folder.path()).unwrap();
    let row = vec![0.0; data.dims];
    assert!(matches!(none.add_contrast(0, [1, 2], &row), Err(Error::Input { .. })), "none was announced");
    drop(none);
    let one = Spec { contrasts: 1, ..data.spec() };
    let mut builder = data.filled_with(folder.path(), one.clone()).unwrap();
    assert!(builder.add_contrast(0, [1, 2], &row[1..]).is_err(), "too short a row");
    assert!(builder.finish(&|_| ControlFlow::Continue(())).is_err(), "one is missing");
    let mut builder = data.filled_with(folder.path(), one).unwrap();
    builder.add_contrast(9999, [1, 2], &row).unwrap();
    assert!(builder.finish(&|_| ControlFlow::Continue(())).is_err(), "no such source");
    assert!(matches!(Index::open(folder.path()), Err(Error::Missing { .. })), "nothing was published");
}

#[test]
fn damage_in_the_files_of_contrast_records_is_found() {
    let (data, folder) = (Data::small(4), tempfile::tempdir().unwrap());
    filled(&data, &rows(&data), folder.path()).finish(&|_| ControlFlow::Continue(())).unwrap();
    for name in ["rejected", "rejected-edges", "manifest"] {
        let path = folder.path().join("gen-000001").join(name);
        let whole = fs::read(&path).unwrap();
        for at in [3, 9, 30, 1024, whole.len() / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            fs::write(&path, &damaged).unwrap();
            let found = Index::open(folder.path()).and_then(|index| index.verify());
            assert!(found.is_err(), "{name}, byte {at}");
        }
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(Index::open(folder.path()).is_err(), "{name} cut short");
        fs::remove_file(&path).unwrap();
        assert!(Index::open(folder.path()).is_err(), "{name} missing");
        fs::write(&path, &whole).unwrap();
    }
    Index::open(folder.path()).unwrap().verify().unwrap();
}

#[test]
fn a_manifest_with_contrasts_needs_a_reader_of_version_2() {
    let (data, folder) = (Data::small(5), tempfile::tempdir().unwrap());
    filled(&data, &rows(&data), folder.path()).finish(&|_| ControlFlow::Continue(())).unwrap();
    let version = |name: &str| fs::read(folder.path().join("gen-000001").join(name)).unwrap()[8];
    assert_eq!(["manifest", "edges", "heads", "labels", "rejected", "rejected-edges"].map(version), [2, 1, 1, 1, 1, 1]);
}
