//! Steps of one factor that came to a verdict, where no comparison as a whole did: they are the study's answer.

use std::collections::BTreeSet;

use assay_judge::{Comparison, Judgement, Step, Word};
use assay_study::Study;

use super::format::plural;
use super::single::clause;

/// So many are told one by one.
const SINGLE: usize = 2;

/// Steps of the study's pairs with a verdict, each pair once; none that is judged as a whole too.
pub(super) fn known(judged: &Judgement) -> Vec<(&Step, &Comparison)> {
    let mut seen = BTreeSet::new();
    let steps = judged.chains.iter().flat_map(|chain| &chain.steps);
    let known = steps.filter_map(|step| Some((step, step.throughput.as_ref()?)));
    let is_known = |one: &Comparison| one.verdict.word != Word::Inconclusive;
    let is_whole = |one: &Comparison| judged.comparisons.iter().any(|whole| is_same(whole, one));
    known
        .filter(|(_, one)| is_known(one) && !is_whole(one))
        .filter(|(step, one)| {
            seen.insert((step.config.clone(), step.against.clone(), one.workload.clone()))
        })
        .collect()
}

fn is_same(whole: &Comparison, one: &Comparison) -> bool {
    whole.is_of_same_pair(one) && whole.metric == one.metric && whole.threads.is_none()
}

/// What they say, in a sentence or two; nothing where there are none.
pub(super) fn told(study: &Study, judged: &Judgement) -> Option<String> {
    let known = known(judged);
    let several = study.workloads.len() > 1;
    let one_by_one = |(step, one): &(&Step, &Comparison)| {
        let clause = clause(study, judged, one, several);
        format!("{clause}; they differ in {}.", step.factors.join(" and "))
    };
    match known.as_slice() {
        [] => None,
        few if few.len() <= SINGLE => {
            Some(few.iter().map(one_by_one).collect::<Vec<_>>().join(" "))
        }
        many => Some(format!(
            "{} between configurations that differ in less came to a verdict (“One factor at a time”, below).",
            plural(many.len(), "comparison")
        )),
    }
}
