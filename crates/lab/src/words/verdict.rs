//! What may be said of a comparison: its word, its sentence, and why no more.

use crate::judge::{
    ABOVE_LEAST, Absent, Basis, Comparison, Difference, Metric, Reason, SignificanceTest, Units,
    Verdict, Word,
};
use crate::print::counted;
use crate::store::CellKey;

use super::short;
use super::size::Size;

/// A judgement as a person reads it.
pub(crate) fn word(word: Word) -> &'static str {
    match word {
        Word::Better => "better",
        Word::Worse => "worse",
        Word::Equivalent => "equivalent",
        Word::CannotTell => "cannot tell",
    }
}

/// The sentence, e.g. `19 % faster (95 % interval 15 to 23 %)`.
pub(crate) fn text(one: &Comparison) -> String {
    let mut text = seen(one);
    match one.left_out.as_slice() {
        [] => {}
        [cell] => text += &format!("; left out: {}", not_comparable(cell)),
        [cell, rest @ ..] => {
            text += &format!("; left out: {}, and {} more", not_comparable(cell), rest.len());
        }
    }
    if !one.verdict.exceptions.is_empty() {
        text += &format!("; but {}", directions(&one.verdict.exceptions));
    }
    text
}

/// The sentence with its word before it; one that begins with its word needs it no second time.
pub(crate) fn text_with_word(one: &Comparison) -> String {
    let verdict = &one.verdict;
    let is_said = match verdict.word {
        Word::CannotTell => !matches!(verdict.reason, Some(Reason::DependsOnThreads { .. })),
        Word::Equivalent => !is_of_one_run(one),
        Word::Better | Word::Worse => false,
    };
    let text = text(one);
    if is_said { text } else { format!("{}: {text}", word(verdict.word)) }
}

/// What the figures show, and how far it may be believed.
fn seen(one: &Comparison) -> String {
    let verdict = &one.verdict;
    let over_all = match &verdict.reason {
        Some(Reason::DependsOnThreads { over_all, .. }) => Some(*over_all),
        _ => None,
    };
    let found = one.difference.as_ref();
    let figures = found.map(|found| of_figures(one, found, over_all.unwrap_or(verdict.word)));
    match (over_all, figures) {
        (Some(_), None) => "no verdict over all: cannot tell".into(),
        (Some(_), Some(figures)) => format!("no verdict over all: {figures}"),
        (None, None) => "cannot tell".into(),
        (None, Some(figures)) if verdict.word == Word::CannotTell => {
            format!("cannot tell: {figures}")
        }
        (None, Some(figures)) => figures,
    }
}

fn of_figures(one: &Comparison, found: &Difference, word: Word) -> String {
    let size = Size::of(one.metric, found);
    match word {
        // Their interval would be one of these runs and look like more.
        _ if found.basis == Basis::SeparateRuns => format!("in these runs {}", size.claim()),
        Word::CannotTell => size.to_string(),
        Word::Equivalent => {
            let margin_percent = short(one.margin * 100.0);
            in_one_run(one, format!("equivalent within {margin_percent} %: {size}"))
        }
        Word::Better | Word::Worse => in_one_run(one, size.to_string()),
    }
}

fn in_one_run(one: &Comparison, text: String) -> String {
    if is_of_one_run(one) { format!("in this one run {text}") } else { text }
}

/// Whether the figures are of one run each, whatever is said of them.
fn is_of_one_run(one: &Comparison) -> bool {
    let basis = one.difference.as_ref().map(|found| found.basis);
    matches!(basis, Some(Basis::OneRepeat | Basis::OneRepeatAndNoiseFloor))
}

/// Why it cannot be told and what would tell, or what it is said of only.
pub(crate) fn because(one: &Comparison) -> Option<String> {
    let reason = reason(one)?;
    Some(match more(one) {
        Some(more) => format!("{reason}; {more}"),
        None => reason,
    })
}

/// The same without what would tell.
pub(crate) fn reason(one: &Comparison) -> Option<String> {
    one.verdict.reason.as_ref().map(|reason| of_reason(reason, one.metric))
}

/// Why there is no comparison, without the cell's coordinates.
pub(crate) fn reason_in_short(one: &Comparison) -> Option<String> {
    match one.verdict.reason.as_ref()? {
        Reason::CellFailed(_) => Some("a cell failed".into()),
        Reason::CellNotComparable(_) => Some("a cell is marked as not comparable".into()),
        _ => because(one),
    }
}

fn of_reason(reason: &Reason, metric: Metric) -> String {
    match reason {
        Reason::CellFailed(cell) => format!("{cell} failed"),
        Reason::CellNotComparable(cell) => not_comparable(cell),
        Reason::NoSharedRepeat => "no repeat of both has been run".into(),
        Reason::FigureAbsent(cell, absent) => of_absent(cell, metric, *absent),
        Reason::SpreadUnknown => {
            "one repeat, and nothing tells how it varies: measure for longer, or repeat".into()
        }
        Reason::SeparateRuns => {
            "one repeat of a study: how far its runs lie apart from day to day is not known; give both studies repeats = 2 or more".into()
        }
        Reason::OneRun => {
            "one repeat, and no arm ran twice: only how it varied from second to second is known, not how runs differ".into()
        }
        Reason::OneRunAndFloor => {
            "one repeat: true if runs of these arms differ no more than those of the arm that ran twice".into()
        }
        Reason::WithinFloor { floor_percent, differences } => format!(
            "it is within the noise floor of {} %, known from {} of one arm with itself",
            short(*floor_percent),
            counted(*differences, "difference")
        ),
        Reason::NotSignificant { test, p, is_corrected } => {
            let whose = match test {
                SignificanceTest::T => "p is",
                SignificanceTest::Permutation => "the permutation test's p is",
            };
            let after = if *is_corrected { " after correction for the thread counts" } else { "" };
            format!("{whose} {}{after}", of_p(*p))
        }
        Reason::IntervalHasBothSigns => "the interval reaches from one side to the other".into(),
        Reason::DependsOnThreads { directions: its, .. } => {
            format!("it depends on the threads: {}", directions(its))
        }
    }
}

/// A cell that is left out of a comparison, and why.
pub(crate) fn not_comparable(cell: &CellKey) -> String {
    format!("{cell} is marked as not comparable")
}

fn of_absent(cell: &CellKey, metric: Metric, absent: Absent) -> String {
    let label = metric.label();
    match absent {
        Absent::Unusable(value) => format!("{cell}: {label} is {value}"),
        Absent::TooFewAbove => format!(
            "fewer than {ABOVE_LEAST} transactions lie above {label} in a cell; measure for longer"
        ),
    }
}

/// How many more repeats would tell, where repeats could.
fn more(one: &Comparison) -> Option<String> {
    let Verdict { word: Word::CannotTell, reason: Some(reason), repeats_more, .. } = &one.verdict
    else {
        return None;
    };
    let found = one.difference.as_ref()?;
    match (reason, repeats_more) {
        (Reason::SeparateRuns | Reason::DependsOnThreads { .. }, _) => None,
        (_, None) => Some("no number of repeats up to a thousand would tell".into()),
        (_, Some(more)) => {
            let about = if found.rests_on_seconds_alone() { "at least" } else { "about" };
            let repeats = counted(u64::from(*more), "more repeat");
            Some(format!("{about} {repeats} would tell"))
        }
    }
}

/// `better at 1, 4 threads; worse at 16 threads`.
fn directions(each: &[(u32, Word)]) -> String {
    let at = |direction: Word| {
        let its: Vec<String> =
            each.iter().filter(|one| one.1 == direction).map(|one| one.0.to_string()).collect();
        let unit = if its == ["1"] { "thread" } else { "threads" };
        (!its.is_empty()).then(|| format!("{} at {} {unit}", word(direction), its.join(", ")))
    };
    [Word::Better, Word::Worse].into_iter().filter_map(at).collect::<Vec<String>>().join("; ")
}

/// What was permuted: `repeats`, or `blocks of 8 s within repeats`.
pub(crate) fn units(units: Units) -> String {
    match units {
        Units::Repeats => "repeats".into(),
        Units::RepeatsOfBothStudies => "repeats of both studies".into(),
        Units::Blocks { length_s } => format!("blocks of {length_s} s within repeats"),
    }
}

/// A p as it is written.
fn of_p(p: f64) -> String {
    if p < 0.001 { "below 0.001".into() } else { format!("{p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::testing::{comparison, key};

    const SIZE: &str = "19 % faster (95 % interval 15 to 23 %)";

    fn resting_on(basis: Basis, one: Comparison) -> Comparison {
        let difference = one.difference.map(|found| Difference { basis, ..found });
        Comparison { difference, ..one }
    }

    #[test]
    fn a_verdict_of_repeats_is_the_size_of_the_difference() {
        let better = comparison(Word::Better, None);
        assert_eq!((text(&better), because(&better)), (SIZE.into(), None));
        assert_eq!(text_with_word(&better), format!("better: {SIZE}"));
        let equivalent = comparison(Word::Equivalent, None);
        let said = format!("equivalent within 3 %: {SIZE}");
        assert_eq!((text(&equivalent), text_with_word(&equivalent)), (said.clone(), said));
    }

    #[test]
    fn what_is_known_of_one_run_is_said_of_that_run() {
        let of = |word, reason| {
            resting_on(Basis::OneRepeatAndNoiseFloor, comparison(word, Some(reason)))
        };
        let better = of(Word::Better, Reason::OneRunAndFloor);
        assert_eq!(text(&better), format!("in this one run {SIZE}"));
        assert!(because(&better).unwrap().ends_with("than those of the arm that ran twice"));
        let equivalent = of(Word::Equivalent, Reason::OneRunAndFloor);
        assert_eq!(
            text_with_word(&equivalent),
            format!("equivalent: in this one run equivalent within 3 %: {SIZE}")
        );
    }

    #[test]
    fn what_cannot_be_told_says_why_and_what_would_tell() {
        let told = |reason: Reason, repeats_more: Option<u32>| {
            let one = comparison(Word::CannotTell, Some(reason));
            let one = Comparison { verdict: Verdict { repeats_more, ..one.verdict }, ..one };
            assert_eq!(text(&one), format!("cannot tell: {SIZE}"));
            assert_eq!(text(&one), text_with_word(&one));
            because(&one).unwrap()
        };
        assert_eq!(
            told(Reason::IntervalHasBothSigns, Some(1)),
            "the interval reaches from one side to the other; about 1 more repeat would tell"
        );
        let floor = Reason::WithinFloor { floor_percent: 20.04, differences: 4 };
        assert_eq!(
            told(floor, None),
            "it is within the noise floor of 20 %, known from 4 differences of one arm with itself; no number of repeats up to \
             a thousand would tell"
        );
        let chance =
            |test, p, is_corrected| told(Reason::NotSignificant { test, p, is_corrected }, Some(5));
        assert_eq!(
            chance(SignificanceTest::T, 0.0634, true),
            "p is 0.063 after correction for the thread counts; about 5 more repeats would tell"
        );
        assert_eq!(
            chance(SignificanceTest::Permutation, 0.0625, false),
            "the permutation test's p is 0.062; about 5 more repeats would tell"
        );
        let seconds = comparison(Word::CannotTell, Some(Reason::OneRun));
        let verdict = Verdict { repeats_more: Some(2), ..seconds.verdict.clone() };
        let seconds = resting_on(Basis::OneRepeat, Comparison { verdict, ..seconds });
        assert_eq!(
            because(&seconds).unwrap(),
            "one repeat, and no arm ran twice: only how it varied from second to second is known, not how runs differ; at \
             least 2 more repeats would tell"
        );
        assert!(!reason(&seconds).unwrap().contains("more repeats"));
    }

    #[test]
    fn single_runs_of_two_studies_are_told_without_an_interval() {
        let runs = comparison(Word::CannotTell, Some(Reason::SeparateRuns));
        let runs = resting_on(Basis::SeparateRuns, runs);
        assert_eq!(text(&runs), "cannot tell: in these runs 19 % faster");
        assert!(because(&runs).unwrap().ends_with("give both studies repeats = 2 or more"));
    }

    #[test]
    fn thread_counts_that_point_both_ways_are_named() {
        let directions = vec![(1, Word::Better), (4, Word::Better), (16, Word::Worse)];
        let of = |over_all| {
            let reason = Reason::DependsOnThreads { over_all, directions: directions.clone() };
            comparison(Word::CannotTell, Some(reason))
        };
        let mixed = of(Word::CannotTell);
        assert_eq!(text(&mixed), format!("no verdict over all: {SIZE}"));
        assert_eq!(
            because(&mixed).unwrap(),
            "it depends on the threads: better at 1, 4 threads; worse at 16 threads"
        );
        let equivalent = of(Word::Equivalent);
        assert_eq!(
            text(&equivalent),
            format!("no verdict over all: equivalent within 3 %: {SIZE}")
        );
        let unmade = Comparison { difference: None, ..of(Word::CannotTell) };
        assert_eq!(text(&unmade), "no verdict over all: cannot tell");
        let mut hidden = comparison(Word::Equivalent, None);
        hidden.verdict.exceptions = vec![(1, Word::Better)];
        assert_eq!(text(&hidden), format!("equivalent within 3 %: {SIZE}; but better at 1 thread"));
    }

    #[test]
    fn cells_that_stand_in_the_way_are_named() {
        let of =
            |reason| Comparison { difference: None, ..comparison(Word::CannotTell, Some(reason)) };
        let failed = of(Reason::CellFailed(key("other", 2)));
        assert_eq!(text(&failed), "cannot tell");
        assert_eq!(because(&failed).unwrap(), "other / w / 8 threads / repeat 2 failed");
        assert_eq!(reason_in_short(&failed).unwrap(), "a cell failed");
        let marked = of(Reason::CellNotComparable(key("base", 1)));
        assert_eq!(
            because(&marked).unwrap(),
            "base / w / 8 threads / repeat 1 is marked as not comparable"
        );
        assert_eq!(reason_in_short(&marked).unwrap(), "a cell is marked as not comparable");
        let nothing = of(Reason::FigureAbsent(key("other", 1), Absent::Unusable(0.0)));
        assert_eq!(because(&nothing).unwrap(), "other / w / 8 threads / repeat 1: throughput is 0");
        let few = Comparison {
            metric: Metric::P99,
            ..of(Reason::FigureAbsent(key("other", 1), Absent::TooFewAbove))
        };
        assert_eq!(
            reason_in_short(&few).unwrap(),
            "fewer than 5 transactions lie above p99 in a cell; measure for longer"
        );
    }

    #[test]
    fn cells_that_are_left_out_are_told_of() {
        let mut one = comparison(Word::Better, None);
        one.left_out = vec![key("other", 2)];
        let left_out = "other / w / 8 threads / repeat 2 is marked as not comparable";
        assert_eq!(text(&one), format!("{SIZE}; left out: {left_out}"));
        one.left_out.push(key("base", 3));
        assert_eq!(text(&one), format!("{SIZE}; left out: {left_out}, and 1 more"));
    }
}
