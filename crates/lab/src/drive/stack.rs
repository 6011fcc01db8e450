//! What a server shows: the software drive, or a device's model with the drive inside where the device has flash.
//!
//! A model's media go through the page cache and are never synced: its time is the model's, not this machine's disk's.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use assay_drive::model::in_hand::{self, Parts};
use assay_drive::model::nand::{Flash, Host};
use assay_drive::model::{Clock, Modelled, Tally, Time};
use assay_drive::{Disk, Drive, DriveOptions, Policy, Promise};
use assay_ports::clock::PacedClock;
use assay_ports::media::{Access, FileMedia};

use super::job::AttachOptions;
use super::open::in_words;
use crate::models::{Device, Nand};

/// Bytes of a chunk at which a model's drive writes it: a device takes data more evenly than our disks like them.
const CHUNK_BYTES: u32 = 256 << 10;

/// A clock on which nobody waits before it is started.
pub(super) struct StartedClock {
    clock: PacedClock,
    is_started: AtomicBool,
}

impl StartedClock {
    fn new() -> StartedClock {
        StartedClock { clock: PacedClock::default(), is_started: AtomicBool::new(false) }
    }

    /// From now on who waits does.
    pub(super) fn start(&self) {
        self.is_started.store(true, Ordering::Release);
    }

    /// Does background work, one part after another, and waits until the device would be done with it.
    pub(super) fn in_turn<T>(&self, work: impl FnOnce() -> T) -> T {
        let (value, due) = in_hand::with(self.now(), Parts::InTurn, work);
        self.wait_until(due.when());
        value
    }
}

impl Clock for StartedClock {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn wait_until(&self, due: Time) {
        if self.is_started.load(Ordering::Acquire) {
            self.clock.wait_until(due);
        }
    }
}

/// What takes the port's round trip off its waiting, and counts.
pub(super) trait Top: Send + Sync {
    /// See [`Modelled::take_off`].
    fn take_off(&self, round_trip: Time);

    /// See [`Modelled::tally`].
    fn tally(&self) -> Tally;
}

impl<T: assay_drive::model::Timing> Top for Modelled<T> {
    fn take_off(&self, round_trip: Time) {
        Modelled::take_off(self, round_trip);
    }

    fn tally(&self) -> Tally {
        Modelled::tally(self)
    }
}

/// A device's model, built.
pub(super) struct Stack {
    /// What the host sees.
    pub(super) disk: Arc<dyn Disk>,
    /// The same, as what keeps time.
    pub(super) top: Arc<dyn Top>,
    /// Its time.
    pub(super) clock: Arc<StartedClock>,
    /// The drive inside, where there is one.
    pub(super) drive: Option<Arc<Drive>>,
}

impl Stack {
    /// The model of `device` over `media`, a file that holds a drive of it already where the device has flash.
    ///
    /// # Errors
    /// One line: it is not there, in use, not a drive.
    pub(super) fn new(
        media: &Path,
        device: &Device,
        atomic_write_bytes: u64,
        options: &AttachOptions,
    ) -> Result<Stack> {
        let file = FileMedia::open(media, Access::ReadWrite)?.in_memory_of_kernel()?;
        match device {
            Device::Nand(nand) => flash(media, file, nand, atomic_write_bytes, options),
        }
    }
}

fn flash(
    media: &Path,
    file: FileMedia,
    nand: &Nand,
    atomic_write_bytes: u64,
    options: &AttachOptions,
) -> Result<Stack> {
    let clock = Arc::new(StartedClock::new());
    let time: Arc<dyn Clock> = Arc::clone(&clock) as _;
    // The log writes every block before it reads it.
    let file: Arc<dyn Disk> = Arc::new(file.discarding_loosely());
    let below = file.promise();
    let flash = Modelled::new(file, Arc::clone(&time), Flash::new(nand.geometry), below);
    let options = drive_options(nand, options.drive());
    let drive = Drive::open(Arc::new(flash), options).map_err(in_words);
    let drive = Arc::new(drive.with_context(|| media.display().to_string())?);
    let promise = Promise { atomic_write_bytes, volatile_cache: drive.promise().volatile_cache };
    let disk: Arc<dyn Disk> = Arc::clone(&drive) as _;
    let top = Arc::new(Modelled::new(disk, time, Host::new(nand.limits), promise));
    Ok(Stack { disk: Arc::clone(&top) as _, top, clock, drive: Some(drive) })
}

/// How the drive works that stands in for a device's translation layer.
pub(super) fn drive_options(nand: &Nand, options: DriveOptions) -> DriveOptions {
    DriveOptions {
        cache: nand.cache,
        policy: Policy::Greedy,
        discard_media: true,
        chunk_bytes: Some(CHUNK_BYTES),
        stores_zeroes: !nand.compresses(),
        ..options
    }
}
