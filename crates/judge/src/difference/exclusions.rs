//! Runs of a comparison that the machine disturbed, and CPU time that it lost, side by side.
//!
//! Guarantees: both sides are counted by the same rule, over all attempts. A configuration that
//! makes the machine lose more shows as uneven: then what was taken away may have been its own
//! doing, and the ratio with the discarded attempts says how much hangs on it.

use std::collections::{BTreeMap, BTreeSet};

use assay_study::{CpuUse, RunState, Study, TrialKey, Warning};
use serde::Serialize;

use crate::difference::comparison::JudgedComparison;
use crate::interval::LEVEL;
use crate::statistics::{fisher, mean, paired};

/// Attempts of one side that the machine disturbed, and CPU time that they lost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SideExclusions {
    /// Runs that ended, and attempts at them that were discarded.
    pub attempts: u64,
    /// Those among them that the machine disturbed.
    pub disturbed: u64,
    /// CPU time that the attempts lost to others on average, in percent of all CPUs.
    pub lost_percent: Option<f64>,
}

/// A difference between the sides in lost CPU time, by repeat.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UnevenLoss {
    /// The judged side less the other, in percent of all CPUs.
    pub percent: f64,
    pub interval: (f64, f64),
    /// p of the paired t test.
    pub p: f64,
}

/// The same of both sides of a comparison, and how uneven they are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exclusions {
    pub judged: SideExclusions,
    pub against: SideExclusions,
    /// How probable shares of disturbed attempts so far apart would be if the machine disturbed
    /// both alike: Fisher's exact test.
    pub fisher_p: f64,
    /// `None` without two repeats of both sides.
    pub loss: Option<UnevenLoss>,
    /// The ratio of the metric over all attempts, the discarded ones included; `None` if none was
    /// discarded, or the study did not keep their figures.
    pub ratio_with_discarded: Option<f64>,
}

/// An attempt at a run of a side.
struct Attempt<'a> {
    key: &'a TrialKey,
    is_discarded: bool,
    is_disturbed: bool,
    results: &'a BTreeMap<String, f64>,
}

impl Exclusions {
    pub fn of(study: &Study, one: &JudgedComparison) -> Exclusions {
        let against_workload = one.against_workload.as_deref().unwrap_or(&one.workload);
        let [judged, against] =
            [(&one.config, one.workload.as_str()), (&one.baseline, against_workload)]
                .map(|(config, workload)| attempts(study, config, workload, one.threads));
        let cpus = study.calibration.as_ref().map_or(1.0, |found| f64::from(found.cpus.max(1)));
        let lost = |one: &Attempt<'_>| {
            let use_of_cpus = CpuUse::of_results(one.results, cpus);
            (!one.results.is_empty()).then(|| use_of_cpus.lost_percent())
        };
        let sides = [&judged, &against].map(|attempts| side(attempts, lost));
        let log = |attempt: &Attempt<'_>| attempt.results.get(one.metric.name()).map(|x| x.ln());
        let is_discarded = judged.iter().chain(&against).any(|one| one.is_discarded);
        let of_all = by_repeat(&judged, &against, log);
        let shares = sides.map(|side| [side.disturbed, side.attempts]);
        Exclusions {
            judged: sides[0],
            against: sides[1],
            fisher_p: fisher(shares[0], shares[1]),
            loss: uneven_loss(&by_repeat(&judged, &against, lost)),
            ratio_with_discarded: (is_discarded && !of_all.is_empty())
                .then(|| mean(&of_all).exp())
                .filter(|ratio| ratio.is_finite()),
        }
    }
}

fn attempts<'a>(
    study: &'a Study,
    config: &str,
    workload: &str,
    threads: Option<u32>,
) -> Vec<Attempt<'a>> {
    let is_its = |key: &TrialKey| {
        (key.config.as_str(), key.workload.as_str()) == (config, workload)
            && threads.is_none_or(|threads| key.threads == threads)
    };
    let ended = study.trials.iter().filter(|trial| trial.state == RunState::Done);
    let ended = ended.map(|trial| Attempt {
        key: &trial.key,
        is_discarded: false,
        is_disturbed: is_disturbed(&trial.warnings),
        results: &trial.results,
    });
    let discarded = study.discarded.iter().map(|one| Attempt {
        key: &one.key,
        is_discarded: true,
        is_disturbed: one.because_of.is_none(),
        results: &one.results,
    });
    ended.chain(discarded).filter(|one| is_its(one.key)).collect()
}

fn is_disturbed(warnings: &[Warning]) -> bool {
    warnings.iter().any(|one| one.forbids_comparing() && one.is_of_machine())
}

fn side(attempts: &[Attempt<'_>], lost: impl Fn(&Attempt<'_>) -> Option<f64>) -> SideExclusions {
    let all: Vec<f64> = attempts.iter().filter_map(lost).collect();
    SideExclusions {
        attempts: attempts.len() as u64,
        disturbed: attempts.iter().filter(|one| one.is_disturbed).count() as u64,
        lost_percent: (!all.is_empty()).then(|| mean(&all)),
    }
}

/// Differences of the judged side from the other by repeat: means over the thread counts that both
/// have in it, of the means over attempts.
fn by_repeat(
    judged: &[Attempt<'_>],
    against: &[Attempt<'_>],
    of: impl Fn(&Attempt<'_>) -> Option<f64>,
) -> Vec<f64> {
    let by_run = |attempts: &[Attempt<'_>]| {
        let mut runs: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
        for one in attempts {
            runs.entry((one.key.repeat, one.key.threads)).or_default().extend(of(one));
        }
        runs.retain(|_, values| !values.is_empty());
        runs
    };
    let (judged, against) = (by_run(judged), by_run(against));
    let both = judged
        .iter()
        .filter_map(|(run, values)| Some((run.0, mean(values) - mean(against.get(run)?))));
    let differences: Vec<(u32, f64)> = both.collect();
    let repeats: BTreeSet<u32> = differences.iter().map(|one| one.0).collect();
    let of_repeat = |repeat: &u32| {
        let its = differences.iter().filter(|one| one.0 == *repeat);
        mean(&its.map(|one| one.1).collect::<Vec<f64>>())
    };
    repeats.iter().map(of_repeat).collect()
}

fn uneven_loss(differences: &[f64]) -> Option<UnevenLoss> {
    let found = paired(differences)?;
    Some(UnevenLoss { percent: found.mean, interval: found.interval(LEVEL), p: found.p() })
}
