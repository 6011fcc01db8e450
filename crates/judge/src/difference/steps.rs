//! Steps between configurations under one workload: their runs, and the mean of several steps.

use std::collections::BTreeSet;

use crate::difference::compare::{Basis, ComparedRuns, Difference, told};
use crate::difference::contrast::{Contrast, WeightedStratum};
use crate::difference::reason::Reason;
use crate::statistics::mean;
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;

/// A step from one configuration to another, and its weight in a mean of steps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WeightedStep {
    pub(crate) weight: f64,
    pub(crate) against: String,
    pub(crate) config: String,
}

/// The runs of each step at each thread count, step by step.
///
/// # Errors
/// The first run that forbids a verdict.
pub(crate) fn strata<'a>(
    trials: &'a [Measured],
    workload: &str,
    threads: &BTreeSet<u32>,
    steps: &[WeightedStep],
) -> Result<Vec<ComparedRuns<'a>>, Reason> {
    let of_run = |config: &str, threads: u32| {
        let config = config.to_owned();
        trials.iter().filter(move |trial| {
            (&*trial.key.config, &*trial.key.workload, trial.key.threads)
                == (&*config, workload, threads)
        })
    };
    let of_step = |step: &WeightedStep| -> Vec<Result<ComparedRuns<'a>, Reason>> {
        let at = |threads: &u32| {
            ComparedRuns::of(of_run(&step.against, *threads), of_run(&step.config, *threads), true)
        };
        threads.iter().map(at).collect()
    };
    steps.iter().flat_map(of_step).collect()
}

/// The weighted sum of the log ratios of strata; `None` if a figure is absent.
pub(crate) fn contrast(
    metric: Metric,
    strata: &[ComparedRuns<'_>],
    weights: &[f64],
    of: impl Fn(f64, f64) -> f64,
) -> Option<Contrast> {
    let stratum = |(runs, weight): (&ComparedRuns<'_>, &f64)| {
        let value = |(a, b): (&&Measured, &&Measured)| {
            Some((a.key.repeat, of(a.figure(metric)?.value, b.figure(metric)?.value)))
        };
        let values: Option<Vec<(u32, f64)>> =
            runs.base.iter().zip(&runs.other).map(value).collect();
        Some(WeightedStratum { weight: *weight, values: values? })
    };
    let all: Option<Vec<WeightedStratum>> = strata.iter().zip(weights).map(stratum).collect();
    Contrast::of(all?)
}

/// The mean resolution of the figures of strata, as a share.
pub(crate) fn resolution(metric: Metric, strata: &[ComparedRuns<'_>]) -> f64 {
    let runs = strata.iter().flat_map(|one| one.base.iter().chain(&one.other));
    let figures = runs.filter_map(|run| run.figure(metric));
    mean(&figures.map(|figure| figure.resolution).collect::<Vec<f64>>())
}

pub(crate) fn log_ratio(a: f64, b: f64) -> f64 {
    (b / a).ln()
}

/// The weights of [`strata`]: those of the steps, shared out over thread counts.
pub(crate) fn weights(steps: &[WeightedStep], thread_counts: usize) -> Vec<f64> {
    let share = |step: &WeightedStep| vec![step.weight / thread_counts as f64; thread_counts];
    steps.iter().flat_map(share).collect()
}

/// The mean of steps whose weights add up to 1, as the difference that it is. `None` with a single
/// repeat.
pub(crate) fn mean_step(
    metric: Metric,
    strata: &[ComparedRuns<'_>],
    weights: &[f64],
) -> Option<Difference> {
    let of = |of: fn(f64, f64) -> f64| contrast(metric, strata, weights, of);
    let logs = of(log_ratio)?;
    let (log, plain) = (logs.spread()?, of(|a, b| b - a)?.spread()?);
    let levels = [of(|a, _| a)?.value(), of(|_, b| b)?.value()];
    // Fewer than the sum of weights would allow, so that the noise floor is not taken too low.
    let counts = [logs.repeats_least(), logs.strata_effective() as usize];
    Some(told(levels, &log, &plain, Basis::Repeats, counts, None))
}
