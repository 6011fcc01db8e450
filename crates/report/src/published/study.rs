//! Measured beside printed figures, with the ratio of both and the reasons why they may not be
//! compared.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::Serialize;

use super::crossover::{Crossed, crossed};
use super::{names, scale};
use crate::words;
use assay_claims::paper::ParsedPaper;
use assay_claims::repeated::{self, Level, Which};
use assay_judge::paper::{Compared, ComparedRow, compared_with_paper};
use assay_judge::papers::metric_of_seconds;
use assay_study::{RunState, Study, Trial};

/// A paper beside a study.
#[derive(Debug, Clone)]
pub struct Beside {
    /// Name of the claims.
    pub claims: String,
    /// Title of the paper.
    pub paper: String,
    /// Title of the study.
    pub study: String,
    /// One configuration against another.
    pub gains: Vec<Compared>,
    /// Single configurations.
    pub levels: Vec<Leveled>,
    /// From how many threads on one configuration is above another.
    pub crossovers: Vec<Crossed>,
    /// Why they may not be compared.
    pub differs: Vec<String>,
}

/// A printed figure and the measured one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Leveled {
    /// Name of the printed figure.
    pub figure: String,
    /// It.
    pub printed: f64,
    /// Its unit.
    pub unit: String,
    /// With how many connections it was printed.
    pub printed_threads: Option<u32>,
    /// The study's result, or the expression over several.
    pub metric: String,
    /// The study's configuration.
    pub config: String,
    /// The study's workload.
    pub workload: String,
    /// The study's data profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_profile: Option<String>,
    /// The study's thread counts that stand for the printed.
    pub threads: Vec<u32>,
    /// Mean over the runs, of the disk as it was run; nothing where there is none.
    pub measured: Option<f64>,
    /// Divisor of a model's parallelism, 1 for a device; `None` for a model of which it is unknown.
    pub parallel_scale: Option<f64>,
    /// The measured value in terms of the whole device; `None` if that is unknown.
    pub whole_device: Option<f64>,
    /// That over printed.
    pub ratio: Option<f64>,
    /// Shares of the mean of a standard deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares_of_mean: Option<SharesOfMean>,
    /// Runs in the mean, and how many of them are flagged.
    #[serde(rename = "runs")]
    pub trials: (usize, usize),
}

/// A standard deviation as a share of the mean, in percent: comparable whatever the scale of a
/// model, if what varies does so everywhere at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SharesOfMean {
    /// The printed deviation by the printed mean.
    pub printed_percent: f64,
    /// The measured deviation by the mean of the same seconds; nothing where there is none.
    pub measured_percent: Option<f64>,
}

/// Sets them side by side.
///
/// # Errors
/// One line: no plan repeats this paper, a name of it is nearly one of the study, or the study has
/// none of its configurations.
pub fn beside(paper: &ParsedPaper, study: &Study) -> Result<Beside> {
    let own = own_gains(paper, study);
    let mut study = study.clone();
    study.paper = Some(repeated::printed(paper)?);
    let repeated = paper.document.repeated.as_ref().context("checked just now")?;
    if own.is_empty() {
        names::check(paper, repeated, &study)?;
    }
    let scale = |config: &str| study.parallel_scale(config);
    let levels =
        repeated.levels.iter().map(|level| leveled(paper, level, &study, scale(&level.config)));
    let levels = levels.collect::<Result<Vec<_>>>()?;
    let crossovers = repeated
        .crossovers
        .iter()
        .map(|one| crossed(paper, one, &study, [scale(&one.config), scale(&one.against)]));
    let crossovers = crossovers.collect::<Result<Vec<_>>>()?;
    let mut gains = compared_with_paper(&study);
    let known = |name: &String| study.configs.iter().any(|config| config.name == *name);
    let named = || {
        let gains = gains.iter().flat_map(|gain| [&gain.config, &gain.against]);
        gains.chain(levels.iter().map(|level| &level.config))
    };
    named().find(|name| known(name)).with_context(|| {
        format!(
            "the study has none of the configurations that {} names; it is not of the plan {}, \
            and has {}",
            paper.name,
            repeated.plan,
            study.configs.iter().map(|config| config.name.as_str()).collect::<Vec<_>>().join("; ")
        )
    })?;
    let configs: BTreeSet<&String> = named().collect();
    let scales = of_scales(&scale, &gains, &levels);
    let mut differs = [differences(&study, &configs), scales, repeated.differs.clone()].concat();
    if !gains.iter().any(is_both) && own.iter().any(is_both) {
        let configs: BTreeSet<&String> =
            own.iter().flat_map(|one| [&one.config, &one.against]).collect();
        differs = differences(&study, &configs);
        differs.push(format!(
            "The plan is not {}, which repeats the paper: data, configurations and workloads are \
            its own.",
            repeated.plan
        ));
        gains = own;
    }
    Ok(Beside {
        claims: paper.name.clone(),
        paper: paper.document.title.clone(),
        study: study.title.clone(),
        gains,
        levels,
        crossovers,
        differs,
    })
}

/// Gains of a plan that repeats the paper in its own way, without naming the claims.
fn own_gains(paper: &ParsedPaper, study: &Study) -> Vec<Compared> {
    let is_own = study
        .paper
        .as_ref()
        .is_some_and(|own| own.claims.is_none() && own.title == paper.document.title);
    if is_own { compared_with_paper(study) } else { Vec::new() }
}

/// Whether anything was measured of which a gain is printed.
fn is_both(gain: &Compared) -> bool {
    let is_both = |row: &ComparedRow| {
        row.measured.is_some() && (row.printed_percent.is_some() || row.printed_says.is_some())
    };
    gain.rows.iter().any(is_both)
}

/// Whether anything was measured of which a figure is printed.
pub fn meets(beside: &Beside) -> bool {
    beside.levels.iter().any(|one| one.measured.is_some())
        || beside.gains.iter().any(is_both)
        || beside.crossovers.iter().any(|one| !one.percent_by_threads.is_empty())
}

fn leveled(
    paper: &ParsedPaper,
    level: &Level,
    study: &Study,
    scale: Option<f64>,
) -> Result<Leveled> {
    let figure = paper.figure(&level.figure)?;
    let printed = figure.values().first().context("checked when it was read")?.value;
    let of_config: Vec<&Trial> =
        study.trials.iter().filter(|trial| is_of(trial, level, study)).collect();
    let counts: BTreeSet<u32> = of_config.iter().map(|trial| trial.key.threads).collect();
    let threads: Vec<u32> = match level.threads {
        Which::All => counts.into_iter().collect(),
        Which::Lowest => counts.first().copied().into_iter().collect(),
        Which::Highest => counts.last().copied().into_iter().collect(),
    };
    let value = |trial: &Trial| value(paper, level, trial, 1.0);
    let is_in = |trial: &&&Trial| {
        trial.state == RunState::Done
            && threads.contains(&trial.key.threads)
            && value(trial).is_some()
    };
    let trials: Vec<&Trial> = of_config.iter().filter(is_in).copied().collect();
    let measured = mean(trials.iter().filter_map(|trial| value(trial)));
    let flagged = trials.iter().filter(|trial| !trial.warnings.is_empty()).count();
    let printed_threads = figure.on.threads;
    let whole_device = match &level.metric {
        Some(metric) => measured
            .and_then(|measured| scale::whole(measured, metric, scale, &threads, printed_threads)),
        None => scale.and_then(|scale| {
            mean(trials.iter().filter_map(|trial| self::value(paper, level, trial, scale)))
        }),
    };
    Ok(Leveled {
        figure: level.figure.get_ref().clone(),
        printed,
        unit: figure.unit.clone(),
        printed_threads,
        metric: metric_of(level),
        config: level.config.clone(),
        workload: level.workload.clone(),
        data_profile: level.data_profile.clone(),
        threads,
        measured,
        parallel_scale: scale,
        whole_device,
        ratio: whole_device.filter(|_| printed != 0.0).map(|whole| whole / printed),
        shares_of_mean: shares_of_mean(paper, level, printed, &trials)?,
        trials: (trials.len(), flagged),
    })
}

fn shares_of_mean(
    paper: &ParsedPaper,
    level: &Level,
    printed: f64,
    trials: &[&Trial],
) -> Result<Option<SharesOfMean>> {
    let Some(source) = &level.mean else { return Ok(None) };
    let figure = paper.figure(source)?;
    let printed_mean = figure.values().first().context("checked when it was read")?.value;
    let sampled = level.metric.as_deref().and_then(metric_of_seconds);
    let share = |trial: &&Trial| {
        let result = |name: String| trial.results.get(&name).copied();
        let mean = result(format!("mean({})", sampled?)).filter(|mean| *mean > 0.0)?;
        Some(result(format!("sd({})", sampled?))? / mean * 100.0)
    };
    Ok(Some(SharesOfMean {
        printed_percent: printed / printed_mean * 100.0,
        measured_percent: mean(trials.iter().filter_map(share)),
    }))
}

/// A run's result, or what an expression makes of several, in which rates are of `scale` times the
/// device.
fn value(paper: &ParsedPaper, level: &Level, trial: &Trial, scale: f64) -> Option<f64> {
    let result = |name: &str| trial.results.get(name).copied();
    let whole = |name: &str| {
        let times = if scale::is_rate(name) { scale } else { 1.0 };
        Some(result(name)? * times)
    };
    match (&level.metric, &level.measured) {
        (Some(metric), _) => result(metric),
        (None, Some(measured)) => paper.over_results(measured, &whole).ok().flatten(),
        (None, None) => None,
    }
}

fn metric_of(level: &Level) -> String {
    let measured = || level.measured.as_ref().map(|one| one.get_ref().replace('*', "×"));
    level.metric.clone().or_else(measured).unwrap_or_default()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = values.collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

fn is_of(trial: &Trial, level: &Level, study: &Study) -> bool {
    let workload = study.workloads.iter().find(|one| one.name == trial.key.workload);
    trial.key.config == level.config
        && workload.is_some_and(|one| {
            one.workload == level.workload && one.data_profile == level.data_profile
        })
}

/// Effects of scale on levels, and on gains between two scales.
fn of_scales(
    scale: &dyn Fn(&str) -> Option<f64>,
    gains: &[Compared],
    levels: &[Leveled],
) -> Vec<String> {
    let mut told = Vec::new();
    let is_scaled = |one: &Leveled| one.parallel_scale.is_none_or(|one| !scale::is_alike(one, 1.0));
    if levels.iter().any(|one| one.measured.is_some() && is_scaled(one)) {
        told.push(SCALED_LEVELS.to_owned());
    }
    for gain in gains.iter().filter(|gain| is_both(gain)) {
        let Some((config, against)) = scale(&gain.config).zip(scale(&gain.against)) else {
            continue;
        };
        let says = format!(
            "{} has {} of its device's parallelism and {} {}: their gain is not that of the full \
            devices.",
            gain.config,
            share(config),
            gain.against,
            share(against)
        );
        if !scale::is_alike(config, against) && !told.contains(&says) {
            told.push(says);
        }
    }
    told
}

fn share(scale: f64) -> String {
    if scale::is_alike(scale, 1.0) { "all".into() } else { format!("1/{scale}") }
}

const SCALED_LEVELS: &str = "Absolute figures of scaled models: rates are multiplied by the \
    parallel scale, at that many times the threads; response times are compared only where the \
    threads are divided by the same number. Ratios of two configurations of the same scale need \
    no correction.";

/// Facts about the study itself: its scale models, the form that was run, and how well models kept
/// time.
fn differences(study: &Study, configs: &BTreeSet<&String>) -> Vec<String> {
    let mut differences = Vec::new();
    for config in study.configs.iter().filter(|config| configs.contains(&config.name)) {
        if let Some(model) = config.rig.model() {
            differences.push(format!(
                "{} is not a device but a {}",
                config.name,
                words::rig::model(model)
            ));
        }
    }
    differences.extend(study.form.clone());
    differences.extend(words::overlay::told(study));
    let done = || study.trials.iter().filter(|trial| trial.state == RunState::Done);
    let flagged = done().filter(|trial| !trial.warnings.is_empty()).count();
    if flagged > 0 {
        differences.push(format!("{flagged} of {} runs are flagged", done().count()));
    }
    differences
}
