//! Statistics of measurements: percentiles and slopes.

/// The value that a share of the values does not exceed; NaN if there are none. Sorts the values.
pub fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

/// The slope of `y` over `x` by least squares; `None` if all `x` are equal.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (middle_x, middle_y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - middle_x).powi(2)).sum();
    let along: f64 = points.iter().map(|(x, y)| (x - middle_x) * (y - middle_y)).sum();
    (spread > 0.0).then(|| along / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values_whatever_their_order() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!([0.5, 0.9, 0.99, 1.0].map(|share| percentile(&mut values, share)), [50.0, 90.0, 99.0, 100.0]);
        assert_eq!([0.0, 0.5, 0.99].map(|share| percentile(&mut [3.0, 1.0], share)), [1.0, 1.0, 3.0]);
        assert!(percentile(&mut [], 0.5).is_nan());
    }

    #[test]
    fn the_slope_is_that_of_the_line_through_the_points() {
        assert_eq!(slope(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]), Some(2.0));
        assert_eq!(slope(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]), Some(0.0));
        assert_eq!(slope(&[(3.0, 1.0)]), None);
        assert_eq!(slope(&[]), None);
    }
}
