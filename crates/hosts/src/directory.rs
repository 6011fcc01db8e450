//! Where the program at the other end keeps what it needs for the length of a session.

use std::path::PathBuf;

use anyhow::Result;
use assay_system::{new_name, state};

/// A directory that is not there yet, in the state directory: no other session has its name.
///
/// # Errors
/// The state directory cannot be written to.
pub fn new_session_directory() -> Result<PathBuf> {
    Ok(state::below("sessions")?.join(new_name("session")))
}
