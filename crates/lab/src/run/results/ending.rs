//! Runs that end by their number of events before their time is up.

use assay_load::{LoadOutcome, Schedule};

use assay_study::Warning;

/// Shortest good window: counters other than the load's are sampled once a second.
const WINDOW_MIN_S: f64 = 5.0;

/// The end of the run, if its events were done before its time was up.
pub(super) fn fact(ran: &LoadOutcome) -> Option<String> {
    let events = ran.schedule.events;
    is_by_requests(&ran.schedule, ran.elapsed_s, ran.interrupted)
        .then(|| format!("{events} events after {:.1} s", ran.elapsed_s))
}

/// A window ended by events is too short for other counters.
pub(super) fn warning(ran: &LoadOutcome) -> Option<Warning> {
    let is_short = ran.elapsed_s < WINDOW_MIN_S;
    (is_short && is_by_requests(&ran.schedule, ran.elapsed_s, ran.interrupted))
        .then_some(Warning::ShortWindow { length_s: ran.elapsed_s })
}

fn is_by_requests(schedule: &Schedule, elapsed_s: f64, interrupted: bool) -> bool {
    let in_time = schedule.seconds == 0.0 || elapsed_s < schedule.seconds;
    schedule.events > 0 && in_time && !interrupted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_end_a_trial_only_before_its_time() {
        let of = |events, seconds, elapsed_s, interrupted| {
            let schedule = Schedule { events, seconds, ..Schedule::default() };
            is_by_requests(&schedule, elapsed_s, interrupted)
        };
        assert!(of(100, 60.0, 59.9, false) && of(100, 0.0, 1e6, false));
        assert!(!of(100, 60.0, 60.0, false), "the time was up");
        assert!(!of(100, 60.0, 12.0, true), "it was stopped");
        assert!(!of(0, 60.0, 59.9, false), "none were asked for");
    }
}
