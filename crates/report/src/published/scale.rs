//! Figures of a scale model in terms of the whole device that the paper measured.
//!
//! A model whose parallelism is divided by P does a P-th of the whole device's work a second with a
//! P-th of its connections, each command in the device's own time (`docs/models.md`). So a rate
//! stands for P times as much of the whole device with P times the threads, and a response time for
//! the whole device's only where the threads are divided by P too. A ratio of two configurations of
//! one scale needs neither. The standard deviation of a rate stands for neither: parts that vary by
//! themselves add up by the square root of P, parts that vary together by P.

use assay_judge::papers::metric_of_seconds;
use assay_study::metrics;

/// Shares of a scale that two may differ by and be the same.
const ALIKE: f64 = 0.01;

/// Whether two scales, or a scale and a ratio, are the same.
#[must_use]
pub fn is_alike(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() <= ALIKE
}

/// Whether the result of this name is so much a second.
#[must_use]
pub fn is_rate(metric: &str) -> bool {
    metrics::find(metric).is_some_and(|metric| metric.unit.is_rate())
}

/// A result at a scale in terms of the whole device; `None` if that is unknown.
#[must_use]
pub fn whole(
    measured: f64,
    metric: &str,
    scale: Option<f64>,
    threads: &[u32],
    printed_threads: Option<u32>,
) -> Option<f64> {
    let scale = scale?;
    if is_alike(scale, 1.0) {
        return Some(measured);
    }
    if is_rate(metric) {
        return Some(measured * scale);
    }
    if metric_of_seconds(metric).is_some_and(is_rate) {
        return None;
    }
    let ([threads], Some(printed)) = (threads, printed_threads) else { return None };
    is_alike(f64::from(printed) / f64::from(*threads), scale).then_some(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_taken_times_the_scale_and_times_only_where_threads_are_divided_alike() {
        assert_eq!(whole(10.0, "tps", Some(36.0), &[4, 8], None), Some(360.0));
        assert_eq!(whole(10.0, "disk_read_bytes_per_s", Some(2.0), &[4], Some(4)), Some(20.0));
        assert_eq!(whole(10.0, "latency_ms_p95", Some(32.0), &[4], Some(128)), Some(10.0));
        assert_eq!(whole(10.0, "latency_ms_p95", Some(32.0), &[20], Some(20)), None);
        assert_eq!(whole(10.0, "latency_ms_p95", Some(32.0), &[4, 8], Some(128)), None);
        assert_eq!(whole(10.0, "latency_ms_p95", Some(32.0), &[4], None), None);
        assert_eq!(whole(10.0, "sd(tps)", Some(32.0), &[4], Some(128)), None);
        assert_eq!(whole(10.0, "sd(tps)", Some(1.0), &[4], Some(128)), Some(10.0));
        assert_eq!(whole(10.0, "latency_ms_p95", Some(1.0), &[4, 8], None), Some(10.0));
        assert_eq!(whole(10.0, "tps", None, &[4], Some(4)), None, "a scale that nobody kept");
    }
}
