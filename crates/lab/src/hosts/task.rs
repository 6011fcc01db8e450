//! What the machine that has the server is told, and what it tells.

use std::path::PathBuf;

use assay_load::capacity::{Objective, Step};
use assay_load::{Error, LoadSpec, PrepareProgress, Second, Shortage, with_password};
use assay_ports::child::Identity;
use assay_study::{Outcome, TrialKey};
use serde::{Deserialize, Serialize};

use crate::run::Described;
use crate::run::loads::LoadResult;

/// The works, as they are called.
pub(super) const STUDY: &str = "study";
pub(super) const CHECK: &str = "study_check";
pub(super) const CLEAR: &str = "study_clear";

/// What a study, or the look before it, needs there.
#[derive(Serialize, Deserialize)]
pub(super) struct StudyTask {
    /// The plan, as [`assay_plan::Experiment::to_be_sent`] writes it.
    pub(super) plan: String,
    /// Devices there that may be overwritten.
    pub(super) erase: Vec<PathBuf>,
    /// By which address or name the load reaches the server.
    pub(super) address: String,
    /// The program of the session before, if that was lost: it must have ended, and what it left must go.
    pub(super) former: Option<Identity>,
}

/// To the machine that has the server.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToServer {
    /// Make this run.
    Run(TrialKey),
    /// What the look before a load found.
    Preflighted(Result<Option<Shortage>, Error>),
    /// The measuring window lies there, in seconds of the run's clock; without an end where it ends with the last event.
    Window { from_s: f64, to_s: Option<f64> },
    /// A second of the load has ended.
    Second(Box<Second>),
    /// The load has ended.
    Loaded(Box<Result<LoadResult, Error>>),
}

/// From it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromServer {
    /// All that runs share is made.
    Ready(Box<Described>),
    /// What a person is shown meanwhile.
    Shown(Shown),
    /// Look for what would stop this load.
    Preflight(#[serde(with = "with_password")] Box<LoadSpec>),
    /// Run it, and count its seconds from then, in ns since 1970 of the clock of whoever tells it.
    Load {
        #[serde(with = "with_password")]
        load: Box<LoadSpec>,
        origin_ns: u64,
    },
    /// The run has ended.
    Ended(Box<Outcome>),
}

/// What a person is shown, as [`crate::run::Progress`] has it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shown {
    Say(String),
    Step(String),
    Loading(PrepareProgress),
    Second(Box<Second>),
    Tried { objective: Objective, step: Step },
}
