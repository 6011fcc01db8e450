//! Whether the machine disturbed one side of a comparison more than the other. Adjacent runs make
//! that rare; where it happens all the same, part of the difference may be the machine's, or one
//! configuration makes the machine lose more.

use assay_judge::{Exclusions, JudgedComparison, Judgement, Metric};
use assay_study::Study;

use crate::comparisons::questions;
use crate::words::size::in_words;

/// Mean losses so far apart are told, in percent of all CPUs, whatever their spread.
const APART_PERCENT: f64 = 5.0;

/// Smaller ones are not, however sure.
const NEAR_PERCENT: f64 = 1.0;

/// A test that is surprised this far is told.
const P_MOST: f64 = 0.05;

/// Sentences for the comparisons of throughput that stand for a workload.
pub(crate) fn sentences(study: &Study, judgement: &Judgement) -> Vec<String> {
    let all = questions::whole(judgement, Metric::Throughput);
    all.into_iter().flat_map(|one| of_comparison(study, one)).collect()
}

/// The first sentence about one comparison; `None` if both sides were disturbed alike.
pub(crate) fn sentence(study: &Study, one: &JudgedComparison) -> Option<String> {
    one.difference.as_ref()?;
    let found = Exclusions::of(study, one);
    uneven_loss(one, &found).or_else(|| uneven_discards(one, &found))
}

fn of_comparison(study: &Study, one: &JudgedComparison) -> Vec<String> {
    if one.difference.is_none() {
        return Vec::new();
    }
    let found = Exclusions::of(study, one);
    let all = [uneven_loss(one, &found), uneven_discards(one, &found), with_discarded(one, &found)];
    all.into_iter().flatten().collect()
}

fn uneven_loss(one: &JudgedComparison, found: &Exclusions) -> Option<String> {
    let (judged, base) = (found.judged.lost_percent?, found.against.lost_percent?);
    let apart = (judged - base).abs();
    let is_sure = found.loss.is_some_and(|loss| loss.p <= P_MOST);
    let [name, base_name] = questions::sides(one);
    (apart >= APART_PERCENT || (is_sure && apart >= NEAR_PERCENT)).then(|| {
        format!(
            "Other programs and the host took {judged:.0} % of the CPUs during the runs of \
            {name} and {base:.0} % during those of {base_name} ({}), which may explain part of \
            the difference.",
            one.workload
        )
    })
}

fn uneven_discards(one: &JudgedComparison, found: &Exclusions) -> Option<String> {
    let [name, base_name] = questions::sides(one);
    let (judged, base) = (found.judged, found.against);
    (found.fisher_p <= P_MOST).then(|| {
        format!(
            "The machine disturbed {} of {} attempts at runs of {name} and {} of {} at those of \
             {base_name} ({}; Fisher's exact test: p = {:.3}), so the configuration may cause it \
             itself.",
            judged.disturbed,
            judged.attempts,
            base.disturbed,
            base.attempts,
            one.workload,
            found.fisher_p
        )
    })
}

/// The ratio with the discarded attempts beside that without.
fn with_discarded(one: &JudgedComparison, found: &Exclusions) -> Option<String> {
    let with = found.ratio_with_discarded?;
    let without = one.difference.as_ref()?.ratio;
    let [name, base_name] = questions::sides(one);
    Some(format!(
        "{name} against {base_name} ({}): {} with the attempts that were discarded, {} without.",
        one.workload,
        in_words(one.metric, with),
        in_words(one.metric, without)
    ))
}
