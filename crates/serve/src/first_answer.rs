//! The first answer of a new mount, which another process asks for: a server that waits for its own
//! threads could not be killed meanwhile ([`assay_ports::fuse::FuseOptions::asked_by`]).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// A command of this program that calls [`ask`] for the file `disk`.
pub(crate) fn command(disk: &Path) -> Command {
    // The same program, also when its file was replaced since; its copies of this process's files
    // are closed as it starts.
    let mut command = Command::new("/proc/self/exe");
    command.args(["drive", "first-answer"]).arg(disk).stdin(Stdio::null());
    command
}

/// Asks for the metadata of the file `disk` in a mount.
///
/// # Errors
/// The mount's answer.
pub fn ask(disk: &Path) -> Result<()> {
    fs::metadata(disk).with_context(|| format!("{} does not answer", disk.display())).map(drop)
}
