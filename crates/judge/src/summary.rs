//! Runs of equal configuration, workload and threads taken together: mean, lowest and highest over
//! the repeats.
//!
//! No judgement here: intervals and verdicts are the statistics' business.

use std::collections::BTreeSet;

use assay_study::metrics::metric;
use assay_study::{RunState, Study, Trial};

use super::{Metric, is_comparable, is_of_too_few};
use crate::trial::measured::is_usable;

/// The repeats of one configuration × workload × threads.
#[derive(Debug)]
pub struct RepeatGroup<'a> {
    /// Place of the configuration in the study.
    pub config: usize,
    /// Place of the workload in the study.
    pub workload: usize,
    /// Connections.
    pub threads: u32,
    /// The repeats in order.
    pub trials: Vec<&'a Trial>,
}

/// A figure over the repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatStatistics {
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest.
    pub low: f64,
    /// Largest.
    pub high: f64,
    /// Each repeat's value.
    pub values: Vec<f64>,
}

impl RepeatGroup<'_> {
    /// The repeats that ended with results.
    pub fn done(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().copied().filter(|trial| trial.state == RunState::Done)
    }

    /// The same with those repeats alone that may be compared; nothing where all are doubtful.
    pub fn comparable(&self) -> Option<RepeatGroup<'_>> {
        let trials: Vec<&Trial> =
            self.trials.iter().copied().filter(|trial| is_comparable(trial)).collect();
        trials.iter().any(|trial| is_usable(trial)).then_some(RepeatGroup { trials, ..*self })
    }

    /// A value over the repeats that have it.
    pub fn figure(&self, value: impl Fn(&Trial) -> Option<f64>) -> Option<RepeatStatistics> {
        RepeatStatistics::of(self.done().filter_map(value).collect())
    }
}

impl RepeatStatistics {
    /// Nothing of nothing.
    pub fn of(values: Vec<f64>) -> Option<RepeatStatistics> {
        let first = *values.first()?;
        Some(RepeatStatistics {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: values.iter().copied().fold(first, f64::min),
            high: values.iter().copied().fold(first, f64::max),
            values,
        })
    }
}

/// A stored result of a run; nothing of a percentile that a handful of transactions made.
pub fn result(trial: &Trial, name: &str) -> Option<f64> {
    let part = |name: &str| trial.results.get(name).copied();
    let is_of_few = Metric::named(name)
        .zip(part(metric!("transactions").name))
        .is_some_and(|(metric, transactions)| is_of_too_few(metric, transactions));
    if is_of_few { None } else { part(name) }
}

/// All groups in the order of the plan's matrix: workload, threads, configuration.
pub fn groups(study: &Study) -> Vec<RepeatGroup<'_>> {
    let mut groups: Vec<RepeatGroup<'_>> = Vec::new();
    for trial in &study.trials {
        let config = study.configs.iter().position(|config| config.name == trial.key.config);
        let workload = study.workloads.iter().position(|one| one.name == trial.key.workload);
        let (Some(config), Some(workload)) = (config, workload) else { continue };
        let threads = trial.key.threads;
        let same = |group: &&mut RepeatGroup<'_>| {
            (group.config, group.workload, group.threads) == (config, workload, threads)
        };
        match groups.last_mut().filter(same) {
            Some(group) => group.trials.push(trial),
            None => groups.push(RepeatGroup { config, workload, threads, trials: vec![trial] }),
        }
    }
    groups
}

/// The thread counts of these groups, ascending.
pub fn threads_of<'a>(groups: impl Iterator<Item = &'a RepeatGroup<'a>>) -> Vec<u32> {
    groups.map(|group| group.threads).collect::<BTreeSet<u32>>().into_iter().collect()
}

/// The thread counts of the study, ascending.
pub fn threads(study: &Study) -> Vec<u32> {
    let mut threads: Vec<u32> = study.trials.iter().map(|trial| trial.key.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}
