//! The highest rate that meets a latency objective, found by runs at rates that are chosen one after the other.
//!
//! Doubling and halving brackets it; then each run is at the rate at which meeting and missing are as likely, by all runs so
//! far, until the interval is as narrow as was asked for. If all that is learned points beyond the bracket, it is made anew there. Overload leaves traces (a backlog of dirty pages, a drive that collects
//! garbage, a cold pool): after a run that missed, the load rests at a rate that was met until that is met again. At the end the
//! lower end of the interval must hold in most of three runs more, and in the last of them: if that missed, in one more. If it does
//! not, or if clearly lower rates miss what higher ones met, the state has changed: all that was learned is forgotten, and the
//! search begins anew below. So a fresh drive's rate is not reported for a used one's.
//!
//! What is searched on is a [`Prober`]: a real server, or anything else that can be run at a rate and says how it went.

mod outlook;
mod posterior;
mod run;
#[cfg(test)]
mod simulated_tests;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use outlook::Outlook;
use posterior::Posterior;

pub use run::{CapacityRun, Searched, find};

/// What a rate must keep to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Which percentile of the response times, above 0 and below 100.
    pub percentile: f64,
    /// It is to be at most this, in ms.
    pub ms: f64,
}

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The rate to begin with, in events per second.
    pub start: f64,
    /// Rates below are not tried: their runs have too few events for the percentile.
    pub rate_min: f64,
    /// Rates above are not tried.
    pub rate_max: f64,
    /// Half the width that the interval is to have, as a share of the rate.
    pub resolution: f64,
    /// The most runs, those that let the server rest not counted.
    pub runs_max: u32,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To learn where the capacity lies.
    Probe,
    /// To let the server recover from a rate that it missed.
    Rest,
    /// To see whether what was found holds.
    Hold,
}

/// A run at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// What it was for.
    pub purpose: Purpose,
    /// Events per second that were asked for.
    pub rate: f64,
    /// Events per second that ended.
    pub achieved: f64,
    /// The percentile of the objective, in ms, from when events were due.
    pub latency_ms: f64,
    /// Whether it met the objective: latency, and that the rate was done.
    pub is_met: bool,
}

/// What came of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Found {
    /// The highest rate that meets the objective, with its 90 % interval; its lower end held.
    Rate {
        /// Events per second.
        rate: f64,
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// No rate that was tried met the objective.
    NoneMeets {
        /// The lowest that was tried.
        lowest: f64,
        /// Its latency, in ms.
        latency_ms: f64,
    },
    /// Every rate up to the highest that may be tried met it.
    AllMeet {
        /// The highest that was tried.
        highest: f64,
    },
    /// The runs were used up before the interval was narrow, or before anything held.
    Unsettled {
        /// The lower end of what is believed.
        low: f64,
        /// The upper end.
        high: f64,
    },
}

/// A search from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// What rates had to keep to.
    pub objective: Objective,
    /// What came of it.
    #[serde(flatten)]
    pub found: Found,
    /// How often the search began anew because what it had found did not hold.
    pub restarts: u32,
    /// All runs, in order.
    pub runs: Vec<Tried>,
}

/// A search in hand: a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What it found.
    pub tried: Tried,
    /// Runs that have ended, those that let the server rest included.
    pub runs: u32,
    /// Runs still to come as far as can be told, likewise. More, if it turns out that the state has changed.
    pub runs_left: u32,
}

/// What can be run at a rate.
pub trait Prober {
    /// Runs at `rate` events per second, in the state that the runs before have left.
    ///
    /// # Errors
    /// What ends the search.
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried>;
}

/// What a miss is followed by: at most so many runs at this share of the rate that was met last.
const RESTS_MAX: u32 = 3;
const REST_SHARE: f64 = 0.5;
/// Runs at the lower end of what was found, and how many of them must meet the objective.
const HOLDS: u32 = 3;
const HELD_MIN: u32 = 2;
/// A rate that misses although one so much higher was met says that the state has changed, if so many do.
const CHANGED_RATIO: f64 = 1.05;
const CHANGED_MIN: u32 = 3;
/// Where a new search begins, of the rate that did not hold.
const RESTART_SHARE: f64 = 0.7;
/// How far beyond its bracket the capacity may lie: a run may have said the wrong thing.
const DOUBT: f64 = 1.5;
/// What is believed to reach up to so much of the highest that can be believed reaches beyond it.
const AT_TOP: f64 = 0.98;
/// The ends of the interval.
const ENDS: [f64; 2] = [0.05, 0.95];

/// Searches with `prober`; `shown` is told of each run.
///
/// # Errors
/// The prober's.
pub fn search(
    prober: &mut dyn Prober,
    objective: Objective,
    options: &Search,
    shown: &dyn Fn(&Step),
) -> Result<Capacity> {
    let outlook = Outlook::new();
    let mut searching = Searching { prober, options, shown, runs: Vec::new(), used: 0, outlook };
    let (mut start, mut restarts) = (options.start, 0);
    let found = loop {
        match searching.epoch(start)? {
            Epoch::Done(found) => break found,
            Epoch::Beyond(rate) => start = rate,
            Epoch::DidNotHold(rate) => {
                restarts += 1;
                start = rate * RESTART_SHARE;
            }
        }
    };
    Ok(Capacity { objective, found, restarts, runs: searching.runs })
}

/// Runs that a search takes as far as can be told before the first, those that let the server rest included, if the state does
/// not change: its interval is to be within `resolution` on either side, and at most `runs_max` count.
#[must_use]
pub fn runs_expected(resolution: f64, runs_max: u32) -> u32 {
    Outlook::new().runs_left(resolution, runs_max)
}

/// How a search between two restarts ended.
enum Epoch {
    Done(Found),
    DidNotHold(f64),
    /// The bracket was too low: chance had spoilt the run at its upper end.
    Beyond(f64),
}

/// The two sides between which the capacity lies.
enum Bracket {
    Between(f64, f64),
    Done(Found),
}

struct Searching<'a> {
    prober: &'a mut dyn Prober,
    options: &'a Search,
    shown: &'a dyn Fn(&Step),
    runs: Vec<Tried>,
    /// Runs that count.
    used: u32,
    outlook: Outlook,
}

impl Searching<'_> {
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        let tried = self.make(rate, purpose)?;
        self.show(tried);
        Ok(tried)
    }

    /// A run from which is learned before it is shown.
    fn learn(&mut self, rate: f64, purpose: Purpose, posterior: &mut Posterior) -> Result<Tried> {
        let tried = self.make(rate, purpose)?;
        posterior.learn(rate, tried.is_met);
        self.outlook.narrowed(ENDS.map(|end| posterior.quantile(end)), purpose);
        self.show(tried);
        Ok(tried)
    }

    fn make(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        let tried = self.prober.run(rate, purpose)?;
        self.used += u32::from(purpose != Purpose::Rest);
        self.runs.push(tried);
        Ok(tried)
    }

    fn show(&self, tried: Tried) {
        let most = self.options.runs_max.saturating_sub(self.used);
        let runs_left = self.outlook.runs_left(self.options.resolution, most);
        (self.shown)(&Step { tried, runs: self.runs.len() as u32, runs_left });
    }

    fn is_used_up(&self) -> bool {
        self.used >= self.options.runs_max
    }

    fn epoch(&mut self, start: f64) -> Result<Epoch> {
        let first = self.runs.len();
        self.outlook = Outlook::new();
        let (low, high) = match self.bracket(start)? {
            Bracket::Between(low, high) => (low, high),
            Bracket::Done(found) => return Ok(Epoch::Done(found)),
        };
        let mut posterior = Posterior::between(low / DOUBT, high * DOUBT);
        for one in self.runs[first..].iter().filter(|one| one.purpose != Purpose::Rest) {
            posterior.learn(one.rate, one.is_met);
        }
        let (mut met, mut highest_met, mut contradictions) = (low, low, 0);
        loop {
            let [below, above] = ENDS.map(|end| posterior.quantile(end));
            let top = high * DOUBT;
            if above > top * AT_TOP && top < self.options.rate_max && !self.is_used_up() {
                return Ok(Epoch::Beyond(top));
            }
            let is_narrow = above / below <= 1.0 + 2.0 * self.options.resolution;
            if is_narrow && !self.holds(below, &mut posterior)? {
                self.rest(met)?;
                return Ok(self.anew(below, above));
            }
            // What held is learned from too, and may have widened the interval.
            let [below, above] = ENDS.map(|end| posterior.quantile(end));
            if is_narrow && above / below <= 1.0 + 3.0 * self.options.resolution {
                let rate = posterior.quantile(0.5);
                return Ok(Epoch::Done(Found::Rate { rate, low: below, high: above }));
            }
            if self.is_used_up() {
                return Ok(Epoch::Done(Found::Unsettled { low: below, high: above }));
            }
            let rate = posterior.quantile(0.5);
            if self.learn(rate, Purpose::Probe, &mut posterior)?.is_met {
                (met, highest_met) = (rate, highest_met.max(rate));
                continue;
            }
            self.rest(met)?;
            contradictions += u32::from(rate * CHANGED_RATIO < highest_met);
            if contradictions >= CHANGED_MIN {
                return Ok(self.anew(rate, above));
            }
        }
    }

    /// Whether most of some runs more at `rate` meet the objective, and the last of them does: a state that changes shows in the
    /// last ones, so that after a last miss one more decides.
    fn holds(&mut self, rate: f64, posterior: &mut Posterior) -> Result<bool> {
        let (mut held, mut last) = (0, false);
        for _ in 0..HOLDS {
            last = self.learn(rate, Purpose::Hold, posterior)?.is_met;
            held += u32::from(last);
        }
        if !last && held >= HELD_MIN {
            last = self.learn(rate, Purpose::Hold, posterior)?.is_met;
        }
        Ok(last && held >= HELD_MIN)
    }

    /// The search once more, below `rate`, if there are runs left.
    fn anew(&self, rate: f64, high: f64) -> Epoch {
        match self.is_used_up() {
            true => Epoch::Done(Found::Unsettled { low: self.options.rate_min, high }),
            false => Epoch::DidNotHold(rate),
        }
    }

    /// Doubles or halves the rate until one is met and the next is not.
    fn bracket(&mut self, start: f64) -> Result<Bracket> {
        let mut rate = start.clamp(self.options.rate_min, self.options.rate_max);
        let first = self.run(rate, Purpose::Probe)?;
        let mut last = first;
        loop {
            if self.is_used_up() {
                let (low, high) = if last.is_met {
                    (rate, self.options.rate_max)
                } else {
                    (self.options.rate_min, rate)
                };
                return Ok(Bracket::Done(Found::Unsettled { low, high }));
            }
            match (first.is_met, last.is_met) {
                (true, true) if rate >= self.options.rate_max => {
                    return Ok(Bracket::Done(Found::AllMeet { highest: rate }));
                }
                (true, true) => rate = (rate * 2.0).min(self.options.rate_max),
                (false, false) if rate <= self.options.rate_min => {
                    let latency_ms = last.latency_ms;
                    return Ok(Bracket::Done(Found::NoneMeets { lowest: rate, latency_ms }));
                }
                (false, false) => rate = (rate / 2.0).max(self.options.rate_min),
                (true, false) => {
                    self.rest(rate / 2.0)?;
                    return Ok(Bracket::Between(rate / 2.0, rate));
                }
                (false, true) => return Ok(Bracket::Between(rate, rate * 2.0)),
            }
            last = self.run(rate, Purpose::Probe)?;
        }
    }

    /// Rests at half of a rate that was met until that is met again, a few times at most.
    fn rest(&mut self, met: f64) -> Result<()> {
        for _ in 0..RESTS_MAX {
            if self.run(met * REST_SHARE, Purpose::Rest)?.is_met {
                break;
            }
        }
        Ok(())
    }
}
