//! A figure of one run, and how far its seconds alone leave it open.
//!
//! Of throughput that is the variance of the mean of its seconds. Of a percentile it follows from
//! the share of transactions above it: that share's variance, over seconds as for a mean, is
//! carried over to the percentile by reading the run's whole distribution at the share less and
//! plus one standard error (Woodruff, "Confidence intervals for medians and other position
//! measures", JASA 47, 1952). All variances are of the logarithm, as configurations differ by
//! factors.

use std::collections::BTreeMap;

use crate::statistics::{MeanVariance, mean_variance};
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;
use crate::trial::of_statement::StatementPercentile;
use assay_study::metrics::{self, metric};
use assay_study::{Histogram, LatencyClock, SecondLatency, Timed, bucket_of};

/// A percentile with fewer transactions above it than this is the luck of a few.
pub const ABOVE_LEAST: f64 = 5.0;

/// A percentile of which the transactions above ended in fewer separate seconds than this may be
/// one stall.
pub const SECONDS_WITH_ABOVE_LEAST: usize = 5;

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunFigure {
    /// Its value, in the metric's unit; positive.
    pub value: f64,
    /// Variance of its logarithm from one stretch of time to another within the run, if that can be
    /// told.
    pub within: Option<MeanVariance>,
    /// Width of the bucket or step that the value lies in, as a share of it: two values closer
    /// than this may be reported as one.
    pub resolution: f64,
}

/// Width of the buckets of the histograms of a whole run, three digits.
pub(crate) const OF_THREE_DIGITS: f64 = 1e-3;

/// Why a run has no figure that one would expect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Absent {
    /// Its value is not above zero, or no number: there is no ratio to it.
    Unusable(f64),
    /// Fewer than [`ABOVE_LEAST`] of its transactions lie above the percentile.
    TooFewAbove,
    /// The transactions above the percentile ended in fewer than [`SECONDS_WITH_ABOVE_LEAST`]
    /// separate seconds.
    InFewSeconds,
    /// The search for the highest rate that keeps the objective found none.
    NoRateFound,
}

/// Whether a figure of so many transactions would be the luck of a few.
pub fn is_of_too_few(metric: Metric, transactions: f64) -> bool {
    metric.tail().is_some_and(|tail| tail * transactions < ABOVE_LEAST)
}

/// Fills in the figures of a run from its results and the buckets of its whole response histogram
/// (ns, count), whose width is a share `resolution` of the time.
pub(crate) fn figures(
    trial: &mut Measured,
    results: &BTreeMap<String, f64>,
    whole: &[(u64, u64)],
    resolution: f64,
) {
    let seconds = trial.latencies.seconds();
    let transactions = match whole.iter().map(|(_, count)| count).sum::<u64>() {
        0 => results.get(metric!("transactions").name).copied(),
        count => Some(count as f64),
    };
    for metric in Metric::ALL {
        let Some(value) = results.get(metric.name()).copied() else { continue };
        if !(value > 0.0 && value.is_finite()) {
            trial.absent.insert(metric, Absent::Unusable(value));
            continue;
        }
        if transactions.is_some_and(|all| is_of_too_few(metric, all)) {
            trial.absent.insert(metric, Absent::TooFewAbove);
            continue;
        }
        if metric.is_tail() && is_in_few_seconds(&seconds, value) {
            trial.absent.insert(metric, Absent::InFewSeconds);
            continue;
        }
        let figure = match metric.tail() {
            None => RunFigure {
                value,
                within: of_mean(&trial.tps),
                // Throughput is a count: one transaction more or less.
                resolution: transactions.map_or(0.0, |all| 1.0 / all.max(1.0)),
            },
            Some(tail) => {
                RunFigure { value, within: of_percentile(&seconds, whole, value, tail), resolution }
            }
        };
        trial.figures.insert(metric, figure);
    }
}

/// Returns true if so few seconds have transactions as slow as the percentile that they may be one
/// stall; a window of fewer seconds needs them in each. Where seconds are not stored, nothing is
/// known.
fn is_in_few_seconds(seconds: &[SecondLatency], value_ms: f64) -> bool {
    // Those in the percentile's own bucket are as slow.
    let below = bucket_of((value_ms * 1e6) as u64).saturating_sub(1);
    let with = seconds.iter().filter(|one| one.count_above(below) > 0).count();
    with < SECONDS_WITH_ABOVE_LEAST.min(seconds.len())
}

/// Fills in the figure of a run that searched for the highest rate that keeps an objective: that is
/// its throughput. Its percentiles are what was asked for, and say nothing.
pub(crate) fn searched_figure(trial: &mut Measured, results: &BTreeMap<String, f64>) {
    match searched(results) {
        Some(figure) => drop(trial.figures.insert(Metric::Throughput, figure)),
        None => drop(trial.absent.insert(Metric::Throughput, Absent::NoRateFound)),
    }
}

/// The rate that was found. How far it is open is what its own interval says, whose ends are 1.645
/// standard errors away on the logarithm.
fn searched(results: &BTreeMap<String, f64>) -> Option<RunFigure> {
    let of = |metric: &'static metrics::MetricEntry| results.get(metric.name).copied();
    let value = of(metric!("capacity_per_s")).filter(|value| *value > 0.0 && value.is_finite())?;
    let ends = of(metric!("capacity_low_per_s")).zip(of(metric!("capacity_high_per_s")));
    let within = ends.filter(|(low, high)| *low > 0.0 && high > low).map(|(low, high)| {
        let error = (high / low).ln() / (2.0 * Z_OF_90_PERCENT);
        MeanVariance { variance: error * error, df: SEARCH_DF }
    });
    Some(RunFigure { value, within, resolution: 0.0 })
}

/// The standard normal distribution's 95th percentile.
const Z_OF_90_PERCENT: f64 = 1.644_853_6;
/// The interval of a search is not estimated from few values, so that Student's distribution adds
/// nothing.
const SEARCH_DF: f64 = 1000.0;

/// Fills in the percentiles of every kind of statement that was timed. How they vary within the run
/// is not known: seconds are kept of whole transactions only.
pub(crate) fn statement_figures(trial: &mut Measured, histograms: &[Histogram]) {
    for one in histograms.iter().filter(|one| one.clock == LatencyClock::Service) {
        let Timed::Statement(kind) = &one.kind else { continue };
        for percentile in StatementPercentile::of(kind).into_iter().flatten() {
            let metric = Metric::Statement(percentile);
            match percentile.value_ms(&one.buckets, ABOVE_LEAST) {
                Some(value) if value > 0.0 => {
                    trial.figures.insert(
                        metric,
                        RunFigure { value, within: None, resolution: OF_THREE_DIGITS },
                    );
                }
                Some(value) => {
                    trial.absent.insert(metric, Absent::Unusable(value));
                }
                None => {
                    trial.absent.insert(metric, Absent::TooFewAbove);
                }
            }
        }
    }
}

/// Percentiles of every kind of statement, from when each was sent, by the names that they are
/// judged by.
pub(crate) fn statement_percentiles(
    histograms: &[Histogram],
) -> impl Iterator<Item = (String, f64)> {
    let of_statements = histograms.iter().filter(|one| one.clock == LatencyClock::Service);
    of_statements.flat_map(|one| {
        let Timed::Statement(kind) = &one.kind else { return Vec::new() };
        let all = StatementPercentile::of(kind).into_iter().flatten();
        let value = |one: StatementPercentile, buckets: &[(u64, u64)]| {
            Some((one.name().to_owned(), one.value_ms(buckets, ABOVE_LEAST)?))
        };
        all.filter_map(|percentile| value(percentile, &one.buckets)).collect()
    })
}

/// Variance of the logarithm of a mean: the mean's variance over its square (the delta method).
fn of_mean(seconds: &[f64]) -> Option<MeanVariance> {
    let mean = crate::statistics::mean(seconds);
    let known = mean_variance(seconds).filter(|_| mean > 0.0)?;
    Some(MeanVariance { variance: known.variance / (mean * mean), ..known })
}

fn of_percentile(
    seconds: &[SecondLatency],
    whole: &[(u64, u64)],
    value_ms: f64,
    tail: f64,
) -> Option<MeanVariance> {
    let bucket = bucket_of((value_ms * 1e6) as u64);
    let all: u64 = seconds.iter().map(SecondLatency::count).sum();
    let share = seconds.iter().map(|one| one.count_above(bucket)).sum::<u64>() as f64 / all as f64;
    // What each second adds to the share beyond its part; their mean is zero.
    let parts: Vec<f64> = seconds
        .iter()
        .map(|one| one.count_above(bucket) as f64 - share * one.count() as f64)
        .collect();
    let known = mean_variance(&parts).filter(|_| all > 0)?;
    let error = known.variance.sqrt() * seconds.len() as f64 / all as f64;
    if tail - error <= 0.0 || tail + error >= 1.0 {
        return None;
    }
    let (low, high) = (value_above(whole, tail + error)?, value_above(whole, tail - error)?);
    let half = (high as f64 / low as f64).ln() / 2.0;
    Some(MeanVariance { variance: half * half, df: known.df })
}

/// The time that the share `tail` of all exceed, in ns.
fn value_above(whole: &[(u64, u64)], tail: f64) -> Option<u64> {
    let all: u64 = whole.iter().map(|(_, count)| count).sum();
    let mut below = 0;
    let within = all as f64 * (1.0 - tail);
    let place = whole.iter().find(|(_, count)| {
        below += count;
        below as f64 >= within
    });
    place.or(whole.last()).map(|(ns, _)| (*ns).max(1))
}
