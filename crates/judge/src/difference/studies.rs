//! Two sides of a comparison that a person asks for: two studies, or two configurations.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use crate::difference::between::between_studies;
use crate::difference::compare::{ComparedRuns, within_study};
use crate::difference::comparison::{JudgedComparison, SEED, Teller, Undecided};
use crate::difference::family::all_asked;
use crate::difference::looks::Look;
use crate::difference::noise::{AaRuns, NoiseSpread};
use crate::difference::reason::Reason;
use crate::trial::measured::{Measured, measured};
use crate::trial::metric::Metric;
use assay_study::{Config, Day, Store, Study, WorkloadRecord};

/// One side.
#[derive(Debug)]
pub struct Chosen<'a> {
    /// Where it is stored.
    pub store: &'a Store,
    /// All of it.
    pub study: &'a Study,
    /// The configuration.
    pub config: &'a Config,
}

/// A question about two studies.
#[derive(Debug)]
pub struct Between<'a> {
    /// The baseline.
    pub a: Chosen<'a>,
    pub b: Chosen<'a>,
    /// Whether both are of one study, so that repeats are pairs.
    pub is_one_study: bool,
    /// The share that does not matter; the study's unless given.
    pub margin: Option<f64>,
    pub metrics: &'a [Metric],
}

/// Something that one side was planned for and the other was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lone {
    /// Whether it is the judged side that has it.
    pub is_of_b: bool,
    /// The workload.
    pub workload: String,
    /// The thread counts of it that the other lacks; nothing where it lacks the workload.
    pub threads: Option<Vec<u32>>,
}

/// Workloads and thread counts that only one side has, which are not compared.
pub fn lone(a: (&Study, &Config), b: (&Study, &Config)) -> Vec<Lone> {
    let (ours, theirs) = (planned(a), planned(b));
    only_in(&ours, &theirs, false).chain(only_in(&theirs, &ours, true)).collect()
}

/// Thread counts by workload that a configuration was planned for.
fn planned((study, config): (&Study, &Config)) -> BTreeMap<String, BTreeSet<u32>> {
    let mut all: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for trial in study.trials.iter().filter(|trial| trial.key.config == config.name) {
        all.entry(trial.key.workload.clone()).or_default().insert(trial.key.threads);
    }
    all
}

fn only_in(
    one: &BTreeMap<String, BTreeSet<u32>>,
    other: &BTreeMap<String, BTreeSet<u32>>,
    is_of_b: bool,
) -> impl Iterator<Item = Lone> {
    one.iter().filter_map(move |(workload, counts)| {
        let threads = match other.get(workload) {
            None => None,
            Some(theirs) if counts.is_subset(theirs) => return None,
            Some(theirs) => Some(counts.difference(theirs).copied().collect()),
        };
        Some(Lone { is_of_b, workload: workload.clone(), threads })
    })
}

/// Compares two configurations workload by workload; what one side lacks is left out, and told by
/// [`lone`].
///
/// # Errors
/// A store that cannot be read.
pub fn between(asked: &Between<'_>) -> Result<Vec<JudgedComparison>> {
    let (a, b) = (&asked.a, &asked.b);
    let trials = [measured(a.store, &a.study.trials)?, measured(b.store, &b.study.trials)?];
    let margin = asked.margin.unwrap_or_else(|| a.study.judging.margin());
    let mut found: Vec<Undecided> = Vec::new();
    for workload in shared_workloads(a.study, b.study) {
        for metric in asked.metrics {
            found.extend(of_workload(asked, &trials, &workload.name, *metric, margin));
        }
    }
    let nothing = Study::default();
    let look = Look::of(if asked.is_one_study { a.study } else { &nothing });
    Ok(all_asked(found, &look))
}

/// Workloads of one name.
pub fn shared_workloads<'a>(
    a: &'a Study,
    b: &'a Study,
) -> impl Iterator<Item = &'a WorkloadRecord> {
    a.workloads.iter().filter(|one| b.workloads.iter().any(|other| other.name == one.name))
}

/// The configurations of a study that are no A/A runs; `named` alone if it is given.
///
/// # Errors
/// There is no such configuration.
pub fn configs<'a>(study: &'a Study, named: Option<&str>) -> Result<Vec<&'a Config>> {
    let its =
        || study.configs.iter().filter(|config| !study.judging.aa_runs.contains_key(&config.name));
    let Some(named) = named else { return Ok(its().collect()) };
    match study.configs.iter().find(|config| config.name == named) {
        Some(config) => Ok(vec![config]),
        None => {
            let names: Vec<&str> = its().map(|config| config.name.as_str()).collect();
            bail!(
                "there is no configuration `{named}` in the study; it has `{}`",
                names.join("`, `")
            )
        }
    }
}

fn of_workload(
    asked: &Between<'_>,
    trials: &[Vec<Measured>; 2],
    workload: &str,
    metric: Metric,
    margin: f64,
) -> Vec<Undecided> {
    let sides = [(&trials[0], &asked.a), (&trials[1], &asked.b)];
    let its = |side: usize| {
        let (trials, chosen) = sides[side];
        trials.iter().filter(move |trial| {
            trial.key.workload == workload && trial.key.config == chosen.config.name
        })
    };
    let counts = |side: usize| its(side).map(|trial| trial.key.threads).collect::<BTreeSet<u32>>();
    let both: Vec<u32> = counts(0).intersection(&counts(1)).copied().collect();
    let noise = spread(&sides, metric, workload);
    let stratum = |threads: &u32| -> Result<ComparedRuns<'_>, Reason> {
        let of = |side: usize| its(side).filter(|trial| trial.key.threads == *threads);
        ComparedRuns::of(of(0), of(1), asked.is_one_study)
    };
    let strata: Vec<Result<ComparedRuns<'_>, Reason>> = both.iter().map(stratum).collect();
    let days = sides.map(|(_, chosen)| Day::all(&chosen.study.sessions, &chosen.study.trials));
    let [a, b] = &days;
    let teller = Teller {
        workload,
        baseline: &asked.a.config.name,
        config: &asked.b.config.name,
        against_workload: None,
        question: None,
        metric,
        margin,
        noise: noise.as_ref(),
        is_one_study: asked.is_one_study,
    };
    teller.of_thread_counts(&both, &strata, &|strata| match asked.is_one_study {
        true => within_study(metric, strata, noise.as_ref(), SEED),
        false => between_studies(metric, strata, [a, b], noise.as_ref(), SEED),
    })
}

/// The noise floor that serves both: the wider of theirs.
fn spread(
    sides: &[(&Vec<Measured>, &Chosen<'_>); 2],
    metric: Metric,
    workload: &str,
) -> Option<NoiseSpread> {
    let of = |(trials, chosen): &(&Vec<Measured>, &Chosen<'_>)| {
        AaRuns::of(trials, &chosen.study.judging.aa_runs).spread(metric, workload)
    };
    sides.iter().filter_map(of).max_by(|a, b| a.reach(1).total_cmp(&b.reach(1)))
}
