//! `assay drive create`: an empty drive in a new file or on a block device.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use assay_drive::Codec;
use assay_ports::filesystem;
use assay_ports::media::Allocation;
use clap::Args;

use crate::print;
use assay_base::Size;
use assay_base::text::shell_word;
use assay_devices::Unit;
use assay_serve::make::{NewDrive, Sizes};

/// What was typed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive create vol.img --capacity 20G                  the host sees 20G
  assay drive create vol.img --capacity 20G --logical 40G    it sees 40G
  assay drive create vol.img --capacity 20G --codec lz4      quicker, and larger
  assay drive create /dev/sdb --erase /dev/sdb               a whole device

The capacity is what the drive takes, the logical size what the host sees. When data compress less \
than hoped for, the drive refuses writes before it is out of space; discards and deletes make room \
again.

Sizes are of bytes, or with K, M, G, T of KiB, MiB, GiB, TiB: 512M, 1.5G.")]
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
    let Sizes { capacity, logical } = if is_device { on_device(args)? } else { in_file(args)? };
    print::line(format_args!(
        "{}: {logical} for the host on {capacity} of media, {}; show it with `assay drive attach {}`",
        args.path.display(),
        args.codec,
        shell_word(&args.path.display().to_string()),
    ));
    Ok(ExitCode::SUCCESS)
}

fn in_file(args: &CreateArgs) -> Result<Sizes> {
    let path = &args.path;
    ensure!(args.erase.is_none(), "--erase is for block devices, and {} is none", path.display());
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mount = filesystem::mount_of(directory).ok().flatten();
    ensure!(
        mount.is_none_or(|mount| mount.file_system != "devtmpfs"),
        "there is no device {}; a file there would lie in memory",
        path.display()
    );
    let Some(capacity) = args.capacity else {
        bail!("say how many bytes {} may take, e.g. --capacity 20G", path.display())
    };
    let allocation = if args.sparse { Allocation::Sparse } else { Allocation::Full };
    args.drive().in_file(path, capacity, allocation)
}

fn on_device(args: &CreateArgs) -> Result<Sizes> {
    let path = &args.path;
    let name = path.display();
    let refused = args.capacity.is_some() || args.sparse;
    ensure!(!refused, "{name} is taken whole; leave --capacity and --sparse out");
    ensure!(
        args.erase.as_ref() == Some(path),
        "{name} would be overwritten; allow it with --erase {name}"
    );
    args.drive().on_device(path)
}

impl CreateArgs {
    fn drive(&self) -> NewDrive {
        NewDrive {
            logical: self.logical,
            codec: self.codec,
            unit: self.unit,
            dictionary: self.dictionary,
            segment_bytes: self.segment,
        }
    }
}
