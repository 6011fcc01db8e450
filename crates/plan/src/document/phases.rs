//! Phases: the parts of the measuring window of every run.
//!
//! A workload that a phase names is the mix of that phase, and is not run by itself. The window is
//! as long as all phases together.

use assay_load::{LoadPhase, LoadPhases, Pace, PhasePace, RidesOut, Workload};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::Plan;
use assay_study::Happening;

/// A phase of every run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    /// Name in tables and charts.
    pub name: String,
    /// Length in whole seconds.
    pub seconds: f64,
    /// Events per second over all threads; absent: as the plan has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The rate at its end, to which it runs in a straight line from `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_to: Option<f64>,
    /// Whether no event is due in the phase.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pause: bool,
    /// The workload whose mix it has; absent: the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Event at the beginning of the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happening: Option<Happening>,
}

impl PhaseSpec {
    /// Pace of the phase's events in a run with this pace otherwise.
    fn pace(&self, own: Pace) -> PhasePace {
        let steady = |rate: f64| PhasePace::Rate { from_per_s: rate, to_per_s: rate };
        match (self.pause, self.rate, own) {
            (true, ..) => PhasePace::Paused,
            (false, Some(rate), _) => {
                PhasePace::Rate { from_per_s: rate, to_per_s: self.rate_to.unwrap_or(rate) }
            }
            (false, None, Pace::Rate { per_second, .. }) => steady(per_second),
            (false, None, Pace::Closed | Pace::Throttled { .. }) => PhasePace::Closed,
        }
    }

    fn has_own_pace(&self) -> bool {
        self.pause || self.rate.is_some()
    }
}

impl Plan {
    /// Returns true if a workload is the mix of phases or the load of a neighbour, and so is not
    /// run by itself.
    #[must_use]
    pub fn is_mix(&self, workload: &str) -> bool {
        let in_phases = self.phases.iter().filter_map(|phase| phase.workload.as_ref());
        let of_neighbours =
            self.configs.values().filter_map(|config| Some(&config.neighbour.as_ref()?.workload));
        in_phases.chain(of_neighbours).any(|name| name == workload)
    }

    /// Phases of runs of `workload` as the load takes them; `None` if the plan has none.
    #[must_use]
    pub fn phases_of(&self, workload: &str) -> Option<LoadPhases> {
        let own = self.pace_of(workload);
        let phase = |phase: &PhaseSpec| LoadPhase {
            seconds: phase.seconds as u32,
            pace: phase.pace(own),
            workload: phase.workload.as_ref().and_then(|name| self.server_workload(name)).cloned(),
        };
        let each: Vec<LoadPhase> = self.phases.iter().map(phase).collect();
        (!each.is_empty()).then_some(LoadPhases { arrivals: self.arrivals, each })
    }

    /// Returns true if the plan's own rate has an effect on a phase.
    pub(crate) fn leaves_rates_a_say(&self) -> bool {
        self.phases.is_empty() || self.phases.iter().any(|phase| !phase.has_own_pace())
    }

    /// A workload on the server, by its name.
    pub(crate) fn server_workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.get(name)?.server()
    }

    /// Returns true if an event happens to the server while it is loaded.
    #[must_use]
    pub fn has_happenings(&self) -> bool {
        let during = self.objective.as_ref().is_some_and(|objective| objective.during.is_some());
        during || self.phases.iter().any(|phase| phase.happening.is_some())
    }

    /// Disturbances of the load that the plan asks for, and that do not end it.
    #[must_use]
    pub fn rides_out(&self) -> RidesOut {
        let happens = |is_it: fn(&Happening) -> bool| {
            let in_phases = self.phases.iter().filter_map(|phase| phase.happening.as_ref());
            let during = self.objective.as_ref().and_then(|objective| objective.during.as_ref());
            in_phases.chain(during).any(is_it)
        };
        RidesOut {
            restarts: happens(|one| *one == Happening::Restart),
            changed_tables: happens(|one| matches!(one, Happening::Sql(_))),
        }
    }
}

/// Reads `seconds`, which is a number if it is given.
pub(super) fn deserialize_seconds<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<f64>, D::Error> {
    let seconds = f64::deserialize(from)?;
    match seconds.is_nan() {
        true => {
            Err(D::Error::custom("seconds is nan; give how long a run is measured, such as 60"))
        }
        false => Ok(Some(seconds)),
    }
}
