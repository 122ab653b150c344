//! Groups of edges and their sums.

use citree_index::{Builder, Edge, Error, Phase};

use crate::make::Treebank;

#[test]
fn every_edge_keeps_its_group_in_each_grouping_and_the_attachment_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let treebank = Treebank::new(1, 230, 5);
    let index = treebank.build(folder.path());
    assert_eq!(index.groupings(), [23, 7]);
    for (number, i) in treebank.order().into_iter().enumerate() {
        let groups = [0, 1].map(|grouping| index.group(grouping, number as u32).unwrap());
        assert_eq!(groups, treebank.groups(i));
    }
    assert_eq!(index.group(2, 0), None, "a grouping that is not there");
    assert_eq!(index.group(0, 230), None, "an edge that is not there");
    assert_eq!(index.attachment(), b"names of groups");
}

#[test]
fn the_sum_of_a_group_is_that_of_plain_arithmetic() {
    let folder = tempfile::tempdir().unwrap();
    // More sentences than are added up at a time.
    let (count, dims) = (12_000, 3);
    let treebank = Treebank::new(2, count, dims);
    let index = treebank.build(folder.path());
    let order = treebank.order();
    for (space, rows) in [(index.heads(), &treebank.heads), (index.labels(), &treebank.label_rows)] {
        for (grouping, groups) in index.groupings().iter().enumerate() {
            let mut sums = vec![0f64; *groups as usize * dims];
            for i in &order {
                let group = treebank.groups(*i)[grouping] as usize;
                let row = &rows[i * dims..][..dims];
                sums[group * dims..][..dims].iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
            }
            let sums: Vec<f32> = sums.into_iter().map(|sum| sum as f32).collect();
            assert!(space.group_sums(grouping) == sums, "grouping {grouping}");
        }
        assert!(space.group_sums(2).is_empty(), "a grouping that is not there");
    }
    index.verify().unwrap();
}

#[test]
fn the_groups_of_each_grouping_add_up_to_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let index = Treebank::new(3, 600, 8).build(folder.path());
    for space in [index.heads(), index.labels()] {
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
fn a_group_that_is_not_announced_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let treebank = Treebank::new(4, 30, 4);
    let mut builder = Builder::create(folder.path(), treebank.spec()).unwrap();
    let edge = Edge { sentence: 0, dependent: 1, head: 0, label: 0 };
    let unit = [1.0, 0.0, 0.0, 0.0];
    let mut message = |groups: &[u32]| {
        let error = builder.add_edge(edge, groups, &unit, &unit).unwrap_err();
        assert!(matches!(error, Error::Input { .. }));
        error.to_string()
    };
    assert_eq!(message(&[0, 7]), "the group of an edge is 7, expected below 7");
    assert_eq!(message(&[3, 0]), "the group of an edge is 3, expected below 3");
    assert_eq!(message(&[0]), "the number of groups of an edge is 1, expected 2");
    assert_eq!(message(&[0, 0, 0]), "the number of groups of an edge is 3, expected 2");
    drop(builder);
    for groupings in [vec![1; 257], vec![1 << 30; 2]] {
        let spec = citree_index::Spec { groupings, ..treebank.spec() };
        assert!(matches!(Builder::create(folder.path(), spec), Err(Error::Input { .. })), "too many groups");
    }
    treebank.build(folder.path()).verify().unwrap();
}

#[test]
fn an_index_without_groupings_and_groups_without_edges_are_as_good_as_others() {
    let folder = tempfile::tempdir().unwrap();
    let treebank = Treebank::new(5, 1, 2);
    let spec = citree_index::Spec { groupings: Vec::new(), attachment: Vec::new(), ..treebank.spec() };
    let mut builder = Builder::create(folder.path(), spec).unwrap();
    builder.add_sentence(b"one").unwrap();
    builder.add_edge(treebank.edges[0], &[], treebank.head(0), treebank.head(0)).unwrap();
    builder.finish(&|_| {}).unwrap();
    let index = citree_index::Index::open(folder.path()).unwrap();
    index.verify().unwrap();
    assert!(index.groupings().is_empty() && index.attachment().is_empty());
    assert_eq!(index.group(0, 0), None);
    assert!(index.heads().group_sums(0).is_empty());

    let builder = treebank.filled(folder.path()).unwrap();
    let told = std::sync::Mutex::new(Vec::new());
    builder.finish(&|progress| told.lock().unwrap().push((progress.phase, progress.total))).unwrap();
    assert!(told.lock().unwrap().contains(&(Phase::Groups, 8)), "one sentence and seven groups");
    let index = citree_index::Index::open(folder.path()).unwrap();
    index.verify().unwrap();
    assert_eq!(index.heads().group_sums(1)[..2], *treebank.head(0));
    assert_eq!(index.heads().group_sums(1)[2..], [0.0; 12]);
}
