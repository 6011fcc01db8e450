//! The search on a real server: each run is a load in open loop with Poisson arrivals.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Capacity, Objective, Prober, Purpose, Search, Tried, search};
use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::run::run;
use crate::schedule::{Arrivals, Pace, Schedule};
use crate::schema::Schema;
use crate::workload::Workload;
use assay_mysql::Endpoint;

/// How long a run that rests is, of one that probes.
const REST_LENGTH: f64 = 0.5;
/// A rate is done if so much of it was.
const DONE_SHARE_MIN: f64 = 0.98;
/// Events that must lie above a percentile for it to be told.
const ABOVE_LEAST: f64 = 10.0;
/// Where a search begins: this share of what a closed loop did.
const START_SHARE: f64 = 0.5;

/// What is searched on.
#[derive(Debug, Clone, Copy)]
pub struct CapacityRun<'a> {
    /// The server.
    pub endpoint: &'a Endpoint,
    /// Its tables.
    pub schema: &'a Schema,
    /// What is run.
    pub workload: &'a Workload,
    /// Threads, the length of a probing run and of its warm-up, the seed; the pace is the search's.
    pub schedule: &'a Schedule,
    /// Ends the search when set.
    pub stop: &'a AtomicBool,
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
    shown: &dyn Fn(&Tried),
) -> Result<Capacity> {
    check(objective, on.schedule)?;
    let mut load = Load { on, objective, number: 0 };
    let closed = load.go(Pace::Closed, 1.0)?;
    let start = (closed.tps * START_SHARE).max(1.0);
    let rate_min = ABOVE_LEAST / (1.0 - objective.percentile / 100.0) / on.schedule.seconds;
    let rate_max = (closed.tps * 2.0).max(rate_min);
    let options = Search { start, rate_min, rate_max, resolution, runs_max };
    search(&mut load, objective, &options, shown)
}

fn check(objective: Objective, schedule: &Schedule) -> Result<()> {
    let refuse = |message: &str| Err(Error::Config(message.into()));
    if !(objective.percentile > 0.0 && objective.percentile < 100.0) {
        return refuse("the objective's percentile must be above 0 and below 100, such as 99");
    }
    if !(objective.ms > 0.0 && objective.ms < 1e6) {
        return refuse("the objective must be above 0 ms, such as 10");
    }
    if schedule.seconds <= 0.0 {
        return refuse("each run of the search needs a length; give --time, such as 10");
    }
    schedule.check()
}

struct Load<'a> {
    on: &'a CapacityRun<'a>,
    objective: Objective,
    number: u64,
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
        let CapacityRun { endpoint, schema, workload, stop, .. } = self.on;
        let outcome = run(endpoint, schema, workload, &schedule, None, &(), stop)?;
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
        Ok(judged(&outcome, rate, purpose, self.objective))
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
