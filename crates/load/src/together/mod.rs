//! Loads that ran at the same time, from several hosts or on several servers, as one.
//!
//! Exact: whatever is counted, the histograms (summed bucket by bucket, percentiles computed anew from the sum), and what each
//! thread did. The sum over parts of one load is what one load with all threads would have noted of the same events.
//!
//! What follows from more than sums:
//! * The window is from the first start to the last end, and rates are what was counted over that. Loads that ended at different
//!   times (mode `compat`, Ctrl-C) therefore have a lower rate together than their rates' sum.
//! * The clocks of hosts differ by what comparing them left uncertain; so much do windows differ that are said to be equal.
//! * What was asked for is summed where all were asked for the same kind of thing, else it is the first load's.
//! * CPUs are named only where all loads have the same, as each host counts its own.

mod asked;
mod seconds;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::outcome::{KindLatency, Outcome, Second, Unfinished};
use crate::record::{Latency, Queries};
use crate::schedule::THREADS_MAX;

pub use seconds::seconds_together;

/// What loads of the same time found, as one; nothing where there is none.
#[must_use]
pub fn together(outcomes: &[Outcome]) -> Option<Outcome> {
    let first = outcomes.first()?;
    let count = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let start_s = outcomes.iter().map(|one| one.measure_start_s).fold(f64::INFINITY, f64::min);
    let end_s = outcomes.iter().map(|one| one.measure_end_s).fold(f64::NEG_INFINITY, f64::max);
    let elapsed_s = (end_s - start_s).max(0.0);
    let per_second = |count: u64| if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 };
    let events = count(|one| one.events);
    let queries = Queries::sum(outcomes.iter().map(|one| one.queries));
    Some(Outcome {
        measure_start_s: start_s,
        measure_end_s: end_s,
        elapsed_s,
        events,
        tps: per_second(events),
        queries,
        qps: per_second(queries.total()),
        events_warmup: count(|one| one.events_warmup),
        events_late: count(|one| one.events_late),
        events_cut: count(|one| one.events_cut),
        unfinished: unfinished(outcomes),
        errors: errors(outcomes),
        reconnects: count(|one| one.reconnects),
        latency: latencies(outcomes),
        latency_ms_sum: outcomes.iter().map(|one| one.latency_ms_sum).sum(),
        threads: outcomes.iter().flat_map(|one| one.threads.iter().copied()).collect(),
        rate_target: outcomes.iter().map(|one| one.rate_target).sum(),
        client_cpu_s: outcomes.iter().map(|one| one.client_cpu_s).sum(),
        steady: steady(outcomes),
        device: None,
        interrupted: outcomes.iter().any(|one| one.interrupted),
        work: first.work.clone(),
        schedule: asked::together(outcomes.iter().map(|one| &one.schedule))?,
    })
}

/// The oldest of what waited, whoever waited for it.
/// The largest count of anything that a load reports: sums of as many hosts as there can be stay far within 64 bits.
const COUNT_MAX: u64 = 1 << 50;

/// The largest figure in seconds, or per second.
const FIGURE_MAX: f64 = 1e12;

/// The longest load, in seconds: a year.
const SECONDS_MAX: f64 = 3.2e7;

/// Whether what a host found can have been measured: far from where numbers end, so that it can be added to what others found.
#[must_use]
pub fn is_plausible(outcome: &Outcome) -> bool {
    let schedule = &outcome.schedule;
    let counts = [
        outcome.events,
        outcome.events_warmup,
        outcome.events_late,
        outcome.events_cut,
        outcome.unfinished.events,
        outcome.reconnects,
        schedule.events,
    ];
    let kinds = outcome.latency.iter().flat_map(|kind| [&kind.service, &kind.response]);
    let threads = outcome.threads.iter();
    counts.into_iter().chain(outcome.errors.values().copied()).all(is_count)
        && are_counts(outcome.queries)
        && kinds.into_iter().all(is_latency)
        && threads.map(|one| one.events).all(is_count)
        && [outcome.measure_start_s, outcome.measure_end_s]
            .into_iter()
            .all(|s| s.abs() <= SECONDS_MAX)
        && [
            outcome.latency_ms_sum,
            outcome.client_cpu_s.unwrap_or(0.0),
            outcome.rate_target.unwrap_or(0.0),
        ]
        .into_iter()
        .all(|figure| figure.abs() <= FIGURE_MAX)
        && schedule.threads <= THREADS_MAX
}

/// The same of a second.
#[must_use]
pub fn is_plausible_second(second: &Second) -> bool {
    let counts = [second.events, second.errors, second.reconnects, second.queue_length];
    counts.into_iter().all(is_count)
        && are_counts(second.queries)
        && is_latency(&second.latency)
        && (0.0..=SECONDS_MAX).contains(&second.end_s)
        && (0.0..=SECONDS_MAX).contains(&second.length_s)
        && [second.threads, second.concurrency].into_iter().all(|count| count <= THREADS_MAX)
}

fn is_count(count: u64) -> bool {
    count <= COUNT_MAX
}

fn are_counts(queries: Queries) -> bool {
    [queries.read, queries.write, queries.other].into_iter().all(is_count)
}

fn is_latency(latency: &Latency) -> bool {
    is_count(latency.count) && latency.buckets_ns.iter().all(|(_, count)| is_count(*count))
}

fn unfinished(outcomes: &[Outcome]) -> Unfinished {
    let all = outcomes.iter().map(|one| one.unfinished);
    all.fold(Unfinished::default(), |sum, one| Unfinished {
        events: sum.events + one.events,
        wait_ms_max: sum.wait_ms_max.max(one.wait_ms_max),
    })
}

fn errors(outcomes: &[Outcome]) -> BTreeMap<u16, u64> {
    let mut sum = BTreeMap::new();
    for (code, count) in outcomes.iter().flat_map(|one| &one.errors) {
        *sum.entry(*code).or_default() += count;
    }
    sum
}

/// Kinds in the order in which they were met, which begins with whole events wherever there were any.
fn latencies(outcomes: &[Outcome]) -> Vec<KindLatency> {
    let mut kinds: Vec<&str> = Vec::new();
    for one in outcomes.iter().flat_map(|one| &one.latency) {
        if !kinds.contains(&one.kind.as_str()) {
            kinds.push(&one.kind);
        }
    }
    kinds.sort_by_key(|kind| *kind != "transaction");
    let sum = |kind: &str| {
        let of = || outcomes.iter().filter_map(|one| one.latency_of(kind));
        KindLatency {
            kind: kind.into(),
            service: Latency::sum(of().map(|one| &one.service)),
            response: Latency::sum(of().map(|one| &one.response)),
        }
    };
    kinds.into_iter().map(sum).collect()
}

/// Steady where all were; said where it was asked of all.
fn steady(outcomes: &[Outcome]) -> Option<bool> {
    outcomes.iter().try_fold(true, |all, one| Some(all && one.steady?))
}
