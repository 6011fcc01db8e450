//! Verdicts on a comparison: the word and the sentence.

use assay_base::text::counted;
use assay_judge::{Basis, Conclusion, Difference, JudgedComparison, Reason, Units};
use assay_study::TrialKey;

use super::short;
use super::size::DifferenceSize;

/// A judgement as a person reads it.
pub fn word(word: Conclusion) -> &'static str {
    match word {
        Conclusion::Better => "better",
        Conclusion::Worse => "worse",
        Conclusion::Equivalent => "equivalent",
        Conclusion::Inconclusive => "inconclusive",
    }
}

/// The judgement's kind, by which it is coloured.
pub fn kind(word: Conclusion) -> &'static str {
    match word {
        Conclusion::Better => "better",
        Conclusion::Worse => "worse",
        Conclusion::Equivalent | Conclusion::Inconclusive => "neither",
    }
}

/// The sentence, e.g. `19 % faster (95 % interval 15 to 23 %)`.
pub fn text(one: &JudgedComparison) -> String {
    let mut text = seen(one);
    match one.left_out.as_slice() {
        [] => {}
        [trial] => text += &format!("; left out: {}", not_comparable(trial)),
        [trial, rest @ ..] => {
            text += &format!("; left out: {}, and {} more", not_comparable(trial), rest.len());
        }
    }
    if !one.verdict.exceptions.is_empty() {
        text += &format!("; but {}", directions(&one.verdict.exceptions));
    }
    text + &holds_without(one).unwrap_or_default()
}

/// That the verdict stands, whatever flagged runs their configuration may have caused: without them
/// too, or because they can only have made the difference look smaller.
fn holds_without(one: &JudgedComparison) -> Option<String> {
    let runs = counted(one.doubtful.len() as u64, "run");
    if one.is_despite_doubtful {
        return Some(format!(
            "; {runs} of the better side may have been slowed by its own load, which can only have \
             made the difference look smaller"
        ));
    }
    let ratio = one.ratio_without_doubtful?;
    let is_held = !matches!(one.verdict.reason, Some(Reason::DependsOnDoubtful { .. }));
    is_held.then(|| {
        format!(
            "; the same without {runs} flagged for what the configuration may have caused (ratio \
             {ratio:.3})"
        )
    })
}

/// The sentence with its word before it; one that begins with its word needs it no second time.
pub fn text_with_word(one: &JudgedComparison) -> String {
    let verdict = &one.verdict;
    let is_said = match verdict.conclusion {
        Conclusion::Inconclusive => {
            !matches!(verdict.reason, Some(Reason::DependsOnThreads { .. }))
        }
        Conclusion::Equivalent => !is_of_one_run(one),
        Conclusion::Better | Conclusion::Worse => false,
    };
    let text = text(one);
    if is_said { text } else { format!("{}: {text}", word(verdict.conclusion)) }
}

/// The figures' message, and how far it may be believed.
fn seen(one: &JudgedComparison) -> String {
    let verdict = &one.verdict;
    let over_all = match &verdict.reason {
        Some(Reason::DependsOnThreads { over_all, .. }) => Some(*over_all),
        _ => None,
    };
    let found = one.difference.as_ref();
    let figures = found.map(|found| of_figures(one, found, over_all.unwrap_or(verdict.conclusion)));
    match (over_all, figures) {
        (Some(_), None) => "no verdict over all: inconclusive".into(),
        (Some(_), Some(figures)) => format!("no verdict over all: {figures}"),
        (None, None) => "inconclusive".into(),
        (None, Some(figures)) if verdict.conclusion == Conclusion::Inconclusive => {
            format!("inconclusive: {figures}")
        }
        (None, Some(figures)) => figures,
    }
}

fn of_figures(one: &JudgedComparison, found: &Difference, word: Conclusion) -> String {
    let size = DifferenceSize::of(one.metric, found);
    match word {
        // Their interval would be one of these runs and look like more.
        _ if found.basis == Basis::SeparateRuns => format!("in these runs {}", size.claim()),
        Conclusion::Inconclusive => size.to_string(),
        Conclusion::Equivalent => {
            let margin_percent = short(one.margin * 100.0);
            in_one_run(one, format!("equivalent within {margin_percent} %: {size}"))
        }
        Conclusion::Better | Conclusion::Worse => in_one_run(one, size.to_string()),
    }
}

fn in_one_run(one: &JudgedComparison, text: String) -> String {
    if is_of_one_run(one) { format!("in this one run {text}") } else { text }
}

/// Whether the figures are of one run each, whatever is said of them.
fn is_of_one_run(one: &JudgedComparison) -> bool {
    let basis = one.difference.as_ref().map(|found| found.basis);
    matches!(basis, Some(Basis::OneRepeat | Basis::OneRepeatAndNoiseFloor))
}

/// A run that is left out of a comparison, and why.
pub fn not_comparable(trial: &TrialKey) -> String {
    format!("{trial} is flagged as not comparable")
}

/// `better at 1, 4 threads; worse at 16 threads`.
pub(super) fn directions(each: &[(u32, Conclusion)]) -> String {
    let at = |direction: Conclusion| {
        let its: Vec<String> =
            each.iter().filter(|one| one.1 == direction).map(|one| one.0.to_string()).collect();
        let unit = if its == ["1"] { "thread" } else { "threads" };
        (!its.is_empty()).then(|| format!("{} at {} {unit}", word(direction), its.join(", ")))
    };
    [Conclusion::Better, Conclusion::Worse]
        .into_iter()
        .filter_map(at)
        .collect::<Vec<String>>()
        .join("; ")
}

/// The permuted units: `repeats`, or `blocks of 8 s within repeats`.
pub fn units(units: Units) -> String {
    match units {
        Units::Repeats => "repeats".into(),
        Units::DaysOfBothStudies => "days of both studies".into(),
        Units::PowerCuts => "power cuts of both".into(),
        Units::PowerCutBlocks => "blocks of a power cut of each".into(),
        Units::Blocks { length_s } => format!("blocks of {length_s} s within repeats"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::reason::because;
    use crate::words::testing::{comparison, key, resting_on};
    use assay_study::Events;

    const SIZE: &str = "19 % faster (95 % interval 15 to 23 %)";

    #[test]
    fn a_verdict_of_repeats_is_the_size_of_the_difference() {
        let better = comparison(Conclusion::Better, None);
        assert_eq!((text(&better), because(Events::Transactions, &better)), (SIZE.into(), None));
        assert_eq!(text_with_word(&better), format!("better: {SIZE}"));
        let equivalent = comparison(Conclusion::Equivalent, None);
        let said = format!("equivalent within 3 %: {SIZE}");
        assert_eq!((text(&equivalent), text_with_word(&equivalent)), (said.clone(), said));
    }

    #[test]
    fn what_is_known_of_one_run_is_said_of_that_run() {
        let of = |word, reason| {
            resting_on(Basis::OneRepeatAndNoiseFloor, comparison(word, Some(reason)))
        };
        let better = of(Conclusion::Better, Reason::OneRunAndFloor);
        assert_eq!(text(&better), format!("in this one run {SIZE}"));
        assert!(
            because(Events::Transactions, &better)
                .unwrap()
                .ends_with("than those of the configuration that ran twice")
        );
        let equivalent = of(Conclusion::Equivalent, Reason::OneRunAndFloor);
        assert_eq!(
            text_with_word(&equivalent),
            format!("equivalent: in this one run equivalent within 3 %: {SIZE}")
        );
    }

    #[test]
    fn single_runs_of_two_studies_are_told_without_an_interval() {
        let runs = comparison(Conclusion::Inconclusive, Some(Reason::SeparateRuns));
        let runs = resting_on(Basis::SeparateRuns, runs);
        assert_eq!(text(&runs), "inconclusive: in these runs 19 % faster");
        assert!(
            because(Events::Transactions, &runs)
                .unwrap()
                .starts_with("a study of one day does not show how days differ")
        );
    }

    #[test]
    fn thread_counts_that_point_both_ways_are_named() {
        let directions =
            vec![(1, Conclusion::Better), (4, Conclusion::Better), (16, Conclusion::Worse)];
        let of = |over_all| {
            let reason = Reason::DependsOnThreads { over_all, directions: directions.clone() };
            comparison(Conclusion::Inconclusive, Some(reason))
        };
        let mixed = of(Conclusion::Inconclusive);
        assert_eq!(text(&mixed), format!("no verdict over all: {SIZE}"));
        assert_eq!(
            because(Events::Transactions, &mixed).unwrap(),
            "depends on the thread count: better at 1, 4 threads; worse at 16 threads"
        );
        let equivalent = of(Conclusion::Equivalent);
        assert_eq!(
            text(&equivalent),
            format!("no verdict over all: equivalent within 3 %: {SIZE}")
        );
        let unmade = JudgedComparison { difference: None, ..of(Conclusion::Inconclusive) };
        assert_eq!(text(&unmade), "no verdict over all: inconclusive");
        let mut hidden = comparison(Conclusion::Equivalent, None);
        hidden.verdict.exceptions = vec![(1, Conclusion::Better)];
        assert_eq!(text(&hidden), format!("equivalent within 3 %: {SIZE}; but better at 1 thread"));
    }

    #[test]
    fn trials_that_are_left_out_are_told_of() {
        let mut one = comparison(Conclusion::Better, None);
        one.left_out = vec![key("other", 2)];
        let left_out = "other / w / 8 threads / repeat 2 is flagged as not comparable";
        assert_eq!(text(&one), format!("{SIZE}; left out: {left_out}"));
        one.left_out.push(key("base", 3));
        assert_eq!(text(&one), format!("{SIZE}; left out: {left_out}, and 1 more"));
        one.left_out.clear();
        one.doubtful = vec![key("other", 2)];
        one.is_despite_doubtful = true;
        assert!(
            text(&one).contains("; 1 run of the better side may have been slowed by its own load")
        );
    }
}
