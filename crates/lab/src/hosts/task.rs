//! Messages between the server's machine and the machine that started the study.

use std::path::PathBuf;

use assay_load::capacity::{Objective, SearchStep};
use assay_load::{Error, LoadSpec, PrepareProgress, Second, Shortage, with_password};
use assay_ports::child::Identity;
use assay_study::{Outcome, TrialKey};
use serde::{Deserialize, Serialize};

use crate::run::Described;
use crate::run::loads::LoadResult;

/// Names of the kinds of work.
pub(super) const STUDY: &str = "study";
pub(super) const CHECK: &str = "study_check";
pub(super) const CLEAR: &str = "study_clear";

/// The input of a study, or of its check.
#[derive(Serialize, Deserialize)]
pub(super) struct StudyTask {
    /// The plan, as [`assay_plan::Plan::to_be_sent`] writes it.
    pub(super) plan: String,
    /// Devices there that may be overwritten.
    pub(super) erase: Vec<PathBuf>,
    /// Address or name at which the load reaches the server.
    pub(super) address: String,
    /// The program of a lost session, which must end and be cleaned up first.
    pub(super) former: Option<Identity>,
}

/// Messages to the server's machine.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToServer {
    Run(TrialKey),
    Preflighted(Result<Option<Shortage>, Error>),
    /// In seconds of the run's clock; no end if the window ends with the last event.
    Window {
        from_s: f64,
        to_s: Option<f64>,
    },
    Second(Box<Second>),
    Loaded(Box<Result<LoadResult, Error>>),
}

/// Messages from the server's machine.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromServer {
    /// The resources that all runs share have been made.
    Ready(Box<Described>),
    Shown(Shown),
    Preflight(#[serde(with = "with_password")] Box<LoadSpec>),
    /// Run a load; its seconds count from `origin_ns`, in ns since 1970 of the sender's clock.
    Load {
        #[serde(with = "with_password")]
        load: Box<LoadSpec>,
        origin_ns: u64,
    },
    Ended(Box<Outcome>),
}

/// Calls of [`crate::run::Progress`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shown {
    Say(String),
    Step(String),
    Loading(PrepareProgress),
    Second(Box<Second>),
    Tried { objective: Objective, step: SearchStep },
}
