//! Why no more can be said of a comparison.

use assay_base::text::counted;
use assay_judge::{
    ABOVE_LEAST, Absent, Basis, Conclusion, Correction, JudgedComparison, Look, Metric, Reason,
    SECONDS_WITH_ABOVE_LEAST, SignificanceTest, Verdict,
};
use assay_study::{Events, TrialKey};

use super::short;
use super::verdict::{directions, not_comparable, word};

/// Why it cannot be told and what would tell, or what it is said of only.
pub fn because(events: Events, one: &JudgedComparison) -> Option<String> {
    let reason = reason(events, one)?;
    let all = [Some(reason), equivalent_within(one), more(one)];
    Some(all.into_iter().flatten().collect::<Vec<String>>().join("; "))
}

/// A wider margin is nobody's.
const MARGIN_MOST_PERCENT: f64 = 1000.0;

/// The smallest margin by which two that point nowhere would be called equivalent: with few repeats
/// the plan's own is out of reach.
fn equivalent_within(one: &JudgedComparison) -> Option<String> {
    let points_nowhere = matches!(one.verdict.reason, Some(Reason::IntervalHasBothSigns));
    let (low, high) = one.difference.as_ref()?.ratio_interval;
    let percent = (high.max(1.0 / low) - 1.0) * 100.0;
    (points_nowhere && one.metric.tail().is_none() && percent < MARGIN_MOST_PERCENT)
        .then(|| format!("equivalent within {} %", short(percent)))
}

/// The same without what would tell.
pub fn reason(events: Events, one: &JudgedComparison) -> Option<String> {
    one.verdict.reason.as_ref().map(|reason| of_reason(events, reason, one.metric))
}

/// Why there is no comparison, without the run's coordinates.
pub fn reason_in_short(events: Events, one: &JudgedComparison) -> Option<String> {
    match one.verdict.reason.as_ref()? {
        Reason::TrialFailed(_) => Some("a run failed".into()),
        Reason::TrialNotComparable(_) => Some("a run is flagged as not comparable".into()),
        _ => because(events, one),
    }
}

fn of_reason(events: Events, reason: &Reason, metric: Metric) -> String {
    match reason {
        Reason::TrialFailed(trial) => format!("{trial} failed"),
        Reason::TrialNotComparable(trial) => not_comparable(trial),
        Reason::DependsOnDoubtful { runs, of_all, without, ratio_without } => {
            let (are, them) = if runs.len() == 1 { ("is", "it") } else { ("are", "them") };
            format!(
                "{} {are} flagged for what the configuration may have caused: {} with {them}, {} \
                 without (ratio {ratio_without:.3})",
                counted(runs.len() as u64, "run"),
                word(*of_all),
                word(*without),
            )
        }
        Reason::NoSharedRepeat => "no repeat has finished on both sides".into(),
        Reason::FigureAbsent(trial, absent) => of_absent(events, trial, metric, *absent),
        Reason::SpreadUnknown => {
            "only one repeat, so its variation is unknown: measure for longer, or repeat".into()
        }
        Reason::SeparateRuns => {
            "a study of one day does not show how days differ; add sessions on other days to both \
            studies (assay run --another-session), or compare within one study"
                .into()
        }
        Reason::OneRun => {
            "one repeat, and no configuration ran twice: only the variation between seconds is \
            known, not between runs"
                .into()
        }
        Reason::OneRunAndFloor => {
            "one repeat: holds if runs of these configurations vary no more than those of the \
            configuration that ran twice"
                .into()
        }
        Reason::FloorUnknown { differences } => format!(
            "one repeat, and the noise between runs is known from only {} of a configuration \
            with itself",
            counted(*differences, "difference")
        ),
        Reason::WithinFloor { floor_percent, differences } => format!(
            "within the noise floor of {} %, from {} of a configuration with itself",
            short(*floor_percent),
            counted(*differences, "difference")
        ),
        Reason::NotSignificant { test, p, correction } => {
            let whose = match test {
                SignificanceTest::T => "p is",
                SignificanceTest::Permutation => "permutation test p =",
            };
            let after = match correction {
                Correction::None => String::new(),
                Correction::Holm { comparisons } => {
                    format!(" after correction for the {comparisons} comparisons asked for")
                }
                Correction::BenjaminiHochberg { comparisons } => {
                    format!(" after correction for {comparisons} comparisons (q)")
                }
            };
            format!("{whose} {}{after}", of_p(*p))
        }
        Reason::LostInPowerCuts(config) => format!(
            "power cuts destroyed data of {config}, and a recovery with less data is not compared"
        ),
        Reason::TooFewPowerCuts => "both sides need at least two power cuts".into(),
        Reason::CutsNotInTurn => "the power of one configuration was cut after that of the other, \
             not in turn, so a change of the machine in between would look the same"
            .into(),
        Reason::StallsUnseen { runs, missed, runs_needed } => format!(
            "{} of each cannot show that tails are equivalent: a stall in one run of five would be \
            missed with a probability of {:.0} %; in {runs_needed} with at most 5 %",
            counted(u64::from(*runs), "run"),
            missed * 100.0
        ),
        Reason::UnplannedLook(look) => unplanned(look),
        Reason::IntervalHasBothSigns => "the interval includes both directions".into(),
        Reason::DependsOnThreads { directions: its, .. } => {
            format!("depends on the thread count: {}", directions(its))
        }
    }
}

fn of_absent(events: Events, trial: &TrialKey, metric: Metric, absent: Absent) -> String {
    let label = metric.label();
    match absent {
        Absent::Unusable(value) => format!("{trial}: {label} is {value}"),
        Absent::NoRateFound => {
            format!("{trial}: the search found no rate that keeps the objective")
        }
        Absent::InFewSeconds => format!(
            "in a run the slowest {} above {label} ended in fewer than {SECONDS_WITH_ABOVE_LEAST} \
            separate seconds, so they may be one stall; measure for longer",
            events.many()
        ),
        Absent::TooFewAbove => format!(
            "a run has fewer than {ABOVE_LEAST} {} above {label}; measure for longer",
            events.many()
        ),
    }
}

/// Why these repeats do not decide.
fn unplanned(look: &Look) -> String {
    let repeats = counted(u64::from(look.repeats), "repeat");
    match look.next {
        Some(next) => format!("{repeats} have run, and the plan judges after {next}"),
        None => format!(
            "runs were added after the plan's results had been told, so a direction needs p of at \
             most {} %",
            short(look.alpha * 100.0)
        ),
    }
}

/// Where the judge gives no number, fewer than so many times the repeats seldom decide: in 2 % of
/// cases (`tests::limits` of the judge; twenty times as many do in 70 %).
const UNLIKELY_TIMES: usize = 3;

/// When more repeats may tell, where repeats could.
fn more(one: &JudgedComparison) -> Option<String> {
    let Verdict {
        conclusion: Conclusion::Inconclusive, reason: Some(reason), unlikely_before, ..
    } = &one.verdict
    else {
        return None;
    };
    let found = one.difference.as_ref()?;
    let of = match found.basis {
        Basis::PowerCuts | Basis::PowerCutBlocks => "power cuts",
        Basis::SeparateSessions => "days of each study",
        _ => "repeats",
    };
    match (reason, unlikely_before) {
        (Reason::SeparateRuns | Reason::DependsOnThreads { .. } | Reason::UnplannedLook(_), _) => {
            None
        }
        (_, Some(before)) => Some(format!("unlikely to be decided before {before} {of}")),
        (_, None) => Some(format!(
            "the difference is within the noise: unlikely to be decided before {} {of}",
            UNLIKELY_TIMES * found.repeats
        )),
    }
}

/// A p as it is written.
fn of_p(p: f64) -> String {
    if p < 0.001 { "below 0.001".into() } else { format!("{p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::testing::{comparison, key, resting_on};
    use crate::words::verdict::{text, text_with_word};

    const SIZE: &str = "19 % faster (95 % interval 15 to 23 %)";

    #[test]
    fn what_cannot_be_told_says_why_and_what_would_tell() {
        let told = |reason: Reason, unlikely_before: Option<u32>| {
            let one = comparison(Conclusion::Inconclusive, Some(reason));
            let one =
                JudgedComparison { verdict: Verdict { unlikely_before, ..one.verdict }, ..one };
            assert_eq!(text(&one), format!("inconclusive: {SIZE}"));
            assert_eq!(text(&one), text_with_word(&one));
            because(Events::Transactions, &one).unwrap()
        };
        assert_eq!(
            told(Reason::IntervalHasBothSigns, Some(4)),
            "the interval includes both directions; equivalent within 23 %; unlikely to be decided \
             before 4 repeats"
        );
        let floor = Reason::WithinFloor { floor_percent: 20.04, differences: 4 };
        assert_eq!(
            told(floor, None),
            "within the noise floor of 20 %, from 4 differences of a configuration with itself; \
            the difference is within the noise: unlikely to be decided before 9 repeats"
        );
        assert_eq!(
            told(Reason::FloorUnknown { differences: 1 }, Some(3)),
            "one repeat, and the noise between runs is known from only 1 difference of a \
            configuration with itself; unlikely to be decided before 3 repeats"
        );
        let chance =
            |test, p, correction| told(Reason::NotSignificant { test, p, correction }, Some(5));
        assert_eq!(
            chance(SignificanceTest::T, 0.0634, Correction::Holm { comparisons: 3 }),
            "p is 0.063 after correction for the 3 comparisons asked for; unlikely to be decided \
             before 5 repeats"
        );
        assert_eq!(
            chance(SignificanceTest::T, 0.0634, Correction::BenjaminiHochberg { comparisons: 36 }),
            "p is 0.063 after correction for 36 comparisons (q); unlikely to be decided before 5 \
             repeats"
        );
        assert_eq!(
            chance(SignificanceTest::Permutation, 0.0625, Correction::None),
            "permutation test p = 0.062; unlikely to be decided before 5 repeats"
        );
        let seconds = comparison(Conclusion::Inconclusive, Some(Reason::OneRun));
        let verdict = Verdict { unlikely_before: Some(2), ..seconds.verdict.clone() };
        let seconds = resting_on(Basis::OneRepeat, JudgedComparison { verdict, ..seconds });
        assert_eq!(
            because(Events::Transactions, &seconds).unwrap(),
            "one repeat, and no configuration ran twice: only the variation between seconds is \
             known, not between runs; unlikely to be decided before 2 repeats"
        );
        assert!(!reason(Events::Transactions, &seconds).unwrap().contains("unlikely"));
    }

    #[test]
    fn trials_that_stand_in_the_way_are_named() {
        let of = |reason| JudgedComparison {
            difference: None,
            ..comparison(Conclusion::Inconclusive, Some(reason))
        };
        let failed = of(Reason::TrialFailed(key("other", 2)));
        assert_eq!(text(&failed), "inconclusive");
        assert_eq!(
            because(Events::Transactions, &failed).unwrap(),
            "other / w / 8 threads / repeat 2 failed"
        );
        assert_eq!(reason_in_short(Events::Transactions, &failed).unwrap(), "a run failed");
        let flagged = of(Reason::TrialNotComparable(key("base", 1)));
        assert_eq!(
            because(Events::Transactions, &flagged).unwrap(),
            "base / w / 8 threads / repeat 1 is flagged as not comparable"
        );
        assert_eq!(
            reason_in_short(Events::Transactions, &flagged).unwrap(),
            "a run is flagged as not comparable"
        );
        let nothing = of(Reason::FigureAbsent(key("other", 1), Absent::Unusable(0.0)));
        assert_eq!(
            because(Events::Transactions, &nothing).unwrap(),
            "other / w / 8 threads / repeat 1: throughput is 0"
        );
        let few = JudgedComparison {
            metric: Metric::P99,
            ..of(Reason::FigureAbsent(key("other", 1), Absent::TooFewAbove))
        };
        assert_eq!(
            reason_in_short(Events::Transactions, &few).unwrap(),
            "a run has fewer than 5 transactions above p99; measure for longer"
        );
    }
}
