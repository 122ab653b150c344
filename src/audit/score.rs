//! How suspicious an edge is: a sum of signs, each with a weight, that is the log odds of an error.
//!
//! 1. and 2. The log odds of another label against the edge's own, among the nearest edges by the label model, and by
//!    the head model. The two models saw different losses, so an error that one has learned by heart can stand out in the other.
//! 3. to 5. The same by the two label models of the words, and the log odds of another head by the head model of the words.
//!    None of them saw the document.
//! 6. to 8. A broken rule of the guidelines at the edge, one beside it, and a crossed edge: the rarer crossing is, the more
//!    it counts.
//!
//! Without models of the words, neighbours speak about heads: the log odds of the best other head against the edge's own.
//! `docs/howto/audit.md` says how the weights were chosen and what they measure.

use super::signs::Signs;
use super::words::Opinions;
use citree_index::Hit;

/// How many of the nearest edges vote on a label.
pub(super) const NEIGHBORS: usize = 20;
/// How many of the nearest accepted and how many of the nearest rejected edges vote on a head.
pub(super) const HEAD_NEIGHBORS: usize = 10;
/// Added to shares of votes, so that a label without a vote has finite odds.
const PRIOR: f64 = 0.05;
/// Added to probabilities.
const LEAST: f64 = 0.01;
/// Edges below this sum of label odds and odds against the head are no findings, unless something else speaks against them.
const DOUBTED: f64 = -5.0;

/// How much each sign counts. Fitted by logistic regression on half of the compared documents of English-EWT 2.7.
struct Weights {
    labels: f64,
    labels_by_heads: f64,
    grammar: f64,
    words: f64,
    head: f64,
    broken: f64,
    beside: f64,
    /// Of minus the log of the rate of crossed edges.
    crossed: f64,
    offset: f64,
}

const WITH_WORDS: Weights = Weights {
    labels: 0.063,
    labels_by_heads: 0.187,
    grammar: 0.087,
    words: 0.086,
    head: 0.164,
    broken: 2.663,
    beside: 0.568,
    crossed: 0.215,
    offset: -1.245,
};

const WITHOUT_WORDS: Weights = Weights {
    labels: 0.192,
    labels_by_heads: 0.249,
    grammar: 0.0,
    words: 0.0,
    head: 0.192,
    broken: 2.862,
    beside: 0.591,
    crossed: 0.233,
    offset: -1.498,
};

/// What the nearest edges say about an edge. Pairs are of the label model and of the head model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Votes {
    /// How many voted.
    pub all: [usize; 2],
    /// How many have the edge's own label.
    pub own: [usize; 2],
    /// How many have the other label.
    pub other: [usize; 2],
    /// The log odds of the edge's head.
    pub head: f64,
}

/// What the models of the words say about an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct WordSigns {
    /// The log odds of the best other label, by either label model.
    pub labels: [f64; 2],
    /// The mean probability of the edge's label, and of the other one.
    pub own: f64,
    pub other: f64,
    /// The log odds of the best other head, that head, and how much more probable it is.
    pub head: f64,
    pub other_head: usize,
    pub head_margin: f64,
}

/// The evidence about the label of an edge, and the other label that most of it is for.
pub(super) struct LabelEvidence {
    pub votes: Votes,
    pub words: Option<WordSigns>,
    /// `None` if nothing is for another label.
    pub other: Option<u32>,
    /// How much more is for the other label than for its own, from -1 to 1.
    pub margin: f64,
}

impl LabelEvidence {
    /// Weighs neighbours, given by their labels, and what models of the words say about a word. All count alike.
    pub(super) fn new(own: u32, neighbors: [&[u32]; 2], opinions: Option<(&Opinions, usize)>) -> Self {
        let opinion = opinions.map(|(opinions, word)| opinions.labels(word));
        let classes = opinion.map_or(0, |[labels, _]| labels.len());
        let highest = neighbors.iter().flat_map(|labels| labels.iter()).max().map_or(0, |&label| label as usize + 1);
        let mut weights = vec![0.0; classes.max(highest).max(own as usize + 1)];
        for labels in neighbors {
            labels.iter().for_each(|&label| weights[label as usize] += 1.0 / labels.len() as f64);
        }
        for probabilities in opinion.into_iter().flatten() {
            weights.iter_mut().zip(probabilities).for_each(|(weight, own)| *weight += f64::from(*own));
        }
        let others = (0..weights.len()).filter(|&label| label != own as usize && weights[label] > 0.0);
        // Ties go to the first label.
        let other = others.reduce(|best, label| if weights[label] > weights[best] { label } else { best });
        let count = |label: Option<u32>| neighbors.map(|own| own.iter().filter(|&&vote| Some(vote) == label).count());
        let votes = Votes {
            all: neighbors.map(<[u32]>::len),
            own: count(Some(own)),
            other: count(other.map(|other| other as u32)),
            head: 0.0,
        };
        let parts = if opinion.is_some() { 4.0 } else { 2.0 };
        let margin = (other.map_or(0.0, |other| weights[other]) - weights[own as usize]) / parts;
        let words = opinions.map(|(opinions, word)| WordSigns::new(opinions, word, own as usize, other));
        Self { votes, words, other: other.map(|other| other as u32), margin }
    }
}

impl WordSigns {
    fn new(opinions: &Opinions, word: usize, own: usize, other: Option<usize>) -> Self {
        let labels = opinions.labels(word);
        let best = |probabilities: &[f32]| {
            let others = probabilities.iter().enumerate().filter(|(label, _)| *label != own);
            others.map(|(_, own)| *own).fold(0.0, f32::max)
        };
        let of = |label: usize| labels.iter().map(|own| f64::from(own[label])).sum::<f64>() / 2.0;
        let head = opinions.head(word);
        Self {
            labels: labels.map(|own_labels| odds(best(own_labels), own_labels[own])),
            own: of(own),
            other: other.map_or(0.0, of),
            head: odds(head.other_probability, head.own),
            other_head: head.other,
            head_margin: f64::from(head.other_probability - head.own),
        }
    }
}

/// The log odds of two probabilities.
fn odds(other: f32, own: f32) -> f64 {
    ((f64::from(other) + LEAST) / (f64::from(own) + LEAST)).ln()
}

impl Votes {
    /// The log odds of the other label, by either model.
    fn label_odds(&self) -> [f64; 2] {
        let share = |votes: [usize; 2], at: usize| votes[at] as f64 / self.all[at].max(1) as f64;
        [0, 1].map(|at| ((share(self.other, at) + PRIOR) / (share(self.own, at) + PRIOR)).ln())
    }

    /// Whether anything speaks against the edge, so that other heads are worth a look.
    pub(super) fn doubt(&self, words: Option<&WordSigns>, signs: Signs) -> bool {
        let [labels, by_heads] = self.label_odds();
        let by_words = |own: &WordSigns| own.head > 0.0 || own.labels.iter().any(|odds| *odds > 0.0);
        labels + by_heads - self.head > DOUBTED || words.is_some_and(by_words) || signs.any()
    }

    /// The share of errors to expect among edges that are so suspicious. `rival` has the log odds of the best other head
    /// by its neighbours, and `crossing` is the rate of crossed edges in the treebank.
    pub(super) fn expected(&self, rival: Option<f64>, words: Option<&WordSigns>, signs: Signs, crossing: f64) -> f64 {
        let weights = if words.is_some() { &WITH_WORDS } else { &WITHOUT_WORDS };
        let [labels, by_heads] = self.label_odds();
        let [grammar, forms] = words.map_or([0.0; 2], |words| words.labels);
        let head = words.map_or_else(|| rival.map_or(0.0, |rival| rival - self.head), |words| words.head);
        let sign = |is: bool, weight: f64| if is { weight } else { 0.0 };
        let sum = weights.labels * labels
            + weights.labels_by_heads * by_heads
            + weights.grammar * grammar
            + weights.words * forms
            + weights.head * head
            + sign(signs.broken, weights.broken)
            + sign(signs.beside, weights.beside)
            + sign(signs.crossed, -weights.crossed * crossing.ln())
            + weights.offset;
        1.0 / (1.0 + (-sum).exp())
    }
}

/// The log odds of a head by its nearest accepted and rejected edges; 0 if there are none of one kind. `factor` scales
/// similarities as the model does.
pub(super) fn head_odds(accepted: &[Hit], rejected: &[Hit], factor: f64) -> f64 {
    let weight = |hits: &[Hit]| {
        let scaled = || hits.iter().take(HEAD_NEIGHBORS).map(|hit| factor * f64::from(hit.similarity));
        let highest = scaled().fold(f64::NEG_INFINITY, f64::max);
        highest + scaled().map(|own| (own - highest).exp()).sum::<f64>().ln()
    };
    if accepted.is_empty() || rejected.is_empty() { 0.0 } else { weight(accepted) - weight(rejected) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMOD: u32 = 1;
    const COMPOUND: u32 = 2;
    const FLAT: u32 = 3;
    const NONE: Signs = Signs { broken: false, broken_label: false, beside: false, crossed: false };

    fn votes(labels: &[u32], by_heads: &[u32]) -> Votes {
        LabelEvidence::new(COMPOUND, [labels, by_heads], None).votes
    }

    #[test]
    fn the_label_with_most_votes_in_both_spaces_is_suggested() {
        let neighbors: [&[u32]; 2] = [&[AMOD, AMOD, FLAT, COMPOUND], &[FLAT, FLAT, FLAT, COMPOUND]];
        let LabelEvidence { votes, other, margin, .. } = LabelEvidence::new(COMPOUND, neighbors, None);
        assert_eq!((votes.all, votes.own, votes.other, other), ([4, 4], [1, 1], [1, 3], Some(FLAT)));
        assert_eq!(margin, 0.25);
        let unanimous = LabelEvidence::new(COMPOUND, [&[COMPOUND], &[]], None);
        assert_eq!((unanimous.other, unanimous.margin), (None, -0.5));
    }

    #[test]
    fn every_sign_makes_an_edge_more_suspicious_and_shares_stay_shares() {
        let (few, many) = (votes(&[AMOD, COMPOUND, COMPOUND], &[]), votes(&[AMOD, AMOD, COMPOUND], &[]));
        let base = few.expected(None, None, NONE, 0.01);
        assert!(many.expected(None, None, NONE, 0.01) > base);
        assert!(few.expected(Some(1.0), None, NONE, 0.01) > base);
        let with = |signs| few.expected(None, None, signs, 0.01);
        assert!(with(Signs { beside: true, ..NONE }) > base);
        assert!(with(Signs { broken: true, ..NONE }) > with(Signs { beside: true, ..NONE }));
        let crossed = |rate| few.expected(None, None, Signs { crossed: true, ..NONE }, rate);
        assert!(crossed(0.001) > crossed(0.1) && crossed(0.1) > base, "crossing counts more where it is rare");
        let words = WordSigns { labels: [-2.0, -2.0], head: -2.0, ..WordSigns::default() };
        let by_words = |words: WordSigns| few.expected(None, Some(&words), NONE, 0.01);
        for other in [
            WordSigns { labels: [2.0, -2.0], ..words },
            WordSigns { labels: [-2.0, 2.0], ..words },
            WordSigns { head: 2.0, ..words },
        ] {
            assert!(by_words(other) > by_words(words));
            assert!((0.0..=1.0).contains(&by_words(other)));
        }
    }

    #[test]
    fn an_edge_is_not_doubted_unless_a_label_a_head_a_model_or_a_sign_speaks_against_it() {
        let sure = votes(&[COMPOUND; 20], &[COMPOUND; 20]);
        assert!(!sure.doubt(None, NONE));
        assert!(Votes { head: -1.5, ..sure }.doubt(None, NONE));
        assert!(sure.doubt(None, Signs { crossed: true, ..NONE }));
        let words = WordSigns { labels: [-1.0, 0.5], head: -1.0, ..WordSigns::default() };
        assert!(sure.doubt(Some(&words), NONE));
    }

    #[test]
    fn nearer_accepted_edges_speak_for_a_head_and_nearer_rejected_ones_against_it() {
        let hit = |similarity| [Hit { record: 0, similarity }];
        assert!(head_odds(&hit(0.9), &hit(0.8), 64.0) > 0.0);
        assert!(head_odds(&hit(0.8), &hit(0.9), 64.0) < 0.0);
        assert_eq!(head_odds(&hit(0.8), &[], 64.0), 0.0);
    }
}
