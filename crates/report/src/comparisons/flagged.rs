//! Runs that are drawn but may not be compared: hollow points and pale bars, with their reason.

use assay_judge::JudgedComparison;
use assay_study::{RunState, Study, Trial, TrialKey};

use crate::words::disturbed::{self, DisturbanceKind};

/// Disturbance of the runs of a comparison, both sides: the cause in words, and its kind.
pub(crate) fn of_comparison(
    study: &Study,
    one: &JudgedComparison,
) -> Option<(String, DisturbanceKind)> {
    let is_its = |trial: &&Trial| {
        let key = &trial.key;
        trial.state == RunState::Done
            && is_side(one, key)
            && one.threads.is_none_or(|threads| threads == key.threads)
    };
    let its = study.trials.iter().filter(is_its);
    let kind = disturbed::causes(its.clone()).first()?.kind;
    Some((reason(its)?, kind))
}

fn is_side(one: &JudgedComparison, key: &TrialKey) -> bool {
    let against = one.against_workload.as_ref().unwrap_or(&one.workload);
    let run = (&key.config, &key.workload);
    run == (&one.config, &one.workload) || run == (&one.baseline, against)
}

/// Why some of these runs may not be compared, e.g. `2 of 3 runs were …`; nothing where all may.
pub(crate) fn reason<'a>(trials: impl Iterator<Item = &'a Trial> + Clone) -> Option<String> {
    let causes = disturbed::causes(trials.clone());
    let first = causes.first()?;
    let disturbed_runs: usize = causes.iter().map(|one| one.runs).sum();
    let all = trials.count();
    let runs = match (disturbed_runs, all) {
        (1, 1) => "the run was".to_owned(),
        (runs, all) if runs == all => format!("all {all} runs were"),
        (1, all) => format!("1 of {all} runs was"),
        (runs, all) => format!("{runs} of {all} runs were"),
    };
    Some(format!("{runs} {}", disturbed::text(first)))
}
