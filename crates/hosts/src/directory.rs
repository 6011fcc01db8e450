//! The directory that holds a session's files on a host.

use std::path::PathBuf;

use anyhow::Result;
use assay_system::{new_name, state};

/// A new name in the state directory, which no other session uses.
pub fn new_session_directory() -> Result<PathBuf> {
    Ok(state::below("sessions")?.join(new_name("session")))
}
