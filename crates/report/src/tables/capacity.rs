//! The highest rates that keep the plan's objective: what the searches found, and how long they
//! took.

use assay_judge::summary::RepeatGroup;
use assay_study::{Capacity, CapacityFound, Objective, Purpose, Study, Trial};

use crate::comparisons::questions::is_aa_run;
use crate::figures::format::{figure, rate};
use crate::tables::worth::{self, NONE, Table};

const COLUMNS: [(&str, &str); 5] = [
    ("highest rate, /s", "{events} per second that keep the objective, mean over the repeats"),
    (
        "90 % interval, /s",
        "where one search puts it: the lowest of the lower ends to the highest of the upper ends",
    ),
    (
        "latency there, ms",
        "the objective's percentile in the last run that held at the lower end of the interval",
    ),
    ("runs", "runs of all searches, those that let the server rest included"),
    (
        "restarts",
        "how often a search began again, because what it had found did not hold: the state of \
        server or drive had changed",
    ),
];

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
        "Each search looks for the highest rate of {} that keeps {}, counted from when {} was \
        due. The other figures come from the last run of each search that met the objective.",
        events.many(),
        in_words(objective),
        events.one()
    )];
    notes.extend(unfound(study));
    Table::of(study, columns, rows.collect(), notes)
}

fn fields(group: &RepeatGroup<'_>) -> Option<Vec<String>> {
    let searches: Vec<&Capacity> =
        group.done().filter_map(|trial| trial.capacity.as_ref()).collect();
    if searches.is_empty() {
        return None;
    }
    let found: Vec<(f64, f64, f64)> = searches
        .iter()
        .filter_map(|one| match one.found {
            CapacityFound::Rate { rate, low, high } => Some((rate, low, high)),
            _ => None,
        })
        .collect();
    let mean = found.iter().map(|one| one.0).sum::<f64>() / found.len() as f64;
    let low = found.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
    let high = found.iter().map(|one| one.2).fold(0.0, f64::max);
    let is_any = !found.is_empty();
    let shown = |text: String| if is_any { text } else { NONE.to_owned() };
    let held: Vec<f64> = searches.iter().filter_map(|one| held_ms(one)).collect();
    let latency = held.iter().sum::<f64>() / held.len() as f64;
    Some(vec![
        shown(rate(mean)),
        shown(format!("{}–{}", rate(low), rate(high))),
        if held.is_empty() { NONE.to_owned() } else { figure(latency) },
        searches.iter().map(|one| one.runs.len()).sum::<usize>().to_string(),
        searches.iter().map(|one| one.restarts).sum::<u32>().to_string(),
    ])
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
                "not settled after {} runs: the rate lies between {} and {}/s; raise runs_max or \
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
