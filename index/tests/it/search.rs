//! Answers of searches, compared with plain arithmetic.

use std::collections::HashSet;
use std::ops::ControlFlow;

use citree_index::{Answer, GraphSpec, Metric, Nearest, Record, Space};

use crate::{make::Data, random::Random};

fn numbers(answer: &Answer) -> Vec<u32> {
    answer.hits.iter().map(|hit| hit.record).collect()
}

/// Asserts that an answer has as many distinct hits as plain arithmetic in f64, with the same similarities. Records that
/// f32 cannot tell apart can be in another order.
fn agrees(data: &Data, row: &[f32], answer: &Answer, expected: &[(u32, f64)]) {
    assert_eq!(answer.hits.len(), expected.len());
    let all = data.nearest(row, data.records.len(), |_, _| true);
    let largest = all.iter().map(|(_, similarity)| similarity.abs()).fold(1.0, f64::max);
    for (hit, (record, similarity)) in answer.hits.iter().zip(expected) {
        let own = all.iter().find(|(number, _)| *number == hit.record).unwrap().1;
        for similarity in [own, *similarity] {
            let close = (f64::from(hit.similarity) - similarity).abs() < 2e-6 * largest;
            assert!(close, "{hit:?} instead of {record} {similarity}");
        }
    }
    assert_eq!(numbers(answer).into_iter().collect::<HashSet<_>>().len(), expected.len(), "a record twice");
    assert!(answer.hits.is_sorted_by(|a, b| (b.similarity, a.record) <= (a.similarity, b.record)), "{answer:?}");
}

/// The answer by a scan of all rows in f32.
fn brute_force(space: &Space, row: &[f32], count: usize, passes: impl Fn(u32) -> bool) -> Vec<u32> {
    let all = space.nearest(row).count(space.count()).exact().run().unwrap().hits;
    all.into_iter().map(|hit| hit.record).filter(|record| passes(*record)).take(count).collect()
}

#[test]
fn records_and_rows_are_stored_in_the_order_of_classes() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::new(1, 230, 19);
    let index = data.build(folder.path());
    for (number, i) in data.order().into_iter().enumerate() {
        assert_eq!(index.record(number as u32), Some(data.records[i]));
        assert_eq!(index.spaces()[0].row(number as u32).unwrap(), data.row(i));
        assert_eq!(index.spaces()[1].row(number as u32).unwrap(), &data.rows[1][i * 19..][..19]);
        assert!(index.records_of(data.records[i].class).contains(&(number as u32)));
    }
    assert_eq!(index.record(230), None);
    assert_eq!(index.source(22), Some(&b"sentence 22"[..]));
    assert_eq!(index.source(23), None);
    assert!(index.records_of(7).ranges().is_empty(), "no such class");
    let mut sums = citree_index::sums::Sums::new(7, 19);
    data.records.iter().enumerate().for_each(|(i, record)| sums.add(record.class as usize, data.row(i)));
    assert_eq!(index.spaces()[0].sums(), sums);
    let close = |(d, total): (usize, &f64)| {
        (total - data.rows[0].iter().skip(d).step_by(19).map(|x| f64::from(*x)).sum::<f64>()).abs() < 1e-9
    };
    assert_eq!(index.spaces()[0].total().len(), 19);
    assert!(index.spaces()[0].total().iter().enumerate().all(close));
    index.verify().unwrap();
}

#[test]
fn an_exact_answer_equals_plain_arithmetic() {
    let folder = tempfile::tempdir().unwrap();
    for (metric, dims) in [(Metric::Cosine, 300), (Metric::Dot, 40)] {
        let mut data = Data { metric, ..Data::new(2, 1500, dims) };
        if metric == Metric::Dot {
            let mut random = Random::new(9);
            data.rows[0].chunks_mut(dims).for_each(|row| {
                let length = 0.1 + 9.0 * random.uniform();
                row.iter_mut().for_each(|x| *x *= length);
            });
        }
        let index = data.build(folder.path());
        for i in (0..1500).step_by(150) {
            let row = data.row(i);
            let answer = index.spaces()[0].nearest(row).count(25).exact().run().unwrap();
            assert_eq!((answer.hits.len(), answer.exact), (25, true));
            agrees(&data, row, &answer, &data.nearest(row, 25, |_, _| true));
        }
    }
}

#[test]
fn the_default_effort_has_a_recall_of_99_percent_in_a_narrow_cone() {
    let folder = tempfile::tempdir().unwrap();
    let (count, dims) = (6000, 96);
    let mut data = Data::new(3, count + 300, dims);
    let asked = data.rows[0].split_off(count * dims);
    data.records.truncate(count);
    data.rows[1].truncate(count * dims);
    let index = data.build(folder.path());
    let space = &index.spaces()[0];
    let mean: f64 = space.total().iter().map(|sum| (sum / count as f64).powi(2)).sum::<f64>().sqrt();
    assert!((0.93..0.97).contains(&mean), "a cone of {mean}");
    let truth = space.nearest_many(&asked, |_, nearest| nearest.exact()).unwrap();
    let found = space.nearest_many(&asked, |_, nearest| nearest).unwrap();
    assert!(found.iter().all(|answer| !answer.exact) && truth.iter().all(|answer| answer.exact));
    let shared = truth.iter().zip(&found).map(|(a, b)| b.hits.iter().filter(|hit| a.hits.contains(hit)).count());
    let recall = shared.sum::<usize>() as f64 / 3000.0;
    assert!(recall >= 0.99, "recall {recall}");
    let facts = index.manifest().spaces[0].graph.unwrap();
    assert!(facts.recall >= 0.99 && (f64::from(facts.recall) - recall).abs() < 0.01, "{facts:?} but {recall}");
    index.verify().unwrap();
}

fn ask(i: usize, exact: bool, nearest: Nearest<'_>) -> Nearest<'_> {
    let nearest = nearest.count(3 + i % 5).except_source(i as u32 / 10);
    let nearest = if i.is_multiple_of(7) { nearest.class(2) } else { nearest };
    if exact { nearest.exact() } else { nearest }
}

#[test]
fn single_and_bulk_searches_give_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::new(4, 3000, 48);
    let index = data.build(folder.path());
    let rows = &data.rows[0][..50 * 48];
    for exact in [false, true] {
        let many = index.spaces()[0].nearest_many(rows, |i, nearest| ask(i, exact, nearest));
        let single =
            rows.chunks(48).enumerate().map(|(i, row)| ask(i, exact, index.spaces()[0].nearest(row)).run().unwrap());
        let many = many.unwrap();
        assert!(many.iter().enumerate().all(|(i, answer)| answer.hits.len() == 3 + i % 5 && answer.exact >= exact));
        assert_eq!(many, single.collect::<Vec<_>>());
    }
}

#[test]
fn filtered_answers_have_the_best_records_that_pass() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::new(5, 4000, 32);
    let index = data.build(folder.path());
    let space = &index.spaces()[0];
    let order = data.order();
    for i in (0..4000).step_by(400) {
        let row = data.row(i);
        let own = data.records[i];
        let answer = space.nearest(row).except_source(own.source).exact().run().unwrap();
        agrees(&data, row, &answer, &data.nearest(row, 10, |_, record| record.source != own.source));
        let walked = space.nearest(row).except_source(own.source).run().unwrap();
        assert!(walked.hits.iter().all(|hit| index.record(hit.record).unwrap().source != own.source));
        assert!(walked.hits.iter().filter(|hit| answer.hits.contains(hit)).count() >= 9);

        let answer = space.nearest(row).class(3).run().unwrap();
        agrees(&data, row, &answer, &data.nearest(row, 10, |_, record| record.class == 3));

        let odd = |record: u32| record % 2 == 1;
        let walked = space.nearest(row).filter(&odd).run().unwrap();
        assert!(!walked.exact && walked.hits.iter().all(|hit| odd(hit.record)));
        let expected = brute_force(space, row, 10, odd);
        assert!(numbers(&walked).iter().filter(|record| expected.contains(record)).count() >= 9);

        let few = |record: u32| record % 1000 == 7;
        let answer = space.nearest(row).filter(&few).run().unwrap();
        assert_eq!(answer.hits.len(), 4, "fewer pass than requested");
        agrees(&data, row, &answer, &data.nearest(row, 10, |number, _| few(number as u32)));
        assert!(space.nearest(row).filter(&|_| false).run().unwrap().hits.is_empty());
        assert!(space.nearest(row).class(99).run().unwrap().hits.is_empty());
        assert!(space.nearest(row).count(0).run().unwrap().hits.is_empty());
    }
    assert_eq!(
        order.len(),
        space.nearest(data.row(0)).count(9999).run().unwrap().hits.len(),
        "more requested than there are"
    );
}

#[test]
fn equal_rows_share_a_node_and_are_all_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut data = Data::new(6, 4000, 24);
    // The first 40 rows, each a hundred times.
    let first = data.rows[0][..40 * 24].to_vec();
    data.rows[0] = first.repeat(100);
    data.graph = GraphSpec { least: 10, ..GraphSpec::default() };
    let index = data.build(folder.path());
    assert_eq!(index.manifest().spaces[0].distinct, 40);
    let space = &index.spaces()[0];
    let order = data.order();
    for i in 0..40 {
        let row = data.row(i);
        let copies: Vec<u32> = (0..4000).filter(|number| order[*number as usize] % 40 == i).collect();
        let answer = space.nearest(row).count(100).run().unwrap();
        assert!(!answer.exact);
        assert_eq!(numbers(&answer), copies);
        assert_eq!(numbers(&space.nearest(row).count(7).run().unwrap()), copies[..7], "ties are broken by number");
        assert_eq!(numbers(&space.nearest(row).count(100).exact().run().unwrap()), copies);
        let odd = |record: u32| record % 2 == 1;
        let expected: Vec<u32> = copies.iter().copied().filter(|record| odd(*record)).take(9).collect();
        assert_eq!(numbers(&space.nearest(row).count(9).filter(&odd).run().unwrap()), expected);
    }
    index.verify().unwrap();
}

#[test]
fn an_index_can_have_no_records_or_one() {
    let folder = tempfile::tempdir().unwrap();
    for (count, least) in [(0, 2000), (1, 2000), (0, 1), (1, 1), (2, 1)] {
        let mut data = Data::new(7, count, 5);
        data.graph.least = least;
        let index = data.build(folder.path());
        let row = [1.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(index.spaces()[0].nearest(&row).run().unwrap().hits.len(), count);
        assert_eq!(index.spaces()[0].nearest(&row).exact().run().unwrap().hits.len(), count);
        assert_eq!(
            index.spaces()[0].nearest(&row).class(3).run().unwrap().hits.len(),
            data.records.iter().filter(|record| record.class == 3).count()
        );
        assert_eq!(index.spaces()[1].nearest_many(&[], |_, nearest| nearest).unwrap(), []);
        index.verify().unwrap();
    }
}

#[test]
fn rows_and_records_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::new(8, 30, 4);
    let mut builder = data.filled(folder.path()).unwrap();
    let record = Record { source: 0, class: 0, payload: [1, 0] };
    let unit = [1.0, 0.0, 0.0, 0.0];
    let message = |result: Result<(), citree_index::Error>| result.unwrap_err().to_string();
    assert_eq!(message(builder.add(record, &[0, 0], [&unit[..3], &unit])), "the length of a row is 3, expected 4");
    assert!(message(builder.add(record, &[0, 0], [&[0.5, 0.0, 0.0, 0.0], &unit])).contains("0.5, expected 1 (or 0)"));
    assert!(message(builder.add(record, &[0, 0], [&[f32::NAN, 0.0, 0.0, 0.0], &unit])).contains("finite"));
    assert!(message(builder.add(Record { class: 9, ..record }, &[0, 0], [&unit, &unit])).contains("expected below 7"));
    assert!(message(builder.add(record, &[0, 0], [&unit, &unit])).contains("as announced"));
    builder.finish(&|_| ControlFlow::Continue(())).unwrap();
    let index = citree_index::Index::open(folder.path()).unwrap();
    assert!(index.spaces()[0].nearest(&unit[..2]).run().is_err());
    assert!(index.spaces()[0].nearest_many(&[0.5; 6], |_, nearest| nearest).is_err());
    let short = citree_index::Builder::create(folder.path(), data.spec()).unwrap();
    assert!(short.finish(&|_| ControlFlow::Continue(())).unwrap_err().to_string().contains("30 fewer"));
}
