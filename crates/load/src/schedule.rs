//! Length, number of events, pace, seed and CPUs of a run.

use serde::{Deserialize, Serialize};

pub use crate::arrivals::Arrivals;
use crate::arrivals::is_rate;
use crate::error::{Error, Result};
use crate::part::{Deal, LoadPart};
use crate::phases::LoadPhases;
use crate::turns::{SLICE_S, SLICES_BALANCED, Turns};

/// The warm-up before measuring.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warmup {
    /// A fixed number of seconds.
    Seconds(f64),
    /// Until throughput is steady: at most 5 % of it is still to come, by a fitted exponential
    /// approach with its error. Takes at least 30 s, ends after `cap_seconds` at the latest.
    Steady {
        /// Longest warm-up, in seconds.
        cap_seconds: f64,
    },
}

/// The pace of events.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// Closed loop: each thread starts the next event when the last has ended.
    Closed,
    /// Open loop: a rate over all threads, whether or not the server keeps up.
    Rate {
        /// Events per second.
        per_second: f64,
        /// Spacing of the starts.
        arrivals: Arrivals,
    },
    /// A closed loop with a schedule, as YCSB's `-target`: each thread has its own even starts at
    /// its share of the rate, and a late one runs without pauses until it has caught up.
    Throttled {
        /// Events per second over all threads.
        per_second: f64,
    },
}

impl Pace {
    /// Planned events per second; `None` for a closed loop without a schedule.
    #[must_use]
    pub fn per_second(self) -> Option<f64> {
        match self {
            Pace::Closed => None,
            Pace::Rate { per_second, .. } | Pace::Throttled { per_second } => Some(per_second),
        }
    }
}

/// The schedule of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Connections; of fileio, threads.
    pub threads: u32,
    /// The warm-up.
    pub warmup: Warmup,
    /// Length of the measuring window in seconds; 0 for no limit.
    pub seconds: f64,
    /// Events after which the run ends, counted from the start of the measuring window; 0 for no
    /// limit.
    pub events: u64,
    /// The pace of events.
    pub pace: Pace,
    /// Seed of all random numbers.
    pub seed: u64,
    /// CPUs to run on; empty for any.
    pub cpus: Vec<usize>,
    /// Seconds to wait for events in flight at the end, after which their connections are cut;
    /// absent: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced_shutdown: Option<f64>,
    /// The phases of the measuring window, if it has more than one pace; the warm-up has the pace
    /// above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<LoadPhases>,
    /// Disturbances that the load tolerates.
    #[serde(skip_serializing_if = "RidesOut::is_nothing")]
    pub rides_out: RidesOut,
    /// The part that this host runs, if several hosts run the load.
    #[serde(skip_serializing_if = "LoadPart::is_whole")]
    pub part: LoadPart,
    /// The load's turns, if it alternates with others on one clock. Warm-up and seconds are then
    /// those of its own turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
}

/// Planned disturbances that a load tolerates. Otherwise they end it, or are ignored if the
/// workload says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RidesOut {
    /// Restarts of the server: lost connections are made anew as soon as it answers, however long
    /// that takes.
    pub restarts: bool,
    /// Changes of tables by other sessions: transactions that started before are run again.
    pub changed_tables: bool,
}

impl RidesOut {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_nothing(&self) -> bool {
        *self == RidesOut::default()
    }
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
            phases: None,
            rides_out: RidesOut::default(),
            part: LoadPart::WHOLE,
            turns: None,
        }
    }
}

/// Nanoseconds of a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// The most threads of one run.
pub const THREADS_MAX: u32 = 4096;

impl Schedule {
    /// Checks the schedule.
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
            Some(per_second) if !is_rate(per_second) => {
                refuse(format!("the rate is {per_second}; give more than 0 events per second"))
            }
            _ => self
                .check_part()
                .and_then(|()| self.check_phases())
                .and_then(|()| self.check_turns()),
        }
    }

    /// The dealing of the load's sequences, for a valid schedule.
    pub(crate) fn deal(&self) -> Deal {
        Deal::new(self.part, self.threads)
    }

    fn check_part(&self) -> Result<()> {
        let LoadPart { number, of } = self.part;
        let refuse = |message: String| Err(Error::Config(message));
        match self.warmup {
            _ if number >= of => refuse(format!("there is no part {number} of {of}")),
            _ if of == 1 => Ok(()),
            Warmup::Steady { .. } => refuse(
                "a load of several hosts needs a warm-up of a fixed length; give its seconds"
                    .into(),
            ),
            _ if self.threads < of => refuse(format!(
                "{} threads are fewer than {of} hosts; give at least a thread for each",
                self.threads
            )),
            _ if (1..u64::from(of)).contains(&self.events) => refuse(format!(
                "{} events are fewer than {of} hosts; give at least an event for each",
                self.events
            )),
            Warmup::Seconds(_) => Ok(()),
        }
    }

    fn check_phases(&self) -> Result<()> {
        let Some(phases) = &self.phases else { return Ok(()) };
        phases.check()?;
        let refuse = |message: &str| Err(Error::Config(message.into()));
        if (self.seconds - phases.seconds() as f64).abs() > 1e-9 {
            return Err(Error::Config(format!(
                "the phases take {} s together, but the window has {}; make both the same",
                phases.seconds(),
                self.seconds
            )));
        }
        match (self.warmup, self.pace) {
            (Warmup::Steady { .. }, _) => {
                refuse("phases need a warm-up of a fixed length; give its seconds")
            }
            (_, Pace::Throttled { .. }) => {
                refuse("phases cannot be run at a throttled rate; give each phase its rate")
            }
            _ if self.events > 0 => {
                refuse("phases end by the clock; omit the number of events, or the phases")
            }
            _ => Ok(()),
        }
    }

    fn check_turns(&self) -> Result<()> {
        let Some(turns) = self.turns else { return Ok(()) };
        let refuse = |message: String| Err(Error::Config(message));
        let (Warmup::Seconds(warmup) | Warmup::Steady { cap_seconds: warmup }) = self.warmup;
        let (slice, block) = (f64::from(SLICE_S), f64::from(SLICE_S * SLICES_BALANCED));
        match (self.warmup, self.pace) {
            _ if !turns.is_possible() => {
                refuse(format!("there is no side {} of {}", turns.side, turns.of))
            }
            (Warmup::Steady { .. }, _) => {
                refuse("turns need a warm-up of a fixed length; give its seconds".into())
            }
            (_, Pace::Rate { .. } | Pace::Throttled { .. }) => {
                refuse("turns need a closed loop; omit the rate".into())
            }
            _ if self.phases.is_some() || self.events > 0 || self.part != LoadPart::WHOLE => {
                refuse("turns cannot be combined with phases, events or several hosts".into())
            }
            _ if warmup % slice != 0.0 => refuse(format!(
                "turns last {SLICE_S} s and the warm-up {warmup}; give a multiple of {SLICE_S}"
            )),
            _ if self.seconds <= 0.0 || self.seconds % block != 0.0 => refuse(format!(
                "turns are balanced over {block} s and the window has {} s; give a multiple of \
                 {block}",
                self.seconds
            )),
            _ => Ok(()),
        }
    }

    /// The length of the warm-up on the clock, in whole seconds; `None` for one until throughput is
    /// steady.
    pub(crate) fn warmup_s(&self) -> Option<u64> {
        match self.warmup {
            Warmup::Seconds(seconds) => Some(self.on_clock(seconds.max(0.0).ceil()) as u64),
            Warmup::Steady { .. } => None,
        }
    }

    /// The length on the clock of so many seconds of this load.
    pub(crate) fn on_clock(&self, seconds: f64) -> f64 {
        self.turns.map_or(seconds, |turns| turns.on_clock(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::{LoadPhase, PhasePace};
    use crate::recipe::Recipe;
    use crate::workload::Workload;

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

    #[test]
    fn phases_that_cannot_be_are_refused_with_what_to_change() {
        let phase = |pace| LoadPhase { seconds: 5, pace, workload: None };
        let good = Schedule {
            seconds: 10.0,
            phases: Some(LoadPhases {
                arrivals: Arrivals::Even,
                each: vec![phase(PhasePace::Closed), phase(PhasePace::Paused)],
            }),
            ..Schedule::default()
        };
        good.check().unwrap();
        let with = |phase: LoadPhase| {
            let phases = LoadPhases { arrivals: Arrivals::Even, each: vec![phase] };
            Schedule { seconds: 5.0, phases: Some(phases), ..Schedule::default() }
        };
        let load = Workload { recipe: Recipe::YcsbLoad, ..Workload::default() };
        let zero = PhasePace::Rate { from_per_s: 0.0, to_per_s: 9.0 };
        let bad = [
            (Schedule { seconds: 9.0, ..good.clone() }, "10 s together"),
            (Schedule { events: 5, ..good.clone() }, "omit the number of events"),
            (Schedule { warmup: Warmup::Steady { cap_seconds: 5.0 }, ..good.clone() }, "warm-up"),
            (Schedule { pace: Pace::Throttled { per_second: 5.0 }, ..good }, "throttled"),
            (with(phase(zero)), "from 0 to 9"),
            (with(LoadPhase { seconds: 0, ..phase(PhasePace::Closed) }), "at least 1"),
            (with(LoadPhase { workload: Some(load), ..phase(PhasePace::Closed) }), "empty tables"),
        ];
        for (schedule, told) in bad {
            let message = schedule.check().unwrap_err().to_string();
            assert!(message.contains(told), "{message}");
        }
    }

    #[test]
    fn turns_that_cannot_be_balanced_are_refused_with_what_to_change() {
        let turns = Some(Turns { side: 1, of: 2 });
        let warmup = Warmup::Seconds(6.0);
        let good = Schedule { seconds: 8.0, warmup, turns, ..Schedule::default() };
        good.check().unwrap();
        assert_eq!(good.warmup_s(), Some(12), "both warm up");
        let pace = Pace::Rate { per_second: 5.0, arrivals: Arrivals::Even };
        for (bad, told) in [
            (Schedule { seconds: 6.0, ..good.clone() }, "multiple of 4"),
            (Schedule { seconds: 0.0, ..good.clone() }, "multiple of 4"),
            (Schedule { warmup: Warmup::Seconds(5.0), ..good.clone() }, "multiple of 2"),
            (Schedule { warmup: Warmup::Steady { cap_seconds: 60.0 }, ..good.clone() }, "fixed"),
            (Schedule { pace, ..good.clone() }, "closed loop"),
            (Schedule { events: 9, ..good.clone() }, "events"),
            (Schedule { turns: Some(Turns { side: 2, of: 2 }), ..good }, "no side 2 of 2"),
        ] {
            let message = bad.check().unwrap_err().to_string();
            assert!(message.contains(told), "{message}");
        }
    }

    #[test]
    fn what_cannot_be_dealt_out_is_refused_with_what_to_change() {
        let part = LoadPart { number: 1, of: 3 };
        let good = Schedule { threads: 3, events: 3, part, ..Schedule::default() };
        good.check().unwrap();
        let steady = Warmup::Steady { cap_seconds: 60.0 };
        for (bad, told) in [
            (Schedule { threads: 2, ..good.clone() }, "2 threads are fewer than 3 hosts"),
            (Schedule { events: 2, ..good.clone() }, "2 events are fewer than 3 hosts"),
            (Schedule { warmup: steady, ..good.clone() }, "fixed length"),
            (Schedule { part: LoadPart { number: 3, of: 3 }, ..good.clone() }, "no part 3 of 3"),
            (Schedule { part: LoadPart { number: 0, of: 0 }, ..good }, "no part 0 of 0"),
        ] {
            let message = bad.check().unwrap_err().to_string();
            assert!(message.contains(told), "{message}");
        }
    }
}
