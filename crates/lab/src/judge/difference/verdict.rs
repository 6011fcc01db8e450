//! What may be said of a difference: better, worse, equivalent, or that it cannot be told.
//!
//! With the interval at 95 %, the margin m and p, the larger of the interval's own p and that of the permutation test (where its
//! units are enough to be surprising at all), corrected by Holm over the thread counts of the workload:
//!
//! 1. A cell that failed: no verdict. One that is marked as not comparable is left out, which is told, if two repeats remain; else no verdict.
//! 2. The interval of the ratio lies within 1 ÷ (1 + m) to 1 + m: **equivalent** (two one-sided tests; Schuirmann, 1987; at 2.5 %
//!    each, so that the one interval that is printed serves both questions).
//! 3. The interval leaves 1 out, p ≤ 5 %, and the difference is beyond the noise floor: **better** or **worse**.
//! 4. Else it **cannot be told**, and how many more repeats would, if the difference and its variance are what they look like.
//!
//! One repeat without a noise floor never says equivalent, and what it says is said of that one run. Of two studies that lack a second
//! repeat on either side nothing tells what lies between them, a noise floor within one of them included: what these runs
//! showed is said, and no verdict.

use serde::Serialize;

use crate::judge::cell::metric::Metric;
use crate::judge::difference::compare::{Basis, Difference, LEVEL};
use crate::judge::difference::noise::NoiseSpread;
use crate::judge::difference::words;
use crate::judge::statistics::repeats_for;

/// A judgement in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// More throughput, or less latency.
    Better,
    /// Less throughput, or more latency.
    Worse,
    /// The difference, whatever it is, does not matter.
    Equivalent,
    /// Neither.
    CannotTell,
}

impl Word {
    /// As a person reads it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Word::Better => "better",
            Word::Worse => "worse",
            Word::Equivalent => "equivalent",
            Word::CannotTell => "cannot tell",
        }
    }
}

/// A word, a sentence, and what stands in the way of more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Verdict {
    /// The word.
    pub(crate) verdict: Word,
    /// The sentence, e.g. `19 % faster (95 % interval 15 to 23 %)`.
    pub(crate) text: String,
    /// Why it cannot be told, or what it is said of only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) because: Option<String>,
    /// How many more repeats would tell, if any number would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repeats_more: Option<u32>,
    /// Whether it is said of the one run there is, and of no other.
    #[serde(skip)]
    pub(crate) is_of_one_run: bool,
}

impl Verdict {
    /// That there is none, and why.
    pub(crate) fn none(because: String) -> Verdict {
        Verdict {
            verdict: Word::CannotTell,
            text: "cannot tell".into(),
            because: Some(because),
            repeats_more: None,
            is_of_one_run: false,
        }
    }

    /// The same, with a word on cells that have no part in it.
    pub(crate) fn without(mut self, left_out: &[String]) -> Verdict {
        match left_out {
            [] => {}
            [one] => self.text += &format!("; left out: {one}"),
            [one, rest @ ..] => self.text += &format!("; left out: {one}, and {} more", rest.len()),
        }
        self
    }

    /// The verdict over all thread counts in the light of those at each: what is gained at one does not make up for what is lost at
    /// another, so where they point both ways there is none over all.
    pub(in crate::judge) fn beside(mut self, each: &[(u32, Word)]) -> Verdict {
        let there = |word: Word| each.iter().any(|one| one.1 == word);
        let points = |word: Word| self.verdict == word || there(word);
        if points(Word::Better) && points(Word::Worse) {
            self.verdict = Word::CannotTell;
            let seen = self.text.strip_prefix("cannot tell: ").unwrap_or(&self.text);
            self.text = format!("no verdict over all: {seen}");
            self.because = Some(format!("it depends on the threads: {}", directions(each)));
            self.repeats_more = None;
            self.is_of_one_run = false;
        } else if self.verdict == Word::Equivalent && (there(Word::Better) || there(Word::Worse)) {
            self.text += &format!("; but {}", directions(each));
        }
        self
    }
}

/// `better at 1 and 4 threads, worse at 16`.
fn directions(each: &[(u32, Word)]) -> String {
    let at = |word: Word| {
        let its: Vec<String> =
            each.iter().filter(|one| one.1 == word).map(|one| one.0.to_string()).collect();
        let unit = if its == ["1"] { "thread" } else { "threads" };
        (!its.is_empty()).then(|| format!("{} at {} {unit}", word.text(), its.join(", ")))
    };
    [Word::Better, Word::Worse].into_iter().filter_map(at).collect::<Vec<String>>().join("; ")
}

/// The share of false alarms that a family of tests may have.
pub(in crate::judge) const ALPHA: f64 = 1.0 - LEVEL;

/// The p that counts before it is corrected; the permutation test has a say where `family` tests together leave it one.
pub(in crate::judge) fn p_of(difference: &Difference, family: usize) -> f64 {
    let permuted = difference.permutation.as_ref().map(|one| one.permuted);
    let has_a_say = |one: &crate::judge::statistics::Permuted| one.p_least * family as f64 <= ALPHA;
    permuted.filter(has_a_say).map_or(difference.p_t, |one| one.p.max(difference.p_t))
}

/// Which of the two tests was surprised less, where it is not the one that the interval is of.
fn whose_p(difference: &Difference) -> &'static str {
    let is_permuted = p_of(difference, 1) > difference.p_t;
    if is_permuted { "the permutation test's p is" } else { "p is" }
}

/// The verdict on a difference. `margin` is a share (0.03), `p` corrected.
pub(crate) fn verdict(
    metric: Metric,
    difference: &Difference,
    p: f64,
    margin: f64,
    noise: Option<&NoiseSpread>,
) -> Verdict {
    let size = words::size(metric, difference);
    if difference.basis == Basis::SeparateRuns {
        return of_separate_runs(&size);
    }
    let (low, high) = difference.ratio_interval;
    let has_direction = low > 1.0 || high < 1.0;
    let of_one_run = one_run(difference.basis);
    let said = |verdict: Word, text: String| Verdict {
        verdict,
        text: of_one_run.map_or(text.clone(), |_| format!("in this one run {text}")),
        because: of_one_run.map(str::to_owned),
        repeats_more: None,
        is_of_one_run: of_one_run.is_some(),
    };
    let is_within_margin = low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin;
    if is_within_margin && !difference.rests_on_seconds_alone() {
        let margin_percent = words::short(margin * 100.0);
        return said(Word::Equivalent, format!("equivalent within {margin_percent} %: {size}"));
    }
    let floor = noise.map(|noise| difference.floor(noise));
    let is_noise = floor.is_some_and(|floor| difference.log.mean.abs() <= floor);
    if has_direction && p <= ALPHA && !is_noise {
        let is_better = (difference.ratio > 1.0) == metric.is_better_higher();
        return said(if is_better { Word::Better } else { Word::Worse }, size);
    }
    let because = match (noise, floor) {
        (Some(noise), Some(floor)) if has_direction && is_noise => within_floor(noise, floor),
        _ if has_direction && p > p_of(difference, 1) => {
            format!(
                "{} {} after correction for the thread counts",
                whose_p(difference),
                words::p(p)
            )
        }
        _ if has_direction => format!("{} {}", whose_p(difference), words::p(p)),
        _ if difference.rests_on_seconds_alone() => ONE_RUN.to_owned(),
        _ => "the interval reaches from one side to the other".to_owned(),
    };
    let more = repeats_more(difference, margin, noise);
    let is_least = difference.rests_on_seconds_alone();
    let is_of_one_run = because == ONE_RUN;
    Verdict {
        verdict: Word::CannotTell,
        text: format!("cannot tell: {size}"),
        because: Some(format!("{because}; {}", words::more(more, is_least))),
        repeats_more: more,
        is_of_one_run,
    }
}

/// What a verdict of one repeat is not known to hold for.
fn one_run(basis: Basis) -> Option<&'static str> {
    match basis {
        Basis::OneRepeat => Some(ONE_RUN),
        Basis::OneRepeatAndNoiseFloor => Some(ONE_RUN_AND_FLOOR),
        Basis::Repeats | Basis::SeparateRepeats | Basis::SeparateRuns => None,
    }
}

/// What was seen, without an interval: it would be one of these runs and look like more.
fn of_separate_runs(size: &str) -> Verdict {
    let seen = size.split_once(" (").map_or(size, |(seen, _)| seen);
    Verdict {
        verdict: Word::CannotTell,
        text: format!("cannot tell: in these runs {seen}"),
        because: Some(
            "one repeat of a study: how far its runs lie apart from day to day is not known; give both studies repeats = 2 or more"
                .to_owned(),
        ),
        repeats_more: None,
        is_of_one_run: false,
    }
}

const ONE_RUN: &str = "one repeat, and no arm ran twice: only how it varied from second to second is known, not how runs differ";

/// The floor is that of the arm that ran twice; an arm that collects or compresses may vary more from run to run.
const ONE_RUN_AND_FLOOR: &str =
    "one repeat: true if runs of these arms differ no more than those of the arm that ran twice";

/// Few differences make a floor that is high by chance, so how many there are is said.
fn within_floor(noise: &NoiseSpread, floor: f64) -> String {
    let percent = words::short((floor.exp() - 1.0) * 100.0);
    let of = crate::print::counted(noise.df as u64, "difference");
    format!("it is within the noise floor of {percent} %, known from {of} of one arm with itself")
}

/// Repeats beyond those there are that would settle it.
fn repeats_more(difference: &Difference, margin: f64, noise: Option<&NoiseSpread>) -> Option<u32> {
    let effect = difference.log.mean.abs();
    let needed = repeats_for(effect, difference.deviation, margin.ln_1p(), LEVEL)?;
    let settled_within = effect < margin.ln_1p();
    // What is to be called a difference must leave the noise floor behind, too.
    let beyond_noise = noise
        .filter(|_| !settled_within)
        .map_or(0.0, |one| (one.reach(difference.thread_counts) / effect).powi(2));
    let needed = f64::from(needed).max(beyond_noise.ceil());
    let there = difference.repeats as f64;
    (needed <= 1000.0).then(|| (needed - there).max(1.0) as u32)
}
