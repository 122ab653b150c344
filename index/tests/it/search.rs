//! Answers, against plain arithmetic.

use citree_index::{Answer, Edge, GraphSpec, Metric, Nearest, Space};

use crate::{make::Treebank, random::Random};

fn numbers(answer: &Answer) -> Vec<u32> {
    answer.hits.iter().map(|hit| hit.edge).collect()
}

/// Whether an answer is that of plain arithmetic in f64, but for the order of similarities that f32 cannot tell apart.
fn agrees(answer: &Answer, expected: &[(u32, f64)]) {
    assert_eq!(answer.hits.len(), expected.len());
    for (hit, (edge, similarity)) in answer.hits.iter().zip(expected) {
        assert!((f64::from(hit.similarity) - similarity).abs() < 2e-6, "{hit:?} instead of {edge} {similarity}");
    }
    assert!(answer.hits.is_sorted_by(|a, b| (b.similarity, a.edge) <= (a.similarity, b.edge)), "order: {answer:?}");
}

/// The answer by a scan of all rows in f32.
fn brute_force(space: &Space, row: &[f32], count: usize, passes: impl Fn(u32) -> bool) -> Vec<u32> {
    let all = space.nearest(row).count(space.count()).exact().run().unwrap().hits;
    all.into_iter().map(|hit| hit.edge).filter(|edge| passes(*edge)).take(count).collect()
}

#[test]
fn what_went_in_comes_out_ordered_by_label() {
    let folder = tempfile::tempdir().unwrap();
    let treebank = Treebank::new(1, 230, 19);
    let index = treebank.build(folder.path());
    for (number, i) in treebank.order().into_iter().enumerate() {
        assert_eq!(index.edge(number as u32), Some(treebank.edges[i]));
        assert_eq!(index.heads().row(number as u32).unwrap(), treebank.head(i));
        assert_eq!(index.labels().row(number as u32).unwrap(), &treebank.label_rows[i * 19..][..19]);
        assert!(index.edges_of(treebank.edges[i].label).contains(&(number as u32)));
    }
    assert_eq!(index.edge(230), None);
    assert_eq!(index.sentence(22), Some(&b"sentence 22"[..]));
    assert_eq!(index.sentence(23), None);
    assert_eq!(index.edges_of(7), 0..0, "a label that is not there");
    let mut sums = citree_index::Sums::new(7, 19);
    treebank.edges.iter().enumerate().for_each(|(i, edge)| sums.add(edge.label as usize, treebank.head(i)));
    assert_eq!(index.heads().sums(), sums);
    let close = |(d, total): (usize, &f64)| {
        (total - treebank.heads.iter().skip(d).step_by(19).map(|x| f64::from(*x)).sum::<f64>()).abs() < 1e-9
    };
    assert!(index.heads().total().iter().enumerate().all(close));
    index.verify().unwrap();
}

#[test]
fn an_exact_answer_is_that_of_plain_arithmetic() {
    let folder = tempfile::tempdir().unwrap();
    for (metric, dims) in [(Metric::Cosine, 300), (Metric::Dot, 40)] {
        let mut treebank = Treebank { metric, ..Treebank::new(2, 1500, dims) };
        if metric == Metric::Dot {
            let mut random = Random::new(9);
            treebank.heads.chunks_mut(dims).for_each(|row| {
                let length = 0.1 + 9.0 * random.uniform();
                row.iter_mut().for_each(|x| *x *= length);
            });
        }
        let index = treebank.build(folder.path());
        for i in (0..1500).step_by(150) {
            let row = treebank.head(i);
            let answer = index.heads().nearest(row).count(25).exact().run().unwrap();
            let tolerance = if metric == Metric::Dot { 100.0 } else { 1.0 };
            let expected = treebank.nearest(row, 25, |_, _| true);
            for (hit, (_, similarity)) in answer.hits.iter().zip(&expected) {
                assert!((f64::from(hit.similarity) - similarity).abs() < 2e-6 * tolerance);
            }
            assert!(answer.exact);
        }
    }
}

#[test]
fn the_default_effort_finds_99_of_100_nearest_in_a_narrow_cone() {
    let folder = tempfile::tempdir().unwrap();
    let (count, dims) = (6000, 96);
    let mut treebank = Treebank::new(3, count + 300, dims);
    let asked = treebank.heads.split_off(count * dims);
    treebank.edges.truncate(count);
    treebank.label_rows.truncate(count * dims);
    let index = treebank.build(folder.path());
    let space = index.heads();
    let mean: f64 = space.total().iter().map(|sum| (sum / count as f64).powi(2)).sum::<f64>().sqrt();
    assert!((0.93..0.97).contains(&mean), "a cone of {mean}");
    let truth = space.nearest_many(&asked, |_, nearest| nearest.exact()).unwrap();
    let found = space.nearest_many(&asked, |_, nearest| nearest).unwrap();
    assert!(found.iter().all(|answer| !answer.exact) && truth.iter().all(|answer| answer.exact));
    let shared = truth.iter().zip(&found).map(|(a, b)| b.hits.iter().filter(|hit| a.hits.contains(hit)).count());
    let recall = shared.sum::<usize>() as f64 / 3000.0;
    assert!(recall >= 0.99, "recall {recall}");
    let facts = index.manifest().heads.graph.unwrap();
    assert!(facts.recall >= 0.99 && (f64::from(facts.recall) - recall).abs() < 0.01, "{facts:?} but {recall}");
    index.verify().unwrap();
}

fn ask(i: usize, exact: bool, nearest: Nearest<'_>) -> Nearest<'_> {
    let nearest = nearest.count(3 + i % 5).except_sentence(i as u32 / 10);
    let nearest = if i.is_multiple_of(7) { nearest.label(2) } else { nearest };
    if exact { nearest.exact() } else { nearest }
}

#[test]
fn one_at_a_time_and_all_at_once_answer_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let treebank = Treebank::new(4, 3000, 48);
    let index = treebank.build(folder.path());
    let rows = &treebank.heads[..50 * 48];
    for exact in [false, true] {
        let many = index.heads().nearest_many(rows, |i, nearest| ask(i, exact, nearest));
        let single =
            rows.chunks(48).enumerate().map(|(i, row)| ask(i, exact, index.heads().nearest(row)).run().unwrap());
        assert_eq!(many.unwrap(), single.collect::<Vec<_>>());
    }
}

#[test]
fn filters_leave_only_what_passes_and_the_best_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let treebank = Treebank::new(5, 4000, 32);
    let index = treebank.build(folder.path());
    let space = index.heads();
    let order = treebank.order();
    for i in (0..4000).step_by(400) {
        let row = treebank.head(i);
        let own = treebank.edges[i];
        let answer = space.nearest(row).except_sentence(own.sentence).exact().run().unwrap();
        agrees(&answer, &treebank.nearest(row, 10, |_, edge| edge.sentence != own.sentence));
        let walked = space.nearest(row).except_sentence(own.sentence).run().unwrap();
        assert!(walked.hits.iter().all(|hit| index.edge(hit.edge).unwrap().sentence != own.sentence));
        assert!(walked.hits.iter().filter(|hit| answer.hits.contains(hit)).count() >= 9);

        let answer = space.nearest(row).label(3).run().unwrap();
        agrees(&answer, &treebank.nearest(row, 10, |_, edge| edge.label == 3));

        let odd = |edge: u32| edge % 2 == 1;
        let walked = space.nearest(row).filter(&odd).run().unwrap();
        assert!(!walked.exact && walked.hits.iter().all(|hit| odd(hit.edge)));
        let expected = brute_force(space, row, 10, odd);
        assert!(numbers(&walked).iter().filter(|edge| expected.contains(edge)).count() >= 9);

        let few = |edge: u32| edge % 1000 == 7;
        let answer = space.nearest(row).filter(&few).run().unwrap();
        assert_eq!(answer.hits.len(), 4, "a filter that leaves fewer than asked for gives fewer");
        agrees(&answer, &treebank.nearest(row, 10, |number, _| few(number as u32)));
        assert!(space.nearest(row).filter(&|_| false).run().unwrap().hits.is_empty());
        assert!(space.nearest(row).label(99).run().unwrap().hits.is_empty());
        assert!(space.nearest(row).count(0).run().unwrap().hits.is_empty());
    }
    assert_eq!(
        order.len(),
        space.nearest(treebank.head(0)).count(9999).run().unwrap().hits.len(),
        "more than there are"
    );
}

#[test]
fn equal_rows_share_a_node_and_are_all_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut treebank = Treebank::new(6, 4000, 24);
    // The first 40 rows, each a hundred times.
    let first = treebank.heads[..40 * 24].to_vec();
    treebank.heads = first.repeat(100);
    treebank.graph = GraphSpec { least: 10, ..GraphSpec::default() };
    let index = treebank.build(folder.path());
    assert_eq!(index.manifest().heads.distinct, 40);
    let space = index.heads();
    let order = treebank.order();
    for i in 0..40 {
        let row = treebank.head(i);
        let copies: Vec<u32> = (0..4000).filter(|number| order[*number as usize] % 40 == i).collect();
        let answer = space.nearest(row).count(100).run().unwrap();
        assert!(!answer.exact);
        assert_eq!(numbers(&answer), copies);
        assert_eq!(numbers(&space.nearest(row).count(7).run().unwrap()), copies[..7], "ties are broken by number");
        assert_eq!(numbers(&space.nearest(row).count(100).exact().run().unwrap()), copies);
        let odd = |edge: u32| edge % 2 == 1;
        let expected: Vec<u32> = copies.iter().copied().filter(|edge| odd(*edge)).take(9).collect();
        assert_eq!(numbers(&space.nearest(row).count(9).filter(&odd).run().unwrap()), expected);
    }
    index.verify().unwrap();
}

#[test]
fn an_index_without_edges_or_with_one_works() {
    let folder = tempfile::tempdir().unwrap();
    for (count, least) in [(0, 2000), (1, 2000), (0, 1), (1, 1), (2, 1)] {
        let mut treebank = Treebank::new(7, count, 5);
        treebank.graph.least = least;
        let index = treebank.build(folder.path());
        let row = [1.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(index.heads().nearest(&row).run().unwrap().hits.len(), count);
        assert_eq!(index.heads().nearest(&row).exact().run().unwrap().hits.len(), count);
        assert_eq!(
            index.heads().nearest(&row).label(3).run().unwrap().hits.len(),
            treebank.edges.iter().filter(|e| e.label == 3).count()
        );
        assert_eq!(index.labels().nearest_many(&[], |_, nearest| nearest).unwrap(), []);
        index.verify().unwrap();
    }
}

#[test]
fn rows_and_edges_that_do_not_fit_are_refused_with_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    let treebank = Treebank::new(8, 30, 4);
    let mut builder = treebank.filled(folder.path()).unwrap();
    let edge = Edge { sentence: 0, dependent: 1, head: 0, label: 0 };
    let unit = [1.0, 0.0, 0.0, 0.0];
    let message = |result: Result<(), citree_index::Error>| result.unwrap_err().to_string();
    assert_eq!(message(builder.add_edge(edge, &[0, 0], &unit[..3], &unit)), "the length of a row is 3, expected 4");
    assert!(message(builder.add_edge(edge, &[0, 0], &[0.5, 0.0, 0.0, 0.0], &unit)).contains("0.5, expected 1 (or 0)"));
    assert!(message(builder.add_edge(edge, &[0, 0], &[f32::NAN, 0.0, 0.0, 0.0], &unit)).contains("finite"));
    assert!(message(builder.add_edge(Edge { label: 9, ..edge }, &[0, 0], &unit, &unit)).contains("expected below 7"));
    assert!(message(builder.add_edge(edge, &[0, 0], &unit, &unit)).contains("as announced"));
    builder.finish(&|_| {}).unwrap();
    let index = citree_index::Index::open(folder.path()).unwrap();
    assert!(index.heads().nearest(&unit[..2]).run().is_err());
    assert!(index.heads().nearest_many(&[0.5; 6], |_, nearest| nearest).is_err());
    let short = citree_index::Builder::create(folder.path(), treebank.spec()).unwrap();
    assert!(short.finish(&|_| {}).unwrap_err().to_string().contains("30 fewer"));
}
