//! One comparison in a sentence: how the judge's word on it, its size and its interval are said, or why there is none.

use crate::words::answer;
use crate::words::reason::{reason, reason_in_short};
use crate::words::size::Size;
use assay_judge::{Comparison, Judgement, Metric, Word};
use assay_study::Study;

use super::flagged;
use super::format::{list, threads};
use super::leading::{self, by_threads, capital, hangs_on_threads, has_parts, sides};

/// The sentence. It names the workload where the study has several.
pub(super) fn single(
    study: &Study,
    judged: &Judgement,
    one: &Comparison,
    names_workload: bool,
) -> String {
    clause(study, judged, one, names_workload) + "."
}

/// The same without its full stop, for more to follow.
pub(super) fn clause(
    study: &Study,
    judged: &Judgement,
    one: &Comparison,
    names_workload: bool,
) -> String {
    let [config, base] = sides(one);
    let under = under(study, one, names_workload);
    if hangs_on_threads(judged, one) || has_parts(judged, one) {
        let how = thread_by_thread(one.metric, &by_threads(judged, one));
        let against = if under.is_empty() { "Against" } else { "against" };
        let subject = answer::subject(one.metric, &config, false);
        return format!("{under}{against} {base}, {subject} is {how}");
    }
    let Some(found) = &one.difference else {
        let spoilt = flagged::of_comparison(study, one).map(|(cause, _)| cause);
        let why = spoilt.or_else(|| reason_in_short(one));
        let why = why.unwrap_or_else(|| "nothing was measured".into());
        let sentence = format!("{under}{config} and {base} cannot be compared: {why}");
        return capital(one.metric, sentence);
    };
    let (metric, begins) = (one.metric, under.is_empty());
    let size = Size::of(metric, found);
    let (claim, interval) = (size.claim(), &size.interval);
    let in_one_run = if one.verdict.is_of_one_run() { " in this one run" } else { "" };
    let sentence = match one.verdict.word {
        Word::Better | Word::Worse => {
            let differs = answer::differs(metric, &size, [&config, &base], begins);
            format!("{under}{differs}{in_one_run} ({interval})")
        }
        Word::Equivalent => {
            format!("{under}{} ({interval})", answer::equals(metric, [&config, &base]))
        }
        Word::Inconclusive => {
            let but = although(one).map_or(String::new(), |because| format!(", but {because}"));
            let subject = answer::subject(metric, &config, begins);
            let object = answer::object(metric, &base);
            format!("{under}{subject} against {object} is inconclusive: {claim} ({interval}){but}")
        }
    };
    capital(one.metric, sentence)
}

/// `Under read write at 250/s, `, as far as it must be said.
fn under(study: &Study, one: &Comparison, names_workload: bool) -> String {
    let is_one = one.against_workload.is_none();
    let is_of_time = is_one && one.metric != Metric::Throughput;
    let rate = leading::rate(study, &one.workload).filter(|_| is_of_time);
    match (names_workload && is_one, rate) {
        (true, Some(rate)) => format!("Under {} at {rate}/s, ", one.workload),
        (true, None) => format!("Under {}, ", one.workload),
        (false, Some(rate)) => format!("At {rate}/s, "),
        (false, None) => String::new(),
    }
}

/// Why nothing is told though the interval lies on one side.
fn although(one: &Comparison) -> Option<String> {
    let (low, high) = one.difference.as_ref()?.ratio_interval;
    reason(one).filter(|_| low > 1.0 || high < 1.0)
}

/// `faster at 1 and 4 threads, slower at 16 threads and inconclusive at 64 threads`: those that are neither stand last.
fn thread_by_thread(metric: Metric, parts: &[&Comparison]) -> String {
    let words = [Word::Better, Word::Worse, Word::Equivalent, Word::Inconclusive];
    let words = words.map(|word| (answer::outcome(metric, word), Some(word)));
    let words = words.into_iter().chain([("not compared", None)]);
    let of = |one: &Comparison| one.difference.as_ref().map(|_| one.verdict.word);
    let told = words.filter_map(|(text, word)| {
        let its: Vec<u32> =
            parts.iter().filter(|one| of(one) == word).filter_map(|one| one.threads).collect();
        (!its.is_empty()).then(|| format!("{text} at {}", threads(&its)))
    });
    list(&told.collect::<Vec<String>>())
}
