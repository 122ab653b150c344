//! A yes-or-no decision by a sum of weights, one for each feature: the averaged perceptron. All in whole numbers, so that
//! what is learnt is the same on every machine.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

const EPOCHS: usize = 8;
/// A score within this distance of 0 is learnt from even if it is right.
const MARGIN: i64 = 3;
/// How often a feature occurs at least; rarer ones are not stored.
const SUPPORT: u32 = 3;
/// What an averaged weight is multiplied by before it is rounded.
const SCALE: i64 = 100;

/// The weights of features. Others weigh nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Perceptron {
    weights: BTreeMap<String, i32>,
}

/// Examples to learn from: the features of each, by number, and the answer.
#[derive(Default)]
pub(super) struct Examples {
    numbers: HashMap<String, u32>,
    counts: Vec<u32>,
    examples: Vec<(Vec<u32>, bool)>,
}

impl Examples {
    pub(super) fn add(&mut self, features: Vec<String>, answer: bool) {
        let numbers = features.into_iter().map(|feature| {
            let next = self.counts.len() as u32;
            let number = *self.numbers.entry(feature).or_insert(next);
            match self.counts.get_mut(number as usize) {
                Some(count) => *count += 1,
                None => self.counts.push(1),
            }
            number
        });
        let numbers = numbers.collect();
        self.examples.push((numbers, answer));
    }

    pub(super) fn len(&self) -> usize {
        self.examples.len()
    }
}

impl Perceptron {
    /// Learns from examples, in an order that is drawn anew for each epoch from a fixed seed.
    pub(super) fn learn(mut given: Examples) -> Self {
        given.examples.iter_mut().for_each(|(features, _)| {
            features.retain(|feature| given.counts[*feature as usize] >= SUPPORT);
        });
        let mut weights = vec![0_i64; given.counts.len()];
        // What each weight lost on the average, because it was changed late.
        let mut late = vec![0_i64; given.counts.len()];
        let mut order: Vec<usize> = (0..given.examples.len()).collect();
        let (mut seed, mut step) = (1_u64, 1_i64);
        for _ in 0..EPOCHS {
            for place in (1..order.len()).rev() {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                order.swap(place, (seed >> 33) as usize % (place + 1));
            }
            for &example in &order {
                let (features, answer) = &given.examples[example];
                let score: i64 = features.iter().map(|feature| weights[*feature as usize]).sum();
                let sign = if *answer { 1 } else { -1 };
                if score * sign <= MARGIN {
                    for &feature in features {
                        weights[feature as usize] += sign;
                        late[feature as usize] += sign * step;
                    }
                }
                step += 1;
            }
        }
        let average = |(feature, number): (String, u32)| {
            let number = number as usize;
            let scaled = (weights[number] * step - late[number]) * SCALE / step;
            Some((feature, i32::try_from(scaled).ok().filter(|weight| *weight != 0)?))
        };
        Self { weights: given.numbers.into_iter().filter_map(average).collect() }
    }

    /// Whether the weights of these features say yes. Without any weight the answer is no.
    pub(super) fn decide(&self, features: &[String]) -> bool {
        features.iter().filter_map(|feature| self.weights.get(feature)).map(|weight| i64::from(*weight)).sum::<i64>()
            > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples(given: &[(&str, bool)]) -> Examples {
        let mut examples = Examples::default();
        given.iter().for_each(|(text, answer)| examples.add(text.split(' ').map(str::to_owned).collect(), *answer));
        examples
    }

    #[test]
    fn what_features_have_in_common_is_learnt_and_rare_features_are_not_stored() {
        let given = [("a x", true), ("a y", true), ("a z", true), ("b x", false), ("b y", false), ("b q", false)];
        let learnt = Perceptron::learn(examples(&given));
        assert!(learnt.decide(&["a".to_owned()]) && !learnt.decide(&["b".to_owned()]));
        assert!(!learnt.decide(&["never seen".to_owned()]));
        assert!(!learnt.weights.contains_key("q"));
        assert_eq!(learnt, Perceptron::learn(examples(&given)));
    }

    #[test]
    fn nothing_is_learnt_from_nothing() {
        assert_eq!(Perceptron::learn(Examples::default()), Perceptron::default());
    }
}
