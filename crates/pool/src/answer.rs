//! What the daemon of a cluster says to whoever started it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A line each.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// What it does now.
    Step(String),
    /// It runs.
    Up(Started),
    /// It cannot, and has left nothing.
    Failed(String),
}

/// A cluster that was just started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// What it is called.
    pub name: String,
    /// Its directory.
    pub directory: PathBuf,
    /// Its configuration file.
    pub ceph_conf: PathBuf,
    /// The process that it belongs to.
    pub pid: u32,
    /// How long it took from the first step, in seconds.
    pub seconds: f64,
    /// The version of its programs.
    pub version: String,
}
