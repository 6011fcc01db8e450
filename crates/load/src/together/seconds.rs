//! The same second of several loads, as one.

use crate::outcome::{Second, SecondPhase};
use crate::record::{Latency, Queries};

/// What loads of the same time did in a second, as one; nothing where there is none. Which seconds are the same the caller knows: the
/// last of a run, which is shorter, ends with each load.
#[must_use]
pub fn seconds_together(seconds: &[Second]) -> Option<Second> {
    let first = seconds.first()?;
    let count = |of: fn(&Second) -> u64| seconds.iter().map(of).sum::<u64>();
    let end_s = seconds.iter().map(|one| one.end_s).fold(first.end_s, f64::max);
    let begin_s = seconds.iter().map(|one| one.end_s - one.length_s);
    let length_s = match seconds.iter().all(|one| one.length_s == first.length_s) {
        // Subtracted, equal lengths would differ in the last digit.
        true => first.length_s,
        false => end_s - begin_s.fold(f64::INFINITY, f64::min),
    };
    let events = count(|one| one.events);
    let queries = Queries::sum(seconds.iter().map(|one| one.queries));
    let is_measured = seconds.iter().all(|one| one.phase == SecondPhase::Measure);
    Some(Second {
        end_s,
        length_s,
        phase: if is_measured { SecondPhase::Measure } else { SecondPhase::Warmup },
        threads: seconds.iter().map(|one| one.threads).sum(),
        events,
        tps: events as f64 / length_s,
        qps: queries.total() as f64 / length_s,
        queries,
        latency: Latency::sum(seconds.iter().map(|one| &one.latency)),
        errors: count(|one| one.errors),
        reconnects: count(|one| one.reconnects),
        queue_length: count(|one| one.queue_length),
        concurrency: seconds.iter().map(|one| one.concurrency).sum(),
    })
}
