//! A study in one line, for a ticket or a chat: the headline, what limits it, and what the runs
//! came to.

use assay_study::{RunState, Study, Trial};

use crate::analysis::Analysis;
use crate::figures::format::plural;
use crate::first_screen::headline::headline;
use crate::words::disturbed::{Flagged, SLOWED};

/// The headline; which sides differ in crash safety and which drives are emulated; and in brackets,
/// how many runs it rests on and how many of them are not sound.
pub(crate) fn one_line(analysis: &Analysis) -> String {
    let Analysis { study, judgement, variables, .. } = analysis;
    let limits = super::limits(analysis);
    let sentences = [vec![headline(study, judgement, variables)], limits].concat();
    format!("{} ({})", sentences.join(" "), counts(study))
}

/// `20 runs, 2 of them not comparable, 1 failed; 3 repeated after the machine disturbed them`.
pub(crate) fn counts(study: &Study) -> String {
    let count = |is: &dyn Fn(&Trial) -> bool| study.trials.iter().filter(|trial| is(trial)).count();
    let flagged = Flagged::of(&study.trials);
    let done = count(&|trial| matches!(trial.state, RunState::Done | RunState::Failed));
    let parts = [
        (flagged.not_comparable, "not comparable"),
        (flagged.slowed, SLOWED),
        (flagged.comparable, "flagged"),
        (count(&|trial| trial.state == RunState::Failed), "failed"),
        (count(&|trial| matches!(trial.state, RunState::Pending | RunState::Running)), "missing"),
    ];
    let told: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .chain((!study.discarded.is_empty()).then(|| {
            format!("{} repeated after the machine disturbed them", study.discarded.len())
        }))
        .collect();
    let all = plural(done, "run");
    if told.is_empty() { all } else { format!("{all}: {}", told.join(", ")) }
}
