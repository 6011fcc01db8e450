//! The answer in a sentence: what the judge says of throughput, arm against baseline, and what stands in the way of comparing.
//!
//! Nothing here judges. Of up to [`SINGLE`] comparisons each is told, of more how many came out how.

use crate::judge::{Comparison, Judgement, Metric, Word, size};
use crate::store::Study;

use super::format::{list, plural};

/// So many comparisons are told one by one.
const SINGLE: usize = 3;

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

/// The comparison that the first screen's numbers are of: under the first workload that has any, the arm that differs most.
pub(super) fn leading<'a>(all: &[&'a Comparison]) -> Option<&'a Comparison> {
    let told = || all.iter().copied().filter(|one| one.difference.is_some());
    let workload = &told().next()?.workload;
    let far = |one: &Comparison| one.difference.as_ref().map_or(0.0, |found| found.log.mean.abs());
    told().filter(|one| one.workload == *workload).max_by(|a, b| far(a).total_cmp(&far(b)))
}

/// The verdict in a sentence or two.
pub(super) fn sentence(study: &Study, judged: &Judgement) -> String {
    let all = whole(judged, Metric::Throughput);
    let several = study.workloads.len() > 1;
    match all.as_slice() {
        [] if judged.cells.is_empty() => "Nothing has been measured yet.".into(),
        [] => "One arm was measured, so there is nothing to judge it by.".into(),
        few if few.len() <= SINGLE => {
            let told: Vec<String> = few.iter().map(|one| single(one, several)).collect();
            told.join(" ")
        }
        many => counted(many),
    }
}

fn single(one: &Comparison, names_workload: bool) -> String {
    let (arm, base) = (&one.arm, &one.baseline);
    let under = if names_workload { format!("Under {}, ", one.workload) } else { String::new() };
    let Some(found) = &one.difference else {
        let why = one.verdict.because.as_deref().unwrap_or("nothing was measured");
        return format!("{under}{arm} and {base} cannot be compared: {why}.");
    };
    let size = size(Metric::Throughput, found);
    let (claim, interval) = size.split_once(" (").unwrap_or((&size, ""));
    let interval = interval.trim_end_matches(')');
    let in_one_run = if one.verdict.is_of_one_run() { " in this one run" } else { "" };
    let is_factor = claim.ends_with("the throughput");
    match one.verdict.verdict {
        Word::Better | Word::Worse if is_factor => {
            format!("{under}{arm} gives {claim} of {base}{in_one_run} ({interval}).")
        }
        Word::Better | Word::Worse => {
            format!("{under}{arm} is {claim} than {base}{in_one_run} ({interval}).")
        }
        Word::Equivalent => format!("{under}{arm} and {base} are equally fast ({interval})."),
        Word::CannotTell => format!(
            "{under}it cannot be told which of {arm} and {base} is faster: {claim} was seen ({interval})."
        ),
    }
}

/// How many came out how, arm by arm.
fn counted(all: &[&Comparison]) -> String {
    let mut arms: Vec<(&str, &str)> = Vec::new();
    for one in all {
        let pair = (one.arm.as_str(), one.baseline.as_str());
        if !arms.contains(&pair) {
            arms.push(pair);
        }
    }
    let of_arm = |(arm, base): &(&str, &str)| {
        let its =
            || all.iter().filter(|one| (one.arm.as_str(), one.baseline.as_str()) == (*arm, *base));
        let count = |word: Word| its().filter(|one| one.verdict.verdict == word).count();
        let words = [
            (Word::Better, "faster"),
            (Word::Worse, "slower"),
            (Word::Equivalent, "equally fast"),
            (Word::CannotTell, "not to be told apart"),
        ];
        let told = words.into_iter().filter(|(word, _)| count(*word) > 0);
        let told: Vec<String> =
            told.map(|(word, text)| format!("{text} in {}", count(word))).collect();
        let loads = plural(its().count(), "workload");
        let of_one_run = its().filter(|one| one.verdict.is_of_one_run()).count();
        let remark = match of_one_run {
            0 => String::new(),
            count => format!(" ({count} by one run only)"),
        };
        format!("Against {base}, {arm} is {} of {loads}{remark}.", list(&told))
    };
    arms.iter().map(of_arm).collect::<Vec<_>>().join(" ")
}

/// Arms that stand on a model and on no device: they are called so wherever their figures lead.
pub(super) fn models(study: &Study) -> Vec<&str> {
    let is_model = |arm: &&crate::store::Arm| {
        arm.rig.iter().any(|(layer, what)| layer == "disk" && what.starts_with("model"))
    };
    study.arms.iter().filter(is_model).map(|arm| arm.name.as_str()).collect()
}
