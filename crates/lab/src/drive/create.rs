//! `assay drive create`: an empty drive in a new file or on a block device.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use assay_drive::{Codec, Drive, Format};
use assay_ports::blockdev;
use assay_ports::media::{Access, Allocation, FileMedia};
use clap::{Args, ValueEnum};

use super::text::human;
use crate::plan::Size;
use crate::print;
use crate::rig::free_bytes;

/// What was typed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive create vol.img --capacity 20G --logical 40G    stores twice what fits, if it compresses to half
  assay drive create vol.img --capacity 20G --codec lz4      quicker, and larger
  assay drive create /dev/nvme1n1 --erase /dev/nvme1n1       on a whole device, which is overwritten

The capacity is what the drive takes, the logical size what the host sees. When data compress less than hoped for, the
drive refuses writes before it is out of space; discards and deletes make room again.")]
pub(super) struct CreateArgs {
    /// A new file, or a block device
    path: PathBuf,
    /// Bytes that the file takes, e.g. 20G; a device is taken whole
    #[arg(long, value_name = "SIZE", value_parser = Size::parse)]
    capacity: Option<Size>,
    /// Bytes that the host sees [default: the capacity]
    #[arg(long, value_name = "SIZE", value_parser = Size::parse)]
    logical: Option<Size>,
    /// What data are compressed with: zstd, deflate, lz4 or none
    #[arg(long, default_value_t = Codec::Zstd)]
    codec: Codec,
    /// What is compressed together: 16k is smaller, 4k quicker to read in small parts
    #[arg(long, value_enum, default_value_t = Unit::Block)]
    unit: Unit,
    /// Train dictionaries from what is written; for zstd
    #[arg(long)]
    dictionary: bool,
    /// Take space of the file system as data come, not at once; it may be missing then
    #[arg(long)]
    sparse: bool,
    /// Bytes of a segment, what is reclaimed together [default: by the capacity]
    #[arg(long, value_name = "SIZE", value_parser = segment_bytes)]
    segment: Option<u32>,
    /// Block device that may be overwritten: the same path again
    #[arg(long, value_name = "DEVICE")]
    erase: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Unit {
    #[value(name = "4k")]
    Block,
    #[value(name = "16k")]
    Page,
}

fn segment_bytes(text: &str) -> Result<u32, String> {
    let Size(bytes) = Size::parse(text)?;
    bytes.try_into().map_err(|_| format!("`{text}` is too large for a segment"))
}

/// Makes the drive.
///
/// # Errors
/// One line, and nothing has changed: something is there already, no room, sizes that cannot be, a device that is in
/// use or was not named twice.
pub(super) fn run(args: &CreateArgs) -> Result<ExitCode> {
    let is_device = args.path.metadata().is_ok_and(|there| there.file_type().is_block_device());
    let (capacity, logical) = if is_device { on_device(args)? } else { in_file(args)? };
    print::line(format_args!(
        "{}: {logical} for the host on {capacity} of media, {}; show it with `assay drive attach {0}`",
        args.path.display(),
        args.codec,
    ));
    Ok(ExitCode::SUCCESS)
}

fn in_file(args: &CreateArgs) -> Result<(Size, Size)> {
    let path = &args.path;
    ensure!(args.erase.is_none(), "--erase is for block devices, and {} is none", path.display());
    let Some(capacity) = args.capacity else {
        bail!("say how many bytes {} may take, e.g. --capacity 20G", path.display())
    };
    let format = format(args, capacity)?;
    let allocation = if args.sparse { Allocation::Sparse } else { Allocation::Full };
    if allocation == Allocation::Full {
        ensure_room(path, capacity)?;
    }
    let media = FileMedia::create(path, capacity.0, allocation)?;
    if let Err(error) = write(path, media, &format) {
        std::fs::remove_file(path)
            .with_context(|| format!("{error:#}; and {} cannot be removed", path.display()))?;
        return Err(error);
    }
    Ok((capacity, Size(format.logical_bytes)))
}

/// Others need not run out of space before it is known that there is too little. Where that cannot be asked, trying
/// tells.
fn ensure_room(path: &Path, capacity: Size) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(free) = free_bytes(folder.unwrap_or(Path::new("."))) else { return Ok(()) };
    ensure!(
        capacity.0 <= free,
        "there is no room for {capacity} at {}, but for {}; free some, or ask for less",
        path.display(),
        human(free)
    );
    Ok(())
}

fn on_device(args: &CreateArgs) -> Result<(Size, Size)> {
    let path = &args.path;
    let name = path.display();
    let refused = args.capacity.is_some() || args.sparse;
    ensure!(!refused, "{name} is taken whole; leave --capacity and --sparse out");
    ensure!(
        args.erase.as_ref() == Some(path),
        "{name} would be overwritten; allow it with --erase {name}"
    );
    blockdev::check_unused(path)?;
    let media = FileMedia::open(path, Access::ReadWrite)?;
    let capacity = Size(assay_drive::Disk::size(&media));
    let format = format(args, capacity)?;
    write(path, media, &format)?;
    Ok((capacity, Size(format.logical_bytes)))
}

fn write(path: &Path, media: FileMedia, format: &Format) -> Result<()> {
    Drive::format(Arc::new(media), format).with_context(|| path.display().to_string())
}

fn format(args: &CreateArgs, capacity: Size) -> Result<Format> {
    let mut id = [0; 8];
    rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty())
        .context("cannot draw a number for the drive")?;
    Ok(Format {
        drive_id: u64::from_le_bytes(id),
        logical_bytes: args.logical.unwrap_or(capacity).0,
        codec: args.codec,
        units: args.unit == Unit::Page,
        dictionary: args.dictionary,
        segment_bytes: args.segment,
    })
}
