//! Groups of records and their sums.

use citree_index::{Builder, Error, Phase, Record};
use std::ops::ControlFlow;

use crate::make::Data;

#[test]
fn every_record_keeps_its_groups_and_the_attachment_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::new(1, 230, 5);
    let index = data.build(folder.path());
    assert_eq!(index.groupings(), [23, 7]);
    for (number, i) in data.order().into_iter().enumerate() {
        let groups = [0, 1].map(|grouping| index.group(grouping, number as u32).unwrap());
        assert_eq!(groups, data.groups(i));
    }
    assert_eq!(index.group(2, 0), None, "no such grouping");
    assert_eq!(index.group(0, 230), None, "no such record");
    assert_eq!(index.attachments().collect::<Vec<_>>(), [b"names of groups"]);
}

#[test]
fn the_sum_of_a_group_equals_plain_arithmetic() {
    let folder = tempfile::tempdir().unwrap();
    // More groups than are added up at a time.
    let (count, dims) = (12_000, 3);
    let data = Data::new(2, count, dims);
    let index = data.build(folder.path());
    let order = data.order();
    assert_eq!(index.groupings(), [1200, 7]);
    for (space, rows) in index.spaces().iter().zip(&data.rows) {
        for (grouping, groups) in index.groupings().iter().enumerate() {
            let mut sums = vec![0f64; *groups as usize * dims];
            for i in &order {
                let group = data.groups(*i)[grouping] as usize;
                let row = &rows[i * dims..][..dims];
                sums[group * dims..][..dims].iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
            }
            let sums: Vec<f32> = sums.into_iter().map(|sum| sum as f32).collect();
            assert!(space.group_sums(grouping) == sums, "grouping {grouping}");
        }
        assert!(space.group_sums(2).is_empty(), "no such grouping");
    }
    index.verify().unwrap();
}

#[test]
fn the_groups_of_each_grouping_add_up_to_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let index = Data::new(3, 600, 8).build(folder.path());
    for space in index.spaces() {
        assert_eq!(space.total().len(), 8);
        for grouping in 0..2 {
            let mut total = [0f64; 8];
            for sum in space.group_sums(grouping).chunks(8) {
                total.iter_mut().zip(sum).for_each(|(total, sum)| *total += f64::from(*sum));
            }
            let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-4;
            assert!(total.iter().zip(space.total()).all(close), "{total:?} is not {:?}", space.total());
        }
    }
}

#[test]
fn a_group_that_does_not_exist_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::new(4, 30, 4);
    let mut builder = Builder::create(folder.path(), data.spec()).unwrap();
    let record = Record { source: 0, class: 0, payload: [1, 0] };
    let unit = [1.0, 0.0, 0.0, 0.0];
    let mut message = |groups: &[u32]| {
        let error = builder.add(record, groups, [&unit, &unit]).unwrap_err();
        assert!(matches!(error, Error::Input { .. }));
        error.to_string()
    };
    assert_eq!(message(&[0, 7]), "the group of a record is 7, expected below 7");
    assert_eq!(message(&[3, 0]), "the group of a record is 3, expected below 3");
    assert_eq!(message(&[0]), "the number of groups of a record is 1, expected 2");
    assert_eq!(message(&[0, 0, 0]), "the number of groups of a record is 3, expected 2");
    drop(builder);
    for groupings in [vec![1; 257], vec![1 << 30; 2]] {
        let spec = citree_index::Spec { groupings, ..data.spec() };
        assert!(matches!(Builder::create(folder.path(), spec), Err(Error::Input { .. })), "too many groups");
    }
    data.build(folder.path()).verify().unwrap();
}

#[test]
fn an_index_can_have_no_groupings_and_groups_can_be_empty() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::new(5, 1, 2);
    let spec = citree_index::Spec { groupings: Vec::new(), attachment: Vec::new(), ..data.spec() };
    let mut builder = Builder::create(folder.path(), spec).unwrap();
    builder.add_source(b"one").unwrap();
    builder.add(data.records[0], &[], [data.row(0); 2]).unwrap();
    builder.finish(&|_| ControlFlow::Continue(())).unwrap();
    let index = citree_index::Index::open(folder.path()).unwrap();
    index.verify().unwrap();
    assert!(index.groupings().is_empty() && index.attachments().all(<[u8]>::is_empty));
    assert_eq!(index.group(0, 0), None);
    assert!(index.spaces()[0].group_sums(0).is_empty());

    let builder = data.filled(folder.path()).unwrap();
    let told = std::sync::Mutex::new(Vec::new());
    let tell = |progress: citree_index::Progress| {
        told.lock().unwrap().push((progress.phase, progress.total));
        ControlFlow::Continue(())
    };
    builder.finish(&tell).unwrap();
    assert!(told.lock().unwrap().contains(&(Phase::Groups, 8)), "one source and seven groups");
    let index = citree_index::Index::open(folder.path()).unwrap();
    index.verify().unwrap();
    assert_eq!(index.spaces()[0].group_sums(1)[..2], *data.row(0));
    assert_eq!(index.spaces()[0].group_sums(1)[2..], [0.0; 12]);
}
