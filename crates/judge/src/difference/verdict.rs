//! Verdicts on a difference: better, worse, equivalent, or inconclusive.
//!
//! With the interval at 95 %, the margin m, and p, the larger of the interval's own p and that of
//! the permutation test (where its units are enough to be significant at all), corrected over the
//! comparisons of its family:
//!
//! 1. A run that failed: no verdict. A run that the machine disturbed is left out with its partner,
//!    which the report says, if two repeats remain; else no verdict. A run that is flagged for what
//!    its configuration may have caused stays, and the verdict has to be the same without it.
//! 2. The interval of the ratio lies within 1 ÷ (1 + m) to 1 + m: **equivalent** (two one-sided
//!    tests; Schuirmann, 1987; at 2.5 % each, so that the one interval that is printed serves both
//!    questions).
//! 3. The interval excludes 1, p ≤ 5 %, and the difference is beyond the noise floor: **better** or
//!    **worse**.
//! 4. Else it **cannot be told**, with the number of repeats before which that is unlikely to
//!    change.
//!
//! A tail (a percentile with at most 5 % above) is never equivalent by fewer runs than would show a
//! stall in one run of five with 95 %: what an interval has not met, it does not hold.
//!
//! One repeat without a noise floor never yields "equivalent", and its statement holds for that one
//! run. Where either of two studies lacks a second repeat, nothing tells the spread between them, a
//! noise floor within one of them included: the runs are described, without a verdict.

use serde::Serialize;

use crate::difference::compare::{Basis, Difference};
use crate::difference::family::Correction;
use crate::difference::noise::NoiseSpread;
use crate::difference::reason::{Reason, SignificanceTest};
use crate::interval::LEVEL;
use crate::statistics::{Permuted, unlikely_before};
use crate::trial::metric::Metric;

/// A judgement in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// More throughput, or less latency.
    Better,
    /// Less throughput, or more latency.
    Worse,
    /// The difference, whatever it is, does not matter.
    Equivalent,
    /// Neither.
    Inconclusive,
}

impl Conclusion {
    /// Whether it says which of both is ahead.
    pub fn has_direction(self) -> bool {
        matches!(self, Conclusion::Better | Conclusion::Worse)
    }
}

/// A word, and what stands in the way of more.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The word.
    pub conclusion: Conclusion,
    /// Why it cannot be told, or what it is said of only.
    pub reason: Option<Reason>,
    /// Repeats before which it is unlikely to be decided, if a number may that anybody can run.
    pub unlikely_before: Option<u32>,
    /// Thread counts with a direction, where those together are equivalent.
    pub exceptions: Vec<(u32, Conclusion)>,
}

impl Verdict {
    fn of(conclusion: Conclusion, reason: Option<Reason>) -> Verdict {
        Verdict { conclusion, reason, unlikely_before: None, exceptions: Vec::new() }
    }

    /// That there is none, and why.
    pub fn none(reason: Reason) -> Verdict {
        Verdict::of(Conclusion::Inconclusive, Some(reason))
    }

    /// Whether it is said of the one run there is, and of no other.
    pub fn is_of_one_run(&self) -> bool {
        matches!(self.reason, Some(Reason::OneRun | Reason::OneRunAndFloor))
    }

    /// The verdict over all thread counts in the light of those at each: what is gained at one does
    /// not make up for what is lost at another, so where they point both ways there is none over
    /// all.
    pub(crate) fn beside(mut self, each: &[(u32, Conclusion)]) -> Verdict {
        let directions: Vec<(u32, Conclusion)> =
            each.iter().copied().filter(|one| one.1.has_direction()).collect();
        let over_all = self.conclusion;
        let points =
            |word: Conclusion| over_all == word || directions.iter().any(|one| one.1 == word);
        if points(Conclusion::Better) && points(Conclusion::Worse) {
            return Verdict::none(Reason::DependsOnThreads { over_all, directions });
        }
        if over_all == Conclusion::Equivalent {
            self.exceptions = directions;
        }
        self
    }
}

/// The share of false alarms that a family of tests may have.
pub(crate) const ALPHA: f64 = 1.0 - LEVEL;

/// The p that counts before it is corrected; the permutation test has a say where `family` tests
/// together leave it one.
pub(crate) fn p_of(difference: &Difference, family: usize) -> f64 {
    let permuted = difference.permutation.as_ref().map(|one| one.permuted);
    let has_a_say = |one: &Permuted| one.p_least * family as f64 <= ALPHA;
    permuted.filter(has_a_say).map_or(difference.p_t, |one| one.p.max(difference.p_t))
}

/// The verdict on a difference. `margin` is a share (0.03), `p` corrected in the way that follows.
pub fn verdict(
    metric: Metric,
    difference: &Difference,
    (p, correction): (f64, Correction),
    margin: f64,
    noise: Option<&NoiseSpread>,
) -> Verdict {
    if difference.basis == Basis::SeparateRuns {
        return Verdict::none(Reason::SeparateRuns);
    }
    let (low, high) = difference.ratio_interval;
    let is_within_margin = low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin;
    if is_within_margin && !difference.rests_on_seconds_alone() {
        if let Some(reason) = stalls_unseen(metric, difference) {
            return Verdict::none(reason);
        }
        return Verdict::of(Conclusion::Equivalent, one_run(difference.basis));
    }
    let floor = noise
        .filter(|noise| noise.makes_a_floor())
        .and_then(|noise| within_floor(difference, noise));
    if has_direction(difference) && p <= ALPHA && floor.is_none() {
        let is_better = (difference.ratio > 1.0) == metric.is_better_higher();
        let word = if is_better { Conclusion::Better } else { Conclusion::Worse };
        return Verdict::of(word, one_run(difference.basis));
    }
    Verdict {
        unlikely_before: repeats_least(difference, margin, noise),
        ..Verdict::none(why_untold(difference, (p, correction), floor, noise))
    }
}

/// The share of runs with a stall that no tail is called equivalent without having looked for.
pub const STALLED_SHARE: f64 = 0.2;

/// That a configuration that stalls in [`STALLED_SHARE`] of its runs would show no stall in as few
/// too often: their intervals are narrow, and know nothing of what they did not meet.
fn stalls_unseen(metric: Metric, difference: &Difference) -> Option<Reason> {
    let runs = (difference.repeats * difference.thread_counts) as u32;
    let missed = (1.0 - STALLED_SHARE).powi(runs as i32);
    let is_unseen = metric.is_tail() && missed > ALPHA;
    let needed = (ALPHA.ln() / (1.0 - STALLED_SHARE).ln()).ceil() as u32;
    is_unseen.then_some(Reason::StallsUnseen { runs, missed, runs_needed: needed })
}

/// Whether the interval leaves equality out.
fn has_direction(difference: &Difference) -> bool {
    let (low, high) = difference.ratio_interval;
    low > 1.0 || high < 1.0
}

/// The reason why a verdict of one repeat may not hold for others.
fn one_run(basis: Basis) -> Option<Reason> {
    match basis {
        Basis::OneRepeat => Some(Reason::OneRun),
        Basis::OneRepeatAndNoiseFloor => Some(Reason::OneRunAndFloor),
        Basis::Repeats
        | Basis::SeparateSessions
        | Basis::SeparateRuns
        | Basis::PowerCuts
        | Basis::PowerCutBlocks => None,
    }
}

/// That the noise floor of as many repeats reaches beyond the difference, if it does.
fn within_floor(difference: &Difference, noise: &NoiseSpread) -> Option<Reason> {
    let reach = difference.floor(noise);
    (difference.log.mean.abs() <= reach).then(|| Reason::WithinFloor {
        floor_percent: (reach.exp() - 1.0) * 100.0,
        differences: noise.df as u64,
    })
}

/// Why a difference is neither equivalent nor better nor worse.
fn why_untold(
    difference: &Difference,
    (p, correction): (f64, Correction),
    floor: Option<Reason>,
    noise: Option<&NoiseSpread>,
) -> Reason {
    match (has_direction(difference), floor) {
        (true, Some(floor)) => floor,
        (true, None) => {
            let uncorrected = p_of(difference, 1);
            let is_permuted = uncorrected > difference.p_t;
            Reason::NotSignificant {
                test: if is_permuted { SignificanceTest::Permutation } else { SignificanceTest::T },
                p,
                correction: if p > uncorrected { correction } else { Correction::None },
            }
        }
        (false, _) if difference.rests_on_seconds_alone() => Reason::OneRun,
        (false, _) => match noise.filter(|noise| !noise.makes_a_floor()) {
            Some(noise) if difference.basis == Basis::OneRepeatAndNoiseFloor => {
                Reason::FloorUnknown { differences: noise.df as u64 }
            }
            _ => Reason::IntervalHasBothSigns,
        },
    }
}

/// More repeats than so many times those there are, or than so many, are no advice: the difference
/// is within the noise.
const REPEATS_MOST: (f64, f64) = (20.0, 100.0);

/// Repeats before which it is unlikely to be settled; `None` where settling it is not feasible.
fn repeats_least(difference: &Difference, margin: f64, noise: Option<&NoiseSpread>) -> Option<u32> {
    let effect = difference.log.mean.abs();
    let needed = unlikely_before(effect, difference.deviation, margin.ln_1p(), difference.level)?;
    let settled_within = effect < margin.ln_1p();
    // What is to be called a difference must leave the noise floor behind, too.
    let beyond_noise = noise
        .filter(|noise| !settled_within && noise.makes_a_floor())
        .map_or(0.0, |one| (one.reach(difference.thread_counts) / effect).powi(2));
    let there = difference.repeats as f64;
    let needed = f64::from(needed).max(beyond_noise.ceil()).max(there + 1.0);
    (needed <= REPEATS_MOST.1.min(REPEATS_MOST.0 * there)).then_some(needed as u32)
}
