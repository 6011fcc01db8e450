//! Serves a file as a block device through the port alone, limited as a cloud volume is if asked.
//!
//! ```text
//! cargo run --release -p assay-ports --example volume -- FILE [OPERATIONS_PER_S MIB_PER_S]
//! ```
//!
//! Prints the device and serves it until standard input ends. For benchmarks: a device that every arm pays the same for,
//! and the drive's own port without the drive.

#![allow(clippy::print_stdout, reason = "the device is its answer")]

use std::error::Error;
use std::io::{Read, Write};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assay_drive::Disk;
use assay_ports::fuse::{DEFAULT_THREADS, FuseMount, FuseOptions};
use assay_ports::limit::{LimitedDisk, Limits};
use assay_ports::loopdev;
use assay_ports::media::{Access, FileMedia};

/// As AWS counts for its SSD volumes; see [`Limits::bytes_per_operation`].
const BYTES_PER_OPERATION: NonZeroU64 = NonZeroU64::new(256 << 10).expect("not zero");

/// Makes up for threads that are woken late, no more.
const BURST: Duration = Duration::from_millis(10);

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (file, limits) = match words.as_slice() {
        [file] => (file, None),
        [file, operations, mib] => (file, Some(limits(operations, mib)?)),
        _ => return Err("arguments: FILE [OPERATIONS_PER_S MIB_PER_S]".into()),
    };
    let mut disk: Arc<dyn Disk> = Arc::new(FileMedia::open(Path::new(file), Access::ReadWrite)?);
    if let Some(limits) = limits {
        disk = Arc::new(LimitedDisk::new(disk, limits));
    }
    serve(file, disk)
}

fn limits(operations: &str, mib: &str) -> Result<Limits, Box<dyn Error>> {
    let mib: NonZeroU64 = mib.parse()?;
    Ok(Limits {
        operations_per_s: operations.parse()?,
        bytes_per_s: mib
            .checked_mul(NonZeroU64::new(1 << 20).ok_or("zero")?)
            .ok_or("too many MiB")?,
        bytes_per_operation: BYTES_PER_OPERATION,
        burst: BURST,
    })
}

fn serve(file: &str, disk: Arc<dyn Disk>) -> Result<(), Box<dyn Error>> {
    let folder = format!("{file}.mount");
    std::fs::create_dir(&folder)?;
    let options = FuseOptions {
        mount_point: folder.clone().into(),
        name: file.into(),
        threads: DEFAULT_THREADS,
    };
    let mount = FuseMount::serve(options, disk, Vec::new(), None)?;
    // A volume promises no more than its sector; the kernel may join writes as it likes.
    let device = loopdev::attach_disk(&mount.disk_path(), u64::MAX)?;
    println!("{}", device.display());
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    loopdev::detach(&device)?;
    mount.unmount()?;
    mount.wait()?;
    drop(mount);
    Ok(std::fs::remove_dir(&folder)?)
}
