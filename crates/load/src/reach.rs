//! Checks that the connections can carry a rate: each waits for one answer at a time, and no answer
//! arrives sooner than a round trip.
//!
//! The bound is that of an infinitely fast server over this connection; a real one needs more
//! connections. A rate beyond it is run all the same, as overload is a result.

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::connect::{At, NOTHING, open_to_ask};
use crate::error::Result;
use crate::program::statements_per_event;
use crate::schedule::Schedule;
use crate::spec::LoadSpec;
use crate::workload::Workload;
use assay_mysql::Endpoint;

/// Number of timed round trips, and the place of the counted one in ascending order: chance
/// prolongs some.
const ROUND_TRIPS: usize = 100;
const COUNTED: usize = 10;

/// A rate beyond what the connections can carry.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shortage {
    /// Planned events per second.
    pub per_second: f64,
    /// Number of connections.
    pub threads: u32,
    /// Events per second that these could carry with an infinitely fast server.
    pub per_second_max: f64,
    /// Round trip, in microseconds.
    pub round_trip_us: f64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needed = (f64::from(self.threads) * self.per_second / self.per_second_max).ceil();
        let connections = if self.threads == 1 { "connection" } else { "connections" };
        write!(
            f,
            "a rate of {} per second is more than {} {connections} can carry: a round trip takes \
             {:.0} µs, so they do at most {:.0} \
             events per second; use at least {needed:.0} threads, or a lower rate",
            self.per_second, self.threads, self.round_trip_us, self.per_second_max
        )
    }
}

/// Times round trips to the server. Returns the shortage if the load's rate exceeds what its
/// connections can carry.
///
/// # Errors
/// The server cannot be asked.
pub fn shortage(load: &LoadSpec) -> Result<Option<Shortage>> {
    let LoadSpec { endpoint, schema, workload, schedule } = load;
    let asked = asked(workload, schedule);
    if asked.is_empty() {
        return Ok(None);
    }
    let round_trip = round_trip(endpoint)?;
    let short = |(per_second, workload): (f64, &Workload)| {
        let think = Duration::from_micros(workload.user_delay_min);
        let event_s = (round_trip + think).as_secs_f64() * statements_per_event(workload, schema);
        of(per_second, schedule.threads, event_s, round_trip)
    };
    let worst = |a: &Shortage, b: &Shortage| a.excess().total_cmp(&b.excess());
    Ok(asked.into_iter().filter_map(short).max_by(worst))
}

/// All planned rates with their workloads: that of the load, and those of its phases.
fn asked<'a>(workload: &'a Workload, schedule: &'a Schedule) -> Vec<(f64, &'a Workload)> {
    let phases = schedule.phases.iter().flat_map(|phases| &phases.each);
    let of_phases = phases.filter_map(|phase| {
        Some((phase.pace.highest_per_s()?, phase.workload.as_ref().unwrap_or(workload)))
    });
    let own = schedule.pace.per_second().map(|per_second| (per_second, workload));
    own.into_iter().chain(of_phases).collect()
}

impl Shortage {
    fn excess(&self) -> f64 {
        self.per_second / self.per_second_max
    }
}

fn of(per_second: f64, threads: u32, event_s: f64, round_trip: Duration) -> Option<Shortage> {
    let per_second_max = f64::from(threads) / event_s;
    let round_trip_us = round_trip.as_secs_f64() * 1e6;
    (per_second > per_second_max).then_some(Shortage {
        per_second,
        threads,
        per_second_max,
        round_trip_us,
    })
}

fn round_trip(endpoint: &Endpoint) -> Result<Duration> {
    let mut session = open_to_ask(endpoint)?;
    let mut timed = || {
        let began = Instant::now();
        let answer = session.query(NOTHING.as_bytes());
        answer.map(|_| began.elapsed()).map_err(|e| e.at(&endpoint.to_string(), NOTHING))
    };
    let mut trips: Vec<Duration> = (0..ROUND_TRIPS).map(|_| timed()).collect::<Result<_>>()?;
    trips.sort_unstable();
    Ok(trips[COUNTED])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_beyond_the_round_trips_is_told_with_what_it_needs() {
        let trip = Duration::from_micros(100);
        // Ten statements of 100 µs: a connection does a thousand events per second.
        let short = of(10_000.0, 4, 1e-3, trip).unwrap();
        assert_eq!(short.per_second_max, 4000.0);
        let told = short.to_string();
        assert!(told.contains("more than 4 connections can carry"), "{told}");
        assert!(told.contains("at least 10 threads"), "{told}");
        assert_eq!(of(3999.0, 4, 1e-3, trip), None);
    }
}
