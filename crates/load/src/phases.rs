//! Phases of a load: successive spans of its measuring window, each with its own pace and
//! optionally its own mix.
//!
//! They are one load: connections stay open, and the backlog of a phase carries over to the next.

use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrivals, is_rate};
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::workload::Workload;

/// All phases of a load, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPhases {
    /// Spacing of planned starts, in the warm-up too.
    pub arrivals: Arrivals,
    /// Each phase.
    pub each: Vec<LoadPhase>,
}

/// One phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPhase {
    /// Length, in seconds.
    pub seconds: u32,
    /// Pace of its events.
    pub pace: PhasePace,
    /// Its workload, if it differs from the load's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
}

/// The pace of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhasePace {
    /// Closed loop: each thread starts the next event when the last has ended.
    Closed,
    /// No event is due. The backlog of the phase before is still worked off.
    Paused,
    /// Open loop, at a rate that changes linearly over the phase.
    Rate {
        /// Events per second at the start.
        from_per_s: f64,
        /// Events per second at the end.
        to_per_s: f64,
    },
}

impl PhasePace {
    /// The highest planned rate; `None` for a closed loop and a pause.
    #[must_use]
    pub fn highest_per_s(self) -> Option<f64> {
        match self {
            PhasePace::Closed | PhasePace::Paused => None,
            PhasePace::Rate { from_per_s, to_per_s } => Some(from_per_s.max(to_per_s)),
        }
    }

    /// The mean planned rate; `None` for a closed loop.
    #[must_use]
    pub fn mean_per_s(self) -> Option<f64> {
        match self {
            PhasePace::Closed => None,
            PhasePace::Paused => Some(0.0),
            PhasePace::Rate { from_per_s, to_per_s } => Some(f64::midpoint(from_per_s, to_per_s)),
        }
    }
}

impl LoadPhases {
    /// Total length, in seconds.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.each.iter().map(|phase| u64::from(phase.seconds)).sum()
    }

    /// Checks the phases.
    ///
    /// # Errors
    /// [`Error::Config`] with what to change.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::Config(message));
        if self.each.is_empty() {
            return refuse("there is no phase; give at least one".into());
        }
        for phase in &self.each {
            if phase.seconds == 0 {
                return refuse("a phase lasts 0 seconds; give at least 1".into());
            }
            if let PhasePace::Rate { from_per_s, to_per_s } = phase.pace
                && !(is_rate(from_per_s) && is_rate(to_per_s))
            {
                return refuse(format!(
                    "a phase's rate goes from {from_per_s} to {to_per_s}; give more than 0 events \
                     per second"
                ));
            }
            if let Some(workload) = &phase.workload {
                check_mix(workload)?;
            }
        }
        Ok(())
    }
}

/// Checks that a mix can run on the tables of the load's own workload.
fn check_mix(workload: &Workload) -> Result<()> {
    if matches!(workload.recipe, Recipe::YcsbLoad | Recipe::OltpNontrxInsert) {
        let name = workload.recipe.name();
        return Err(Error::Config(format!(
            "`{name}` begins with empty tables, so it cannot be run in a phase; use another recipe \
             there"
        )));
    }
    Ok(())
}
