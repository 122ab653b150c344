//! Rules that choose a head by the similarities of each candidate with all training edges.

use super::density::{TEMPERATURES, densities, highest, sum};

/// Numbers of nearest edges whose share of the evidence is measured; the last is as many as any rule looks at.
pub const CITED: [usize; 2] = [10, 100];

/// How similarities become a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The sum of all.
    Sum,
    /// The mean of the highest ones; how many, is at this place of [`CITED`].
    Nearest(usize),
    /// The logarithm of the sum of the exponentials; the temperature is at this place of [`TEMPERATURES`].
    Nca(usize),
}

impl Rule {
    /// All that are measured, the sum first.
    pub const ALL: [Self; 8] = [
        Self::Sum,
        Self::Nearest(1),
        Self::Nearest(0),
        Self::Nca(0),
        Self::Nca(1),
        Self::Nca(2),
        Self::Nca(3),
        Self::Nca(4),
    ];

    /// Its name in tables.
    pub fn name(self) -> String {
        match self {
            Self::Sum => "sum of all".to_string(),
            Self::Nearest(place) => format!("mean of the {} nearest", CITED[place]),
            Self::Nca(place) => format!("NCA, T = {}", TEMPERATURES[place]),
        }
    }
}

/// A candidate weighed against all training edges.
#[derive(Debug)]
pub struct Weighed {
    /// Sum of all similarities.
    total: f64,
    /// The highest ones, highest first.
    nearest: Vec<f32>,
    /// Sums of exp(T · (similarity − the highest)).
    densities: [f64; TEMPERATURES.len()],
}

impl Weighed {
    /// By its similarities with all training edges.
    pub fn new(similarities: &[f32]) -> Self {
        let nearest = highest(similarities, CITED[1]);
        let most = nearest.first().copied().unwrap_or_default();
        Self { total: sum(similarities), densities: densities(similarities, most), nearest }
    }

    /// Its score by a rule.
    fn score(&self, rule: Rule) -> f64 {
        match rule {
            Rule::Sum => self.total,
            Rule::Nearest(place) => {
                let voters = CITED[place].min(self.nearest.len()).max(1);
                self.of_nearest(CITED[place]) / voters as f64
            }
            Rule::Nca(place) => {
                let most = self.nearest.first().copied().unwrap_or_default();
                self.densities[place].ln() + f64::from(TEMPERATURES[place] * most)
            }
        }
    }

    /// The share of its evidence by a rule that so many of the nearest edges carry.
    pub fn coverage(&self, rule: Rule, count: usize) -> f64 {
        match rule {
            Rule::Sum => self.of_nearest(count) / self.total,
            Rule::Nearest(place) => self.of_nearest(count.min(CITED[place])) / self.of_nearest(CITED[place]),
            Rule::Nca(place) => {
                let most = self.nearest.first().copied().unwrap_or_default();
                let weight = |similarity: &f32| f64::from(TEMPERATURES[place] * (similarity - most)).exp();
                self.nearest.iter().take(count).map(weight).sum::<f64>() / self.densities[place]
            }
        }
    }

    fn of_nearest(&self, count: usize) -> f64 {
        self.nearest.iter().take(count).map(|similarity| f64::from(*similarity)).sum()
    }
}

/// The place of the candidate that a rule chooses. Candidates come with the best by the sum first, by scores that are more
/// precise than a sum of many products.
pub fn choose(rule: Rule, candidates: &[Weighed]) -> usize {
    if rule == Rule::Sum {
        return 0;
    }
    let mut best = 0;
    for place in 1..candidates.len() {
        if candidates[place].score(rule) > candidates[best].score(rule) {
            best = place;
        }
    }
    best
}

/// How many of the training edges that speak most for one side must go until the rest speaks against it: `parts` is what each
/// says for it, less what it says for the other.
pub fn flip_count(mut parts: Vec<f32>) -> usize {
    let mut rest: f64 = parts.iter().map(|part| f64::from(*part)).sum();
    parts.sort_unstable_by(|a, b| b.total_cmp(a));
    for (gone, part) in parts.iter().enumerate() {
        if rest < 0.0 {
            return gone;
        }
        rest -= f64::from(*part);
    }
    parts.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_edges_decide_where_rules_look_at_them_and_far_ones_where_all_count() {
        let many_alike = Weighed::new(&[0.5; 200]);
        let few_near = Weighed::new(&[&[0.9; 10][..], &[0.1; 190]].concat());
        let candidates = [many_alike, few_near];
        assert_eq!(Rule::ALL.map(|rule| choose(rule, &candidates)), [0, 0, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn coverage_is_the_share_of_what_the_rule_adds_up() {
        let weighed = Weighed::new(&[&[0.8; 10][..], &[0.4; 190]].concat());
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-5, "{found} instead of {wanted}");
        close(weighed.coverage(Rule::Sum, 10), 8.0 / 84.0);
        close(weighed.coverage(Rule::Sum, 100), 44.0 / 84.0);
        close(weighed.coverage(Rule::Nearest(0), 10), 1.0);
        close(weighed.coverage(Rule::Nearest(0), 100), 1.0);
        close(weighed.coverage(Rule::Nearest(1), 10), 8.0 / 44.0);
        close(weighed.coverage(Rule::Nca(0), 10), 10.0 / (10.0 + 190.0 * (-25.6_f64).exp()));
    }

    #[test]
    fn a_decision_flips_when_the_rest_speaks_against_it() {
        assert_eq!(flip_count(vec![-1.0, 3.0, 0.5, -1.0]), 1);
        assert_eq!(flip_count(vec![1.0, 2.0, 1.0, -1.5]), 2);
        assert_eq!(flip_count(vec![-1.0, 0.5]), 0);
        assert_eq!(flip_count(vec![1.0, 1.0]), 2);
    }
}
