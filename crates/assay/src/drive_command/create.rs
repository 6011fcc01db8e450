//! `assay drive create`: creates an empty drive in a new file, on a block device or in a Ceph
//! image.

use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use assay_drive::Codec;
use assay_pool::locate;
use assay_ports::filesystem;
use assay_ports::media::{Allocation, SpaceSource};
use assay_ports::rbd::{self, Cluster, ImageName, NewImage, PoolIo};
use clap::Args;

use crate::print;
use assay_base::Size;
use assay_base::text::shell_word;
use assay_presets::CompressionUnit;
use assay_serve::MediaSpace;
use assay_serve::make::{NewDrive, Sizes};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay drive create vol.img --capacity 20G                  the host sees 20G
  assay drive create vol.img --capacity 20G --logical 40G    the host sees 40G
  assay drive create vol.img --capacity 20G --codec lz4      faster, lower ratio
  assay drive create /dev/sdb --erase /dev/sdb               a whole device
  assay drive create rbd:rep/vol --capacity 20G              a new image

The capacity is the space that the drive takes, the logical size what the host sees. If data \
compress less than expected, the drive refuses writes before it runs out of space; deleting files \
and fstrim free space again.

Sizes are in bytes, or in KiB, MiB, GiB, TiB with the suffixes K, M, G, T: 512M, 1.5G.")]
pub(super) struct CreateArgs {
    /// A new file, a block device, or an image of a Ceph pool (rbd:POOL/IMAGE)
    path: PathBuf,
    /// The image's cluster: its configuration file, or the name of a private one
    #[arg(long, value_name = "FILE|NAME")]
    ceph_conf: Option<PathBuf>,
    /// Size of the media file, e.g. 20G; a device is used as a whole
    #[arg(long, value_name = "SIZE", value_parser = Size::parse)]
    capacity: Option<Size>,
    /// Size that the host sees [default: the capacity]
    #[arg(long, value_name = "SIZE", value_parser = Size::parse)]
    logical: Option<Size>,
    /// Compression: zstd, deflate, lz4 or none
    #[arg(long, default_value_t = Codec::Zstd)]
    codec: Codec,
    /// Compression unit: 16k compresses better, 4k reads small blocks faster
    #[arg(long, value_enum, default_value_t = CompressionUnit::Block)]
    unit: CompressionUnit,
    /// Train zstd dictionaries from written data
    #[arg(long)]
    dictionary: bool,
    /// Allocate the file on demand; the drive stops if its file system fills up. Without this, all
    /// space is allocated now and blocks are overwritten in place, on btrfs too (as with chattr
    /// +C); ZFS and bcachefs still need space for each write
    #[arg(long)]
    sparse: bool,
    /// Segment size, the unit of garbage collection [default: by the capacity]
    #[arg(long, value_name = "SIZE", value_parser = segment_bytes)]
    segment: Option<u32>,
    /// Permit overwriting this block device or image: repeat its name
    #[arg(long, value_name = "DEVICE")]
    erase: Option<PathBuf>,
}

fn segment_bytes(text: &str) -> Result<u32, String> {
    let Size(bytes) = Size::parse(text)?;
    bytes.try_into().map_err(|_| format!("`{text}` is too large for a segment"))
}

/// Creates the drive. If that fails, the media are unchanged.
pub(super) fn run(args: &CreateArgs) -> Result<ExitCode> {
    let is_device = args.path.metadata().is_ok_and(|there| there.file_type().is_block_device());
    let Sizes { capacity, logical } = match locate::image(&args.path, args.ceph_conf.as_deref())? {
        Some(image) => on_image(&image, args)?,
        None if is_device => on_device(args)?,
        None => in_file(args)?,
    };
    print::line(format_args!(
        "{}: {logical} for the host on {capacity} of media, {}; show it with `assay drive attach \
         {}`",
        args.path.display(),
        args.codec,
        shell_word(&args.path.display().to_string()),
    ));
    Ok(ExitCode::SUCCESS)
}

fn in_file(args: &CreateArgs) -> Result<Sizes> {
    let path = &args.path;
    ensure!(
        args.erase.is_none(),
        "--erase is for block devices, and {} is not one",
        path.display()
    );
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mount = filesystem::mount_of(directory).ok().flatten();
    ensure!(
        mount.is_none_or(|mount| mount.file_system != "devtmpfs"),
        "there is no device {}; a file there would be in memory",
        path.display()
    );
    let Some(capacity) = args.capacity else {
        bail!("give the space that {} may take, e.g. --capacity 20G", path.display())
    };
    let allocation = if args.sparse { Allocation::Sparse } else { Allocation::Full };
    let sizes = args.drive().in_file(path, capacity, allocation)?;
    if allocation == Allocation::Full {
        warn_of_copying(path);
    }
    Ok(sizes)
}

/// Warns if the file's blocks are copied on write in spite of full allocation.
fn warn_of_copying(path: &Path) {
    let space = File::open(path).and_then(|file| SpaceSource::of(&file)).map(MediaSpace::from);
    let words = space.ok().filter(MediaSpace::breaks_promise).and_then(|space| space.in_words());
    if let Some(words) = words {
        print::note(format_args!("assay: {} is {words}", path.display()));
    }
}

/// Creates a drive in a new image, or overwrites the image that `--erase` repeats.
fn on_image(image: &ImageName, args: &CreateArgs) -> Result<Sizes> {
    let name = args.path.display();
    ensure!(!args.sparse, "an image takes space as it fills; omit --sparse");
    if args.erase.as_ref() == Some(&args.path) {
        ensure!(args.capacity.is_none(), "{name} is used as a whole; omit --capacity");
        return args.drive().on_image(&image.path());
    }
    ensure!(args.erase.is_none(), "--erase names another than {name}; repeat its name");
    let Some(capacity) = args.capacity else {
        bail!(
            "give the size of a new image, e.g. --capacity 20G, or overwrite one with --erase \
             {name}"
        )
    };
    let io = PoolIo::open(&Arc::new(Cluster::connect(&locate::access(image)?)?), &image.pool)?;
    rbd::create(&io, image, &NewImage { bytes: capacity.0, data_pool: None })?;
    args.drive().on_image(&image.path()).inspect_err(|_| {
        if let Err(error) = rbd::remove(&io, image) {
            log::warn!("{error}");
        }
    })
}

fn on_device(args: &CreateArgs) -> Result<Sizes> {
    let path = &args.path;
    let name = path.display();
    let refused = args.capacity.is_some() || args.sparse;
    ensure!(!refused, "{name} is used as a whole; omit --capacity and --sparse");
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
