//! The search on a real server: each run is a load in open loop with Poisson arrivals. Who makes the run says where it comes from.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Capacity, Found, Objective, Prober, Purpose, Search, Step, Tried, search};
use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::schedule::{Arrivals, Pace, Schedule};

/// How long a run that rests is, of one that probes.
const REST_LENGTH: f64 = 0.5;
/// A rate is done if so much of it was.
const DONE_SHARE_MIN: f64 = 0.98;
/// Events that must lie above a percentile for it to be told.
const ABOVE_LEAST: f64 = 10.0;
/// Where a search begins: this share of what a closed loop did.
const START_SHARE: f64 = 0.5;

/// What is searched on.
#[derive(Clone, Copy)]
pub struct CapacityRun<'a> {
    /// Makes a run, wherever the load comes from.
    pub run: &'a dyn Fn(&Schedule) -> Result<Outcome>,
    /// Threads, the length of a probing run and of its warm-up, the seed; the pace is the search's.
    pub schedule: &'a Schedule,
    /// Ends the search when set.
    pub stop: &'a AtomicBool,
}

/// A search, and the run that stands for what it found.
#[derive(Debug)]
pub struct Searched {
    /// What came of it.
    pub capacity: Capacity,
    /// Where a rate was found, the last run that held at the lower end of its interval; else the last that was tried.
    pub outcome: Outcome,
}

impl Searched {
    fn of(capacity: Capacity, load: Load<'_>) -> Result<Searched> {
        let outcome = match capacity.found {
            Found::Rate { .. } => load.held.or(load.last),
            _ => load.last,
        };
        let outcome = outcome.ok_or_else(|| Error::Config("the search made no run".into()))?;
        Ok(Searched { capacity, outcome })
    }
}

/// Finds the highest rate that meets `objective`: begins at half of what a closed loop does, and tries nothing above twice of it.
///
/// # Errors
/// [`Error::Config`] for an objective that cannot be or a stopped search, else what a run met.
pub fn find(
    on: &CapacityRun<'_>,
    objective: Objective,
    resolution: f64,
    runs_max: u32,
    shown: &dyn Fn(&Step),
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
    /// Checks that a rate could keep to it.
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
    /// The last run that held what was found.
    held: Option<Outcome>,
    /// The last that was to learn from.
    last: Option<Outcome>,
}

impl Load<'_> {
    fn go(&mut self, pace: Pace, length: f64) -> Result<Outcome> {
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

/// What waited longer than anything that ended counts as the latency: percentiles do not hold it.
fn judged(outcome: &Outcome, rate: f64, purpose: Purpose, objective: Objective) -> Tried {
    let times = outcome.latency_of("transaction");
    let measured =
        times.map_or(f64::MAX, |times| times.response.quantile_ms(objective.percentile / 100.0));
    let share = 1.0 - objective.percentile / 100.0;
    let hidden = outcome.hidden_wait().filter(|_| outcome.unfinished_percent() / 100.0 > share);
    let latency_ms = hidden.map_or(measured, |waiting| measured.max(waiting.wait_ms_max));
    // Of few events, chance alone decides how many come.
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
