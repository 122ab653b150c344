//! Summary statistics: means, deviations, skewness and correlations.

/// The mean and the sample standard deviation; `None` for a single value.
pub(super) fn mean_and_deviation(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()))
}

/// The third central moment in units of the standard deviation: 0 for symmetric values, high if a few values are far
/// above the rest.
pub(super) fn skewness(values: &[f64]) -> f64 {
    let count = (values.len() as f64).max(1.0);
    let mean = values.iter().sum::<f64>() / count;
    let moment = |power: i32| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / count;
    let spread = moment(2);
    if spread > 0.0 { moment(3) / spread.powf(1.5) } else { 0.0 }
}

/// Pearson's correlation; 0 if one of the two does not vary.
pub(super) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / (values.len() as f64).max(1.0);
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum = |product: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| product(a - mean_a, b - mean_b)).sum()
    };
    let spread = sum(&|a, _| a * a) * sum(&|_, b| b * b);
    if spread > 0.0 { sum(&|a, b| a * b) / spread.sqrt() } else { 0.0 }
}

/// Spearman's correlation: of the ranks, with the mean rank for ties.
pub(super) fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    correlation(&ranks(a), &ranks(b))
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for equals in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = first as f64 + (equals.len() - 1) as f64 / 2.0;
        equals.iter().for_each(|&place| ranks[place] = rank);
        first += equals.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-6, "{found} instead of {wanted}");
    }

    // From numpy.std([..], ddof=1), scipy.stats.skew, pearsonr and spearmanr of the same lists.
    #[test]
    fn statistics_match_scipy() {
        let (a, b) = ([1.0, 2.0, 2.0, 9.0, 4.0], [2.0, 1.0, 5.0, 30.0, 5.0]);
        let (mean, deviation) = mean_and_deviation(&a);
        close(mean, 3.6);
        close(deviation.unwrap_or_default(), 3.209_361_307);
        close(skewness(&a), 1.114_096_383);
        close(correlation(&a, &b), 0.960_877_572);
        close(rank_correlation(&a, &b), 0.763_157_894);
    }

    #[test]
    fn constant_values_have_no_skewness_and_no_correlation() {
        assert_eq!(skewness(&[2.0, 2.0]), 0.0);
        assert_eq!(correlation(&[2.0, 2.0], &[1.0, 3.0]), 0.0);
        assert_eq!(mean_and_deviation(&[3.0]), (3.0, None));
    }
}
