//! Which comparisons lead: those of throughput that stand for a workload each, the arm that the question is about, and how arms are
//! called in sentences.
//!
//! Nothing here judges.

use crate::judge::{Comparison, Judgement, Metric};
use crate::store::{Arm, Study};

/// The comparisons of `metric` that stand for a workload each: over all thread counts, or of the only one.
pub(super) fn whole(judged: &Judgement, metric: Metric) -> Vec<&Comparison> {
    let of_metric = || judged.comparisons.iter().filter(move |one| one.metric == metric);
    let has_whole = |one: &Comparison| {
        of_metric().any(|other| {
            other.threads.is_none() && (&other.workload, &other.arm) == (&one.workload, &one.arm)
        })
    };
    of_metric().filter(|one| one.threads.is_none() || !has_whole(one)).collect()
}

/// The comparison that the first screen's numbers are of: of the arm that the question is about, under the first workload where
/// anything can be said of it, else under the first.
pub(super) fn leading<'a>(study: &Study, all: &[&'a Comparison]) -> Option<&'a Comparison> {
    let arm = asked(study, all)?;
    let its = || all.iter().copied().filter(|one| one.arm == arm);
    its().find(|one| one.difference.is_some()).or_else(|| its().next())
}

/// The arm that the question is about: the first of the plan that is compared with the baseline, for a plan names first what it
/// asks about.
pub(super) fn asked<'a>(study: &'a Study, all: &[&Comparison]) -> Option<&'a str> {
    let names = study.arms.iter().map(|arm| arm.name.as_str());
    names.into_iter().find(|name| all.iter().any(|one| one.arm == *name))
}

/// A name as it stands in a sentence: one with a comma in it would fall apart.
pub(super) fn named(name: &str) -> String {
    if name.contains(',') { format!("“{name}”") } else { name.to_owned() }
}

/// Why there is no comparison, without the cell's coordinates, which stand under Verdicts.
pub(super) fn short_reason(because: &str) -> &str {
    match because {
        one if one.ends_with("is marked as not comparable") => "a cell is marked as not comparable",
        one if one.ends_with(" failed") => "a cell failed",
        other => other,
    }
}

/// Whether the arm is another one run again, which shows the noise and is no arm of its own.
pub(super) fn is_twin(study: &Study, arm: &Arm) -> bool {
    study.judging.twins.contains_key(&arm.name)
}

/// Arms that stand on a model and on no device: they are called so wherever their figures lead. A twin is its arm's model once more.
pub(super) fn models(study: &Study) -> Vec<&str> {
    let is_model = |arm: &&Arm| {
        arm.rig.iter().any(|(layer, what)| layer == "disk" && what.starts_with("model"))
    };
    let arms = study.arms.iter().filter(|arm| !is_twin(study, arm));
    arms.filter(is_model).map(|arm| arm.name.as_str()).collect()
}
