//! `assay drive detach`: takes the block device away and waits until the drive is closed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use assay_ports::child::Process;
use assay_ports::users::users;
use assay_ports::{fuse, loopdev};
use clap::Args;

use super::registry::{self, Attached};
use crate::messages::{is_error, words};
use crate::print;
use assay_system::thing::ensure_unused;

/// What was typed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive detach vol.img
  assay drive detach /dev/loop0

What is mounted or open is refused, by name; nothing has changed then.")]
pub(super) struct DetachArgs {
    /// What the drive lies on, or the device or folder that it is shown as
    #[arg(value_name = "PATH|DEVICE")]
    drive: PathBuf,
    /// That it is not attached is as good
    #[arg(long)]
    if_needed: bool,
}

/// Detaches the drive.
///
/// # Errors
/// One line: it is not attached, or in use by whom; or it is detached, but could not be closed, and what that means.
pub(super) fn run(args: &DetachArgs) -> Result<ExitCode> {
    let is_needed = !args.if_needed || registry::find(&args.drive)?.is_some();
    print::line(match is_needed {
        true => detach(&args.drive)?,
        false if args.drive.symlink_metadata().is_err() => {
            format!("{} is not there, and not attached", args.drive.display())
        }
        false => {
            ensure_nobody_has(&args.drive)?;
            format!("{} is not attached", args.drive.display())
        }
    });
    Ok(ExitCode::SUCCESS)
}

/// Takes the block device away and waits until the drive is closed; says in a line what was done.
///
/// # Errors
/// One line: it is not attached, or in use by whom; the drive could not be closed.
pub(crate) fn detach(named: &Path) -> Result<String> {
    let Some(attached) = registry::find(named)? else {
        ensure_nobody_has(named)?;
        bail!("{} is not attached; there is nothing to do", named.display())
    };
    let media = attached.media.display();
    if attached.owner.is_none() || (attached.health().is_err() && attached.has_died()?) {
        attached.clear()?;
        return Ok(format!("{media} is detached; its server had died, what it left is gone"));
    }
    let attachment = attached.health()?.attachment;
    let pid = attachment.pid.unwrap_or_default();
    let server = Process::open(pid)?.context("the server has just ended; try again")?;
    take_away(&attached)?;
    server.wait(None)?;
    // One that belongs to another process tells that one how it ended.
    attachment.log.map_or(Ok(()), |log| check_end(&attached, &log))?;
    Ok(format!("{media} is detached"))
}

/// A drive that no ledger of ours tells of may be served all the same: attached by somebody else, or through a loop device.
///
/// # Errors
/// One line: it is not there; who has it.
fn ensure_nobody_has(named: &Path) -> Result<()> {
    let path = named
        .canonicalize()
        .with_context(|| format!("{} is not attached, nor there", named.display()))?;
    let users = users(&path).with_context(|| format!("cannot tell who uses {}", path.display()))?;
    ensure!(
        users.is_empty(),
        "{} is in use: {}; if that is a drive's server, detach it with the ASSAY_STATE, or the user, that attached it",
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
    devices.iter().try_for_each(|device| loopdev::detach(device))?;
    Ok(fuse::unmount(&attached.mount_point)?)
}

/// A server that could not close its drive leaves its folder, and its log's last line says why.
fn check_end(attached: &Attached, log: &Path) -> Result<()> {
    if attached.folder.symlink_metadata().is_err() {
        return Ok(());
    }
    attached.clear()?;
    let said = std::fs::read_to_string(log).unwrap_or_default();
    match said.lines().last().filter(|line| is_error(line)) {
        Some(line) => bail!("{}", words(line)),
        None => bail!("the server ended without a word; {} has what it said before", log.display()),
    }
}
