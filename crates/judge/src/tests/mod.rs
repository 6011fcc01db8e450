//! Invented studies whose truth is known: how often intervals hold it, and what is said of it.

mod censoring;
mod factorial;
mod families;
mod intervals;
mod looks;
mod lost_runs;
mod pairs;
mod phases;
mod searches;
mod table;
mod tails;
mod verdicts;

use super::JudgedComparison;
use crate::difference::noise::AaRuns;
use crate::judgement::comparisons;
use crate::simulated::{Truth, key, study};
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

pub(super) fn judged(trials: &[Measured], aa_runs: &[(&str, &str)]) -> Vec<JudgedComparison> {
    let study = study(&["base", "other"], aa_runs);
    comparisons(&study, trials, &AaRuns::of(trials, &study.judging.aa_runs), 0.03)
}

pub(super) fn throughput(trials: &[Measured]) -> JudgedComparison {
    judged(trials, &[]).remove(0)
}
