//! The rate that 95 % of windows meet under a latency objective, found by runs at successive
//! rates.
//!
//! A window's capacity varies from run to run, and wanders. Doubling and halving brackets it. Each
//! further run is at a rate that, by all runs so far, a window meets with a probability of one half
//! or of 85 %: the first locate the capacity, the second show how much it varies. The search ends
//! when the interval of the rate that 95 % of windows meet is as narrow as required, or as the
//! variation between windows warrants. If the runs point beyond the bracket, it is made anew there.
//! Overload leaves traces (a backlog of dirty pages, a drive's garbage collection, a cold pool):
//! after a missed run, the load rests at a rate that was met until that is met again. At the end
//! the reported rate must hold in most of three more runs, and in the last of them; if that one
//! missed, in one more. If it does not hold, the search goes on with what these runs say; if none
//! of them met the objective, or if clearly lower rates miss where higher ones met, the state has
//! changed: everything learned is dropped, and the search restarts below. So a fresh drive's rate
//! is not reported for a used one's.
//!
//! The search runs on a [`Prober`]: a real server, or anything else that runs at a rate and reports
//! the result.

mod outlook;
mod posterior;
mod run;
#[cfg(test)]
mod simulated_tests;
#[cfg(test)]
mod wander_tests;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use outlook::Outlook;
use posterior::Posterior;

pub use run::{CapacityRun, Searched, find};

/// The latency objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Percentile of the response times, above 0 and below 100.
    pub percentile: f64,
    /// Its highest value, in ms.
    pub ms: f64,
}

/// The options of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The first rate, in events per second.
    pub start: f64,
    /// The lowest rate tried: slower runs have too few events for the percentile.
    pub rate_min: f64,
    /// The highest rate tried.
    pub rate_max: f64,
    /// Half the width of the final interval, as a share of the rate. Where windows vary by more,
    /// each side of the interval may be twice their standard deviation.
    pub resolution: f64,
    /// The most runs, without those that let the server rest.
    pub runs_max: u32,
}

/// The purpose of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Narrows the interval.
    Probe,
    /// Lets the server recover from a rate that it missed.
    Rest,
    /// Checks that the found rate holds.
    Hold,
}

/// A run at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    pub purpose: Purpose,
    /// Planned events per second.
    pub rate: f64,
    /// Completed events per second.
    pub achieved: f64,
    /// The objective's percentile of the response times, in ms.
    pub latency_ms: f64,
    /// True if the run met the objective: the latency, and the rate itself.
    pub is_met: bool,
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum CapacityFound {
    /// A rate that held, with the 90 % interval of the search.
    Rate {
        /// A window at another time meets the objective at this rate with the probability
        /// `met_share`.
        rate: f64,
        /// The lower end of the interval of the rate that this share of windows meets.
        low: f64,
        /// Its upper end.
        high: f64,
        /// 0.5 in records of searches that looked for the rate that half of the windows meet.
        #[serde(default = "half")]
        met_share: f64,
        /// Standard deviation of ln capacity between windows, wander included. Older searches did
        /// not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spread: Option<f64>,
    },
    /// No rate met the objective.
    NoneMeets {
        /// The lowest rate tried.
        lowest: f64,
        /// Its latency, in ms.
        latency_ms: f64,
    },
    /// Every rate met the objective.
    AllMeet {
        /// The highest rate tried.
        highest: f64,
    },
    /// The runs ended before the interval was narrow enough, or before a rate held.
    Unsettled {
        /// The lower end of the interval so far.
        low: f64,
        /// The upper end.
        high: f64,
    },
}

fn half() -> f64 {
    0.5
}

/// A complete search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    pub objective: Objective,
    #[serde(flatten)]
    pub found: CapacityFound,
    /// Number of restarts because a found rate did not hold.
    pub restarts: u32,
    pub runs: Vec<Tried>,
}

/// A run of a search, reported when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SearchStep {
    pub tried: Tried,
    /// Number of runs so far, rests included.
    pub runs: u32,
    /// Expected number of further runs, rests included. It grows if the state turns out to have
    /// changed.
    pub runs_left: u32,
}

/// A system that runs at a given rate.
pub trait Prober {
    /// Runs at `rate` events per second, in the state left by the runs before. An error ends the
    /// search.
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried>;
}

/// The most rests after a miss, and their rate as a share of the last rate that was met.
const RESTS_MAX: u32 = 3;
const REST_SHARE: f64 = 0.5;
/// Share of windows that meet the objective at the reported rate.
pub const MET_SHARE: f64 = 0.95;
/// Probabilities of meeting the objective at which the search probes in turn: of a location and a
/// spread, runs near the middle show the first, and runs away from it the second; few runs at the
/// upper rate miss, and need a rest.
const PROBED: [f64; 2] = [0.5, 0.85];
/// Half the width of the interval, in standard deviations between windows, that suffices where
/// windows vary by more than the resolution: to halve it takes four times as many runs.
const SPREADS_WIDE: f64 = 2.0;
/// Number of runs at the found rate, and how many of them must meet the objective.
const HOLDS: u32 = 3;
const HELD_MIN: u32 = 2;
/// Ratio to a higher rate that was met above which a miss means a changed state, in addition in
/// standard deviations between windows, and the number of such misses.
const CHANGED_RATIO: f64 = 1.05;
const CHANGED_SPREADS: f64 = 3.0;
const CHANGED_MIN: u32 = 3;
/// First rate after a restart, as a share of the rate that did not hold.
const RESTART_SHARE: f64 = 0.7;
/// Factor by which the capacity may lie beyond its bracket: a run may have misled.
const DOUBT: f64 = 1.5;
/// Share of the highest possible capacity at which the interval counts as reaching beyond it.
const AT_TOP: f64 = 0.98;
/// Width of the interval after the holding runs, relative to the required one, that still ends the
/// search.
const HELD_WIDTH: f64 = 1.5;
/// Length of a rest, as a share of a probing run.
const REST_LENGTH: f64 = 0.5;
/// Quantiles at the ends of the interval.
const ENDS: [f64; 2] = [0.05, 0.95];

/// Searches with `prober`, and calls `shown` for each run.
pub fn search(
    prober: &mut dyn Prober,
    objective: Objective,
    options: &Search,
    shown: &dyn Fn(&SearchStep),
) -> Result<Capacity> {
    let outlook = Outlook::new(options.resolution);
    let mut searching =
        Searching { prober, options, shown, runs: Vec::new(), used: 0, learned: 0, outlook };
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

/// Expected number of runs before the first one, rests included, if the state does not change. The
/// interval ends within `resolution` on either side; at most `runs_max` runs count.
#[must_use]
pub fn runs_expected(resolution: f64, runs_max: u32) -> u32 {
    Outlook::new(resolution).runs_left(runs_max)
}

/// The end of a search between two restarts.
enum Epoch {
    Done(CapacityFound),
    DidNotHold(f64),
    /// The bracket was too low: its upper end's run had missed by chance.
    Beyond(f64),
}

/// The ends between which the capacity lies.
enum Bracket {
    Between(f64, f64),
    Done(CapacityFound),
}

/// The rate that [`MET_SHARE`] of windows meet, as far as a posterior shows it.
struct Estimate {
    low: f64,
    high: f64,
    spread: f64,
}

impl Estimate {
    fn of(posterior: &Posterior) -> Estimate {
        let [low, high] = ENDS.map(|end| posterior.quantile(MET_SHARE, end));
        Estimate { low, high, spread: posterior.spread() }
    }

    /// Returns true if the interval is at most `times` as wide as a search is to end with.
    fn is_within(&self, resolution: f64, times: f64) -> bool {
        self.high / self.low <= 1.0 + 2.0 * times * wide_enough(resolution, self.spread)
    }

    fn found(&self, posterior: &Posterior) -> CapacityFound {
        CapacityFound::Rate {
            rate: posterior.predicted(MET_SHARE),
            low: self.low,
            high: self.high,
            met_share: MET_SHARE,
            spread: Some(self.spread),
        }
    }
}

/// Half the width of the interval that a search ends with, as a share of the rate.
fn wide_enough(resolution: f64, spread: f64) -> f64 {
    resolution.max(SPREADS_WIDE * spread)
}

/// The result of holding runs.
struct Held {
    met: u32,
    is_last_met: bool,
}

impl Held {
    fn add(&mut self, tried: Tried) {
        self.met += u32::from(tried.is_met);
        self.is_last_met = tried.is_met;
    }

    fn is_enough(&self) -> bool {
        self.is_last_met && self.met >= HELD_MIN
    }
}

struct Searching<'a> {
    prober: &'a mut dyn Prober,
    options: &'a Search,
    shown: &'a dyn Fn(&SearchStep),
    runs: Vec<Tried>,
    /// Number of runs that count.
    used: u32,
    /// Number of runs that the posterior of this epoch has seen, or that precede it.
    learned: usize,
    outlook: Outlook,
}

impl Searching<'_> {
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        let tried = self.make(rate, purpose)?;
        self.show(tried);
        Ok(tried)
    }

    /// Runs, updates the posterior, and then reports the run.
    fn learn(&mut self, rate: f64, purpose: Purpose, posterior: &mut Posterior) -> Result<Tried> {
        let tried = self.make(rate, purpose)?;
        self.catch_up(posterior);
        self.outlook.narrowed(&Estimate::of(posterior), purpose);
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
        let runs_left = self.outlook.runs_left(most);
        (self.shown)(&SearchStep { tried, runs: self.runs.len() as u32, runs_left });
    }

    fn is_used_up(&self) -> bool {
        self.used >= self.options.runs_max
    }

    /// Updates the posterior with all runs that it has not seen; rests take time alone.
    fn catch_up(&mut self, posterior: &mut Posterior) {
        for run in &self.runs[self.learned..] {
            match run.purpose {
                Purpose::Rest => posterior.pass(REST_LENGTH),
                Purpose::Probe | Purpose::Hold => {
                    posterior.pass(1.0);
                    posterior.learn(run.rate, run.is_met);
                }
            }
        }
        self.learned = self.runs.len();
    }

    fn epoch(&mut self, start: f64) -> Result<Epoch> {
        self.learned = self.runs.len();
        self.outlook = Outlook::new(self.options.resolution);
        let (low, high) = match self.bracket(start)? {
            Bracket::Between(low, high) => (low, high),
            Bracket::Done(found) => return Ok(Epoch::Done(found)),
        };
        let mut posterior = Posterior::between(low / DOUBT, high * DOUBT);
        let (mut met, mut highest_met, mut contradictions) = (low, low, 0);
        for probability in PROBED.into_iter().cycle() {
            self.catch_up(&mut posterior);
            let top = high * DOUBT;
            let reaches = posterior.quantile(0.5, ENDS[1]);
            if reaches > top * AT_TOP && top < self.options.rate_max && !self.is_used_up() {
                return Ok(Epoch::Beyond(top));
            }
            if Estimate::of(&posterior).is_within(self.options.resolution, 1.0) {
                let rate = posterior.predicted(MET_SHARE);
                let held = self.holds(rate, &mut posterior)?;
                let estimate = Estimate::of(&posterior);
                // The holding runs update the posterior too, and may have widened the interval.
                if held.is_enough() && estimate.is_within(self.options.resolution, HELD_WIDTH) {
                    return Ok(Epoch::Done(estimate.found(&posterior)));
                }
                if !held.is_enough() {
                    self.rest(met)?;
                    if held.met == 0 {
                        return Ok(self.anew(rate, estimate.high));
                    }
                }
            }
            if self.is_used_up() {
                let Estimate { low, high, .. } = Estimate::of(&posterior);
                return Ok(Epoch::Done(CapacityFound::Unsettled { low, high }));
            }
            self.catch_up(&mut posterior);
            let rate = posterior.predicted(probability);
            if self.learn(rate, Purpose::Probe, &mut posterior)?.is_met {
                (met, highest_met) = (rate, highest_met.max(rate));
                continue;
            }
            self.rest(met)?;
            let ratio = CHANGED_RATIO.max((CHANGED_SPREADS * posterior.spread()).exp());
            contradictions += u32::from(rate * ratio < highest_met);
            if contradictions >= CHANGED_MIN {
                return Ok(self.anew(rate, highest_met));
            }
        }
        unreachable!("the cycle has no end")
    }

    /// Runs at `rate` several more times: a changing state shows in the last runs. After a last
    /// miss, one more run decides.
    fn holds(&mut self, rate: f64, posterior: &mut Posterior) -> Result<Held> {
        let mut held = Held { met: 0, is_last_met: false };
        for _ in 0..HOLDS {
            held.add(self.learn(rate, Purpose::Hold, posterior)?);
        }
        if !held.is_last_met && held.met >= HELD_MIN {
            held.add(self.learn(rate, Purpose::Hold, posterior)?);
        }
        Ok(held)
    }

    /// Restarts the search below `rate` if there are runs left.
    fn anew(&self, rate: f64, high: f64) -> Epoch {
        match self.is_used_up() {
            true => Epoch::Done(CapacityFound::Unsettled { low: self.options.rate_min, high }),
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
                return Ok(Bracket::Done(CapacityFound::Unsettled { low, high }));
            }
            match (first.is_met, last.is_met) {
                (true, true) if rate >= self.options.rate_max => {
                    return Ok(Bracket::Done(CapacityFound::AllMeet { highest: rate }));
                }
                (true, true) => rate = (rate * 2.0).min(self.options.rate_max),
                (false, false) if rate <= self.options.rate_min => {
                    let latency_ms = last.latency_ms;
                    return Ok(Bracket::Done(CapacityFound::NoneMeets {
                        lowest: rate,
                        latency_ms,
                    }));
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

    /// Rests at half of a rate that was met until that is met again, at most [`RESTS_MAX`] times.
    fn rest(&mut self, met: f64) -> Result<()> {
        for _ in 0..RESTS_MAX {
            if self.run(met * REST_SHARE, Purpose::Rest)?.is_met {
                break;
            }
        }
        Ok(())
    }
}
