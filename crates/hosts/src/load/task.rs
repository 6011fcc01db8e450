//! What a load host is told, and what it tells.

use assay_load::{LoadSpec, Outcome, Second, Shortage, with_password};
use serde::{Deserialize, Serialize};

use super::files::Carried;

/// The works, as they are called.
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

/// When to begin, in ns since 1970 of the clock of whoever is told.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Begin {
    pub(super) at_ns: u64,
}

/// What a load tells while it runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoadMessage {
    /// All connections are ready.
    Ready,
    /// The measuring window lies there, in seconds of the load's clock; without an end where it ends with the last event.
    Window { from_s: f64, to_s: Option<f64> },
    /// A second has ended.
    Second(Box<Second>),
    /// An error ends the load, which follows: what was measured until then.
    BrokenOff(Box<Outcome>),
}

/// Why a load, or the look before it, came to nothing there.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoadFailed {
    /// As the load has it.
    Load(assay_load::Error),
    /// The word to begin came so much too late, in ms.
    Late(f64),
    /// Something of the host's own.
    Host(String),
}

/// What comes of a load.
pub(super) type LoadDone = Outcome;

/// What comes of the look before it.
pub(super) type PreflightDone = Option<Shortage>;
