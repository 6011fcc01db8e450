//! Target of a load: a server or a directory, and the parts of it that this machine can see.

use std::path::PathBuf;

use anyhow::Result;
use assay_load::Endpoint;

use super::phase_events::OwnServer;
use crate::monitor::Targets;

/// A target that is up, ready to be loaded.
pub(super) trait Target: Send {
    /// Fails if the server refuses a login.
    fn place(&self) -> Result<LoadPlace>;

    /// The things to monitor from `cpus`; those that cannot be seen are absent.
    fn monitored(&self, cpus: &[usize]) -> Targets;

    /// The server, if it is ours to restart.
    fn own_server(&mut self) -> Option<OwnServer<'_>> {
        None
    }
}

/// The place to which a load goes.
pub(super) enum LoadPlace {
    Server(Endpoint),
    Directory(PathBuf),
}
