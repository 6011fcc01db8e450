//! A latency histogram for stores and reports.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Times of one kind: summary and sparse buckets. All zero without a time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyStats {
    /// Number of times.
    pub count: u64,
    /// Mean, in ms.
    pub latency_ms_mean: f64,
    /// Shortest, in ms.
    pub latency_ms_min: f64,
    /// Longest, in ms.
    pub latency_ms_max: f64,
    /// Median, in ms.
    pub latency_ms_p50: f64,
    /// 95th percentile, in ms.
    pub latency_ms_p95: f64,
    /// 99th percentile, in ms.
    pub latency_ms_p99: f64,
    /// 99.9th percentile, in ms.
    pub latency_ms_p999: f64,
    /// Non-empty buckets, ascending: the highest time of the bucket, in ns, and its count. Buckets
    /// are those of an HDR histogram of three significant digits, so histograms of several runs can
    /// be added up.
    pub buckets_ns: Vec<(u64, u64)>,
}

/// The longest time distinguished from longer ones: an hour, in ns.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// An empty histogram of three digits from 1 ns to an hour.
pub(crate) fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3)
        .unwrap_or_else(|_| unreachable!("these constants are bounds that the library accepts"))
}

impl LatencyStats {
    pub(crate) fn of(histogram: &Histogram<u64>) -> LatencyStats {
        if histogram.is_empty() {
            return LatencyStats::default();
        }
        let ms = |ns: u64| ns as f64 / 1e6;
        let quantile = |q: f64| ms(histogram.value_at_quantile(q).min(histogram.max()));
        let buckets = histogram.iter_recorded();
        LatencyStats {
            count: histogram.len(),
            latency_ms_mean: histogram.mean() / 1e6,
            latency_ms_min: ms(histogram.min()),
            latency_ms_max: ms(histogram.max()),
            latency_ms_p50: quantile(0.5),
            latency_ms_p95: quantile(0.95),
            latency_ms_p99: quantile(0.99),
            latency_ms_p999: quantile(0.999),
            buckets_ns: buckets
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect(),
        }
    }

    /// Merges histograms bucket by bucket: the percentiles equal those of one histogram of all
    /// times, to the last digit.
    pub(crate) fn sum<'a>(all: impl IntoIterator<Item = &'a LatencyStats>) -> LatencyStats {
        let mut sum = empty();
        for (ns, count) in all.into_iter().flat_map(|stats| &stats.buckets_ns) {
            sum.saturating_record_n(*ns, *count);
        }
        LatencyStats::of(&sum)
    }

    /// The time that the share `quantile` (0 to 1) of the times do not exceed, in ms, by the
    /// buckets.
    #[must_use]
    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        let rank = (self.count as f64 * quantile).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (ns, count) in &self.buckets_ns {
            seen += count;
            if seen >= rank {
                return (*ns as f64 / 1e6).min(self.latency_ms_max);
            }
        }
        self.latency_ms_max
    }
}

/// The histogram of times in ns.
#[cfg(test)]
pub(crate) fn latency_of(times: &[u64]) -> LatencyStats {
    let mut histogram = empty();
    times.iter().for_each(|ns| histogram.saturating_record(*ns));
    LatencyStats::of(&histogram)
}
