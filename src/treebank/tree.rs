//! Checks whether heads form a tree with a single root, and reports why not; finds crossed edges.

/// A reason why heads are not a tree with a single root. Words are ids, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TreeFault {
    /// No word has head 0.
    NoRoot,
    /// Several words have head 0.
    SeveralRoots(Vec<usize>),
    /// A word is its own head.
    SelfHead(usize),
    /// A cycle: each word is followed by its head, starting at the lowest id.
    Cycle(Vec<usize>),
}

/// Every fault of a sentence's heads. Empty if they form a tree with a single root. `heads[i]` is the head of word `i +
/// 1`, and no head exceeds the number of words.
pub(crate) fn tree_faults(heads: &[usize]) -> Vec<TreeFault> {
    let mut faults = Vec::new();
    let roots: Vec<usize> = (1..=heads.len()).filter(|&word| heads[word - 1] == 0).collect();
    match roots.len() {
        0 => faults.push(TreeFault::NoRoot),
        1 => {}
        _ => faults.push(TreeFault::SeveralRoots(roots)),
    }
    // The walk that first reached each word; 0 is unvisited. A walk that meets itself is in a cycle.
    let mut walk_of = vec![0; heads.len()];
    for start in 1..=heads.len() {
        let mut word = start;
        while word != 0 && walk_of[word - 1] == 0 {
            walk_of[word - 1] = start;
            word = heads[word - 1];
        }
        if word != 0 && walk_of[word - 1] == start {
            faults.push(cycle_through(word, heads));
        }
    }
    faults
}

fn cycle_through(word: usize, heads: &[usize]) -> TreeFault {
    if heads[word - 1] == word {
        return TreeFault::SelfHead(word);
    }
    let mut cycle = vec![word];
    while heads[cycle[cycle.len() - 1] - 1] != word {
        cycle.push(heads[cycle[cycle.len() - 1] - 1]);
    }
    let lowest = cycle.iter().enumerate().min_by_key(|(_, word)| **word).map_or(0, |(place, _)| place);
    cycle.rotate_left(lowest);
    TreeFault::Cycle(cycle)
}

/// Which edges are crossed: a word between the two words of the edge has its head outside of them. `heads[i]` is the head
/// of word `i + 1`. Edges from ROOT are never crossed.
pub(crate) fn crossed(heads: &[usize]) -> Vec<bool> {
    let is_crossed = |(&head, word): (&usize, usize)| {
        let (first, last) = (head.min(word), head.max(word));
        head != 0 && (first + 1..last).any(|between| !(first..=last).contains(&heads[between - 1]))
    };
    heads.iter().zip(1..).map(is_crossed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_crossed_if_a_word_below_it_has_its_head_elsewhere() {
        assert_eq!(crossed(&[2, 0, 2, 3]), [false; 4]);
        assert_eq!(crossed(&[3, 4, 0, 3]), [true, true, false, false]);
        assert_eq!(crossed(&[0, 4, 1, 1]), [false, true, true, false]);
    }

    #[test]
    fn a_tree_has_no_faults() {
        assert_eq!(tree_faults(&[2, 0, 2, 3]), []);
        assert_eq!(tree_faults(&[0]), []);
    }

    #[test]
    fn every_fault_is_found() {
        assert_eq!(tree_faults(&[2, 3, 1]), [TreeFault::NoRoot, TreeFault::Cycle(vec![1, 2, 3])]);
        assert_eq!(tree_faults(&[0, 0, 1]), [TreeFault::SeveralRoots(vec![1, 2])]);
        assert_eq!(
            tree_faults(&[0, 2, 5, 3, 4, 0, 5]),
            [TreeFault::SeveralRoots(vec![1, 6]), TreeFault::SelfHead(2), TreeFault::Cycle(vec![3, 5, 4])]
        );
    }

    #[test]
    fn a_sentence_without_words_has_no_root() {
        assert_eq!(tree_faults(&[]), [TreeFault::NoRoot]);
    }

    #[test]
    fn faults_agree_with_a_walk_to_the_root_for_all_heads_of_four_words() {
        for code in 0..5_usize.pow(4) {
            let heads: Vec<usize> = (0..4).map(|place| code / 5_usize.pow(place) % 5).collect();
            let reaches_root = |mut word: usize| {
                for _ in 0..=4 {
                    if word != 0 {
                        word = heads[word - 1];
                    }
                }
                word == 0
            };
            let tree = heads.iter().filter(|&&head| head == 0).count() == 1 && (1..=4).all(reaches_root);
            assert_eq!(tree_faults(&heads).is_empty(), tree, "{heads:?}");
        }
    }
}
