//! Invented studies whose truth is known: how often intervals hold it, and what is said of it.

mod censoring;
mod days;
mod exclusions;
mod factorial;
mod families;
mod intervals;
mod limits;
mod looks;
mod lost_runs;
mod pairs;
mod phases;
mod searches;
mod sessions;
mod shared_variance;
mod switchback;
mod table;
mod table_of_several;
mod tails;
mod verdicts;
mod weather;

use super::JudgedComparison;
use assay_study::{RunState, Study, Trial};

use crate::difference::looks::Look;
use crate::difference::noise::AaRuns;
use crate::judgement::comparisons;
use crate::simulated::{Truth, key, study, throughput_alone};
use crate::statistics::simulated::Noise;
use crate::trial::measured::Measured;

/// Runs of two configurations, the other's level `ratio` times the baseline's.
pub(super) fn trials(
    noise: &mut Noise,
    truth: &Truth,
    threads: u32,
    repeats: u32,
    ratio: f64,
) -> Vec<Measured> {
    let mut trials = Vec::new();
    for repeat in 1..=repeats {
        trials.push(truth.trial(noise, key("base", threads, repeat), 1000.0));
        trials.push(truth.trial(noise, key("other", threads, repeat), 1000.0 * ratio));
    }
    trials
}

/// Runs of two configurations whose log ratio varies by `deviation` about `effect` from repeat to
/// repeat.
pub(super) fn pairs_of_runs(
    noise: &mut Noise,
    repeats: u32,
    effect: f64,
    deviation: f64,
) -> Vec<Measured> {
    let pair = |repeat| {
        let ratio = (effect + deviation * noise.normal()).exp();
        [("base", 1000.0), ("other", 1000.0 * ratio)]
            .map(|(config, tps)| throughput_alone(key(config, 8, repeat), tps))
    };
    (1..=repeats).flat_map(pair).collect()
}

/// A study of so many repeats that has these looks, or none, of which the first `done` repeats have
/// run.
pub(super) fn planned(looks: &[u32], repeats: u32, done: u32) -> Study {
    let trial = |config: &str, repeat: u32| {
        let state = if repeat <= done { RunState::Done } else { RunState::Pending };
        Trial { state, ..Trial::done(key(config, 8, repeat), &[]) }
    };
    let mut study = study(&["base", "other"], &[]);
    study.judging.looks = looks.to_vec();
    study.trials =
        (1..=repeats).flat_map(|one| [trial("base", one), trial("other", one)]).collect();
    study
}

/// The comparison of the two by throughput, at the look that the study's runs allow.
pub(super) fn at_look(study: &Study, all: &[Measured]) -> JudgedComparison {
    let look = Look::of(study);
    let seen: Vec<Measured> = all.iter().filter(|one| look.has(one.key.repeat)).cloned().collect();
    comparisons(study, &seen, &AaRuns::of(&seen, &[].into()), 0.03).remove(0)
}

pub(super) fn judged(trials: &[Measured], aa_runs: &[(&str, &str)]) -> Vec<JudgedComparison> {
    let study = study(&["base", "other"], aa_runs);
    comparisons(&study, trials, &AaRuns::of(trials, &study.judging.aa_runs), 0.03)
}

pub(super) fn throughput(trials: &[Measured]) -> JudgedComparison {
    judged(trials, &[]).remove(0)
}
