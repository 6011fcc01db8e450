//! Tails of runs in closed loop, which hold back the transactions that a stall would have met.

use assay_judge::{Conclusion, JudgedComparison, Judgement};

use assay_study::{Events, PhasePace, RunState, Study, Trial};

use crate::figures::format::list;

/// For a line next to a verdict on a tail: its percentile hardly shows stalls. Nothing for other
/// metrics, or for runs at a rate.
pub fn beside(study: &Study, one: &JudgedComparison) -> Option<String> {
    let is_its = |trial: &&Trial| {
        trial.key.workload == one.workload
            && (trial.key.config == one.config || trial.key.config == one.baseline)
    };
    let mut its = study.trials.iter().filter(is_its);
    let has_rate = study.rate(&one.workload).is_some();
    let is_in_it =
        one.difference.is_some() && one.metric.is_tail() && !has_rate && its.any(is_closed);
    is_in_it.then(|| {
        let many = study.events().many();
        format!("closed loop: no {many} are sent during a stall, so it hardly shows")
    })
}

/// A sentence that names the tails with a verdict.
pub(crate) fn sentence(study: &Study, judgement: &Judgement) -> Option<String> {
    let has_verdict = |one: &&JudgedComparison| {
        one.verdict.conclusion != Conclusion::Inconclusive && beside(study, one).is_some()
    };
    let mut labels: Vec<String> = Vec::new();
    for one in judgement.comparisons.iter().filter(has_verdict) {
        let label = one.metric.label().to_owned();
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    (!labels.is_empty()).then(|| told(study.events(), &labels))
}

fn told(events: Events, labels: &[String]) -> String {
    format!(
        "verdicts on {} are of a closed loop: while a server stalls, no {} are sent, so those that \
        users would have sent meanwhile are missing from the percentiles (coordinated omission). \
        `rate` in the plan measures from when each is due",
        list(labels),
        events.many()
    )
}

/// Whether it sent the next transaction only when the last had ended, in a phase at least.
fn is_closed(trial: &Trial) -> bool {
    let closed_phase = || trial.phases.iter().any(|phase| phase.pace == PhasePace::Closed);
    trial.state == RunState::Done && (trial.phases.is_empty() || closed_phase())
}
