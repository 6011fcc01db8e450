//! One comparison in a sentence: how the judge's word on it, its size and its interval are said, or
//! why there is none.

use crate::words::answer;
use crate::words::reason::{reason, reason_in_short};
use crate::words::size::DifferenceSize;
use assay_judge::{Conclusion, JudgedComparison, Judgement, Metric};
use assay_study::{Events, Study};

use crate::comparisons::flagged;
use crate::comparisons::questions::{by_threads, capital, hangs_on_threads, has_parts, sides};
use crate::figures::format::{list, threads};

/// Where a clause stands in its sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    Sentence,
    AfterColon,
}

impl Begin {
    fn choose(self, capital: &'static str, lowercase: &'static str) -> &'static str {
        match self {
            Begin::Sentence => capital,
            Begin::AfterColon => lowercase,
        }
    }
}

/// The sentence. It names the workload where the study has several.
pub(crate) fn single(
    study: &Study,
    judgement: &Judgement,
    one: &JudgedComparison,
    (names_workload, begin): (bool, Begin),
) -> String {
    clause(study, judgement, one, (names_workload, begin)) + "."
}

/// The same without its full stop, for more to follow.
pub(crate) fn clause(
    study: &Study,
    judgement: &Judgement,
    one: &JudgedComparison,
    (names_workload, begin): (bool, Begin),
) -> String {
    let [config, base] = sides(one);
    let under = under(study, one, names_workload, begin);
    if hangs_on_threads(judgement, one) || has_parts(judgement, one) {
        let how = thread_by_thread(one.metric, &by_threads(judgement, one));
        let against = if under.is_empty() { "Against" } else { "against" };
        let subject = answer::subject(one.metric, &config, false);
        return format!("{under}{against} {base}, {subject} is {how}");
    }
    let Some(found) = &one.difference else {
        let disturbance = flagged::of_comparison(study, one).map(|(cause, _)| cause);
        let why = disturbance.or_else(|| reason_in_short(study.events(), one));
        let why = why.unwrap_or_else(|| "nothing was measured".into());
        let sentence = format!("{under}{config} and {base} cannot be compared: {why}");
        return capital(one.metric, sentence);
    };
    let (metric, begins) = (one.metric, under.is_empty());
    let size = DifferenceSize::of(metric, found);
    let (claim, interval) = (size.claim(), &size.interval);
    let in_one_run = if one.verdict.is_of_one_run() { " in this one run" } else { "" };
    let sentence = match one.verdict.conclusion {
        Conclusion::Better | Conclusion::Worse => {
            let differs = answer::differs(metric, &size, [&config, &base], begins);
            format!("{under}{differs}{in_one_run} ({interval})")
        }
        Conclusion::Equivalent => {
            format!("{under}{} ({interval})", answer::equals(metric, [&config, &base]))
        }
        Conclusion::Inconclusive => {
            let but = although(study.events(), one)
                .map_or(String::new(), |because| format!(", but {because}"));
            let subject = answer::subject(metric, &config, begins);
            let object = answer::object(metric, &base);
            format!("{under}{subject} against {object} is inconclusive: {claim} ({interval}){but}")
        }
    };
    capital(one.metric, sentence)
}

/// `Under read write at 250/s, `, as far as it must be said.
fn under(study: &Study, one: &JudgedComparison, names_workload: bool, begin: Begin) -> String {
    let under = begin.choose("Under", "under");
    let at = begin.choose("At", "at");
    let is_one = one.against_workload.is_none();
    let is_of_time = is_one && one.metric != Metric::Throughput;
    let rate = study.rate(&one.workload).filter(|_| is_of_time);
    match (names_workload && is_one, rate) {
        (true, Some(rate)) => format!("{under} {} at {rate}/s, ", one.workload),
        (true, None) => format!("{under} {}, ", one.workload),
        (false, Some(rate)) => format!("{at} {rate}/s, "),
        (false, None) => String::new(),
    }
}

/// Why nothing is told though the interval lies on one side.
fn although(events: Events, one: &JudgedComparison) -> Option<String> {
    let (low, high) = one.difference.as_ref()?.ratio_interval;
    reason(events, one).filter(|_| low > 1.0 || high < 1.0)
}

/// `faster at 1 and 4 threads, slower at 16 threads and inconclusive at 64 threads`: those that are
/// neither stand last.
fn thread_by_thread(metric: Metric, parts: &[&JudgedComparison]) -> String {
    let words =
        [Conclusion::Better, Conclusion::Worse, Conclusion::Equivalent, Conclusion::Inconclusive];
    let words = words.map(|word| (answer::outcome(metric, word), Some(word)));
    let words = words.into_iter().chain([("not compared", None)]);
    let of = |one: &JudgedComparison| one.difference.as_ref().map(|_| one.verdict.conclusion);
    let told = words.filter_map(|(text, word)| {
        let its: Vec<u32> =
            parts.iter().filter(|one| of(one) == word).filter_map(|one| one.threads).collect();
        (!its.is_empty()).then(|| format!("{text} at {}", threads(&its)))
    });
    list(&told.collect::<Vec<String>>())
}
