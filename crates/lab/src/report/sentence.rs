//! The answer in a sentence: what the judge says of throughput, the arm that the question is about first, and what stands in the
//! way of comparing. Where nothing can be told apart, one sentence says so, and what would have been too small to see.
//!
//! Nothing here judges; the smallest difference that could have been seen is the least over the comparisons of the larger of half the
//! interval's width (on logarithms) and the noise floor of as many repeats.

use crate::judge::{Comparison, Judgement, Metric, Word, size};
use crate::store::Study;

use super::format::{figure, list, plural};
use super::headline::{asked, named, short_reason, whole};

/// So many comparisons of one kind are told one by one.
const SINGLE: usize = 2;

/// The verdict in a sentence or two.
pub(super) fn sentence(study: &Study, judged: &Judgement) -> String {
    let all = whole(judged, Metric::Throughput);
    match all.as_slice() {
        [] if judged.cells.is_empty() => "Nothing has been measured yet.".into(),
        [] => "One arm was measured, so there is nothing to judge it by.".into(),
        [only] => single(only, study.workloads.len() > 1),
        all if all.iter().all(|one| one.verdict.verdict == Word::CannotTell) => {
            nothing_told(judged, all)
        }
        all => told(study, all),
    }
}

/// The arm that the question is about, then the others.
fn told(study: &Study, all: &[&Comparison]) -> String {
    let arm = asked(study, all).unwrap_or_default();
    let (its, others): (Vec<&Comparison>, Vec<&Comparison>) =
        all.iter().copied().partition(|one| one.arm == arm);
    let several = study.workloads.len() > 1;
    let one_by_one = |few: &[&Comparison]| -> Vec<String> {
        few.iter().map(|one| single(one, several)).collect()
    };
    let mut told = match its.as_slice() {
        few if few.len() <= SINGLE => one_by_one(few),
        many => vec![counted(many)],
    };
    match others.as_slice() {
        few if few.len() + its.len() <= SINGLE => told.extend(one_by_one(few)),
        many => told.push(others_told(many)),
    }
    told.join(" ")
}

fn single(one: &Comparison, names_workload: bool) -> String {
    let (arm, base) = (named(&one.arm), named(&one.baseline));
    let under = if names_workload { format!("Under {}, ", one.workload) } else { String::new() };
    let Some(found) = &one.difference else {
        let why = one.verdict.because.as_deref().map_or("nothing was measured", short_reason);
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

/// How many came out how, of one arm under many workloads.
fn counted(all: &[&Comparison]) -> String {
    let Some(first) = all.first() else { return String::new() };
    let of_one_run = all.iter().filter(|one| one.verdict.is_of_one_run()).count();
    let remark = match of_one_run {
        0 => String::new(),
        count => format!(" ({count} by one run only)"),
    };
    let in_each: Vec<String> =
        outcomes(all).iter().map(|(text, count)| format!("{text} in {count}")).collect();
    format!(
        "Against {}, {} is {} of {}{remark}.",
        named(&first.baseline),
        named(&first.arm),
        list(&in_each),
        plural(all.len(), "workload")
    )
}

/// `The other 4 comparisons came out 1 faster and 3 undecided.`
fn others_told(others: &[&Comparison]) -> String {
    let outcomes = outcomes(others);
    match (outcomes.as_slice(), others.len()) {
        ([(text, _)], 1) => format!("The other comparison came out {text}."),
        ([(text, _)], count) => format!("The other {count} comparisons came out {text}."),
        (several, count) => {
            let told: Vec<String> =
                several.iter().map(|(text, count)| format!("{count} {text}")).collect();
            format!("The other {count} comparisons came out {}.", list(&told))
        }
    }
}

/// How many came out how, those alone that there are.
fn outcomes(all: &[&Comparison]) -> Vec<(&'static str, usize)> {
    let words = [
        (Word::Better, "faster"),
        (Word::Worse, "slower"),
        (Word::Equivalent, "equally fast"),
        (Word::CannotTell, "undecided"),
    ];
    let count = |word: Word| all.iter().filter(|one| one.verdict.verdict == word).count();
    let counted = words.into_iter().map(|(word, text)| (text, count(word)));
    counted.filter(|(_, count)| *count > 0).collect()
}

/// One sentence where no comparison came to a verdict.
fn nothing_told(judged: &Judgement, all: &[&Comparison]) -> String {
    let bases: Vec<&str> = all.iter().map(|one| one.baseline.as_str()).collect();
    let base = match bases.as_slice() {
        [first, rest @ ..] if rest.iter().all(|one| one == first) => named(first),
        _ => "its baseline".to_owned(),
    };
    let unmade: Vec<&&Comparison> = all.iter().filter(|one| one.difference.is_none()).collect();
    let head = format!("Nothing can be told apart from {base} by throughput");
    if unmade.len() == all.len() {
        let because = unmade.first().and_then(|one| reason(one));
        let same = unmade.iter().all(|one| reason(one) == because);
        let why =
            because.filter(|_| same).unwrap_or("cells failed or are marked as not comparable");
        return format!("{head}: no comparison could be made, as {why}.");
    }
    let mut parts = Vec::new();
    if let Some(percent) = smallest_seen(judged, all) {
        parts.push(format!("a difference below {} % would not have been seen", figure(percent)));
    }
    if !unmade.is_empty() {
        parts.push(format!(
            "{} of {} could not be made",
            unmade.len(),
            plural(all.len(), "comparison")
        ));
    }
    match parts.is_empty() {
        true => format!("{head}."),
        false => format!("{head}: {}.", parts.join(", and ")),
    }
}

fn reason(one: &Comparison) -> Option<&str> {
    one.verdict.because.as_deref().map(short_reason)
}

/// The smallest difference that any of the comparisons could have shown, in percent; nothing where only one run is known of each.
fn smallest_seen(judged: &Judgement, all: &[&Comparison]) -> Option<f64> {
    let of = |one: &&Comparison| {
        let found = one.difference.as_ref().filter(|found| !found.rests_on_seconds_alone())?;
        let (low, high) = found.ratio_interval;
        let half = (high / low).ln() / 2.0;
        Some(half.max(floor(judged, one, found.repeats)))
    };
    let least = all.iter().filter_map(of).filter(|log| log.is_finite()).reduce(f64::min)?;
    Some((least.exp() - 1.0) * 100.0)
}

/// The logarithm of the ratio that is noise, of a mean over so many repeats; 0 where no arm ran twice.
fn floor(judged: &Judgement, one: &Comparison, repeats: usize) -> f64 {
    let seen = judged.noise_floor.iter().flat_map(|floor| &floor.seen);
    let of_study = || seen.clone().filter(|seen| seen.metric == one.metric);
    let its = of_study().find(|seen| seen.workload == one.workload);
    its.or_else(|| of_study().find(|seen| seen.is_of_study))
        .map_or(0.0, |seen| seen.spread.reach(repeats))
}
