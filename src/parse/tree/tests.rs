//! Compares the best tree with brute force on small graphs, and with certified trees and local changes on large ones.

#![allow(clippy::unwrap_used)]

use super::*;

/// SplitMix64, sufficient for drawing test graphs.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn scores(&mut self, n: usize, values: &[f32]) -> Vec<f32> {
        (0..n * n).map(|_| values[(self.next() % values.len() as u64) as usize]).collect()
    }

    fn real_scores(&mut self, n: usize) -> Vec<f32> {
        (0..n * n).map(|_| (self.next() >> 40) as f32 / 1e6).collect()
    }
}

/// An independent version of `is_tree`, by the definition: n steps up from any word end at ROOT, which has one child.
fn tree_by_definition(heads: &[usize]) -> bool {
    let roots = heads[1..].iter().filter(|&&head| head == 0).count();
    roots == 1 && (1..heads.len()).all(|word| (0..heads.len()).fold(word, |at, _| heads[at]) == 0)
}

fn all_trees(n: usize) -> Vec<Vec<usize>> {
    let candidates = (0..n.pow(n as u32 - 1)).map(|mut code| {
        let digits = (1..n).map(|_| {
            let digit = code % n;
            code /= n;
            digit
        });
        std::iter::once(0).chain(digits).collect::<Vec<_>>()
    });
    candidates.filter(|heads| tree_by_definition(heads)).collect()
}

/// The value of a tree as `best_tree` documents it: the count of infinities, then the finite sum.
fn worth(scores: &[f32], heads: &[usize]) -> (i64, f64) {
    let arcs = (1..heads.len()).map(|word| scores[word * heads.len() + heads[word]]);
    arcs.fold((0, 0.0), |(infinite, sum), score| match score {
        f32::INFINITY => (infinite + 1, sum),
        score if score.is_finite() => (infinite, sum + f64::from(score)),
        _ => (infinite - 1, sum),
    })
}

fn assert_best(scores: &[f32], n: usize, trees: &[Vec<usize>]) {
    let found = best_tree(scores, n);
    assert!(tree_by_definition(&found), "{found:?} is no tree with one root; scores {scores:?}");
    let best = trees.iter().map(|tree| worth(scores, tree)).max_by(|a, b| a.partial_cmp(b).unwrap()).unwrap();
    let ours = worth(scores, &found);
    assert!(
        ours.0 == best.0 && (ours.1 - best.1).abs() <= 1e-5,
        "{found:?} is worth {ours:?}, the best {best:?}; scores {scores:?}"
    );
}

/// Checks every graph whose arcs take one of `values`.
fn assert_best_on_all_graphs(n: usize, values: &[f32]) {
    let trees = all_trees(n);
    let arcs: Vec<usize> = (n..n * n).filter(|at| at / n != at % n).collect();
    for code in 0..values.len().pow(arcs.len() as u32) {
        let mut scores = vec![f32::NAN; n * n];
        let mut rest = code;
        for &at in &arcs {
            scores[at] = values[rest % values.len()];
            rest /= values.len();
        }
        assert_best(&scores, n, &trees);
    }
}

#[test]
fn brute_force_enumerates_all_trees() {
    // w words have w^(w-1) rooted labelled trees (Cayley).
    let counts: Vec<usize> = (2..=6).map(|n| all_trees(n).len()).collect();
    assert_eq!(counts, [1, 2, 9, 64, 625]);
}

#[test]
fn best_tree_is_optimal_on_every_small_graph() {
    assert_best_on_all_graphs(2, &[0.0, 1.0]);
    assert_best_on_all_graphs(3, &[-1.0, 0.0, 0.5, 1.0, f32::NEG_INFINITY, f32::INFINITY, f32::NAN]);
    assert_best_on_all_graphs(4, &[0.0, 1.0, 2.0]);
    assert_best_on_all_graphs(5, &[0.0, 1.0]);
}

#[test]
fn best_tree_is_optimal_on_random_graphs_of_up_to_five_words() {
    let trees: Vec<_> = (0..=6).map(|n| if n < 2 { Vec::new() } else { all_trees(n) }).collect();
    for seed in 0..2000 {
        for (n, trees) in trees.iter().enumerate().skip(4) {
            let mut draw = Draw(seed);
            assert_best(&draw.real_scores(n), n, trees);
            assert_best(&draw.scores(n, &[0.0, 1.0, 2.0, 3.0]), n, trees);
            assert_best(&draw.scores(n, &[-1e9, -1e9, 0.25, 1.5]), n, trees);
            assert_best(&draw.scores(n, &[f32::NEG_INFINITY, f32::NAN, -1.0, 0.0, 3.5]), n, trees);
        }
    }
}

#[test]
fn no_single_change_of_a_head_improves_a_large_tree() {
    for seed in 0..40 {
        let mut draw = Draw(seed);
        let n = 20 + (draw.next() % 60) as usize;
        for scores in [draw.real_scores(n), draw.scores(n, &[0.0, 1.0, 2.0])] {
            let found = best_tree(&scores, n);
            assert!(tree_by_definition(&found));
            let ours = worth(&scores, &found);
            for word in 1..n {
                for head in 0..n {
                    let mut changed = found.clone();
                    changed[word] = head;
                    assert!(!tree_by_definition(&changed) || worth(&scores, &changed) <= ours);
                }
            }
        }
    }
}

/// Scores with a tree that is provably best. Word sets are merged in pairs until one is left. Each set puts a charge on
/// every arc that enters it, and the tree enters each set once. Any tree enters each set at least once. The other terms
/// are a constant per word and a loss on arcs outside the tree. All are small integers, so that sums are exact.
fn certified(draw: &mut Draw, n: usize) -> (Vec<f32>, Vec<usize>) {
    let mut below = |limit: usize| (draw.next() % limit as u64) as usize;
    let mut heads = vec![0; n];
    let mut scores = vec![0.0; n * n];
    let mut sets: Vec<Vec<usize>> = (1..n).map(|word| vec![word]).collect();
    while sets.len() > 1 {
        // The first word of a set is the one that its only arc from outside enters.
        let lower = sets.swap_remove(below(sets.len()));
        let at = below(sets.len());
        heads[lower[0]] = sets[at][below(sets[at].len())];
        sets[at].extend(lower);
        let charge = below(5) as f32;
        for &word in &sets[at] {
            (0..n).filter(|head| !sets[at].contains(head)).for_each(|head| scores[word * n + head] -= charge);
        }
    }
    for word in 1..n {
        let constant = below(9) as f32;
        for head in 0..n {
            let loss = if head == heads[word] { 0 } else { below(8).saturating_sub(5) };
            scores[word * n + head] += constant - loss as f32;
        }
    }
    (scores, heads)
}

#[test]
fn best_tree_matches_certified_trees_in_large_graphs() {
    for seed in 0..300 {
        let mut draw = Draw(seed);
        let n = 10 + (draw.next() % 70) as usize;
        let (scores, best) = certified(&mut draw, n);
        assert!(tree_by_definition(&best));
        assert!(!is_tree(&greedy(&scores, n)), "seed {seed}: the greedy heads must not settle it");
        let found = best_tree(&scores, n);
        assert!(tree_by_definition(&found) && worth(&scores, &found) == worth(&scores, &best), "seed {seed}");
    }
}

#[test]
fn greedy_heads_that_form_a_tree_are_the_result_and_ties_go_to_the_lowest_head() {
    #[rustfmt::skip]
    let scores = [
        0.0, 0.0, 0.0, 0.0,
        2.0, 9.0, 1.0, 1.0,
        0.0, 3.0, 9.0, 3.0,
        0.0, 5.0, 5.0, 9.0,
    ];
    assert_eq!(greedy(&scores, 4), [0, 0, 1, 1]);
    assert_eq!(best_tree(&scores, 4), [0, 0, 1, 1]);
}

#[test]
fn with_equal_scores_the_first_word_is_the_root_and_the_head_of_all_others() {
    assert_eq!(best_tree(&[1.0; 16], 4), [0, 0, 1, 1]);
    assert_eq!(best_tree(&[f32::NAN; 25], 5), [0, 0, 1, 1, 1]);
}

#[test]
fn of_two_roots_the_better_one_stays() {
    #[rustfmt::skip]
    let scores = [
        0.0, 0.0, 0.0,
        9.0, 0.0, 1.0,
        8.0, 2.0, 0.0,
    ];
    assert_eq!(greedy(&scores, 3), [0, 0, 0]);
    assert_eq!(best_tree(&scores, 3), [0, 0, 1]);
}

#[test]
fn no_words_one_word_and_degenerate_scores_give_a_tree() {
    assert_eq!(best_tree(&[], 0), Vec::<usize>::new());
    assert_eq!(best_tree(&[f32::NAN], 1), [0]);
    assert_eq!(best_tree(&[f32::NAN; 4], 2), [0, 0]);
    for hopeless in [f32::NAN, f32::NEG_INFINITY, f32::INFINITY, -1e9, f32::MIN, f32::MAX] {
        for n in [3, 4, 30] {
            assert!(tree_by_definition(&best_tree(&vec![hopeless; n * n], n)), "{hopeless}, n = {n}");
        }
    }
}

#[test]
fn a_head_outside_the_sentence_a_cycle_and_two_roots_are_not_trees() {
    assert!(is_tree(&[]) && is_tree(&[0]) && is_tree(&[0, 2, 0]));
    for heads in [&[0, 5, 0][..], &[0, 2, 1], &[0, 0, 0], &[0, 0, 3, 2], &[0, 1]] {
        assert!(!is_tree(heads), "{heads:?}");
    }
}
