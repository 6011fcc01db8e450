//! Merges loads that ran at the same time, from several hosts or on several servers.
//!
//! Exact: all counts, the histograms (summed bucket by bucket, percentiles computed from the sum),
//! and the events of each thread. The sum over parts of one load equals the outcome of one load
//! with all threads for the same events.
//!
//! Beyond sums:
//! * The window is from the first start to the last end, and rates are counts divided by it. Loads
//!   that ended at different times (mode `compat`, Ctrl-C) therefore have a lower merged rate than
//!   the sum of their rates.
//! * The hosts' clocks differ by the uncertainty of their comparison, and so do windows that count
//!   as equal.
//! * Planned values are summed if all loads have the same kind, otherwise they are the first
//!   load's.
//! * CPUs are named only if all loads have the same, since each host numbers its own.

mod asked;
mod seconds;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::outcome::{KindLatency, LoadOutcome, Second, Unfinished};
use crate::record::{LatencyStats, Queries};
use crate::schedule::THREADS_MAX;

pub use seconds::seconds_together;

/// Merges the outcomes of concurrent loads; `None` without one.
#[must_use]
pub fn together(outcomes: &[LoadOutcome]) -> Option<LoadOutcome> {
    let first = outcomes.first()?;
    let count = |of: fn(&LoadOutcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let start_s =
        outcomes.iter().map(|outcome| outcome.measure_start_s).fold(f64::INFINITY, f64::min);
    let end_s =
        outcomes.iter().map(|outcome| outcome.measure_end_s).fold(f64::NEG_INFINITY, f64::max);
    let elapsed_s = (end_s - start_s).max(0.0);
    let per_second = |count: u64| if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 };
    let events = count(|outcome| outcome.events);
    let queries = Queries::sum(outcomes.iter().map(|outcome| outcome.queries));
    Some(LoadOutcome {
        measure_start_s: start_s,
        measure_end_s: end_s,
        elapsed_s,
        events,
        tps: per_second(events),
        queries,
        qps: per_second(queries.total()),
        events_warmup: count(|outcome| outcome.events_warmup),
        events_late: count(|outcome| outcome.events_late),
        events_between: count(|outcome| outcome.events_between),
        events_cut: count(|outcome| outcome.events_cut),
        unfinished: unfinished(outcomes),
        errors: errors(outcomes),
        reconnects: count(|outcome| outcome.reconnects),
        latency: latencies(outcomes),
        latency_ms_sum: outcomes.iter().map(|outcome| outcome.latency_ms_sum).sum(),
        threads: outcomes.iter().flat_map(|outcome| outcome.threads.iter().copied()).collect(),
        rate_target: outcomes.iter().map(|outcome| outcome.rate_target).sum(),
        client_cpu_s: outcomes.iter().map(|outcome| outcome.client_cpu_s).sum(),
        steady: steady(outcomes),
        device: None,
        interrupted: outcomes.iter().any(|outcome| outcome.interrupted),
        work: first.work.clone(),
        schedule: asked::together(outcomes.iter().map(|outcome| &outcome.schedule))?,
    })
}

/// The largest plausible count of a load: sums over any number of hosts stay far within 64 bits.
const COUNT_MAX: u64 = 1 << 50;

/// The largest plausible value in seconds, or per second.
const FIGURE_MAX: f64 = 1e12;

/// The longest load, in seconds: a year.
const SECONDS_MAX: f64 = 3.2e7;

/// Returns true if a host's outcome is plausible: small enough to be added to others.
#[must_use]
pub fn is_plausible(outcome: &LoadOutcome) -> bool {
    let schedule = &outcome.schedule;
    let counts = [
        outcome.events,
        outcome.events_warmup,
        outcome.events_late,
        outcome.events_between,
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
        && threads.map(|thread| thread.events).all(is_count)
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

/// Returns true for a plausible second.
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

fn is_latency(latency: &LatencyStats) -> bool {
    is_count(latency.count) && latency.buckets_ns.iter().all(|(_, count)| is_count(*count))
}

fn unfinished(outcomes: &[LoadOutcome]) -> Unfinished {
    let all = outcomes.iter().map(|next| next.unfinished);
    all.fold(Unfinished::default(), |sum, next| Unfinished {
        events: sum.events + next.events,
        wait_ms_max: sum.wait_ms_max.max(next.wait_ms_max),
    })
}

fn errors(outcomes: &[LoadOutcome]) -> BTreeMap<u16, u64> {
    let mut sum = BTreeMap::new();
    for (code, count) in outcomes.iter().flat_map(|outcome| &outcome.errors) {
        *sum.entry(*code).or_default() += count;
    }
    sum
}

/// Merges the kinds in the order of their first occurrence, whole events first if there are any.
fn latencies(outcomes: &[LoadOutcome]) -> Vec<KindLatency> {
    let mut kinds: Vec<&str> = Vec::new();
    for latency in outcomes.iter().flat_map(|outcome| &outcome.latency) {
        if !kinds.contains(&latency.kind.as_str()) {
            kinds.push(&latency.kind);
        }
    }
    kinds.sort_by_key(|kind| *kind != "transaction");
    let sum = |kind: &str| {
        let of = || outcomes.iter().filter_map(|outcome| outcome.latency_of(kind));
        KindLatency {
            kind: kind.into(),
            service: LatencyStats::sum(of().map(|latency| &latency.service)),
            response: LatencyStats::sum(of().map(|latency| &latency.response)),
        }
    };
    kinds.into_iter().map(sum).collect()
}

/// Steady if all loads were; absent if one had a fixed warm-up.
fn steady(outcomes: &[LoadOutcome]) -> Option<bool> {
    outcomes.iter().try_fold(true, |all, outcome| Some(all && outcome.steady?))
}
