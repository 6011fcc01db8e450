//! The answer in a sentence: what the judge says of throughput, or of p99 at a fixed rate, the
//! configuration that the question is about first, and what stands in the way of comparing. Where
//! nothing can be told apart, one sentence says so, and what would have been too small to see.
//!
//! Nothing here judges.

use std::collections::{BTreeMap, BTreeSet};

use crate::words::disturbed;
use crate::words::reason::reason_in_short;
use crate::words::{answer, chance};
use assay_judge::power_cuts::PowerCuts;
use assay_judge::{ChanceTally, Conclusion, JudgedComparison, Judgement, Metric, Reason};
use assay_study::{RunState, Study};

use crate::comparisons::known_steps;
use crate::comparisons::questions::{
    answers, by_threads, hangs_on_threads, has_figure, has_parts, is_aa_run, named, questions,
};
use crate::comparisons::ran_alike::{self, Ran};
use crate::comparisons::sentence::{Begin, single};
use crate::figures::format::{figure, list, plural, threads};
use crate::input::Variables;
use crate::tables::capacity;

/// So many comparisons of one kind are told one by one.
const SINGLE: usize = 2;

/// The verdict in a sentence or two, behind what ran alike though the plan asks it to differ.
pub(crate) fn headline(study: &Study, judgement: &Judgement, variables: &Variables) -> String {
    let mut told = match judgement.trials.is_empty() {
        true => Vec::new(),
        false => ran_alike::before_all(Ran { study, variables }),
    };
    told.push(answered(study, judgement));
    told.join(" ")
}

fn answered(study: &Study, judgement: &Judgement) -> String {
    match capacity::objective(study) {
        None => verdict(study, judgement, Begin::Sentence),
        Some(objective) => {
            let kept = capacity::in_words(objective);
            let verdict = verdict(study, judgement, Begin::AfterColon);
            format!("Rates at which windows keep {kept}: {verdict}")
        }
    }
}

fn verdict(study: &Study, judgement: &Judgement, begin: Begin) -> String {
    let all = answers(study, judgement);
    let is_untold = |one: &&JudgedComparison| {
        one.verdict.conclusion == Conclusion::Inconclusive && !hangs_on_threads(judgement, one)
    };
    // A result for less than was asked goes before a question without an answer.
    let steps = known_steps::told(study, judgement, begin).filter(|_| all.iter().all(is_untold));
    let begin = if steps.is_some() { Begin::Sentence } else { begin };
    let text = match all.as_slice() {
        [] if judgement.trials.is_empty() && !study.power_cuts.is_empty() => {
            after_power_cuts(study)
        }
        [] if judgement.trials.is_empty() => "Nothing has been measured yet.".into(),
        [] => nothing_to_compare(study, judgement),
        [only] if is_untold(only) && !has_figure(judgement, only) => {
            nothing_told(study, judgement, all.as_slice())
        }
        [only] => single(study, judgement, only, (study.workloads.len() > 1, begin)),
        all if all.iter().all(is_untold) => nothing_told(study, judgement, all),
        all => told(study, judgement, all, begin),
    };
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
fn nothing_to_compare(study: &Study, judgement: &Judgement) -> String {
    let configs = study.configs.iter().filter(|config| !is_aa_run(study, config));
    let threads_of = |config: &str| -> Vec<u32> {
        let its = judgement.trials.iter().filter(|trial| trial.key.config == config);
        its.map(|trial| trial.key.threads).collect::<BTreeSet<u32>>().into_iter().collect()
    };
    let measured = configs.filter_map(|config| {
        let its = threads_of(&config.name);
        (!its.is_empty()).then(|| format!("{} at {}", named(&config.name), threads(&its)))
    });
    let measured: Vec<String> = measured.collect();
    let share = study.workloads.iter().any(|workload| {
        let its = judgement.trials.iter().filter(|trial| trial.key.workload == workload.name);
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

/// The plan's questions in its order, whatever came out; then the other comparisons with what
/// chance would make of them, and disturbances of runs.
fn told(study: &Study, judgement: &Judgement, all: &[&JudgedComparison], begin: Begin) -> String {
    let questions = questions(study, all);
    let is_asked = |one: &&JudgedComparison| {
        questions.iter().flatten().any(|asked| std::ptr::eq(*asked, *one))
    };
    let others: Vec<&JudgedComparison> = all.iter().copied().filter(|one| !is_asked(one)).collect();
    let several = study.workloads.len() > 1;
    let is_known = |one: &&JudgedComparison| {
        one.verdict.conclusion != Conclusion::Inconclusive || hangs_on_threads(judgement, one)
    };
    let one_by_one = |few: &[&JudgedComparison], told: &mut Vec<String>| {
        for one in few {
            let begin = if told.is_empty() { begin } else { Begin::Sentence };
            told.push(single(study, judgement, one, (several, begin)));
        }
    };
    let mut told: Vec<String> = Vec::new();
    for its in &questions {
        match its.as_slice() {
            few if few.len() <= SINGLE => one_by_one(few, &mut told),
            many => told.push(counted(judgement, many)),
        }
    }
    match others.as_slice() {
        few if few.len() + questions.iter().flatten().count() <= SINGLE => {
            one_by_one(few, &mut told);
        }
        many => told.push(others_told(judgement, many)),
    }
    // The caveats below name the cause; the sentence does where it is the answer.
    let its: Vec<&JudgedComparison> = questions.iter().flatten().copied().collect();
    let is_open = !its.iter().any(is_known) && its.iter().any(|one| one.difference.is_none());
    told.extend(disturbed_runs(study).filter(|_| is_open));
    told.join(" ")
}

/// How many came out how, of one configuration under many workloads.
fn counted(judgement: &Judgement, all: &[&JudgedComparison]) -> String {
    let Some(first) = all.first() else { return String::new() };
    let of_one_run = all.iter().filter(|one| one.verdict.is_of_one_run()).count();
    let remark = match of_one_run {
        0 => String::new(),
        count => format!(" ({count} by one run only)"),
    };
    let in_each: Vec<String> =
        outcomes(judgement, all).iter().map(|(text, count)| format!("{text} in {count}")).collect();
    format!(
        "Against {}, {} is {} of {}{remark}.",
        named(&first.baseline),
        answer::subject(first.metric, &named(&first.config), false),
        list(&in_each),
        plural(all.len(), "workload")
    )
}

/// `The other 4 comparisons came out 1 faster and 3 inconclusive. Of the other 4
/// comparisons, 1 has p ≤ 5 % by itself; 0.2 would by chance.`
fn others_told(judgement: &Judgement, others: &[&JudgedComparison]) -> String {
    let outcomes = outcomes(judgement, others);
    let tally = ChanceTally::of(others.iter().copied()).filter(|one| one.comparisons > SINGLE);
    let by_chance = tally.map_or_else(String::new, |one| format!(" {}", chance::of_others(&one)));
    let came_out = match (outcomes.as_slice(), others.len()) {
        ([(text, _)], 1) => format!("The other comparison came out {text}."),
        ([(text, _)], count) => format!("The other {count} comparisons came out {text}."),
        (several, count) => {
            let told: Vec<String> =
                several.iter().map(|(text, count)| format!("{count} {text}")).collect();
            format!("The other {count} comparisons came out {}.", list(&told))
        }
    };
    came_out + &by_chance
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
fn outcomes(judgement: &Judgement, all: &[&JudgedComparison]) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::new();
    for one in all {
        *counts.entry(outcome(judgement, one)).or_insert(0) += 1;
    }
    let metric = all.first().map_or(Metric::Throughput, |one| one.metric);
    counts.into_iter().map(|(outcome, count)| (outcome.text(metric), count)).collect()
}

impl Outcome {
    fn text(self, metric: Metric) -> String {
        let of = |word| answer::outcome(metric, word);
        let (better, worse) = (of(Conclusion::Better), of(Conclusion::Worse));
        match self {
            Outcome::Better => better.into(),
            Outcome::Worse => worse.into(),
            Outcome::ByThreads => format!("{better} or {worse} by the thread count"),
            Outcome::BetterAtSome => format!("{better} at some thread counts"),
            Outcome::WorseAtSome => format!("{worse} at some thread counts"),
            Outcome::Equivalent => of(Conclusion::Equivalent).into(),
            Outcome::Inconclusive => of(Conclusion::Inconclusive).into(),
        }
    }
}

fn outcome(judgement: &Judgement, one: &JudgedComparison) -> Outcome {
    if hangs_on_threads(judgement, one) {
        let parts = by_threads(judgement, one);
        let is_any = |word: Conclusion| parts.iter().any(|part| part.verdict.conclusion == word);
        return match (is_any(Conclusion::Better), is_any(Conclusion::Worse)) {
            (true, true) => Outcome::ByThreads,
            (true, false) => Outcome::BetterAtSome,
            _ => Outcome::WorseAtSome,
        };
    }
    match one.verdict.conclusion {
        Conclusion::Better => Outcome::Better,
        Conclusion::Worse => Outcome::Worse,
        Conclusion::Equivalent => Outcome::Equivalent,
        Conclusion::Inconclusive => Outcome::Inconclusive,
    }
}

/// Text if no comparison has a verdict: the reason, with the measured cause, and a remedy.
fn nothing_told(study: &Study, judgement: &Judgement, all: &[&JudgedComparison]) -> String {
    let bases: Vec<&str> = all.iter().map(|one| one.baseline.as_str()).collect();
    let base = match bases.as_slice() {
        [first, rest @ ..] if rest.iter().all(|one| one == first) => named(first),
        _ => "its baseline".to_owned(),
    };
    let is_made = |one: &&&JudgedComparison| has_figure(judgement, one);
    let made = all.iter().filter(is_made).count();
    let disturbance = disturbed_runs(study);
    if made == 0 {
        let why = disturbance.unwrap_or_else(|| {
            let because = all.iter().find_map(|one| reason_in_short(study.events(), one));
            format!("{}.", because.unwrap_or_else(|| "nothing was measured".into()))
        });
        let is_all = known_steps::known(judgement).is_empty();
        let head = if is_all { "Inconclusive" } else { "Otherwise inconclusive" };
        return format!("{head}: {why}");
    }
    let metric = all.first().map_or(Metric::Throughput, |one| one.metric);
    let name = answer::name(metric);
    let head = format!("No configuration differs significantly from {base} in {name}");
    let is_unseen =
        |one: &&&JudgedComparison| matches!(one.verdict.reason, Some(Reason::StallsUnseen { .. }));
    let unseen = all.iter().find(is_unseen).and_then(|one| reason_in_short(study.events(), one));
    let seen = unseen.map(|why| format!(": {why}")).unwrap_or_else(|| {
        detectable(judgement, all).map_or_else(String::new, |percent| {
            format!(
                ": a difference of {} % would have been found four times in five",
                figure(percent)
            )
        })
    });
    let unmade = |end: char| match all.len() - made {
        0 => String::new(),
        count => format!(" {count} of {} were not possible{end}", plural(all.len(), "comparison")),
    };
    match disturbance
        .filter(|_| made < all.len() || all.iter().any(|one| has_parts(judgement, one)))
    {
        Some(why) if made == all.len() => format!("{head}{seen}. {why}"),
        Some(why) => format!("{head}{seen}.{} {why}", unmade(':')),
        None => format!("{head}{seen}.{}", unmade('.')),
    }
}

/// `10 of 20 runs were disturbed by … (CPU steal up to 18 %). Measure when …`: the cause of most
/// runs that may not be compared, and what helps.
fn disturbed_runs(study: &Study) -> Option<String> {
    let done = study.trials.iter().filter(|trial| trial.state == RunState::Done);
    let all = done.clone().count();
    let causes = disturbed::causes(done);
    let first = causes.first()?;
    let others: usize = causes.iter().skip(1).map(|one| one.runs).sum();
    let more = match others {
        0 => String::new(),
        count => format!("; {count} more for other causes"),
    };
    let were = if first.runs == 1 { "was" } else { "were" };
    let cause = disturbed::text(first);
    let remedy = disturbed::remedy(first.kind);
    Some(format!("{} of {} {were} {cause}{more}. {remedy}", first.runs, plural(all, "run")))
}

/// The smallest difference that these comparisons, or their thread counts where one could not be
/// made over all, find four times in five, in percent.
fn detectable(judgement: &Judgement, all: &[&JudgedComparison]) -> Option<f64> {
    let parts = all.iter().filter(|one| has_parts(judgement, one));
    let parts: Vec<&JudgedComparison> = parts.flat_map(|one| by_threads(judgement, one)).collect();
    let of: Vec<&JudgedComparison> = all.iter().copied().chain(parts).collect();
    judgement.detectable_percent(&of)
}
