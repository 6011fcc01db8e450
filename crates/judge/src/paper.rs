//! Measured gains beside printed ones: by how much one configuration is above another, with the
//! counters that explain it.
//!
//! The figure is that of Percona's white paper of 2020 (caption of Table 1): `(config − against) /
//! against × 100` of each thread count, and the plain mean of those. The mean over repeats is taken
//! first. A thread count that one side lacks is left out, with a remark.

use serde::Serialize;

use super::papers::{self, RelativeDifferences, relative_differences};
use assay_study::{Comparison, Printed, RunState, Store, Study, WorkloadRecord};

use super::summary::{self, RepeatGroup};
use crate::trial::figure::statement_percentiles;
use crate::trial::metric as judged;
use assay_study::metrics::{self, MetricEntry, metric};

/// One comparison of the paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Where it is printed, and what it is called there.
    pub table: String,
    /// The result compared.
    pub metric: String,
    /// The configuration whose gain it is.
    pub config: String,
    /// The configuration that it is measured by.
    pub against: String,
    /// A row for each workload on tables, on each data profile, that both configurations were
    /// planned for, and for each of which something is printed.
    pub rows: Vec<ComparedRow>,
}

/// One workload on one data profile.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRow {
    /// The data profile, if there are any.
    pub data_profile: Option<String>,
    /// The workload.
    pub workload: String,
    /// Measured gains; `None` if no thread count has both configurations.
    pub measured: Option<RelativeDifferences>,
    /// Printed gain, in percent.
    pub printed_percent: Option<f64>,
    /// The printed words, or how the figure follows from them.
    pub printed_says: Option<String>,
    /// Whether the difference has the sign that is printed; nothing where either says neither more
    /// nor less.
    pub direction: Option<Direction>,
    /// Counters of the configuration, and of what it is measured by.
    pub counters: Option<[Counters; 2]>,
    pub remarks: Vec<ComparisonRemark>,
}

/// Which way a measured difference goes, beside the printed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// As the printed one.
    AsPrinted,
    /// The other way.
    Opposite,
}

/// Reasons to distrust a figure beside a paper's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComparisonRemark {
    /// Neither configuration is run on it.
    RunOnNeither,
    /// This configuration alone is run on it.
    RunOnlyOn(String),
    /// A thread count has no part in the mean.
    LeftOut {
        /// Which.
        threads: u32,
        /// The configuration for whose sake.
        config: String,
        /// Why.
        why: Missing,
    },
    /// Runs in the mean carry marks.
    Flagged {
        /// So many
        flagged: usize,
        /// of so many.
        trials: usize,
    },
}

/// Why a configuration has no figure at a thread count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The plan has no such run.
    NotPlanned,
    /// Its runs ended without this result.
    NoResult(String),
    /// Its runs failed.
    Failed,
    /// It was not run yet.
    NotRun,
}

/// Counters that explain a difference: means over the thread counts compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counters {
    /// Bytes to media for each transaction: of a model to its flash, else to the device.
    pub media_write_bytes_per_transaction: Option<f64>,
    /// Bytes to media for each byte from the host, compression included.
    pub drive_write_amplification: Option<f64>,
    /// Page requests that the buffer pool answered.
    pub innodb_hit_ratio: Option<f64>,
    /// Emulated I/Os that missed their deadline because the host's CPUs were busy.
    pub model_missed_deadlines_percent: Option<f64>,
    /// User and system time of all CPUs.
    pub cpu_percent: Option<f64>,
}

/// Every comparison that the study's plan asks for, over all of its runs.
pub fn compared_with_paper(study: &Study) -> Vec<Compared> {
    compared(study, &summary::groups(study))
}

/// Every comparison that the study's plan asks for.
pub fn compared(study: &Study, groups: &[RepeatGroup<'_>]) -> Vec<Compared> {
    let comparisons = study.paper.iter().flat_map(|paper| &paper.comparisons);
    comparisons.map(|comparison| of_comparison(study, groups, comparison)).collect()
}

fn of_comparison(study: &Study, groups: &[RepeatGroup<'_>], comparison: &Comparison) -> Compared {
    let workloads = study.workloads.iter().enumerate();
    let rows = workloads.filter_map(|(place, workload)| {
        let of_config = |config: &str| -> Vec<&RepeatGroup<'_>> {
            let its = |group: &&RepeatGroup<'_>| {
                group.workload == place
                    && study.configs.get(group.config).is_some_and(|a| a.name == config)
            };
            groups.iter().filter(its).collect()
        };
        let sides = [of_config(&comparison.config), of_config(&comparison.against)];
        // With one side alone there is nothing to compare, but of what is printed it is said.
        // Operations on files are no transactions: they stand under what is printed of them alone.
        let is_printed = printed(comparison, workload).is_some();
        let is_run = !sides.iter().any(Vec::is_empty) && !workload.is_of_files();
        let is_told = is_printed || is_run;
        is_told.then(|| row(comparison, workload, &sides, study.judging.margin()))
    });
    Compared {
        table: comparison.table.clone(),
        metric: comparison.metric.clone(),
        config: comparison.config.clone(),
        against: comparison.against.clone(),
        rows: rows.collect(),
    }
}

fn row(
    comparison: &Comparison,
    workload: &WorkloadRecord,
    sides: &[Vec<&RepeatGroup<'_>>; 2],
    margin: f64,
) -> ComparedRow {
    let value = |group: &RepeatGroup<'_>| mean_of(group, &comparison.metric);
    let at = |side: &[&RepeatGroup<'_>], threads: u32| {
        side.iter().find(|group| group.threads == threads).and_then(|group| value(group))
    };
    let counts = summary::threads_of(sides.iter().flatten().copied());
    let both = counts
        .iter()
        .filter_map(|&threads| Some((threads, at(&sides[0], threads)?, at(&sides[1], threads)?)));
    let measured = relative_differences(&both.collect::<Vec<_>>());
    let by_threads = measured.as_ref().map_or(&[][..], |one| &one.by_threads);
    let compared: Vec<u32> = by_threads.iter().map(|(threads, _)| *threads).collect();
    let printed = printed(comparison, workload);
    ComparedRow {
        data_profile: workload.data_profile.clone(),
        workload: workload.workload.clone(),
        counters: measured.is_some().then(|| sides.each_ref().map(|one| counters(one, &compared))),
        direction: printed
            .zip(measured.as_ref().filter(|one| one.mean_percent.abs() > margin * 100.0))
            .and_then(|(printed, _)| direction(printed, &comparison.metric, sides, &compared)),
        printed_percent: printed.and_then(|one| one.percent),
        printed_says: printed.and_then(|one| one.says.clone()),
        remarks: remarks(comparison, sides, &counts, &compared),
        measured,
    }
}

/// A difference goes one way if at each thread count every comparable repeat of one side, of two or
/// more, lies above every one of the other's. What repeats tell either way goes nowhere.
fn direction(
    printed: &Printed,
    metric: &str,
    sides: &[Vec<&RepeatGroup<'_>>; 2],
    compared: &[u32],
) -> Option<Direction> {
    let of_words = || Some(printed.is_better? == is_better_higher(metric)?);
    let percent = printed.percent.filter(|percent| *percent != 0.0);
    let printed = percent.map(|percent| percent > 0.0).or_else(of_words)?;
    let mut ways = compared.iter().map(|threads| is_more(metric, sides, *threads));
    let first = ways.next()??;
    let is_one_way = ways.all(|way| way == Some(first));
    let is_as_printed = first == printed;
    is_one_way.then_some(if is_as_printed { Direction::AsPrinted } else { Direction::Opposite })
}

/// Whether all repeats of the first side are above all of the second's, or below; nothing where
/// they are mixed or too few.
fn is_more(metric: &str, sides: &[Vec<&RepeatGroup<'_>>; 2], threads: u32) -> Option<bool> {
    let range = |side: &[&RepeatGroup<'_>]| {
        let group = side.iter().find(|group| group.threads == threads)?.comparable()?;
        let figure = group.figure(|trial| summary::result(trial, metric))?;
        (figure.values.len() > 1).then_some((figure.low, figure.high))
    };
    let (ours, theirs) = (range(&sides[0])?, range(&sides[1])?);
    let (is_above, is_below) = (ours.0 > theirs.1, ours.1 < theirs.0);
    (is_above || is_below).then_some(is_above)
}

fn is_better_higher(metric: &str) -> Option<bool> {
    let judged = || judged::Metric::named(metric).map(judged::Metric::is_better_higher);
    let known = metrics::find(metric).filter(|one| one.better.is_some());
    known.map(|one| one.is_better_higher()).or_else(judged)
}

/// The study, its runs' results with those of `metrics` that are not stored as results: the
/// percentiles of each kind of statement from when it was sent, which are kept as distributions,
/// and statistics over a run's seconds, such as `sd(tps)`, which are kept as series.
///
/// # Errors
/// The store cannot be read.
pub fn with_derived<'a>(
    store: &Store,
    mut study: Study,
    metrics: impl IntoIterator<Item = &'a str>,
) -> anyhow::Result<Study> {
    let metrics: Vec<&str> = metrics.into_iter().collect();
    let is_of_statement =
        |name: &&str| matches!(judged::Metric::named(name), Some(judged::Metric::Statement(_)));
    let wants_statements = metrics.iter().any(is_of_statement);
    let wants_seconds = metrics.iter().any(|name| papers::metric_of_seconds(name).is_some());
    for trial in &mut study.trials {
        if wants_statements {
            let histograms = store.histograms(trial.id)?;
            trial.results.extend(statement_percentiles(&histograms));
        }
        if wants_seconds {
            let table = papers::interval_table(trial, &store.series(trial.id)?);
            trial.results.extend(papers::over_seconds(&table));
        }
    }
    Ok(study)
}

fn printed<'a>(comparison: &'a Comparison, workload: &WorkloadRecord) -> Option<&'a Printed> {
    comparison
        .printed
        .iter()
        .find(|one| one.data_profile == workload.data_profile && one.workload == workload.workload)
}

/// A stored result over the repeats.
fn mean_of(group: &RepeatGroup<'_>, name: &str) -> Option<f64> {
    group.figure(|trial| summary::result(trial, name)).map(|figure| figure.mean)
}

/// Fewer bytes a transaction than a block are no writing.
const WRITTEN_LEAST_BYTES: f64 = assay_drive::BLOCK_BYTES as f64;

fn counters(side: &[&RepeatGroup<'_>], threads: &[u32]) -> Counters {
    let over = |value: &dyn Fn(&RepeatGroup<'_>) -> Option<f64>| {
        let its = side.iter().filter(|group| threads.contains(&group.threads));
        let values: Vec<f64> = its.filter_map(|group| value(group)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let mean = |metric: &MetricEntry| over(&|group| mean_of(group, metric.name));
    let media = mean(metric!("media_write_bytes_per_transaction"));
    Counters {
        media_write_bytes_per_transaction: media
            .or_else(|| mean(metric!("write_bytes_per_transaction"))),
        // What was hardly written has no amplification to speak of: a few kilobytes of tables make
        // any figure of it.
        drive_write_amplification: mean(metric!("drive_write_amplification"))
            .filter(|one| *one > 0.0 && media.is_none_or(|bytes| bytes >= WRITTEN_LEAST_BYTES)),
        innodb_hit_ratio: mean(metric!("innodb_hit_ratio")),
        model_missed_deadlines_percent: mean(metric!("model_missed_deadlines_percent")),
        cpu_percent: over(&|group| {
            let of = |metric: &MetricEntry| mean_of(group, metric.name);
            Some(of(metric!("cpu_user_percent"))? + of(metric!("cpu_system_percent"))?)
        }),
    }
}

/// Parts that were left out of the mean and why, and the number of flagged runs in it.
fn remarks(
    comparison: &Comparison,
    sides: &[Vec<&RepeatGroup<'_>>; 2],
    counts: &[u32],
    compared: &[u32],
) -> Vec<ComparisonRemark> {
    let names = [&comparison.config, &comparison.against];
    match sides.each_ref().map(Vec::is_empty) {
        [true, true] => return vec![ComparisonRemark::RunOnNeither],
        [true, false] => return vec![ComparisonRemark::RunOnlyOn(names[1].clone())],
        [false, true] => return vec![ComparisonRemark::RunOnlyOn(names[0].clone())],
        [false, false] => {}
    }
    let mut remarks = Vec::new();
    for &threads in counts.iter().filter(|threads| !compared.contains(threads)) {
        for (side, name) in sides.iter().zip(names) {
            let group = side.iter().find(|group| group.threads == threads);
            if let Some(why) = why_missing(group.copied(), &comparison.metric) {
                remarks.push(ComparisonRemark::LeftOut { threads, config: name.clone(), why });
            }
        }
    }
    let trials = || {
        let groups = sides.iter().flatten().filter(|group| compared.contains(&group.threads));
        groups.flat_map(|group| group.done())
    };
    let flagged = trials().filter(|trial| !trial.warnings.is_empty()).count();
    if flagged > 0 {
        remarks.push(ComparisonRemark::Flagged { flagged, trials: trials().count() });
    }
    remarks
}

fn why_missing(group: Option<&RepeatGroup<'_>>, metric: &str) -> Option<Missing> {
    let Some(group) = group else { return Some(Missing::NotPlanned) };
    if mean_of(group, metric).is_some() {
        return None;
    }
    let states = || group.trials.iter().map(|trial| trial.state);
    Some(match () {
        () if states().any(|state| state == RunState::Done) => Missing::NoResult(metric.to_owned()),
        () if states().any(|state| state == RunState::Failed) => Missing::Failed,
        () => Missing::NotRun,
    })
}
