//! Merges the same second of several loads.

use crate::outcome::{Second, SecondPhase};
use crate::record::{LatencyStats, Queries};

/// Merges the same second of concurrent loads; `None` without one. The caller matches the seconds:
/// the last one of a run, which is shorter, ends with each load.
#[must_use]
pub fn seconds_together(seconds: &[Second]) -> Option<Second> {
    let first = seconds.first()?;
    let count = |of: fn(&Second) -> u64| seconds.iter().map(of).sum::<u64>();
    let end_s = seconds.iter().map(|second| second.end_s).fold(first.end_s, f64::max);
    let begin_s = seconds.iter().map(|second| second.end_s - second.length_s);
    let length_s = match seconds.iter().all(|second| second.length_s == first.length_s) {
        // By subtraction, equal lengths would differ in the last digit.
        true => first.length_s,
        false => end_s - begin_s.fold(f64::INFINITY, f64::min),
    };
    let events = count(|second| second.events);
    let queries = Queries::sum(seconds.iter().map(|second| second.queries));
    let is_measured = seconds.iter().all(|second| second.phase == SecondPhase::Measure);
    Some(Second {
        end_s,
        length_s,
        phase: if is_measured { SecondPhase::Measure } else { SecondPhase::Warmup },
        threads: seconds.iter().map(|second| second.threads).sum(),
        events,
        tps: events as f64 / length_s,
        qps: queries.total() as f64 / length_s,
        queries,
        latency: LatencyStats::sum(seconds.iter().map(|second| &second.latency)),
        errors: count(|second| second.errors),
        reconnects: count(|second| second.reconnects),
        queue_length: count(|second| second.queue_length),
        concurrency: seconds.iter().map(|second| second.concurrency).sum(),
    })
}
