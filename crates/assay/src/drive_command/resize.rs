//! `assay drive resize`: changes the size that the host sees, also of an attached drive.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, ensure};
use assay_drive::{BLOCK_BYTES, Disk, DiskError, DriveOptions, LOGICAL_PER_CAPACITY};
use assay_ports::loopdev;
use clap::Args;
use rustix::io::Errno;

use crate::print;
use assay_base::Size;
use assay_serve::open::open;
use assay_serve::registry::{self, FoundDrive, RegisteredDrive};
use assay_system::resource::ensure_unused;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive resize vol.img --logical 80G
  assay drive resize /dev/loop0 --logical 80G

Then grow the file system with xfs_growfs or resize2fs; ext4 with bigalloc cannot grow. A drive \
can be made smaller if nothing is stored beyond the new end: shrink the file system and run fstrim \
first.")]
pub(super) struct ResizeArgs {
    /// The file or device with the drive, or its attached device
    #[arg(value_name = "PATH|DEVICE")]
    drive: PathBuf,
    /// New size that the host sees, e.g. 80G
    #[arg(long, value_name = "SIZE", value_parser = Size::parse)]
    logical: Size,
}

/// Resizes the drive. If that fails, its size is unchanged.
pub(super) fn run(args: &ResizeArgs) -> Result<ExitCode> {
    let size = args.logical;
    ensure!(
        size.0 > 0 && size.0.is_multiple_of(BLOCK_BYTES),
        "{size} is not a whole number of blocks of {BLOCK_BYTES} bytes"
    );
    let before = match registry::look_up(&args.drive)? {
        FoundDrive::Served(attached) => resize_attached(&attached, size)?,
        FoundDrive::Died(attached) => resize_detached(&attached.media, size)?,
        FoundDrive::AtRest { media } => resize_detached(&media, size)?,
    };
    print::line(format_args!("{}: {size} for the host, was {before}", args.drive.display()));
    Ok(ExitCode::SUCCESS)
}

fn resize_attached(attached: &RegisteredDrive, size: Size) -> Result<Size> {
    let before = attached.health()?.status.logical_bytes;
    let devices = attached.devices()?;
    if size.0 < before {
        ensure_unused(&attached.file())?;
        devices.iter().try_for_each(|device| ensure_unused(device))?;
    }
    let file = File::options().write(true).open(attached.file());
    let resized = file.and_then(|file| file.set_len(size.0));
    resized.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::INVAL) => refused(&attached.media, size, before),
        Some(Errno::ROFS) => anyhow!(
            "{} is attached read-only; detach it and attach it without --read-only to resize it",
            attached.media.display()
        ),
        _ => anyhow!("{}: cannot be resized: {error}", attached.media.display()),
    })?;
    devices.iter().try_for_each(|device| loopdev::update_size(device))?;
    Ok(Size(before))
}

fn resize_detached(path: &Path, size: Size) -> Result<Size> {
    let (drive, _) = open(path, DriveOptions::default())?;
    let before = drive.size();
    let resized = drive.resize(size.0).map_err(|error| match error {
        DiskError::OutOfRange { .. } => refused(path, size, before),
        error => anyhow::Error::from(error).context(path.display().to_string()),
    });
    drive.close().with_context(|| path.display().to_string())?;
    resized.map(|()| Size(before))
}

fn refused(path: &Path, size: Size, before: u64) -> anyhow::Error {
    let path = path.display();
    match size.0 < before {
        true => anyhow!(
            "{path} cannot shrink to {size}: there are data beyond that; shrink the file system \
             and run fstrim first"
        ),
        false => anyhow!(
            "{path} cannot grow to {size}: the logical size is at most {LOGICAL_PER_CAPACITY} \
             times the capacity, less with small segments"
        ),
    }
}
