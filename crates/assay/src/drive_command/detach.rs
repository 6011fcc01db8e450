//! `assay drive detach`: removes the block device and closes the drive.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::print;
use assay_serve::{detach, ensure_nobody_has, registry};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive detach vol.img
  assay drive detach /dev/loop0

A device that is mounted or open is refused, with its users; nothing changes then.")]
pub(super) struct DetachArgs {
    /// The file or device with the drive, or its attached device or directory
    #[arg(value_name = "PATH|DEVICE")]
    drive: PathBuf,
    /// Succeed if it is not attached
    #[arg(long)]
    if_needed: bool,
}

/// Detaches the drive.
///
/// # Errors
/// The drive is not attached or in use; or it is detached, but closing it failed.
pub(super) fn run(args: &DetachArgs) -> Result<ExitCode> {
    let is_needed = !args.if_needed || registry::find(&args.drive)?.is_some();
    print::line(match is_needed {
        true => detach(&args.drive)?,
        false if args.drive.symlink_metadata().is_err() => {
            format!("{} does not exist and is not attached", args.drive.display())
        }
        false => {
            ensure_nobody_has(&args.drive)?;
            format!("{} is not attached", args.drive.display())
        }
    });
    Ok(ExitCode::SUCCESS)
}
