//! Queries with vectors that are not rows, similarities without a search, and large classes.

use citree_index::{GraphSpec, Metric, Space};

use crate::{make::Data, random::Random};

/// All similarities with a vector by [`Space::similarity`], most similar first.
fn brute_force(space: &Space, row: &[f32]) -> Vec<(u32, f32)> {
    let mut all: Vec<(u32, f32)> =
        (0..space.count() as u32).map(|record| (record, space.similarity(row, record).unwrap())).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all
}

/// Differences of rows, rows of other norms, random vectors, and zero vectors.
fn vectors(data: &Data, random: &mut Random) -> Vec<Vec<f32>> {
    let count = data.records.len();
    let mut vectors = vec![vec![0.0; data.dims], vec![-0.0; data.dims]];
    for _ in 0..30 {
        let (a, b) = (data.row(random.below(count)), data.row(random.below(count)));
        let difference: Vec<f32> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        for length in [1.0, 1e-6, 1e-25, 1e12] {
            vectors.push(difference.iter().map(|x| x * length).collect());
        }
        vectors.push(a.iter().map(|x| x * -37.0).collect());
        vectors.push(a.iter().map(|_| random.normal()).collect());
    }
    vectors
}

#[test]
fn an_exact_answer_for_any_vector_equals_a_scan_of_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1);
    for (metric, dims) in [(Metric::Cosine, 100), (Metric::Cosine, 3), (Metric::Dot, 40)] {
        let data = Data { metric, ..Data::new(2, 2500, dims) };
        let index = data.build(folder.path());
        let space = &index.spaces()[0];
        let vectors = vectors(&data, &mut random);
        let rows = vectors.concat();
        let many = space.nearest_many(&rows, |_, nearest| nearest.count(15).exact()).unwrap();
        for (row, answer) in vectors.iter().zip(many) {
            let found: Vec<(u32, f32)> = answer.hits.iter().map(|hit| (hit.record, hit.similarity)).collect();
            assert_eq!(found, brute_force(space, row)[..15]);
            assert_eq!(space.nearest(row).count(15).exact().run().unwrap(), answer);
            assert_eq!(space.nearest(row).run().unwrap().hits.len(), 10, "over the graph, with lower recall");
        }
    }
}

#[test]
fn similarities_have_the_bits_of_a_hit() {
    let folder = tempfile::tempdir().unwrap();
    // More rows than a block has.
    let data = Data::new(3, 1900, 75);
    let index = data.build(folder.path());
    let space = &index.spaces()[0];
    let vectors = vectors(&data, &mut Random::new(4));
    let all = space.similarities(&vectors.concat(), 0..1900).unwrap();
    assert_eq!(all.len(), vectors.len() * 1900);
    for (row, similarities) in vectors.iter().zip(all.chunks(1900)) {
        let hits = space.nearest(row).count(1900).exact().run().unwrap().hits;
        assert_eq!(hits.len(), 1900);
        for hit in hits {
            assert_eq!(similarities[hit.record as usize].to_bits(), hit.similarity.to_bits());
            assert_eq!(space.similarity(row, hit.record).map(f32::to_bits), Some(hit.similarity.to_bits()));
        }
    }
    let part = space.similarities(&vectors[2..4].concat(), 1000..1300).unwrap();
    assert!(part == [&all[2 * 1900 + 1000..][..300], &all[3 * 1900 + 1000..][..300]].concat());
}

#[test]
#[allow(clippy::reversed_empty_ranges)]
fn similarities_end_with_the_records_and_need_whole_finite_rows() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::new(5, 50, 4);
    let index = data.build(folder.path());
    let space = &index.spaces()[0];
    let rows = &data.rows[0][..8];
    assert_eq!(space.similarities(rows, 40..u32::MAX).unwrap().len(), 20);
    for empty in [50..60, u32::MAX..u32::MAX, 7..7, 9..3] {
        assert!(space.similarities(rows, empty).unwrap().is_empty());
    }
    assert!(space.similarities(&[], 0..50).unwrap().is_empty());
    assert!(space.similarities(&rows[..7], 0..50).is_err());
    assert!(space.similarities(&[0.0, f32::NAN, 0.0, 0.0], 0..50).is_err());
    assert_eq!(space.similarity(&rows[..4], 50), None);
    assert_eq!(space.similarity(&rows[..3], 0), None);
    assert!(space.nearest(&[f32::INFINITY, 0.0, 0.0, 0.0]).run().is_err());
}

#[test]
fn a_search_in_a_large_class_uses_the_graph_with_a_recall_of_99_percent() {
    let folder = tempfile::tempdir().unwrap();
    let (count, dims, frequent, asked) = (60_000, 24, 4, 200);
    let mut data = Data::new(6, count + asked, dims);
    let queries = data.rows[0].split_off(count * dims);
    data.records.truncate(count);
    let mut random = Random::new(7);
    for record in &mut data.records {
        record.class = if random.below(100) < 36 { frequent } else { random.below(4) as u32 };
    }
    // The other space needs no graph.
    data.rows[1] = data.rows[0][..dims].repeat(count);
    data.graph = GraphSpec { degree: 12, effort: 60, ..GraphSpec::default() };
    let index = data.build(folder.path());
    let records = index.records_of(frequent);
    assert!(records.len() >= 20_000, "{} records are too few", records.len());
    let space = &index.spaces()[0];
    let found = space.nearest_many(&queries, |_, nearest| nearest.class(frequent)).unwrap();
    let truth = space.nearest_many(&queries, |_, nearest| nearest.class(frequent).exact()).unwrap();
    assert!(found.iter().all(|answer| !answer.exact) && truth.iter().all(|answer| answer.exact));
    assert!(found.iter().flat_map(|answer| &answer.hits).all(|hit| records.contains(&hit.record)));
    assert!(truth.iter().chain(&found).all(|answer| answer.hits.len() == 10));
    let shared = truth.iter().zip(&found).map(|(a, b)| b.hits.iter().filter(|hit| a.hits.contains(hit)).count());
    let recall = shared.sum::<usize>() as f64 / (10 * asked) as f64;
    assert!(recall >= 0.99, "recall {recall}");
}
