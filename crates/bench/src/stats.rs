//! Percentiles and medians.

use std::time::Duration;

/// Returns the percentile of sorted values by the nearest-rank method; zero if there are none.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// Returns the median of `values`, the mean of the two in the middle if their number is even; zero if there are none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2).copied().unwrap_or_default();
    if values.len() % 2 == 1 {
        return upper;
    }
    let lower = values.get((values.len() / 2).saturating_sub(1)).copied().unwrap_or_default();
    f64::midpoint(lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_percentile(micros: &[u64], percent: usize, expect: u64) {
        let sorted: Vec<Duration> = micros.iter().copied().map(Duration::from_micros).collect();
        let found = percentile(&sorted, percent);
        assert_eq!(found, Duration::from_micros(expect), "p{percent} of {micros:?}");
    }

    #[test]
    fn a_percentile_is_the_value_at_the_nearest_rank() {
        let hundred: Vec<u64> = (1..=100).collect();
        check_percentile(&hundred, 50, 50);
        check_percentile(&hundred, 99, 99);
        check_percentile(&hundred, 100, 100);
        check_percentile(&hundred, 0, 1);
        check_percentile(&[15, 20, 35, 40, 50], 30, 20);
        check_percentile(&[15, 20, 35, 40, 50], 50, 35);
        check_percentile(&[15, 20, 35, 40, 50], 99, 50);
        check_percentile(&[7], 50, 7);
        check_percentile(&[], 50, 0);
    }

    fn check_median(values: &[f64], expect: f64) {
        assert!((median(values.iter().copied()) - expect).abs() < 1e-12, "{values:?}");
    }

    #[test]
    fn a_median_is_the_middle_in_any_order() {
        check_median(&[3.0, 1.0, 2.0], 2.0);
        check_median(&[4.0, 1.0, 3.0, 2.0], 2.5);
        check_median(&[9.0, -1.0, 100.0, 5.0, 5.0], 5.0);
        check_median(&[8.0], 8.0);
        check_median(&[], 0.0);
    }
}
