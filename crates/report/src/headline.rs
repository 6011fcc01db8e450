//! The answer in a sentence: what the judge says of throughput, or of p99 at a fixed rate, the configuration that the question is
//! about first, and what stands in the way of comparing. Where nothing can be told apart, one sentence says so, and what would have been
//! too small to see.
//!
//! Nothing here judges; the smallest difference that could have been seen is the least over the comparisons of the
//! larger of half the interval's width (on logarithms) and the noise floor of as many repeats.

use std::collections::{BTreeMap, BTreeSet};

use crate::words::answer;
use crate::words::reason::reason_in_short;
use crate::words::spoilt;
use assay_judge::power_cuts::PowerCuts;
use assay_judge::{Comparison, Judgement, Metric, Word};
use assay_study::{State, Study};

use super::alike::{self, Ran};
use super::capacity;
use super::conditions::Variables;
use super::format::{figure, list, plural, threads};
use super::known_steps;
use super::leading::{
    answers, by_threads, hangs_on_threads, has_figure, has_parts, is_aa_run, named, questions,
};
use super::single::single;

/// So many comparisons of one kind are told one by one.
const SINGLE: usize = 2;

/// The verdict in a sentence or two, behind what ran alike though the plan asks it to differ.
pub(super) fn headline(study: &Study, judged: &Judgement, variables: &Variables) -> String {
    let mut told = match judged.trials.is_empty() {
        true => Vec::new(),
        false => alike::before_all(Ran { study, variables }),
    };
    told.push(answered(study, judged));
    told.join(" ")
}

fn answered(study: &Study, judged: &Judgement) -> String {
    let verdict = verdict(study, judged);
    match capacity::objective(study) {
        None => verdict,
        Some(objective) => {
            let kept = capacity::in_words(objective);
            format!("Highest rates that keep {kept}: {}", begun_small(&verdict))
        }
    }
}

/// The sentence as it goes on behind a colon: names stay as they are.
fn begun_small(sentence: &str) -> String {
    match sentence.strip_prefix("Under ") {
        Some(rest) => format!("under {rest}"),
        None => sentence.to_owned(),
    }
}

fn verdict(study: &Study, judged: &Judgement) -> String {
    let all = answers(study, judged);
    let is_untold = |one: &&Comparison| {
        one.verdict.word == Word::Inconclusive && !hangs_on_threads(judged, one)
    };
    let text = match all.as_slice() {
        [] if judged.trials.is_empty() && !study.power_cuts.is_empty() => after_power_cuts(study),
        [] if judged.trials.is_empty() => "Nothing has been measured yet.".into(),
        [] => nothing_to_compare(study, judged),
        [only] if is_untold(only) && !has_figure(judged, only) => {
            nothing_told(study, judged, all.as_slice())
        }
        [only] => single(study, judged, only, study.workloads.len() > 1),
        all if all.iter().all(is_untold) => nothing_told(study, judged, all),
        all => told(study, judged, all),
    };
    // What is known of less than was asked goes before what is not known.
    let steps = known_steps::told(study, judged).filter(|_| all.iter().all(is_untold));
    steps.into_iter().chain([text]).collect::<Vec<_>>().join(" ")
}

/// The answer of a study that has power cuts and no runs.
fn after_power_cuts(study: &Study) -> String {
    let all = PowerCuts::of_all(&study.power_cuts);
    let named_where = |is_kind: &dyn Fn(&PowerCuts<'_>) -> bool| {
        let its = all.iter().filter(|one| is_kind(one)).map(|one| named(one.config));
        Some(its.collect::<Vec<_>>()).filter(|names| !names.is_empty())
    };
    let has_loss = |one: &PowerCuts<'_>| one.with_loss > 0;
    let may_lose = |one: &PowerCuts<'_>| one.with_loss == 0 && one.lost_commits > 0;
    let is_whole = |one: &PowerCuts<'_>| one.with_loss == 0 && one.lost_commits == 0;
    let taken = [
        named_where(&has_loss).map(|of| format!("pages, rows or commits of {}", list(&of))),
        named_where(&may_lose)
            .map(|of| format!("commits of {}, whose settings allow that", list(&of))),
    ];
    let taken: Vec<String> = taken.into_iter().flatten().collect();
    match (taken.as_slice(), named_where(&is_whole)) {
        ([], Some(whole)) => format!("No power cut destroyed anything of {}.", list(&whole)),
        (taken, Some(whole)) => {
            format!("Power cuts destroyed {}, and nothing of {}.", taken.join("; "), list(&whole))
        }
        (taken, None) => format!("Power cuts destroyed {}.", taken.join("; ")),
    }
}

/// Why there is not one comparison, though runs were measured.
fn nothing_to_compare(study: &Study, judged: &Judgement) -> String {
    let configs = study.configs.iter().filter(|config| !is_aa_run(study, config));
    let threads_of = |config: &str| -> Vec<u32> {
        let its = judged.trials.iter().filter(|trial| trial.key.config == config);
        its.map(|trial| trial.key.threads).collect::<BTreeSet<u32>>().into_iter().collect()
    };
    let measured = configs.filter_map(|config| {
        let its = threads_of(&config.name);
        (!its.is_empty()).then(|| format!("{} at {}", named(&config.name), threads(&its)))
    });
    let measured: Vec<String> = measured.collect();
    let share = study.workloads.iter().any(|workload| {
        let its = judged.trials.iter().filter(|trial| trial.key.workload == workload.name);
        its.map(|trial| trial.key.config.as_str()).collect::<BTreeSet<&str>>().len() > 1
    });
    match measured.len() {
        0 | 1 => "Only one configuration was measured, so there is nothing to compare.".into(),
        count if share => format!(
            "Nothing can be compared: the {count} configurations share no thread count ({}).",
            measured.join("; ")
        ),
        count => format!("Nothing can be compared: the {count} configurations share no workload."),
    }
}

/// What the plan asks about, question by question, what is known of it first; then the others, and what spoilt runs.
fn told(study: &Study, judged: &Judgement, all: &[&Comparison]) -> String {
    let questions = questions(study, all);
    let is_asked =
        |one: &&Comparison| questions.iter().flatten().any(|asked| std::ptr::eq(*asked, *one));
    let others: Vec<&Comparison> = all.iter().copied().filter(|one| !is_asked(one)).collect();
    let several = study.workloads.len() > 1;
    let is_known =
        |one: &&Comparison| one.verdict.word != Word::Inconclusive || hangs_on_threads(judged, one);
    let one_by_one = |few: &[&Comparison]| -> Vec<String> {
        let (known, unknown): (Vec<&Comparison>, Vec<&Comparison>) =
            few.iter().copied().partition(is_known);
        known.into_iter().chain(unknown).map(|one| single(study, judged, one, several)).collect()
    };
    let mut told: Vec<String> = questions
        .iter()
        .flat_map(|its| match its.as_slice() {
            few if few.len() <= SINGLE => one_by_one(few),
            many => vec![counted(judged, many)],
        })
        .collect();
    match others.as_slice() {
        few if few.len() + questions.iter().flatten().count() <= SINGLE => {
            told.extend(one_by_one(few));
        }
        many => told.push(others_told(judged, many)),
    }
    // The caveats below name the cause; the sentence does where it is the answer.
    let its: Vec<&Comparison> = questions.iter().flatten().copied().collect();
    let is_open = !its.iter().any(is_known) && its.iter().any(|one| one.difference.is_none());
    told.extend(spoilt_runs(study).filter(|_| is_open));
    told.join(" ")
}

/// How many came out how, of one configuration under many workloads.
fn counted(judged: &Judgement, all: &[&Comparison]) -> String {
    let Some(first) = all.first() else { return String::new() };
    let of_one_run = all.iter().filter(|one| one.verdict.is_of_one_run()).count();
    let remark = match of_one_run {
        0 => String::new(),
        count => format!(" ({count} by one run only)"),
    };
    let in_each: Vec<String> =
        outcomes(judged, all).iter().map(|(text, count)| format!("{text} in {count}")).collect();
    format!(
        "Against {}, {} is {} of {}{remark}.",
        named(&first.baseline),
        answer::subject(first.metric, &named(&first.config), false),
        list(&in_each),
        plural(all.len(), "workload")
    )
}

/// `The other 4 comparisons came out 1 faster and 3 inconclusive.`
fn others_told(judged: &Judgement, others: &[&Comparison]) -> String {
    let outcomes = outcomes(judged, others);
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

/// How a comparison came out; those at the head are told first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Better,
    Worse,
    ByThreads,
    BetterAtSome,
    WorseAtSome,
    Equivalent,
    Inconclusive,
}

/// How many came out how, those alone that there are.
fn outcomes(judged: &Judgement, all: &[&Comparison]) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::new();
    for one in all {
        *counts.entry(outcome(judged, one)).or_insert(0) += 1;
    }
    let metric = all.first().map_or(Metric::Throughput, |one| one.metric);
    counts.into_iter().map(|(outcome, count)| (outcome.text(metric), count)).collect()
}

impl Outcome {
    fn text(self, metric: Metric) -> String {
        let of = |word| answer::outcome(metric, word);
        let (better, worse) = (of(Word::Better), of(Word::Worse));
        match self {
            Outcome::Better => better.into(),
            Outcome::Worse => worse.into(),
            Outcome::ByThreads => format!("{better} or {worse} by the thread count"),
            Outcome::BetterAtSome => format!("{better} at some thread counts"),
            Outcome::WorseAtSome => format!("{worse} at some thread counts"),
            Outcome::Equivalent => of(Word::Equivalent).into(),
            Outcome::Inconclusive => of(Word::Inconclusive).into(),
        }
    }
}

fn outcome(judged: &Judgement, one: &Comparison) -> Outcome {
    if hangs_on_threads(judged, one) {
        let parts = by_threads(judged, one);
        let is_any = |word: Word| parts.iter().any(|part| part.verdict.word == word);
        return match (is_any(Word::Better), is_any(Word::Worse)) {
            (true, true) => Outcome::ByThreads,
            (true, false) => Outcome::BetterAtSome,
            _ => Outcome::WorseAtSome,
        };
    }
    match one.verdict.word {
        Word::Better => Outcome::Better,
        Word::Worse => Outcome::Worse,
        Word::Equivalent => Outcome::Equivalent,
        Word::Inconclusive => Outcome::Inconclusive,
    }
}

/// What stands where no comparison came to a verdict: why, with what was measured of the cause, and what helps.
fn nothing_told(study: &Study, judged: &Judgement, all: &[&Comparison]) -> String {
    let bases: Vec<&str> = all.iter().map(|one| one.baseline.as_str()).collect();
    let base = match bases.as_slice() {
        [first, rest @ ..] if rest.iter().all(|one| one == first) => named(first),
        _ => "its baseline".to_owned(),
    };
    let is_made = |one: &&&Comparison| has_figure(judged, one);
    let made = all.iter().filter(is_made).count();
    let spoilt = spoilt_runs(study);
    if made == 0 {
        let why = spoilt.unwrap_or_else(|| {
            let because = all.iter().find_map(|one| reason_in_short(one));
            format!("{}.", because.unwrap_or_else(|| "nothing was measured".into()))
        });
        let is_all = known_steps::known(judged).is_empty();
        let head = if is_all { "Inconclusive" } else { "Otherwise inconclusive" };
        return format!("{head}: {why}");
    }
    let metric = all.first().map_or(Metric::Throughput, |one| one.metric);
    let name = answer::name(metric);
    let head = format!("No configuration differs significantly from {base} in {name}");
    let seen = smallest_seen(judged, all).map_or_else(String::new, |percent| {
        format!(": a difference below {} % could not have been detected", figure(percent))
    });
    let unmade = |end: char| match all.len() - made {
        0 => String::new(),
        count => format!(" {count} of {} were not possible{end}", plural(all.len(), "comparison")),
    };
    match spoilt.filter(|_| made < all.len() || all.iter().any(|one| has_parts(judged, one))) {
        Some(why) if made == all.len() => format!("{head}{seen}. {}", begun(&why)),
        Some(why) => format!("{head}{seen}.{} {why}", unmade(':')),
        None => format!("{head}{seen}.{}", unmade('.')),
    }
}

fn begun(sentence: &str) -> String {
    let mut signs = sentence.chars();
    signs.next().map_or_else(String::new, |first| first.to_uppercase().chain(signs).collect())
}

/// `10 of 20 runs were disturbed by … (CPU steal up to 18 %). Measure when …`: the cause of most runs that may not be
/// compared, and what helps.
fn spoilt_runs(study: &Study) -> Option<String> {
    let done = study.trials.iter().filter(|trial| trial.state == State::Done);
    let all = done.clone().count();
    let causes = spoilt::causes(done);
    let first = causes.first()?;
    let others: usize = causes.iter().skip(1).map(|one| one.runs).sum();
    let more = match others {
        0 => String::new(),
        count => format!("; {count} more for other causes"),
    };
    let were = if first.runs == 1 { "was" } else { "were" };
    let cause = spoilt::text(first);
    let remedy = spoilt::remedy(first.kind);
    Some(format!("{} of {} {were} {cause}{more}. {remedy}", first.runs, plural(all, "run")))
}

/// The smallest difference that any of the comparisons, or of their thread counts, could have shown, in percent;
/// nothing where only one run is known of each.
fn smallest_seen(judged: &Judgement, all: &[&Comparison]) -> Option<f64> {
    let of = |one: &&Comparison| {
        let found = one.difference.as_ref().filter(|found| !found.rests_on_seconds_alone())?;
        let (low, high) = found.ratio_interval;
        let half = (high / low).ln() / 2.0;
        Some(half.max(floor(judged, one, found.repeats)))
    };
    let parts = all.iter().filter(|one| has_parts(judged, one));
    let parts: Vec<&Comparison> = parts.flat_map(|one| by_threads(judged, one)).collect();
    let least =
        all.iter().chain(&parts).filter_map(of).filter(|log| log.is_finite()).reduce(f64::min)?;
    Some((least.exp() - 1.0) * 100.0)
}

/// The logarithm of the ratio that is noise, of a mean over so many repeats; 0 where no configuration ran twice.
fn floor(judged: &Judgement, one: &Comparison, repeats: usize) -> f64 {
    let seen = judged.noise_floor.iter().flat_map(|floor| &floor.seen);
    let of_study = || seen.clone().filter(|seen| seen.metric == one.metric);
    let its = of_study().find(|seen| seen.workload == one.workload);
    its.or_else(|| of_study().find(|seen| seen.is_of_study))
        .filter(|seen| seen.spread.makes_a_floor())
        .map_or(0.0, |seen| seen.spread.reach(repeats))
}
