//! How long, how many, how fast, from which seed, on which CPUs.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// When measuring begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warmup {
    /// After this many seconds.
    Seconds(f64),
    /// Once throughput holds still: the means of the last two spans of five seconds differ by less than 5 %, or after
    /// `cap_seconds`.
    Steady {
        /// Longest wait, in seconds.
        cap_seconds: f64,
    },
}

/// How events are started.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// Closed loop: each thread starts the next event when the last has ended.
    Closed,
    /// Open loop: so many events per second over all threads, whether or not the server keeps up.
    Rate {
        /// Events per second.
        per_second: f64,
        /// How they are spaced.
        arrivals: Arrivals,
    },
    /// A closed loop with a schedule, as YCSB's `-target`: each thread has its own even starts at its share of the rate, and
    /// one that is behind goes on without a pause until it has caught up.
    Throttled {
        /// Events per second over all threads.
        per_second: f64,
    },
}

impl Pace {
    /// Events per second that are asked for; nothing in a closed loop without a schedule.
    #[must_use]
    pub fn per_second(self) -> Option<f64> {
        match self {
            Pace::Closed => None,
            Pace::Rate { per_second, .. } | Pace::Throttled { per_second } => Some(per_second),
        }
    }
}

/// How planned starts are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At random, as independent users arrive: gaps are exponential.
    #[default]
    Poisson,
    /// All gaps alike.
    Even,
}

/// How a run goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Connections, one thread each.
    pub threads: u32,
    /// When measuring begins.
    pub warmup: Warmup,
    /// Length of the measuring window in seconds; 0 for no limit.
    pub seconds: f64,
    /// Events after which the run ends, counted from the start of the measuring window; 0 for no limit.
    pub events: u64,
    /// How events are started.
    pub pace: Pace,
    /// Where all randomness comes from.
    pub seed: u64,
    /// CPUs to run on; empty for any.
    pub cpus: Vec<usize>,
    /// Seconds to wait for events in flight when time is up, after which their connections are cut; absent: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced_shutdown: Option<f64>,
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule {
            threads: 1,
            warmup: Warmup::Seconds(0.0),
            seconds: 10.0,
            events: 0,
            pace: Pace::Closed,
            seed: 1,
            cpus: Vec::new(),
            forced_shutdown: None,
        }
    }
}

/// The most threads one run may have.
pub const THREADS_MAX: u32 = 4096;

impl Schedule {
    /// Checks what cannot work, such as no threads.
    ///
    /// # Errors
    /// [`Error::Config`] with what to change.
    pub fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::Config(message));
        if self.threads == 0 || self.threads > THREADS_MAX {
            return refuse(format!("`threads` is {}; give 1 to {THREADS_MAX}", self.threads));
        }
        let (Warmup::Seconds(warmup) | Warmup::Steady { cap_seconds: warmup }) = self.warmup;
        let grace = self.forced_shutdown.unwrap_or(0.0);
        let times = [("warmup", warmup), ("seconds", self.seconds), ("forced_shutdown", grace)];
        for (name, seconds) in times {
            if !(0.0..=1e7).contains(&seconds) {
                return refuse(format!("`{name}` is {seconds}; give 0 to 10000000 seconds"));
            }
        }
        match self.pace.per_second() {
            Some(per_second) if !(per_second > 0.0 && per_second <= 1e8) => {
                refuse(format!("the rate is {per_second}; give more than 0 events per second"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
        Schedule::default().check().unwrap();
        let bad = [
            Schedule { threads: 0, ..Schedule::default() },
            Schedule { threads: THREADS_MAX + 1, ..Schedule::default() },
            Schedule { seconds: -1.0, ..Schedule::default() },
            Schedule { seconds: f64::NAN, ..Schedule::default() },
            Schedule { warmup: Warmup::Seconds(f64::INFINITY), ..Schedule::default() },
            Schedule { forced_shutdown: Some(-1.0), ..Schedule::default() },
            Schedule {
                pace: Pace::Rate { per_second: 0.0, arrivals: Arrivals::Even },
                ..Schedule::default()
            },
        ];
        for schedule in bad {
            assert!(schedule.check().is_err(), "{schedule:?}");
        }
    }
}
