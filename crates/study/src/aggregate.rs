//! Computes a metric's figure from the seconds of a window, by the catalogue's rule for it. The
//! window is that of a whole run or of one of its phases.

use std::collections::BTreeMap;

use super::records::Series;
use crate::metrics::{self, Aggregation, Window, has_ended};

/// Figures by name.
pub type Results = BTreeMap<String, f64>;

/// The quotients of the catalogue whose operands are in `results`.
#[must_use]
pub fn quotients(results: &Results) -> Results {
    let value = |metric: &metrics::MetricEntry| match metric.aggregation {
        Aggregation::Quotient { over, under, scale } => {
            Some(results.get(over)? * scale / results.get(under)?)
        }
        _ => None,
    };
    let known = metrics::all().filter_map(|metric| Some((metric.name.to_owned(), value(metric)?)));
    known.filter(|(_, value)| value.is_finite()).collect()
}

/// The results of all series that are aggregated over the window.
#[must_use]
pub fn over_window(series: &[Series], window: Window) -> Results {
    let by_name: BTreeMap<&str, &Series> =
        series.iter().map(|series| (series.name.as_str(), series)).collect();
    let of = |one: &Series| {
        let rule = metrics::find(&one.name).map_or(Aggregation::Mean, |metric| metric.aggregation);
        let value = match rule {
            Aggregation::Mean => mean(one, None, window),
            Aggregation::WeightedMean { by } => mean(one, by_name.get(by).copied(), window),
            Aggregation::LastSeen => last_seen(one, window),
            Aggregation::Growth => growth(one, window),
            Aggregation::Quotient { .. } | Aggregation::Computed => None,
        };
        Some((one.name.clone(), value?))
    };
    series.iter().filter_map(of).collect()
}

/// Mean of the window's seconds, weighted by another series if there is one.
fn mean(series: &Series, weights: Option<&Series>, window: Window) -> Option<f64> {
    let weight = |second: u32| weights.map_or(Some(1.0), |weights| value_at(weights, second));
    let inside = series.points.iter().filter(|(second, _)| window.contains_second(*second));
    let weighed: Vec<(f64, f64)> =
        inside.map(|&(second, value)| (value, weight(second).unwrap_or(0.0))).collect();
    let total: f64 = weighed.iter().map(|(_, weight)| weight).sum();
    let sum = weighed.iter().map(|(value, weight)| value * weight).sum::<f64>();
    (total > 0.0).then_some(sum / total)
}

fn value_at(series: &Series, second: u32) -> Option<f64> {
    let place = series.points.binary_search_by_key(&second, |point| point.0).ok()?;
    series.points.get(place).map(|point| point.1)
}

fn last_seen(series: &Series, window: Window) -> Option<f64> {
    let last = series.points.iter().rev().find(|(second, _)| has_ended(*second, window.to_s));
    last.map(|(_, value)| *value)
}

/// A reading that waits for a stalled server belongs to the second in which it was requested, so
/// the window ends at the first reading after it.
fn growth(series: &Series, window: Window) -> Option<f64> {
    let at = |second: u32| f64::from(second);
    let before = series.points.iter().rfind(|(second, _)| at(*second) <= window.from_s);
    let behind = series.points.iter().find(|(second, _)| at(*second) >= window.to_s);
    let (_, from) = before.or(series.points.first())?;
    let (_, to) = behind.or(series.points.last())?;
    Some(to - from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(u32, f64)]) -> Series {
        Series { points: points.to_vec(), ..Series::of(metrics::find(name).unwrap()) }
    }

    fn over(series: &[Series], from_s: f64, to_s: f64) -> Results {
        over_window(series, Window { from_s, to_s })
    }

    #[test]
    fn means_are_of_the_window_and_latencies_weigh_operations() {
        let all = [
            series("disk_reads_per_s", &[(1, 900.0), (2, 100.0), (3, 300.0), (4, 900.0)]),
            series("disk_read_latency_ms", &[(1, 99.0), (2, 1.0), (3, 5.0), (4, 99.0)]),
            series("disk_flush_latency_ms", &[(2, 3.0)]),
        ];
        let means = over(&all, 1.0, 3.0);
        assert_eq!(means["disk_reads_per_s"], 200.0);
        assert_eq!(means["disk_read_latency_ms"], (100.0 * 1.0 + 300.0 * 5.0) / 400.0);
        assert_eq!(means["disk_flush_latency_ms"], 3.0, "without its weights a plain mean");
    }

    #[test]
    fn a_stall_counts_where_the_window_met_it() {
        // Requested in second 5, answered in second 9.
        let points = [(1, 300.0), (2, 300.0), (5, 4300.0), (9, 4300.0), (10, 9000.0)];
        let all = [series("model_stalled_ms", &points)];
        let stalled = |from_s, to_s| over(&all, from_s, to_s)["model_stalled_ms"];
        assert_eq!(stalled(2.4, 8.4), 4000.0);
        assert_eq!((stalled(1.0, 2.0), stalled(5.5, 8.5)), (0.0, 0.0));
        assert_eq!(stalled(0.5, 20.0), 8700.0);
    }

    #[test]
    fn space_is_what_there_is_at_the_windows_end() {
        let space = [series("space_physical_bytes", &[(1, 5.0), (2, 7.0), (9, 8.0)])];
        assert_eq!(over(&space, 1.0, 3.0)["space_physical_bytes"], 7.0);
        assert_eq!(over(&space, 4.0, 6.0)["space_physical_bytes"], 7.0);
    }

    #[test]
    fn what_follows_from_other_results_is_no_mean_of_its_seconds() {
        let all = [
            series("drive_write_amplification", &[(1, 5.0), (2, 7.0)]),
            series("latency_ms_p99", &[(1, 5.0), (2, 7.0)]),
        ];
        assert_eq!(over(&all, 0.0, 2.0), Results::new());
    }
}
