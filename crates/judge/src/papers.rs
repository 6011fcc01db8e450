//! The statistics that the papers print, as they print them, so that ours can stand beside theirs.

use serde::Serialize;

use crate::statistics::{mean, quantile, standard_deviation};
use assay_study::metrics::{MetricEntry, metric};
use assay_study::{Series, Trial};

/// The mean of relative differences: of each thread count `(config − against) ÷ against`, and the
/// plain mean of those (Percona, "Testing the value of ScaleFlux computational storage drive for
/// MySQL", 2020, caption of Table 1). One thread weighs as much as 256.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelativeDifferences {
    /// Mean over the thread counts, in percent.
    pub mean_percent: f64,
    /// At each thread count that both have, in percent, in the order given.
    pub by_threads: Vec<(u32, f64)>,
}

/// Relative differences of (threads, configuration, against). A baseline that is not above zero is
/// left out; `None` if nothing remains.
pub fn relative_differences(values: &[(u32, f64, f64)]) -> Option<RelativeDifferences> {
    let can_be = values.iter().filter(|(_, _, against)| *against > 0.0);
    let by_threads: Vec<(u32, f64)> = can_be
        .map(|(threads, config, against)| (*threads, (config - against) / against * 100.0))
        .collect();
    let percents: Vec<f64> = by_threads.iter().map(|(_, percent)| *percent).collect();
    (!by_threads.is_empty())
        .then(|| RelativeDifferences { mean_percent: mean(&percents), by_threads })
}

/// By what factor `value` is an improvement over `base`: how many times the rate, or what fraction
/// of the time turned over (STEC, "s1120 PCIe accelerators increase performance and reduce TCO for
/// MySQL", 2013, Chart 1: 251 ÷ 27 and 1168 ÷ 153).
pub fn improvement_factor(base: f64, value: f64, is_better_higher: bool) -> Option<f64> {
    let factor = if is_better_higher { value / base } else { base / value };
    (base > 0.0 && value > 0.0 && factor.is_finite()).then_some(factor)
}

/// Statistics of a run's seconds as if each were a sample (Percona, "MySQL benchmarks on eXFlash
/// DIMMs", 2015: sd, mean, 95th percentile and maximum of throughput, response time and idle time
/// of the CPUs).
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalTable {
    /// A row for each thing sampled that the run has.
    pub rows: Vec<Samples>,
    /// The 95th percentile of the transactions' response times, in ms: what the row of response
    /// times is often taken for.
    pub latency_ms_p95: Option<f64>,
}

/// Quantities sampled once a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampled {
    /// Transactions per second.
    Throughput,
    /// The 95th percentile of the response times of each second, in ms.
    LatencyP95,
    /// Idle share of all CPUs, in percent.
    CpuIdle,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Samples {
    #[serde(skip)]
    pub what: Sampled,
    /// Standard deviation.
    pub sd: f64,
    /// Mean.
    pub mean: f64,
    /// The quantile 0.95, interpolated as R does.
    pub p95: f64,
    /// Largest.
    pub max: f64,
    /// How many seconds.
    pub seconds: usize,
}

/// Sampled quantities, each with the series that holds it.
const SAMPLED: [(Sampled, &MetricEntry); 3] = [
    (Sampled::Throughput, metric!("tps")),
    (Sampled::LatencyP95, metric!("latency_ms_p95")),
    (Sampled::CpuIdle, metric!("cpu_idle_percent")),
];

/// The metric over whose seconds a name such as `sd(tps)` or `mean(tps)` is a statistic.
#[must_use]
pub fn metric_of_seconds(name: &str) -> Option<&str> {
    let inside = name.strip_prefix("sd(").or_else(|| name.strip_prefix("mean("));
    inside?.strip_suffix(')')
}

/// Standard deviation and mean of everything sampled, by names such as `sd(tps)` and `mean(tps)`.
pub fn over_seconds(table: &IntervalTable) -> impl Iterator<Item = (String, f64)> {
    table.rows.iter().flat_map(|row| {
        let metric =
            SAMPLED.iter().find(|(what, _)| *what == row.what).map(|(_, metric)| metric.name);
        let named = |statistic: &str, value| Some((format!("{statistic}({})", metric?), value));
        [named("sd", row.sd), named("mean", row.mean)].into_iter().flatten()
    })
}

/// The table of a run.
pub fn interval_table(trial: &Trial, series: &[Series]) -> IntervalTable {
    let window = trial.window.unwrap_or_default();
    let of = |(what, metric): &(Sampled, &'static MetricEntry)| {
        let one = series.iter().find(|one| one.name == metric.name)?;
        let inside = one.points.iter().filter(|(second, _)| window.contains_second(*second));
        samples(*what, &inside.map(|point| point.1).collect::<Vec<f64>>())
    };
    IntervalTable {
        rows: SAMPLED.iter().filter_map(of).collect(),
        latency_ms_p95: trial.results.get(metric!("latency_ms_p95").name).copied(),
    }
}

/// Nothing of fewer than two.
fn samples(what: Sampled, values: &[f64]) -> Option<Samples> {
    (values.len() >= 2).then(|| Samples {
        what,
        sd: standard_deviation(values),
        mean: mean(values),
        p95: quantile(values, 0.95),
        max: values.iter().copied().fold(f64::MIN, f64::max),
        seconds: values.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_own_figures_come_out() {
        // STEC's Chart 1: printed 9.3, 9.2 and 7.6.
        let factor = |base: f64, value: f64, up: bool| {
            (improvement_factor(base, value, up).unwrap() * 10.0).round() / 10.0
        };
        assert_eq!(factor(27.0, 251.0, true), 9.3);
        assert_eq!(factor(517.0, 4760.0, true), 9.2);
        assert_eq!((factor(735.0, 79.8, false), factor(1168.0, 153.0, false)), (9.2, 7.6));
        assert_eq!(improvement_factor(0.0, 1.0, true), None);
        // eXFlash: 5997 and 1855 at 128 threads, 6162 and 2188 at 256.
        let both = [(128, 5996.5105, 1855.4304), (256, 6162.4271, 2187.5271), (512, 1.0, 0.0)];
        let found = relative_differences(&both).unwrap();
        assert_eq!(found.by_threads.len(), 2, "what is zero cannot be measured by");
        assert!((found.mean_percent - 202.45).abs() < 0.01, "{}", found.mean_percent);
        assert_eq!(relative_differences(&[]), None);
    }

    #[test]
    fn statistics_over_seconds_have_names() {
        let rows = vec![samples(Sampled::Throughput, &[90.0, 110.0]).unwrap()];
        let all: Vec<_> = over_seconds(&IntervalTable { rows, latency_ms_p95: None }).collect();
        let sd = 200f64.sqrt();
        assert_eq!(all, [("sd(tps)".into(), sd), ("mean(tps)".into(), 100.0)]);
        assert_eq!(metric_of_seconds(&all[1].0), Some("tps"));
        assert_eq!(metric_of_seconds("tps"), None);
    }

    #[test]
    fn a_percentile_of_percentiles_is_not_the_percentile() {
        // Nine quiet seconds of a hundred transactions and a stalled one of ten: the samples see a
        // tenth of the time, the transactions a hundredth of themselves.
        let mut values = vec![10.0; 9];
        values.push(500.0);
        let found = samples(Sampled::LatencyP95, &values).unwrap();
        assert_eq!((found.mean, found.max), (59.0, 500.0));
        assert!(found.p95 > 250.0, "while 99 of 100 transactions took 10 ms: {}", found.p95);
        assert_eq!(samples(Sampled::Throughput, &[1.0]), None);
    }
}
