//! `assay drive`: the software drive on its own, as a block device.
//!
//! Each attached drive is served by its own process, independent of the command that started it.
//! After `kill -9`, flushed data are on the media, and the ledger lists the resources that the next
//! `attach` or `assay clean` removes.

mod attach;
mod check;
mod create;
mod detach;
mod list;
mod needed;
mod prometheus;
mod repair;
mod resize;
mod status;
mod unit;

use std::process::ExitCode;

pub(crate) use attach::show as show_attached;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::messages;

/// The software drive: a block device that compresses and writes atomically
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive create vol.img --capacity 20G --logical 40G
  assay drive attach vol.img    prints the block device, e.g. /dev/loop0
  assay drive status vol.img    its health log
  assay drive list              what is attached where
  assay drive detach vol.img

Reads and writes are in blocks of 4 KiB; a write of up to 256 KiB is atomic, whatever happens. \
Flushed data survive any crash, also of the serving process: unmount the stale device and attach \
the drive again.")]
pub(crate) struct DriveArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create an empty drive, in a new file or on a block device
    Create(create::CreateArgs),
    /// Attach a drive as a block device
    Attach(attach::AttachArgs),
    /// Detach the block device and close the drive
    Detach(detach::DetachArgs),
    /// Show a drive's space, compression ratio, wear and problems
    Status(status::StatusArgs),
    /// List attached drives, and stale devices of drives whose server has died
    List(list::ListArgs),
    /// Read and verify everything and list damage; repair it
    Check(check::CheckArgs),
    /// Change the size that the host sees
    Resize(resize::ResizeArgs),
    /// Print what systemd and fstab need to attach and mount a drive at boot
    Unit(unit::UnitArgs),
    /// Read from a new mount once, in a process that its server may outlive
    #[command(hide = true)]
    FirstAnswer {
        /// The disk's file in the mount
        disk: std::path::PathBuf,
    },
    /// Serve an attached drive; the job comes on standard input
    #[command(hide = true)]
    Serve {
        /// Media to serve, shown in lists of processes
        media: std::path::PathBuf,
    },
}

/// Runs the subcommand. Exit code 1 if `check` finds damage or `status` a drive that needs
/// attention.
pub(crate) fn run(args: &DriveArgs) -> Result<ExitCode> {
    match &args.action {
        Action::Create(args) => create::run(args),
        Action::Attach(args) => attach::run(args),
        Action::Detach(args) => detach::run(args),
        Action::Status(args) => status::run(args),
        Action::List(args) => list::run(args),
        Action::Check(args) => check::run(args),
        Action::Resize(args) => resize::run(args),
        Action::Unit(args) => unit::run(args),
        Action::FirstAnswer { disk } => {
            assay_serve::first_answer::ask(disk)?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Serve { .. } => assay_serve::process::run(messages::become_log),
    }
}
