//! The rates at which windows keep the plan's objective: what the searches found, and how long they
//! took.

use assay_judge::summary::RepeatGroup;
use assay_judge::{FoundRate, over_searches};
use assay_study::{Capacity, CapacityFound, Objective, Purpose, Study, Trial};

use crate::comparisons::questions::is_aa_run;
use crate::figures::format::{figure, rate};
use crate::tables::worth::{self, NONE, Table};

const COLUMNS: [(&str, &str); 6] = [
    (
        "rate, /s",
        "{events} per second at which the share of windows in the next column keeps the \
         objective; geometric mean of the repeats",
    ),
    (
        "windows within",
        "share of windows, as long as those of the search, that keep the objective at this rate",
    ),
    (
        "90 % interval, /s",
        "of one search its own; of several the wider of the mean of theirs and Student's t over \
         their log rates",
    ),
    (
        "latency there, ms",
        "the objective's percentile in the last run that held, mean of the searches",
    ),
    ("runs", "runs of all searches, those that let the server rest included"),
    (
        "restarts",
        "how often a search began again, because what it had found did not hold: the state of \
         server or drive had changed",
    ),
];

/// Share of windows within the objective at the rate that searches of earlier versions found.
const HALF: f64 = 0.5;

/// The objective of a study's searches; nothing where it made none.
pub(crate) fn objective(study: &Study) -> Option<Objective> {
    study.trials.iter().find_map(|trial| Some(trial.capacity.as_ref()?.objective))
}

/// `p99 at or below 10 ms`.
pub(crate) fn in_words(objective: Objective) -> String {
    format!("p{} at or below {} ms", objective.percentile, figure(objective.ms))
}

/// A row for each configuration under each load; nothing of a study without searches.
pub(crate) fn table(study: &Study, groups: &[RepeatGroup<'_>]) -> Option<Table> {
    let objective = objective(study)?;
    let is_shown = |group: &&RepeatGroup<'_>| {
        study.configs.get(group.config).is_some_and(|config| !is_aa_run(study, config))
    };
    let rows = groups.iter().filter(is_shown).filter_map(|group| Some((group, fields(group)?)));
    let columns = COLUMNS.map(|(head, title)| worth::column(study.events(), head, title)).into();
    let events = study.events();
    let mut notes = vec![format!(
        "Each search looks for a rate of {} at which windows keep {}, counted from when {} was \
         due. The other figures come from the last run of each search that met the objective. The \
         intervals include how capacity varied during the searches, not changes that take longer; \
         repeats on other days show those.",
        events.many(),
        in_words(objective),
        events.one()
    )];
    if shares(study).any(|share| share <= HALF) {
        notes.push(
            "Rates with 50 % of windows within were found by an earlier version of Assay: half of \
             the windows miss the objective there. Search again for the rate that 95 % meet."
                .into(),
        );
    }
    notes.extend(unfound(study));
    Table::of(study, columns, rows.collect(), notes)
}

fn fields(group: &RepeatGroup<'_>) -> Option<Vec<String>> {
    let searches: Vec<&Capacity> =
        group.done().filter_map(|trial| trial.capacity.as_ref()).collect();
    if searches.is_empty() {
        return None;
    }
    let found: Vec<FoundRate> = searches.iter().filter_map(|one| of_search(one)).collect();
    let mut of_each: Vec<f64> = searches.iter().filter_map(|one| share(one)).collect();
    of_each.dedup();
    // Rates of different shares have no mean.
    let over = over_searches(&found).filter(|_| of_each.len() == 1);
    let shown = |text: &dyn Fn(FoundRate) -> String| over.map_or(NONE.to_owned(), text);
    let held: Vec<f64> = searches.iter().filter_map(|one| held_ms(one)).collect();
    let latency = held.iter().sum::<f64>() / held.len() as f64;
    Some(vec![
        shown(&|over| rate(over.rate)),
        of_each
            .iter()
            .map(|share| format!("{:.0} %", share * 100.0))
            .collect::<Vec<_>>()
            .join(", "),
        shown(&|over| format!("{}–{}", rate(over.low), rate(over.high))),
        if held.is_empty() { NONE.to_owned() } else { figure(latency) },
        searches.iter().map(|one| one.runs.len()).sum::<usize>().to_string(),
        searches.iter().map(|one| one.restarts).sum::<u32>().to_string(),
    ])
}

fn of_search(capacity: &Capacity) -> Option<FoundRate> {
    match capacity.found {
        CapacityFound::Rate { rate, low, high, .. } => Some(FoundRate { rate, low, high }),
        _ => None,
    }
}

/// The share of windows that keep the objective at the found rate.
fn share(capacity: &Capacity) -> Option<f64> {
    match capacity.found {
        CapacityFound::Rate { met_share, .. } => Some(met_share),
        _ => None,
    }
}

/// The shares of all searches of a study.
fn shares(study: &Study) -> impl Iterator<Item = f64> {
    study.trials.iter().filter_map(|trial| share(trial.capacity.as_ref()?))
}

/// The latency of the last run that held.
fn held_ms(capacity: &Capacity) -> Option<f64> {
    let is_held = |purpose: Purpose, is_met: bool| purpose == Purpose::Hold && is_met;
    let held = capacity.runs.iter().rev().find(|one| is_held(one.purpose, one.is_met))?;
    matches!(capacity.found, CapacityFound::Rate { .. }).then_some(held.latency_ms)
}

/// A sentence for each search that found no rate.
fn unfound(study: &Study) -> Vec<String> {
    let of = |trial: &Trial| {
        let capacity = trial.capacity.as_ref()?;
        let what = match capacity.found {
            CapacityFound::Rate { .. } => return None,
            CapacityFound::NoneMeets { lowest, latency_ms } => format!(
                "no rate met the objective: the lowest that was tried, {}/s, had {} ms",
                figure(lowest),
                figure(latency_ms)
            ),
            CapacityFound::AllMeet { highest } => format!(
                "every rate met the objective up to {}/s, twice the throughput of a closed loop; \
                use more threads to try higher rates",
                rate(highest)
            ),
            CapacityFound::Unsettled { low, high } => format!(
                "not settled after {} runs: the interval is from {} to {}/s; raise runs_max or \
                seconds",
                capacity.runs.len(),
                rate(low),
                rate(high)
            ),
        };
        Some(format!("{}: {what}.", trial.key))
    };
    study.trials.iter().filter_map(of).collect()
}
