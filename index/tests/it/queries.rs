//! Questions with vectors that are no rows, and similarities without a search.

use citree_index::{GraphSpec, Metric, Space};

use crate::{make::Treebank, random::Random};

/// All similarities with a vector by the arithmetic of a hit, best first.
fn brute_force(space: &Space, row: &[f32]) -> Vec<(u32, f32)> {
    let mut all: Vec<(u32, f32)> =
        (0..space.count() as u32).map(|edge| (edge, space.similarity(row, edge).unwrap())).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all
}

/// Differences of rows, rows of other lengths, and vectors that lie elsewhere or nowhere.
fn vectors(treebank: &Treebank, random: &mut Random) -> Vec<Vec<f32>> {
    let count = treebank.edges.len();
    let mut vectors = vec![vec![0.0; treebank.dims], vec![-0.0; treebank.dims]];
    for _ in 0..30 {
        let (a, b) = (treebank.head(random.below(count)), treebank.head(random.below(count)));
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
fn an_exact_answer_for_any_vector_is_that_of_a_scan_of_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1);
    for (metric, dims) in [(Metric::Cosine, 100), (Metric::Cosine, 3), (Metric::Dot, 40)] {
        let treebank = Treebank { metric, ..Treebank::new(2, 2500, dims) };
        let index = treebank.build(folder.path());
        let space = index.heads();
        let vectors = vectors(&treebank, &mut random);
        let rows = vectors.concat();
        let many = space.nearest_many(&rows, |_, nearest| nearest.count(15).exact()).unwrap();
        for (row, answer) in vectors.iter().zip(many) {
            let found: Vec<(u32, f32)> = answer.hits.iter().map(|hit| (hit.edge, hit.similarity)).collect();
            assert_eq!(found, brute_force(space, row)[..15]);
            assert_eq!(space.nearest(row).count(15).exact().run().unwrap(), answer);
            assert_eq!(space.nearest(row).run().unwrap().hits.len(), 10, "over the graph: less well, but answered");
        }
    }
}

#[test]
fn similarities_are_those_of_a_hit_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    // More rows than one block has.
    let treebank = Treebank::new(3, 1900, 75);
    let index = treebank.build(folder.path());
    let space = index.heads();
    let vectors = vectors(&treebank, &mut Random::new(4));
    let all = space.similarities(&vectors.concat(), 0..1900).unwrap();
    assert_eq!(all.len(), vectors.len() * 1900);
    for (row, similarities) in vectors.iter().zip(all.chunks(1900)) {
        let hits = space.nearest(row).count(1900).exact().run().unwrap().hits;
        assert_eq!(hits.len(), 1900);
        for hit in hits {
            assert_eq!(similarities[hit.edge as usize].to_bits(), hit.similarity.to_bits());
            assert_eq!(space.similarity(row, hit.edge).map(f32::to_bits), Some(hit.similarity.to_bits()));
        }
    }
    let part = space.similarities(&vectors[2..4].concat(), 1000..1300).unwrap();
    assert!(part == [&all[2 * 1900 + 1000..][..300], &all[3 * 1900 + 1000..][..300]].concat());
}

#[test]
#[allow(clippy::reversed_empty_ranges)]
fn similarities_end_where_the_edges_end_and_need_whole_finite_rows() {
    let folder = tempfile::tempdir().unwrap();
    let treebank = Treebank::new(5, 50, 4);
    let index = treebank.build(folder.path());
    let space = index.heads();
    let rows = &treebank.heads[..8];
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
fn a_frequent_label_is_searched_over_the_graph_and_99_of_100_of_its_nearest_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let (count, dims, frequent, asked) = (60_000, 24, 4, 200);
    let mut treebank = Treebank::new(6, count + asked, dims);
    let queries = treebank.heads.split_off(count * dims);
    treebank.edges.truncate(count);
    let mut random = Random::new(7);
    for edge in &mut treebank.edges {
        edge.label = if random.below(100) < 36 { frequent } else { random.below(4) as u32 };
    }
    // The other space need not have a graph.
    treebank.label_rows = treebank.heads[..dims].repeat(count);
    treebank.graph = GraphSpec { degree: 12, effort: 60, ..GraphSpec::default() };
    let index = treebank.build(folder.path());
    let edges = index.edges_of(frequent);
    assert!(edges.len() >= 20_000 && edges.len() >= count / 4, "{} edges are too few", edges.len());
    let space = index.heads();
    let found = space.nearest_many(&queries, |_, nearest| nearest.label(frequent)).unwrap();
    let truth = space.nearest_many(&queries, |_, nearest| nearest.label(frequent).exact()).unwrap();
    assert!(found.iter().all(|answer| !answer.exact) && truth.iter().all(|answer| answer.exact));
    assert!(found.iter().flat_map(|answer| &answer.hits).all(|hit| edges.contains(&hit.edge)));
    let shared = truth.iter().zip(&found).map(|(a, b)| b.hits.iter().filter(|hit| a.hits.contains(hit)).count());
    let recall = shared.sum::<usize>() as f64 / (10 * asked) as f64;
    assert!(recall >= 0.99, "recall {recall}");
}
