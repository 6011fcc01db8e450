//! A latency histogram as it is stored and reported.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Times of one kind: summary and sparse buckets. All zero where nothing was timed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// Mean, in ms.
    pub latency_ms_mean: f64,
    /// Shortest, in ms.
    pub latency_ms_min: f64,
    /// Longest, in ms.
    pub latency_ms_max: f64,
    /// Half were at most this, in ms.
    pub latency_ms_p50: f64,
    /// 95 in 100 were at most this, in ms.
    pub latency_ms_p95: f64,
    /// 99 in 100 were at most this, in ms.
    pub latency_ms_p99: f64,
    /// 999 in 1000 were at most this, in ms.
    pub latency_ms_p999: f64,
    /// Non-empty buckets, ascending: the highest time the bucket holds, in ns, and how many it holds. Buckets are
    /// those of an HDR histogram of three significant digits, so histograms of several runs can be added up.
    pub buckets_ns: Vec<(u64, u64)>,
}

/// The longest time told apart from longer ones: an hour, in ns.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// An empty histogram of three digits from 1 ns to an hour.
pub(crate) fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3)
        .unwrap_or_else(|_| unreachable!("these constants are bounds that the library accepts"))
}

impl Latency {
    pub(crate) fn of(histogram: &Histogram<u64>) -> Latency {
        if histogram.is_empty() {
            return Latency::default();
        }
        let ms = |ns: u64| ns as f64 / 1e6;
        let quantile = |q: f64| ms(histogram.value_at_quantile(q).min(histogram.max()));
        let buckets = histogram.iter_recorded();
        Latency {
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

    /// Several recorded apart, as if they had been recorded together: bucket by bucket, so that percentiles are those of all times, and
    /// equal to the last digit.
    pub(crate) fn sum<'a>(all: impl IntoIterator<Item = &'a Latency>) -> Latency {
        let mut sum = empty();
        for (ns, count) in all.into_iter().flat_map(|one| &one.buckets_ns) {
            sum.saturating_record_n(*ns, *count);
        }
        Latency::of(&sum)
    }

    /// The time that the share `quantile` (0 to 1) of the times do not exceed, in ms, from the buckets.
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

/// Of times in ns.
#[cfg(test)]
pub(crate) fn latency_of(times: &[u64]) -> Latency {
    let mut histogram = empty();
    times.iter().for_each(|ns| histogram.saturating_record(*ns));
    Latency::of(&histogram)
}
