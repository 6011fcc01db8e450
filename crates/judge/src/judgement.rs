//! All that is judged of a study.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::difference::chain::{Chain, chains};
use crate::difference::comparison::{JudgedComparison, Undecided, baseline_of};
use crate::difference::detectable::detectable_percent;
use crate::difference::effects::{Effects, effects};
use crate::difference::family::{Member, decided};
use crate::difference::level::{ThroughputLevel, levels};
use crate::difference::looks::{Look, Rules};
use crate::difference::noise::{AaRuns, NoiseFloor};
use crate::difference::pairs::all;
use crate::difference::reason::Reason;
use crate::difference::runs::of_pairs;
use crate::difference::starts::{Starts, starts};
use crate::difference::verdict::Conclusion;
use crate::papers::{IntervalTable, interval_table};
use crate::phases::{Phases, judged};
use crate::power_cuts::recoveries;
use crate::trial::measured::{Measured, measured};
use crate::trial::metric::Metric;
use crate::trial::settling::{Settling, settling};
use crate::trial::sound::sound_series;
use crate::trial::stalls::{Stalls, stalls};
use crate::trial::statements::{Statements, statements};
use crate::trial::steady::{Steady, steady};
use assay_study::{RunState, Store, Study, Trial, TrialKey};

/// A study, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// How often an interval covers the truth.
    pub level: f64,
    /// The look at the results that the verdicts are of.
    pub look: Look,
    /// Differences of so many percent or less do not matter.
    pub margin_percent: f64,
    /// The configuration that others are measured by.
    pub baseline: Option<String>,
    /// Difference of one configuration from itself; `None` if none ran twice.
    pub noise_floor: Option<NoiseFloor>,
    /// Throughput of each configuration under each load by itself.
    pub levels: Vec<ThroughputLevel>,
    /// The pairs that the plan names in its order, then every configuration against the baseline by
    /// workload and configuration; of each pair by metric, then thread counts, at last over all of
    /// them.
    pub comparisons: Vec<JudgedComparison>,
    /// Shares of each factor for pairs that differ in several and have configurations between them,
    /// in the order of the comparisons.
    pub chains: Vec<Chain>,
    /// Effects of factors, where configurations are a full cross of several.
    pub effects: Vec<Effects>,
    /// How starts differ, of a study whose runs take turns.
    pub starts: Vec<Starts>,
    /// Each run by itself.
    pub trials: Vec<OfTrial>,
    /// Whether throughput had settled, by all runs of a configuration and workload together, where
    /// runs do not show it each by itself.
    pub settling: Vec<Settling>,
    /// Phases, each by itself.
    pub phases: Phases,
    /// Times to recover from power cuts: of each configuration with some against the baseline's.
    pub recoveries: Vec<JudgedComparison>,
}

impl Judgement {
    /// The smallest difference, in percent, that these comparisons of one metric find four times in
    /// five; `None` where only one repeat is known of each.
    pub fn detectable_percent(&self, all: &[&JudgedComparison]) -> Option<f64> {
        detectable_percent(self.noise_floor.as_ref(), all)
    }

    /// The comparisons that the plan asks for, in its order: of the pairs that it names, else all.
    pub fn of_interest(&self) -> impl Iterator<Item = &JudgedComparison> {
        let names_pairs = self.comparisons.iter().any(|one| one.question.is_some());
        self.comparisons.iter().filter(move |one| one.question.is_some() || !names_pairs)
    }
}

/// A run judged by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct OfTrial {
    /// Which.
    pub key: TrialKey,
    /// Whether throughput held still; not asked of a run with phases.
    pub steady: Option<Steady>,
    /// Where it broke down.
    pub stalls: Option<Stalls>,
    /// Its seconds as samples, as some papers print them.
    pub samples: IntervalTable,
    /// Response times by kind of statement.
    pub statements: Vec<Statements>,
}

/// Judges a study.
///
/// # Errors
/// A store that cannot be read.
pub fn judgement(store: &Store, study: &Study) -> Result<Judgement> {
    let trials = measured(store, &study.trials)?;
    let rules = Rules::of(study);
    let Rules { margin, look } = rules;
    let at_look = seen_at(&look, &trials);
    let aa_runs = AaRuns::of(&at_look, &study.judging.aa_runs);
    let by_itself =
        || study.trials.iter().zip(&trials).filter(|(one, _)| one.state == RunState::Done);
    let of_trials = of_trials(store, by_itself())?;
    let without_phases =
        by_itself().zip(&of_trials).filter(|((trial, _), _)| trial.phases.is_empty());
    Ok(Judgement {
        settling: settling(without_phases.map(|((_, run), one)| (run, one.steady.as_ref()))),
        level: look.told_level(),
        look,
        margin_percent: margin * 100.0,
        baseline: baseline_of(study),
        noise_floor: aa_runs.floor(),
        levels: levels(&comparable(&trials), &aa_runs),
        comparisons: comparisons(study, &at_look, &aa_runs, margin),
        chains: chains(study, &at_look, &aa_runs, rules),
        effects: effects(study, &at_look, &metrics(study), &aa_runs, rules),
        starts: starts(study, &at_look),
        trials: of_trials,
        phases: judged(store, study)?,
        recoveries: recoveries(study),
    })
}

/// The runs that a look is at.
fn seen_at(look: &Look, trials: &[Measured]) -> Vec<Measured> {
    trials.iter().filter(|trial| look.has(trial.key.repeat)).cloned().collect()
}

/// Each run by itself.
fn of_trials<'a>(
    store: &Store,
    runs: impl Iterator<Item = (&'a Trial, &'a Measured)>,
) -> Result<Vec<OfTrial>> {
    runs.map(|(trial, measured)| {
        let series = sound_series(store.series(trial.id)?);
        let has_phases = !trial.phases.is_empty();
        Ok(OfTrial {
            key: trial.key.clone(),
            // Where throughput is meant to change, that it does is no finding.
            steady: if has_phases { None } else { steady(&measured.tps) },
            stalls: if has_phases { None } else { stalls(trial, measured, &series) },
            samples: interval_table(trial, &series),
            statements: statements(&store.histograms(trial.id)?),
        })
    })
    .collect()
}

/// Returns true if the study may end at the look that its runs allow: a planned one, and each
/// comparison that it asks for is decided, or more repeats cannot decide it.
///
/// # Errors
/// A store that cannot be read.
pub fn may_end(store: &Store, study: &Study) -> Result<bool> {
    let look = Look::of(study);
    if study.judging.looks.is_empty() || !look.is_planned {
        return Ok(false);
    }
    let at_look = seen_at(&look, &measured(store, &study.trials)?);
    let aa_runs = AaRuns::of(&at_look, &study.judging.aa_runs);
    let all = comparisons(study, &at_look, &aa_runs, study.judging.margin());
    let is_closed = |one: &JudgedComparison| {
        one.verdict.conclusion != Conclusion::Inconclusive
            || matches!(one.verdict.reason, Some(Reason::TrialFailed(_)))
    };
    let told: Vec<&JudgedComparison> = all.iter().collect();
    // Not by its correction: a comparison without a p has none, and is open all the same.
    let mut asked = told.iter().filter(|one| member(study, &told, one) != Member::Detail);
    Ok(asked.all(|one| is_closed(one)))
}

/// Returns true if the comparison is the one that answers of its pair: over all thread counts, or
/// of the only one.
fn stands_for_pair(study: &Study, all: &[&JudgedComparison], one: &JudgedComparison) -> bool {
    let is_whole = |it: &&JudgedComparison| it.threads.is_none() && it.is_of_same_pair(one);
    let has_whole = || all.iter().any(is_whole);
    answers(study, one) && (one.threads.is_none() || !has_whole())
}

/// Runs that may be compared, and of a configuration × workload × threads without any, those that
/// there are: its figures carry their marks.
fn comparable(trials: &[Measured]) -> Vec<Measured> {
    let is_usable = |trial: &Measured| trial.eligibility.counts();
    let load = |trial: &Measured| {
        (trial.key.config.clone(), trial.key.workload.clone(), trial.key.threads)
    };
    let usable: BTreeSet<_> = trials.iter().filter(|trial| is_usable(trial)).map(load).collect();
    trials
        .iter()
        .filter(|trial| is_usable(trial) || !usable.contains(&load(trial)))
        .cloned()
        .collect()
}

/// Every pair that is judged, from runs already read.
pub(crate) fn comparisons(
    study: &Study,
    trials: &[Measured],
    aa_runs: &AaRuns<'_>,
    margin: f64,
) -> Vec<JudgedComparison> {
    let keys: Vec<&TrialKey> = trials.iter().map(|trial| &trial.key).collect();
    let look = Look::of(study);
    let undecided = of_pairs(&all(study, &keys), &metrics(study), trials, aa_runs, margin);
    let told: Vec<&JudgedComparison> = undecided.iter().map(Undecided::told).collect();
    let members: Vec<Member> = told.iter().map(|one| member(study, &told, one)).collect();
    decided(undecided, &members, &look)
}

/// The family of one of these comparisons.
fn member(study: &Study, all: &[&JudgedComparison], one: &JudgedComparison) -> Member {
    let asks = all.iter().any(|one| one.question.is_some());
    match (stands_for_pair(study, all, one), asks, one.question) {
        (true, true, Some(_)) => Member::Asked,
        (true, false, _) => Member::Unasked,
        _ => Member::Detail,
    }
}

/// Whether the comparison is of a metric that answers a plan's question: throughput, and where the
/// load comes at a fixed rate, the time that one waits.
fn answers(study: &Study, one: &JudgedComparison) -> bool {
    let is_paced = |workload: &str| study.rate(workload).is_some();
    let against = one.against_workload.as_deref().unwrap_or(&one.workload);
    match one.metric {
        Metric::Throughput => true,
        Metric::P99 => is_paced(&one.workload) && is_paced(against),
        _ => false,
    }
}

/// Metrics that are judged in every study, and those that this plan asks for.
fn metrics(study: &Study) -> Vec<Metric> {
    let kinds = study.judging.percentiles_by_statement.iter();
    let asked = kinds.filter_map(|kind| Metric::of_statement(kind)).flatten();
    // Percentiles of runs at the highest rate that keeps one of them are what was asked for.
    let is_searched = study.trials.iter().any(|trial| trial.capacity.is_some());
    let of_all = Metric::ALL.into_iter().take(if is_searched { 1 } else { Metric::ALL.len() });
    of_all.chain(asked).collect()
}
