//! Steps of one factor that came to a verdict, where no comparison as a whole did: they are the
//! study's answer.

use std::collections::BTreeSet;

use assay_judge::{Conclusion, JudgedComparison, Judgement, Step};
use assay_study::Study;

use crate::comparisons::sentence::{Begin, clause};
use crate::figures::format::plural;

/// So many are told one by one.
const SINGLE: usize = 2;

/// Steps of the study's pairs with a verdict, each pair once; none that is judged as a whole too.
pub(crate) fn known(judgement: &Judgement) -> Vec<(&Step, &JudgedComparison)> {
    let mut seen = BTreeSet::new();
    let steps = judgement.chains.iter().flat_map(|chain| &chain.steps);
    let known = steps.filter_map(|step| Some((step, step.throughput.as_ref()?)));
    let is_known = |one: &JudgedComparison| one.verdict.conclusion != Conclusion::Inconclusive;
    let is_whole =
        |one: &JudgedComparison| judgement.comparisons.iter().any(|whole| is_same(whole, one));
    known
        .filter(|(_, one)| is_known(one) && !is_whole(one))
        .filter(|(step, one)| {
            seen.insert((step.config.clone(), step.against.clone(), one.workload.clone()))
        })
        .collect()
}

fn is_same(whole: &JudgedComparison, one: &JudgedComparison) -> bool {
    whole.is_of_same_pair(one) && whole.metric == one.metric && whole.threads.is_none()
}

/// The steps in a sentence or two; `None` if there are none.
pub(crate) fn told(study: &Study, judgement: &Judgement, begin: Begin) -> Option<String> {
    let known = known(judgement);
    let several = study.workloads.len() > 1;
    let one_by_one = |(place, (step, one)): (usize, &(&Step, &JudgedComparison))| {
        let begin = if place == 0 { begin } else { Begin::Sentence };
        let clause = clause(study, judgement, one, (several, begin));
        format!("{clause}; they differ in {}.", step.factors.join(" and "))
    };
    match known.as_slice() {
        [] => None,
        few if few.len() <= SINGLE => {
            Some(few.iter().enumerate().map(one_by_one).collect::<Vec<_>>().join(" "))
        }
        many => Some(format!(
            "{} between configurations that differ in less came to a verdict (“One factor at a \
            time”, below).",
            plural(many.len(), "comparison")
        )),
    }
}
