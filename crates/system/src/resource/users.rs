//! Finds the processes and devices that use a file, directory or device.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assay_ports::users::users;

/// How long a use must last to count: longer than udev probes a changed device, or a forked process
/// holds its parent's files.
const USE_PATIENCE: Duration = Duration::from_secs(1);

/// The users of `path` that remain for a while.
pub fn lasting_users(path: &Path) -> Result<Vec<String>> {
    let deadline = Instant::now() + USE_PATIENCE;
    loop {
        let found = users_of(path)?;
        if found.is_empty() || Instant::now() >= deadline {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub(super) fn users_of(path: &Path) -> Result<Vec<String>> {
    users(path).with_context(|| format!("cannot determine who uses {}", path.display()))
}

/// Fails with the list of users if `path` stays in use.
pub fn ensure_unused(path: &Path) -> Result<()> {
    refuse(path, &lasting_users(path)?)
}

/// Like [`ensure_unused`] for a single moment, for callers that repeat the check.
pub fn ensure_unused_now(path: &Path) -> Result<()> {
    refuse(path, &users_of(path)?)
}

pub(super) fn refuse(path: &Path, users: &[String]) -> Result<()> {
    ensure!(
        users.is_empty(),
        "{} is in use: {}; unmount or close it first",
        path.display(),
        users.join(", ")
    );
    Ok(())
}
