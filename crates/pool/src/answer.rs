//! Messages from a cluster's daemon to the process that started it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A message, one line each.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The current step.
    Step(String),
    /// The cluster runs.
    Up(Started),
    /// Starting failed, and nothing is left.
    Failed(String),
}

/// A cluster that was just started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    pub name: String,
    pub directory: PathBuf,
    pub ceph_conf: PathBuf,
    /// Process number of its daemon.
    pub pid: u32,
    /// Duration of the start in seconds.
    pub seconds: f64,
    /// Version of Ceph's programs.
    pub version: String,
}
