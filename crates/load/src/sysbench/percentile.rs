//! sysbench's percentile: one rank in 1024 buckets, evenly spaced in the logarithm from 0.001 ms to
//! 100 s.

use crate::record::LatencyStats;

const BUCKETS: usize = 1024;
const LOWEST_MS: f64 = 0.001;
const HIGHEST_MS: f64 = 100_000.0;

/// Buckets per unit of the natural logarithm.
fn resolution() -> f64 {
    (BUCKETS - 1) as f64 / (HIGHEST_MS / LOWEST_MS).ln()
}

/// The number of the bucket that holds `ms`.
pub(super) fn bucket_of(ms: f64) -> usize {
    let place = (ms.ln() - LOWEST_MS.ln()) * resolution() + 0.5;
    place.clamp(0.0, (BUCKETS - 1) as f64) as usize
}

/// The reported value of a bucket, in ms.
pub(super) fn value_ms(bucket: usize) -> f64 {
    (bucket as f64 / resolution() + LOWEST_MS.ln()).exp()
}

/// The counts of `latency` in each bucket.
pub(super) fn buckets(latency: &LatencyStats) -> Vec<u64> {
    let mut counts = vec![0; BUCKETS];
    for (ns, count) in &latency.buckets_ns {
        counts[bucket_of(*ns as f64 / 1e6)] += count;
    }
    counts
}

/// The percentile as printed by sysbench, in ms; 0 without a time.
#[must_use]
pub fn percentile_ms(latency: &LatencyStats, percentile: u32) -> f64 {
    let rank = (latency.count as f64 * f64::from(percentile) / 100.0 + 0.5) as u64;
    if latency.count == 0 {
        return 0.0;
    }
    let mut seen = 0;
    for (bucket, count) in buckets(latency).into_iter().enumerate() {
        seen += count;
        if seen >= rank && seen > 0 {
            return value_ms(bucket);
        }
    }
    value_ms(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(times_ms: &[f64]) -> LatencyStats {
        let buckets_ns: Vec<(u64, u64)> =
            times_ms.iter().map(|ms| ((ms * 1e6) as u64, 1)).collect();
        LatencyStats { count: buckets_ns.len() as u64, buckets_ns, ..LatencyStats::default() }
    }

    #[test]
    fn neighbours_differ_by_the_published_ratio() {
        for bucket in [0, 17, 1022] {
            let ratio = value_ms(bucket + 1) / value_ms(bucket);
            assert!((ratio - 1.018_169_625_567).abs() < 1e-9, "{ratio}");
        }
    }

    #[test]
    fn values_are_those_seen_in_sysbenchs_reports() {
        // Adjacent lines of a histogram printed by sysbench 1.0.20.
        for seen in [0.768, 0.782, 1.044, 1.063, 2.069, 17.319, 17.633] {
            let value = value_ms(bucket_of(seen));
            assert!((value - seen).abs() < 0.0006, "{seen} {value}");
        }
    }

    #[test]
    fn the_rank_is_rounded_and_the_range_is_clamped() {
        let times: Vec<f64> = (1..=100).map(f64::from).collect();
        let p95 = percentile_ms(&latency(&times), 95);
        assert!((p95 / 95.0 - 1.0).abs() < 0.01, "{p95}");
        assert_eq!(percentile_ms(&latency(&[]), 95), 0.0);
        assert!((percentile_ms(&latency(&[500_000.0]), 95) - 100_000.0).abs() < 1.0);
    }
}
