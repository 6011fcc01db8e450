//! Where the program at the other end keeps what it needs for the length of a session.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use assay_ports::child::identity;
use assay_system::ledger::state_directory;

/// A directory that is not there yet, in the state directory: no other session has its name.
///
/// # Errors
/// The state directory cannot be written to.
pub fn new_session_directory() -> Result<PathBuf> {
    let sessions = state_directory().join("sessions");
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(&sessions)
        .with_context(|| format!("cannot make the directory {}", sessions.display()))?;
    let me = identity(std::process::id()).context("cannot read /proc/self/stat")?;
    let sessions = sessions.canonicalize().context("the state directory is gone")?;
    Ok(sessions.join(format!("assay-session-{}-{}", me.pid, me.start_ticks)))
}
