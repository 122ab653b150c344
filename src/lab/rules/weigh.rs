//! Weighs a candidate against all training edges: the input of all rules, coverage by the nearest edges, and flip
//! counts.

use super::density::{TEMPERATURES, densities, highest, sum};
use crate::config::Aggregate;
use crate::error::Result;
use crate::lab::nearest::Rows;
use crate::rule::{Rule, Scale};
use candle_core::{Device, Tensor};

/// The numbers of nearest edges whose coverage is measured. The last is the most that any rule uses.
pub(super) const CITED: [usize; 2] = [10, 100];
/// The most candidates per pass over the training edges. In a large treebank the similarities of one take a megabyte.
pub(super) const CANDIDATES_PER_PASS: usize = 96;

/// The vectors of all training edges, `[dims, edges]`, for comparison by matrix products.
pub(super) struct Support(Tensor);

impl Support {
    pub(super) fn new(rows: Rows) -> Result<Self> {
        let shape = (rows.count(), rows.dims);
        Ok(Self(Tensor::from_vec(rows.values, shape, &Device::Cpu)?.t()?))
    }

    pub(super) fn count(&self) -> usize {
        self.0.dims()[1]
    }

    /// The similarities of these rows to all training edges, row by row.
    pub(super) fn similarities(&self, rows: Vec<f32>) -> Result<Vec<f32>> {
        let rows = Tensor::from_vec(rows, ((), self.0.dims()[0]), &Device::Cpu)?;
        Ok(rows.matmul(&self.0)?.flatten_all()?.to_vec1::<f32>()?)
    }
}

/// A candidate weighed against its training edges.
#[derive(Debug)]
pub(super) struct Weighed {
    count: usize,
    total: f64,
    /// The highest similarities, highest first.
    nearest: Vec<f32>,
    /// Sums of exp(T · (similarity − the highest)).
    densities: [f64; TEMPERATURES.len()],
}

impl Weighed {
    /// Weighs a candidate by its similarities to its training edges.
    pub(super) fn new(similarities: &[f32]) -> Self {
        let nearest = highest(similarities, CITED[1]);
        let most = nearest.first().copied().unwrap_or_default();
        let (total, densities) = (sum(similarities), densities(similarities, most));
        Self { count: similarities.len(), total, nearest, densities }
    }

    /// The sum or the mean of all similarities.
    pub(super) fn evenly(&self, aggregate: Aggregate) -> f64 {
        aggregated(aggregate, self.total, self.count)
    }

    /// The logarithm of the sum or the mean of exp(T · similarity). The temperature is at this index of
    /// [`TEMPERATURES`].
    pub(super) fn nearly(&self, place: usize, aggregate: Aggregate) -> f64 {
        aggregated(aggregate, self.densities[place], self.count).ln() + f64::from(TEMPERATURES[place] * self.highest())
    }

    /// The highest similarities, highest first; at most as many as the last of [`CITED`].
    pub(super) fn nearest(&self) -> &[f32] {
        &self.nearest
    }

    pub(super) fn highest(&self) -> f32 {
        self.nearest.first().copied().unwrap_or_default()
    }

    /// The share of the sum of all similarities that this number of nearest edges carries. It is the same for the mean.
    pub(super) fn coverage_evenly(&self, count: usize) -> f64 {
        added(self.nearest.iter().take(count)) / self.total
    }

    /// The share of the sum of exp(T · similarity) that they carry.
    pub(super) fn coverage_nearly(&self, place: usize, count: usize) -> f64 {
        let weight = |similarity: &f32| f64::from(TEMPERATURES[place] * (similarity - self.highest())).exp();
        self.nearest.iter().take(count).map(weight).sum::<f64>() / self.densities[place]
    }
}

pub(super) fn added<'a>(values: impl IntoIterator<Item = &'a f32>) -> f64 {
    values.into_iter().map(|value| f64::from(*value)).sum()
}

fn aggregated(aggregate: Aggregate, sum: f64, count: usize) -> f64 {
    match aggregate {
        Aggregate::Sum => sum,
        Aggregate::Mean => sum / count.max(1) as f64,
    }
}

/// The indices of the best score and of the runner-up. Ties go to the first.
pub(super) fn best_two(scores: &[f64]) -> (usize, Option<usize>) {
    let best = |without: Option<usize>| {
        let better = |best: Option<usize>, place: usize| match best {
            Some(best) if scores[place] <= scores[best] => Some(best),
            _ => Some(place),
        };
        (0..scores.len()).filter(|place| Some(*place) != without).fold(None, better)
    };
    let first = best(None).unwrap_or_default();
    (first, best(Some(first)))
}

/// The contribution of each edge under a rule. In f64, which can represent e⁻⁵⁰⁰: when the nearest edges are removed,
/// terms that small decide.
pub(super) fn contributions<'a>(rule: &'a Rule, similarities: &'a [f32]) -> impl Iterator<Item = f64> + 'a {
    const PLAIN: Scale = Scale { factor: 1.0, aggregate: Aggregate::Sum };
    similarities.iter().map(|&similarity| rule.contribution(similarity, PLAIN, 1))
}

/// The number of edges to remove, largest contributions first, until the sum or mean of the rest is below `rival`; all
/// of them if it never is.
pub(super) fn flip_count(mut weights: Vec<f64>, aggregate: Aggregate, rival: f64) -> usize {
    weights.sort_unstable_by(f64::total_cmp);
    let (mut sum, mut kept) = (0.0, 0);
    // Adds the smallest first, so that small terms are not lost to rounding.
    for (place, weight) in weights.iter().enumerate() {
        sum += weight;
        if aggregated(aggregate, sum, place + 1) < rival {
            kept = place + 1;
        }
    }
    weights.len() - kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-5, "{found} instead of {wanted}");
    }

    #[test]
    fn a_product_of_matrices_compares_every_row_with_every_training_edge() {
        let support = Support::new(Rows { values: vec![1.0, 0.0, 0.6, 0.8, 0.0, 1.0], dims: 2 }).unwrap();
        assert_eq!(support.count(), 3);
        assert_eq!(support.similarities(vec![1.0, 0.0, 0.0, -1.0]).unwrap(), [1.0, 0.6, 0.0, 0.0, -0.8, -1.0]);
    }

    #[test]
    fn coverage_is_the_share_of_what_the_rule_adds_up() {
        let weighed = Weighed::new(&[&[0.8; 10][..], &[0.4; 190]].concat());
        close(weighed.coverage_evenly(10), 8.0 / 84.0);
        close(weighed.coverage_evenly(100), 44.0 / 84.0);
        close(weighed.coverage_nearly(0, 10), 10.0 / (10.0 + 190.0 * (-25.6_f64).exp()));
    }

    #[test]
    fn few_edges_cover_everything() {
        let weighed = Weighed::new(&[0.9, 0.2, -0.1, 0.4, 0.88]);
        for count in CITED {
            close(weighed.coverage_evenly(count), 1.0);
            (0..TEMPERATURES.len()).for_each(|place| close(weighed.coverage_nearly(place, count), 1.0));
        }
    }

    #[test]
    fn a_decision_flips_when_the_remaining_edges_favour_the_rival() {
        let by_sum = |parts: &[f64]| flip_count(parts.to_vec(), Aggregate::Sum, 0.0);
        assert_eq!(by_sum(&[-1.0, 3.0, 0.5, -1.0]), 1);
        assert_eq!(by_sum(&[1.0, 2.0, 1.0, -1.5]), 2);
        assert_eq!(by_sum(&[-1.0, 0.5]), 0);
        assert_eq!(by_sum(&[1.0, 1.0]), 2);
        let own = vec![0.9, 0.1, 0.8, 0.2];
        assert_eq!(flip_count(own.clone(), Aggregate::Sum, 0.35), 2);
        assert_eq!(flip_count(own, Aggregate::Mean, 0.4), 1);
    }

    #[test]
    fn a_flip_is_found_if_the_rival_is_below_the_rounding_error_of_the_sum() {
        let own: Vec<f64> = contributions(&Rule::nca(64.0).unwrap(), &[1.0, 0.9, 0.1]).collect();
        let rival = contributions(&Rule::nca(64.0).unwrap(), &[0.3]).sum();
        assert_eq!(flip_count(own, Aggregate::Sum, rival), 2);
    }

    #[test]
    fn the_runner_up_is_the_best_of_the_others() {
        assert_eq!(best_two(&[1.0, 3.0, 2.0, 3.0]), (1, Some(3)));
        assert_eq!(best_two(&[5.0]), (0, None));
    }
}
