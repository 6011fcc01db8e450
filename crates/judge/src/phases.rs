//! Phases of a study's runs, each judged by itself: figures of every run in it, and verdicts
//! between configurations.
//!
//! A phase is judged as if it were a whole run: the same pairs, the same statistics, the same noise
//! floor made of the same phase of the configuration that ran twice.

use anyhow::Result;
use assay_load::PhasePace;
use assay_study::{BUCKET_WIDTH, RunState, Store, Study, Trial, TrialKey};

use crate::difference::comparison::JudgedComparison;
use crate::difference::family::{Member, decided};
use crate::difference::looks::Look;
use crate::difference::noise::AaRuns;
use crate::difference::pairs::all;
use crate::difference::runs::of_pairs;
use crate::trial::figure::figures;
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;
use crate::trial::phase::{OfPhase, buckets, phases};
use crate::trial::sound::{is_sound, sound_series};

/// Judged metrics of a phase; its other figures are shown only.
const JUDGED: [Metric; 2] = [Metric::Throughput, Metric::P99];

/// The phases of a study.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phases {
    /// Every phase of every run that has any, run by run.
    pub of_trials: Vec<OfPhase>,
    /// Verdicts, phase by phase in the plan's order.
    pub verdicts: Vec<PhaseVerdicts>,
}

/// The verdicts on one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseVerdicts {
    /// The phase's name.
    pub phase: String,
    /// Throughput and p99 of every pair.
    pub comparisons: Vec<JudgedComparison>,
}

/// The phases of a study; nothing is read of one without.
pub(crate) fn judged(store: &Store, study: &Study) -> Result<Phases> {
    let names = names(study);
    if names.is_empty() {
        return Ok(Phases::default());
    }
    let mut found = Phases::default();
    let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); names.len()];
    for trial in &study.trials {
        let its = if trial.state == RunState::Done { of_trial(store, trial)? } else { Vec::new() };
        for (name, measured) in names.iter().zip(&mut measured) {
            let one = its.iter().find(|(one, _)| one.phase.name == *name);
            let one = one.map(|(_, measured)| measured.clone());
            measured.push(one.unwrap_or_else(|| Measured::nothing(trial)));
        }
        found.of_trials.extend(its.into_iter().map(|(one, _)| one));
    }
    let keys: Vec<&TrialKey> = study.trials.iter().map(|trial| &trial.key).collect();
    let pairs = all(study, &keys);
    let look = Look::of(study);
    let (mut undecided, mut of_phases) = (Vec::new(), Vec::new());
    for (name, measured) in names.into_iter().zip(&measured) {
        if is_paused(study, &name) {
            continue;
        }
        let aa_runs = AaRuns::of(measured, &study.judging.aa_runs);
        let margin = study.judging.margin();
        let its = of_pairs(&pairs, &JUDGED, measured, &aa_runs, margin);
        of_phases.push((name, its.len()));
        undecided.extend(its);
    }
    // All phases are one family: each is a look into the same runs.
    let members = vec![Member::Detail; undecided.len()];
    let mut judged = decided(undecided, &members, &look).into_iter();
    for (phase, count) in of_phases {
        let comparisons = judged.by_ref().take(count).collect();
        found.verdicts.push(PhaseVerdicts { phase, comparisons });
    }
    Ok(found)
}

/// Names of phases, in the order in which they are run.
fn names(study: &Study) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for phase in study.trials.iter().flat_map(|trial| &trial.phases) {
        if !names.contains(&phase.name) {
            names.push(phase.name.clone());
        }
    }
    names
}

/// In a pause there is nothing to judge.
fn is_paused(study: &Study, name: &str) -> bool {
    let mut its = study.trials.iter().flat_map(|trial| &trial.phases);
    its.any(|phase| phase.name == name && phase.pace == PhasePace::Paused)
}

/// Phases of one run, each also in the form that the statistics use.
fn of_trial(store: &Store, trial: &Trial) -> Result<Vec<(OfPhase, Measured)>> {
    let series = sound_series(store.series(trial.id)?);
    let latencies = store.second_latencies(trial.id)?.unwrap_or_default();
    let seconds = latencies.seconds();
    let of = |one: OfPhase| {
        let window = one.phase.window;
        let mut measured = Measured::nothing(trial);
        let tps = series.iter().filter(|one| one.name == Metric::Throughput.name());
        let inside = tps.flat_map(|one| &one.points).filter(|p| window.contains_second(p.0));
        measured.tps = inside.map(|point| point.1).filter(|value| is_sound(*value)).collect();
        let inside = seconds.iter().filter(|second| window.contains_second(second.second));
        inside.for_each(|second| measured.latencies.push(second));
        figures(&mut measured, &one.results, &buckets(&latencies, window), BUCKET_WIDTH);
        (one, measured)
    };
    Ok(phases(trial, &series, &latencies).into_iter().map(of).collect())
}
