//! Detaches a drive: removes the block device, and waits until the server has closed the drive.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use assay_ports::rbd::ImageName;
use assay_ports::{fuse, loopdev};

use super::attached::{CLOSE_PATIENCE, waiting_for_end};
use super::log::{is_error, words};
use super::registry::{self, RegisteredDrive};
use assay_system::resource::{ensure_unused, lasting_users};

/// Removes the block device and waits until the drive is closed. Returns a line that reports it.
/// Fails if the drive is not attached, is in use, or cannot be closed.
pub fn detach(named: &Path) -> Result<String> {
    let Some(attached) = registry::find(named)? else {
        ensure_nobody_has(named)?;
        bail!("{} is not attached; nothing to do", named.display())
    };
    let media = attached.media.display();
    if attached.owner.is_none() || (attached.health().is_err() && attached.has_died()?) {
        attached.clear()?;
        return Ok(format!(
            "{media} is detached; its server had died, its stale device is removed"
        ));
    }
    let attachment = attached.health()?.attachment;
    let pid = attachment.pid.unwrap_or_default();
    let server = attached.process()?.context("the server has just ended; try again")?;
    take_away(&attached)?;
    let waiting = waiting_for_end(pid, &attached.media);
    let has_ended = server.wait(Some(CLOSE_PATIENCE))?;
    drop(waiting);
    ensure!(
        has_ended,
        "{media} is taken away, but process {pid} has not closed it within {} s; it goes on{}",
        CLOSE_PATIENCE.as_secs(),
        attachment.log.as_ref().map_or_else(String::new, |log| format!(", see {}", log.display()))
    );
    // A server that belongs to another process reports to that process how it ended.
    attachment.log.map_or(Ok(()), |log| check_end(&attached, &log))?;
    Ok(format!("{media} is detached"))
}

/// Fails if somebody uses the drive. A drive without a ledger can be in use all the same: attached
/// by another user, or through a loop device.
pub fn ensure_nobody_has(named: &Path) -> Result<()> {
    if ImageName::is_meant(named) {
        // Only the cluster knows the clients of an image.
        return Ok(());
    }
    let path = named
        .canonicalize()
        .with_context(|| format!("{} is not attached and does not exist", named.display()))?;
    let users = lasting_users(&path)?;
    ensure!(
        users.is_empty(),
        "{} is in use: {}; if that is a drive's server, detach it as the user, or with the \
         ASSAY_STATE, that attached it",
        path.display(),
        users.join(", ")
    );
    Ok(())
}

/// The server notices the end of its mount, and closes the drive.
fn take_away(attached: &RegisteredDrive) -> Result<()> {
    ensure_unused(&attached.file())?;
    let devices = attached.devices()?;
    devices.iter().try_for_each(|device| ensure_unused(device))?;
    devices.iter().try_for_each(|device| loopdev::detach(device, &attached.mount_point))?;
    Ok(fuse::unmount(&attached.mount_point)?)
}

/// A server that could not close its drive leaves its directory; the last line of its log holds the
/// reason.
fn check_end(attached: &RegisteredDrive, log: &Path) -> Result<()> {
    if attached.directory.symlink_metadata().is_err() {
        return Ok(());
    }
    attached.clear()?;
    let said = std::fs::read_to_string(log).unwrap_or_default();
    match said.lines().last().filter(|line| is_error(line)) {
        Some(line) => bail!("{}", words(line)),
        None => bail!("the server ended unexpectedly; its log is {}", log.display()),
    }
}
