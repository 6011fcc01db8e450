//! Messages between the coordinating machine and a load host.

use assay_load::{LoadOutcome, LoadSpec, Second, Shortage, with_password};
use serde::{Deserialize, Serialize};

use super::files::Carried;

/// Names of the jobs.
pub(super) const LOAD: &str = "load";
pub(super) const PREFLIGHT: &str = "preflight";

/// The part of a load that one host runs, which is in the load's schedule.
#[derive(Serialize, Deserialize)]
pub(super) struct LoadTask {
    #[serde(with = "with_password")]
    pub(super) load: LoadSpec,
    /// The files that the load names.
    pub(super) files: Vec<Carried>,
}

/// The start time, in ns since 1970 by the receiver's clock.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Begin {
    pub(super) at_ns: u64,
}

/// Messages of a running load.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoadMessage {
    Ready,
    /// The measuring window, in seconds of the load's clock; without an end if the last event ends
    /// it.
    Window {
        from_s: f64,
        to_s: Option<f64>,
    },
    Second(Box<Second>),
    /// The outcome until an error that ends the load. The error follows.
    BrokenOff(Box<LoadOutcome>),
}

/// Why a load or its preflight check failed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoadFailed {
    Load(assay_load::Error),
    /// The start time arrived too late, by this many ms.
    Late(f64),
    /// A failure of the host itself.
    Host(String),
}

pub(super) type LoadDone = LoadOutcome;

pub(super) type PreflightDone = Option<Shortage>;
