//! Serves a file as a block device through the port alone, optionally with the limits of a cloud
//! volume.
//!
//! ```text
//! cargo run --release -p assay-ports --example volume -- FILE [OPERATIONS_PER_S MIB_PER_S]
//! ```
//!
//! Prints the device and serves it until standard input ends. For benchmarks: a device that costs
//! every arm the same, and the drive's own port without the drive.

#![allow(clippy::print_stdout, reason = "the device is its answer")]

use std::error::Error;
use std::io::{Read, Write};
use std::num::NonZeroU64;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use assay_disk::Disk;
use assay_models::volume::{VolumeLimits, VolumeTiming};
use assay_models::{Modelled, Rate, Time};
use assay_ports::clock::PacedClock;
use assay_ports::fuse::{DEFAULT_THREADS, FuseMount, FuseOptions};
use assay_ports::loopdev;
use assay_ports::media::{Access, FileMedia};

/// Compensates for threads that are woken late, and no more.
const BURST: Time = Time::from_ns(10_000_000);

/// The volume uses no randomness.
const SEED: u64 = 0;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (file, limits) = match words.as_slice() {
        [file] => (file, None),
        [file, operations, mib] => (file, Some(limits(operations, mib)?)),
        _ => return Err("arguments: FILE [OPERATIONS_PER_S MIB_PER_S]".into()),
    };
    let mut disk: Arc<dyn Disk> = Arc::new(FileMedia::open(Path::new(file), Access::ReadWrite)?);
    if let Some(limits) = limits {
        let guarantees = disk.guarantees();
        disk = Arc::new(Modelled::new(
            disk,
            Arc::new(PacedClock::new()),
            VolumeTiming::new(limits, SEED),
            guarantees,
        ));
    }
    serve(file, disk)
}

fn limits(operations: &str, mib: &str) -> Result<VolumeLimits, Box<dyn Error>> {
    let (operations, mib): (NonZeroU64, NonZeroU64) = (operations.parse()?, mib.parse()?);
    let (operations, bytes) = (operations.get() as f64, mib.get() as f64 * f64::from(1 << 20));
    Ok(VolumeLimits::only(Rate(operations), Rate(bytes), BURST))
}

fn stat(disk: &Path) -> Command {
    let mut command = Command::new("stat");
    command.arg(disk);
    command
}

fn serve(file: &str, disk: Arc<dyn Disk>) -> Result<(), Box<dyn Error>> {
    let directory = format!("{file}.mount");
    std::fs::create_dir(&directory)?;
    let options = FuseOptions {
        mount_point: directory.clone().into(),
        name: file.into(),
        threads: DEFAULT_THREADS,
        asked_by: Some(stat),
    };
    let mount = FuseMount::serve(options, disk, Vec::new(), None)?;
    // A volume guarantees no more than its sector, so the kernel may merge writes.
    let device = loopdev::attach_disk(&mount.disk_path(), u64::MAX)?;
    println!("{}", device.display());
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    loopdev::hand_over(&device)?;
    loopdev::detach(&device, mount.mount_point())?;
    mount.unmount()?;
    mount.wait()?;
    drop(mount);
    Ok(std::fs::remove_dir(&directory)?)
}
