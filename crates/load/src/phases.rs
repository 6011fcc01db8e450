//! Phases of a load: stretches of its measuring window, one after the other, each with a pace, and maybe a mix, of its own.
//!
//! They are one load: connections stay, and what is due in one phase and not done in it is done in the next.

use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrivals, is_rate};
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::workload::Workload;

/// All phases of a load, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// How planned starts are spaced, in the warm-up too.
    pub arrivals: Arrivals,
    /// Each phase.
    pub each: Vec<LoadPhase>,
}

/// One phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPhase {
    /// How long it lasts, in seconds.
    pub seconds: u32,
    /// How its events are started.
    pub pace: PhasePace,
    /// What is run in it, where that is not the load's own workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
}

/// How events of a phase are started.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhasePace {
    /// Closed loop: each thread starts the next event when the last has ended.
    Closed,
    /// No event is due. What is left of the phase before is done all the same.
    Paused,
    /// Open loop, at a rate that changes evenly over the phase.
    Rate {
        /// Events per second at its beginning.
        from_per_s: f64,
        /// At its end.
        to_per_s: f64,
    },
}

impl PhasePace {
    /// The highest rate that is asked for; nothing in closed loop and in a pause.
    #[must_use]
    pub fn highest_per_s(self) -> Option<f64> {
        match self {
            PhasePace::Closed | PhasePace::Paused => None,
            PhasePace::Rate { from_per_s, to_per_s } => Some(from_per_s.max(to_per_s)),
        }
    }

    /// The mean rate that is asked for; nothing in closed loop.
    #[must_use]
    pub fn mean_per_s(self) -> Option<f64> {
        match self {
            PhasePace::Closed => None,
            PhasePace::Paused => Some(0.0),
            PhasePace::Rate { from_per_s, to_per_s } => Some(f64::midpoint(from_per_s, to_per_s)),
        }
    }
}

impl Phases {
    /// How long all of them last, in seconds.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.each.iter().map(|phase| u64::from(phase.seconds)).sum()
    }

    /// Checks what cannot work, such as a rate of zero.
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
                    "a phase's rate goes from {from_per_s} to {to_per_s}; give more than 0 events per second"
                ));
            }
            if let Some(workload) = &phase.workload {
                check_mix(workload)?;
            }
        }
        Ok(())
    }
}

/// A mix is run on tables that the load's own workload is at work on.
fn check_mix(workload: &Workload) -> Result<()> {
    if matches!(workload.recipe, Recipe::YcsbLoad | Recipe::OltpNontrxInsert) {
        let name = workload.recipe.name();
        return Err(Error::Config(format!(
            "`{name}` begins with empty tables, so it cannot be run in a phase; use another recipe there"
        )));
    }
    Ok(())
}
