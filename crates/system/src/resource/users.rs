//! Who uses a file, directory or device, and goes on using it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assay_ports::users::users;

/// How long what is in use is looked at again: longer than a prober opens a device that has just changed, or a process
/// that was just forked holds its parent's files.
const USE_PATIENCE: Duration = Duration::from_secs(1);

/// Who uses it, and goes on using it.
///
/// # Errors
/// It cannot be told.
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

/// Refuses what somebody uses, and goes on using, saying who.
///
/// # Errors
/// One line with every user.
pub fn ensure_unused(path: &Path) -> Result<()> {
    refuse(path, &lasting_users(path)?)
}

/// The same of this moment, for whoever looks again by himself.
///
/// # Errors
/// One line with every user.
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
