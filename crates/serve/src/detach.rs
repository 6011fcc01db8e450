//! Detaching: the block device is taken away, and the server closes its drive.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use assay_ports::rbd::ImageName;
use assay_ports::{fuse, loopdev};

use super::attached::{CLOSE_PATIENCE, waiting_for_end};
use super::log::{is_error, words};
use super::registry::{self, Attached};
use assay_system::resource::{ensure_unused, lasting_users};

/// Takes the block device away and waits until the drive is closed; says in a line what was done.
///
/// # Errors
/// One line: it is not attached, or in use by whom; the drive could not be closed.
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
    // One that belongs to another process tells that one how it ended.
    attachment.log.map_or(Ok(()), |log| check_end(&attached, &log))?;
    Ok(format!("{media} is detached"))
}

/// A drive that no ledger of ours tells of may be served all the same: attached by somebody else, or through a loop device.
///
/// # Errors
/// One line: it is not there; who has it.
pub fn ensure_nobody_has(named: &Path) -> Result<()> {
    if ImageName::is_meant(named) {
        // Who has it elsewhere is known to its cluster alone.
        return Ok(());
    }
    let path = named
        .canonicalize()
        .with_context(|| format!("{} is not attached and does not exist", named.display()))?;
    let users = lasting_users(&path)?;
    ensure!(
        users.is_empty(),
        "{} is in use: {}; if that is a drive's server, detach it as the user, or with the ASSAY_STATE, that attached it",
        path.display(),
        users.join(", ")
    );
    Ok(())
}

/// The server sees its mount go, and closes the drive.
fn take_away(attached: &Attached) -> Result<()> {
    ensure_unused(&attached.file())?;
    let devices = attached.devices()?;
    devices.iter().try_for_each(|device| ensure_unused(device))?;
    devices.iter().try_for_each(|device| loopdev::detach(device, &attached.mount_point))?;
    Ok(fuse::unmount(&attached.mount_point)?)
}

/// A server that could not close its drive leaves its directory, and its log's last line says why.
fn check_end(attached: &Attached, log: &Path) -> Result<()> {
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
