//! The search on a real server: each run is a load in open loop with Poisson arrivals. The caller
//! decides where the load runs.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{
    Capacity, CapacityFound, Objective, Prober, Purpose, REST_LENGTH, Search, SearchStep, Tried,
    search,
};
use crate::error::{Error, Result};
use crate::outcome::LoadOutcome;
use crate::schedule::{Arrivals, Pace, Schedule};

/// Share of the planned events that a run must complete.
const DONE_SHARE_MIN: f64 = 0.98;
/// Events that must lie above a percentile to estimate it.
const ABOVE_LEAST: f64 = 10.0;
/// First rate, as a share of the closed loop's throughput.
const START_SHARE: f64 = 0.5;

/// The load of a search.
#[derive(Clone, Copy)]
pub struct CapacityRun<'a> {
    /// Runs the load on a schedule.
    pub run: &'a dyn Fn(&Schedule) -> Result<LoadOutcome>,
    /// Threads, seed, and the lengths of a probing run and its warm-up; the search sets the pace.
    pub schedule: &'a Schedule,
    /// Ends the search when set.
    pub stop: &'a AtomicBool,
}

/// A search, and the run that represents its result.
#[derive(Debug)]
pub struct Searched {
    pub capacity: Capacity,
    /// The last run that held at the found rate, if a rate was found; otherwise the last run tried.
    pub outcome: LoadOutcome,
}

impl Searched {
    fn of(capacity: Capacity, load: Load<'_>) -> Result<Searched> {
        let outcome = match capacity.found {
            CapacityFound::Rate { .. } => load.held.or(load.last),
            _ => load.last,
        };
        let outcome = outcome.ok_or_else(|| Error::Config("the search made no run".into()))?;
        Ok(Searched { capacity, outcome })
    }
}

/// Finds the rate that [`MET_SHARE`](super::MET_SHARE) of windows as long as the schedule's meet
/// under `objective`. Starts at half of a closed loop's throughput, and
/// tries no rate above twice of it.
///
/// # Errors
/// [`Error::Config`] for an invalid objective or a stopped search, otherwise the error of a run.
pub fn find(
    on: &CapacityRun<'_>,
    objective: Objective,
    resolution: f64,
    runs_max: u32,
    shown: &dyn Fn(&SearchStep),
) -> Result<Searched> {
    objective.check()?;
    check(on.schedule)?;
    let mut load = Load { on, objective, number: 0, held: None, last: None };
    let closed = load.go(Pace::Closed, 1.0)?;
    let start = (closed.tps * START_SHARE).max(1.0);
    let rate_min = ABOVE_LEAST / (1.0 - objective.percentile / 100.0) / on.schedule.seconds;
    let rate_max = (closed.tps * 2.0).max(rate_min);
    let options = Search { start, rate_min, rate_max, resolution, runs_max };
    let capacity = search(&mut load, objective, &options, shown)?;
    Searched::of(capacity, load)
}

impl Objective {
    /// Checks that a rate could meet the objective.
    ///
    /// # Errors
    /// [`Error::Config`] with what to give instead.
    pub fn check(&self) -> Result<()> {
        let refuse = |message: &str| Err(Error::Config(message.into()));
        if !(self.percentile > 0.0 && self.percentile < 100.0) {
            return refuse("the objective's percentile must be above 0 and below 100, such as 99");
        }
        if !(self.ms > 0.0 && self.ms < 1e6) {
            return refuse("the objective must be above 0 ms, such as 10");
        }
        Ok(())
    }
}

fn check(schedule: &Schedule) -> Result<()> {
    if schedule.seconds <= 0.0 {
        let message = "each run of the search needs a length; give --time, such as 10";
        return Err(Error::Config(message.into()));
    }
    schedule.check()
}

struct Load<'a> {
    on: &'a CapacityRun<'a>,
    objective: Objective,
    number: u64,
    /// The last run that held the found rate.
    held: Option<LoadOutcome>,
    /// The last probing run.
    last: Option<LoadOutcome>,
}

impl Load<'_> {
    fn go(&mut self, pace: Pace, length: f64) -> Result<LoadOutcome> {
        if self.on.stop.load(Ordering::Relaxed) {
            return Err(Error::Config("the search was stopped".into()));
        }
        self.number += 1;
        let schedule = Schedule {
            pace,
            seconds: self.on.schedule.seconds * length,
            events: 0,
            seed: self.on.schedule.seed.wrapping_add(self.number),
            ..self.on.schedule.clone()
        };
        let outcome = (self.on.run)(&schedule)?;
        if outcome.interrupted {
            return Err(Error::Config("the search was stopped".into()));
        }
        Ok(outcome)
    }
}

impl Prober for Load<'_> {
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        let length = match purpose {
            Purpose::Probe | Purpose::Hold => 1.0,
            Purpose::Rest => REST_LENGTH,
        };
        let pace = Pace::Rate { per_second: rate, arrivals: Arrivals::Poisson };
        let outcome = self.go(pace, length)?;
        let tried = judged(&outcome, rate, purpose, self.objective);
        match purpose {
            Purpose::Hold if tried.is_met => self.held = Some(outcome),
            Purpose::Probe | Purpose::Hold => self.last = Some(outcome),
            Purpose::Rest => {}
        }
        Ok(tried)
    }
}

/// Counts a longer wait of an unfinished event as the latency: percentiles do not include it.
fn judged(outcome: &LoadOutcome, rate: f64, purpose: Purpose, objective: Objective) -> Tried {
    let times = outcome.latency_of("transaction");
    let measured =
        times.map_or(f64::MAX, |times| times.response.quantile_ms(objective.percentile / 100.0));
    let share = 1.0 - objective.percentile / 100.0;
    let hidden = outcome.hidden_wait().filter(|_| outcome.unfinished_percent() / 100.0 > share);
    let latency_ms = hidden.map_or(measured, |waiting| measured.max(waiting.wait_ms_max));
    // With few events, chance alone decides how many arrive.
    let expected = rate * outcome.elapsed_s;
    let chance = 3.0 / expected.max(1.0).sqrt();
    let is_done = outcome.tps >= rate * (DONE_SHARE_MIN - chance);
    Tried {
        purpose,
        rate,
        achieved: outcome.tps,
        latency_ms,
        is_met: is_done && latency_ms <= objective.ms,
    }
}
