//! Decodes a matrix of arc scores to heads: greedily, or as the best tree with exactly one word below ROOT.
//!
//! The tree is exact, not a heuristic. Every tree with a single root is one arc from ROOT plus an arborescence over the
//! words. The words are contracted cycle by cycle (Chu-Liu-Edmonds, growing a path as Gabow and Tarjan do) until one
//! node is left. Then the arc from ROOT is chosen; its weight already includes the cost of breaking up each cycle down
//! to its word. With dense rows this takes O(n²) time and memory, without recursion.

/// The highest-scoring head of each word on its own, never the word itself. Ties go to the lowest position.
///
/// `scores` is row-major `[n][n]` with the axes `[dependent][head]`. Position 0 is ROOT, and `n` is the number of words
/// plus one. Row 0 and the diagonal are ignored, and NaN counts as minus infinity. The result need not be a tree.
///
/// # Panics
/// If `scores` does not hold `n * n` values.
pub(crate) fn greedy(scores: &[f32], n: usize) -> Vec<usize> {
    assert_eq!(scores.len(), n * n, "the scores must form a square of side {n}");
    let mut heads = vec![0; n];
    for (dependent, row) in scores.chunks_exact(n.max(1)).enumerate().skip(1) {
        // Starts with ROOT, which is never the word itself. `>` is false for NaN, so a NaN never replaces it.
        let mut best = if row[0].is_nan() { f32::NEG_INFINITY } else { row[0] };
        for (head, &score) in row.iter().enumerate().skip(1) {
            if head != dependent && score > best {
                best = score;
                heads[dependent] = head;
            }
        }
    }
    heads
}

/// The heads of the tree with the highest summed score among all trees that attach exactly one word to ROOT.
///
/// `scores` has the layout of [`greedy`]. The result has length `n`, with `heads[0] == 0`. Sums are in f64. The result
/// is a tree whatever the scores are. NaN counts as minus infinity. Trees are compared first by their number of plus
/// infinities minus minus infinities, then by their finite sum.
///
/// Ties: if the greedy heads form such a tree, they are the result. Otherwise each choice between arcs of equal weight
/// takes the lower head, then the lower dependent. So equal scores always give the same tree.
///
/// # Panics
/// If `scores` does not hold `n * n` values.
pub(crate) fn best_tree(scores: &[f32], n: usize) -> Vec<usize> {
    let heads = greedy(scores, n);
    if is_tree(&heads) { heads } else { Contraction::new(scores, n).solve() }
}

/// Whether every word reaches ROOT by its heads and exactly one word is attached to ROOT. A sentence without words is a
/// tree.
pub(crate) fn is_tree(heads: &[usize]) -> bool {
    const UNSEEN: usize = 0;
    let n = heads.len();
    if n <= 1 {
        return true;
    }
    if heads[1..].iter().filter(|&&head| head == 0).count() != 1 {
        return false;
    }
    // Each walk upwards leaves its own mark. Meeting its own mark again is a cycle; meeting an older one ends the walk.
    let mut walk_of = vec![UNSEEN; n];
    for start in 1..n {
        let mut position = start;
        while position != 0 && walk_of[position] == UNSEEN {
            walk_of[position] = start;
            position = match heads[position] {
                head if head < n => head,
                _ => return false,
            };
        }
        if position != 0 && walk_of[position] == start {
            return false;
        }
    }
    true
}

/// The weight of an arc. Infinities are counted separately, so that they can be subtracted from each other. The derived
/// order compares them first.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Weight {
    infinite: i64,
    finite: f64,
}

impl Weight {
    const ZERO: Weight = Weight { infinite: 0, finite: 0.0 };
    const BELOW_ALL: Weight = Weight { infinite: i64::MIN, finite: 0.0 };

    fn of(score: f32) -> Self {
        if score.is_finite() {
            Weight { infinite: 0, finite: f64::from(score) }
        } else {
            Weight { infinite: if score == f32::INFINITY { 1 } else { -1 }, finite: 0.0 }
        }
    }

    fn plus(self, other: Weight) -> Self {
        Weight { infinite: self.infinite + other.infinite, finite: self.finite + other.finite }
    }

    fn minus(self, other: Weight) -> Self {
        Weight { infinite: self.infinite - other.infinite, finite: self.finite - other.finite }
    }
}

/// An arc between two positions of the sentence, unchanged by contraction of its ends. The order of the fields defines
/// the tie-break.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Arc {
    head: u32,
    dependent: u32,
}

impl Arc {
    fn new(dependent: usize, head: usize) -> Self {
        Arc { head: head as u32, dependent: dependent as u32 }
    }
}

/// The state of the contraction.
///
/// A *node* is a word (nodes `1..n`) or a contracted cycle (nodes from `n` on, so that a cycle has a higher number than
/// its members). Each node that is not inside another has a *slot*: a row and a column of `arcs`.
struct Contraction<'a> {
    scores: &'a [f32],
    n: usize,
    /// `[dependent slot][head slot]`: the best arc between the two nodes.
    arcs: Vec<Arc>,
    /// Per word: the weight of the chosen arcs that an arc entering at this word would replace.
    given_up: Vec<Weight>,
    /// The slots in use, ascending.
    slots: Vec<usize>,
    /// Per slot: its node, and the words inside it.
    node: Vec<usize>,
    words: Vec<Vec<u32>>,
    /// Per node: the cycle that contains it (0 if none), and the chosen arc that enters it.
    cycle: Vec<usize>,
    entering: Vec<Arc>,
}

impl<'a> Contraction<'a> {
    fn new(scores: &'a [f32], n: usize) -> Self {
        Contraction {
            scores,
            n,
            arcs: (0..n * n).map(|at| Arc::new(at / n, at % n)).collect(),
            given_up: vec![Weight::ZERO; n],
            slots: (1..n).collect(),
            node: (0..n).collect(),
            words: (0..n as u32).map(|word| vec![word]).collect(),
            cycle: vec![0; n],
            entering: vec![Arc::new(0, 0); n],
        }
    }

    fn solve(mut self) -> Vec<usize> {
        // Each slot on the path has the next one as its head, until one leads back to the path and closes a cycle.
        let mut tip = 1;
        let mut path = vec![tip];
        while self.slots.len() > 1 {
            let others = self.slots.iter().filter(|&&slot| slot != tip);
            let (head, arc) = self.best(others.map(|&slot| (slot, self.arcs[tip * self.n + slot])));
            self.entering[self.node[tip]] = arc;
            if let Some(start) = path.iter().position(|&slot| slot == head) {
                self.contract(&path.split_off(start));
            }
            tip = head;
            path.push(tip);
        }
        let (_, from_root) = self.best((1..self.n).map(|word| (word, Arc::new(word, 0))));
        self.entering[self.node[tip]] = from_root;
        self.expand()
    }

    /// Contracts a cycle of slots into one node, in the slot of the first.
    fn contract(&mut self, cycle: &[usize]) {
        let (first, n) = (cycle[0], self.n);
        let new_node = self.cycle.len();
        for &slot in cycle {
            let worth = self.weight(self.entering[self.node[slot]]);
            for &word in &self.words[slot] {
                self.given_up[word as usize] = self.given_up[word as usize].plus(worth);
            }
            self.cycle[self.node[slot]] = new_node;
        }
        self.slots.retain(|slot| *slot == first || !cycle.contains(slot));
        for at in 0..self.slots.len() {
            let other = self.slots[at];
            if other != first {
                let into = cycle.iter().map(|&slot| (slot, self.arcs[slot * n + other]));
                let out_of = cycle.iter().map(|&slot| (slot, self.arcs[other * n + slot]));
                (self.arcs[first * n + other], self.arcs[other * n + first]) = (self.best(into).1, self.best(out_of).1);
            }
        }
        for &slot in &cycle[1..] {
            let words = std::mem::take(&mut self.words[slot]);
            self.words[first].extend(words);
        }
        self.node[first] = new_node;
        self.cycle.push(0);
        self.entering.push(Arc::new(0, 0));
    }

    /// Expands the cycles from the outermost inwards. The arc that enters a cycle replaces the cycle's own arc into the
    /// same node.
    fn expand(mut self) -> Vec<usize> {
        for node in (self.n..self.cycle.len()).rev() {
            let arc = self.entering[node];
            let mut inside = arc.dependent as usize;
            while self.cycle[inside] != node {
                inside = self.cycle[inside];
            }
            self.entering[inside] = arc;
        }
        self.entering[..self.n].iter().map(|arc| arc.head as usize).collect()
    }

    /// The arc with the highest weight, with its slot. Every caller proposes at least one arc.
    fn best(&self, proposals: impl Iterator<Item = (usize, Arc)>) -> (usize, Arc) {
        let mut best = (0, Arc::new(0, 0));
        let mut most = Weight::BELOW_ALL;
        for (slot, arc) in proposals {
            let weight = self.weight(arc);
            if weight > most || (weight == most && arc < best.1) {
                (best, most) = ((slot, arc), weight);
            }
        }
        best
    }

    fn weight(&self, arc: Arc) -> Weight {
        let (dependent, head) = (arc.dependent as usize, arc.head as usize);
        Weight::of(self.scores[dependent * self.n + head]).minus(self.given_up[dependent])
    }
}

#[cfg(test)]
mod tests;
