//! The answer in a sentence: what the judge says of throughput, the configuration that the question is about first, and
//! what stands in the way of comparing. Where nothing can be told apart, one sentence says so, and what would have been
//! too small to see.
//!
//! Nothing here judges; the smallest difference that could have been seen is the least over the comparisons of the
//! larger of half the interval's width (on logarithms) and the noise floor of as many repeats.

use std::collections::BTreeSet;

use crate::words::reason::{reason, reason_in_short};
use crate::words::size::Size;
use crate::words::spoilt;
use assay_judge::power_cuts::PowerCuts;
use assay_judge::{Comparison, Judgement, Metric, Word};
use assay_study::{State, Study};

use super::capacity;
use super::flagged;
use super::format::{figure, list, plural, threads};
use super::leading::{
    by_threads, capital, hangs_on_threads, has_parts, is_aa_run, named, questions, sides, whole,
};

/// So many comparisons of one kind are told one by one.
const SINGLE: usize = 2;

/// The verdict in a sentence or two.
pub(super) fn headline(study: &Study, judged: &Judgement) -> String {
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
    let all = whole(judged, Metric::Throughput);
    let is_untold = |one: &&Comparison| {
        one.verdict.word == Word::Inconclusive && !hangs_on_threads(judged, one)
    };
    match all.as_slice() {
        [] if judged.trials.is_empty() && !study.power_cuts.is_empty() => after_power_cuts(study),
        [] if judged.trials.is_empty() => "Nothing has been measured yet.".into(),
        [] => nothing_to_compare(study, judged),
        [only] if only.difference.is_none() && is_untold(only) && !has_parts(judged, only) => {
            nothing_told(study, judged, all.as_slice())
        }
        [only] => single(study, judged, only, study.workloads.len() > 1),
        all if all.iter().all(is_untold) => nothing_told(study, judged, all),
        all => told(study, judged, all),
    }
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
        named_where(&has_loss).map(|of| format!("pages, rows or commits from {}", list(&of))),
        named_where(&may_lose)
            .map(|of| format!("commits that may be lost there from {}", list(&of))),
    ];
    let taken: Vec<String> = taken.into_iter().flatten().collect();
    match (taken.as_slice(), named_where(&is_whole)) {
        ([], Some(whole)) => format!("No power cut took anything from {}.", list(&whole)),
        (taken, Some(whole)) => {
            format!("Power cuts took {}, and nothing from {}.", taken.join("; "), list(&whole))
        }
        (taken, None) => format!("Power cuts took {}.", taken.join("; ")),
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

fn single(study: &Study, judged: &Judgement, one: &Comparison, names_workload: bool) -> String {
    let [config, base] = sides(one);
    let names_workload = names_workload && one.against_workload.is_none();
    let under = if names_workload { format!("Under {}, ", one.workload) } else { String::new() };
    if hangs_on_threads(judged, one) || has_parts(judged, one) {
        let how = thread_by_thread(&by_threads(judged, one));
        let against = if names_workload { "against" } else { "Against" };
        return format!("{under}{against} {base}, {config} is {how}.");
    }
    let Some(found) = &one.difference else {
        let spoilt = flagged::of_comparison(study, one).map(|(cause, _)| cause);
        let why = spoilt.or_else(|| reason_in_short(one));
        let why = why.unwrap_or_else(|| "nothing was measured".into());
        return capital(format!("{under}{config} and {base} cannot be compared: {why}."));
    };
    let size = Size::of(Metric::Throughput, found);
    let (claim, interval) = (size.claim(), &size.interval);
    let in_one_run = if one.verdict.is_of_one_run() { " in this one run" } else { "" };
    capital(match one.verdict.word {
        Word::Better | Word::Worse if size.is_factor => {
            format!("{under}{config} gives {claim} of {base}{in_one_run} ({interval}).")
        }
        Word::Better | Word::Worse => {
            format!("{under}{config} is {claim} than {base}{in_one_run} ({interval}).")
        }
        Word::Equivalent => format!("{under}{config} and {base} are equally fast ({interval})."),
        Word::Inconclusive => {
            let but = although(one).map_or(String::new(), |because| format!(", but {because}"));
            format!("{under}{config} against {base} is inconclusive: {claim} ({interval}){but}.")
        }
    })
}

/// Why nothing is told though the interval lies on one side.
fn although(one: &Comparison) -> Option<String> {
    let (low, high) = one.difference.as_ref()?.ratio_interval;
    reason(one).filter(|_| low > 1.0 || high < 1.0)
}

/// `faster at 1 and 4 threads, slower at 16 threads and inconclusive at 64 threads`: those that are neither stand last.
fn thread_by_thread(parts: &[&Comparison]) -> String {
    let words = [
        ("faster", Some(Word::Better)),
        ("slower", Some(Word::Worse)),
        ("as fast", Some(Word::Equivalent)),
        ("inconclusive", Some(Word::Inconclusive)),
        ("not compared", None),
    ];
    let of = |one: &Comparison| one.difference.as_ref().map(|_| one.verdict.word);
    let told = words.into_iter().filter_map(|(text, word)| {
        let its: Vec<u32> =
            parts.iter().filter(|one| of(one) == word).filter_map(|one| one.threads).collect();
        (!its.is_empty()).then(|| format!("{text} at {}", threads(&its)))
    });
    list(&told.collect::<Vec<String>>())
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
        named(&first.config),
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

/// How many came out how, those alone that there are.
fn outcomes(judged: &Judgement, all: &[&Comparison]) -> Vec<(&'static str, usize)> {
    const TEXTS: [&str; 7] = [
        "faster",
        "slower",
        "faster or slower by the thread count",
        "faster at some thread counts",
        "slower at some thread counts",
        "equally fast",
        "inconclusive",
    ];
    let came_out: Vec<&str> = all.iter().map(|one| outcome(judged, one)).collect();
    let count = |text: &str| came_out.iter().filter(|one| **one == text).count();
    let counted = TEXTS.into_iter().map(|text| (text, count(text)));
    counted.filter(|(_, count)| *count > 0).collect()
}

fn outcome(judged: &Judgement, one: &Comparison) -> &'static str {
    if hangs_on_threads(judged, one) {
        let parts = by_threads(judged, one);
        let is_any = |word: Word| parts.iter().any(|part| part.verdict.word == word);
        return match (is_any(Word::Better), is_any(Word::Worse)) {
            (true, true) => "faster or slower by the thread count",
            (true, false) => "faster at some thread counts",
            _ => "slower at some thread counts",
        };
    }
    match one.verdict.word {
        Word::Better => "faster",
        Word::Worse => "slower",
        Word::Equivalent => "equally fast",
        Word::Inconclusive => "inconclusive",
    }
}

/// What stands where no comparison came to a verdict: why, with what was measured of the cause, and what helps.
fn nothing_told(study: &Study, judged: &Judgement, all: &[&Comparison]) -> String {
    let bases: Vec<&str> = all.iter().map(|one| one.baseline.as_str()).collect();
    let base = match bases.as_slice() {
        [first, rest @ ..] if rest.iter().all(|one| one == first) => named(first),
        _ => "its baseline".to_owned(),
    };
    let is_made = |one: &&&Comparison| one.difference.is_some() || has_parts(judged, one);
    let made = all.iter().filter(is_made).count();
    let spoilt = spoilt_runs(study);
    if made == 0 {
        let why = spoilt.unwrap_or_else(|| {
            let because = all.iter().find_map(|one| reason_in_short(one));
            format!("{}.", because.unwrap_or_else(|| "nothing was measured".into()))
        });
        return format!("Inconclusive: {why}");
    }
    let head = format!("No configuration differs significantly from {base} in throughput");
    let seen = smallest_seen(judged, all).map_or_else(String::new, |percent| {
        format!(": a difference below {} % could not have been detected", figure(percent))
    });
    let unmade = match all.len() - made {
        0 => String::new(),
        count => format!(" {count} of {} were not possible:", plural(all.len(), "comparison")),
    };
    match spoilt.filter(|_| made < all.len() || all.iter().any(|one| has_parts(judged, one))) {
        Some(why) if unmade.is_empty() => format!("{head}{seen}. {}", begun(&why)),
        Some(why) => format!("{head}{seen}.{unmade} {why}"),
        None => format!("{head}{seen}.{}", unmade.replace(':', ".")),
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
