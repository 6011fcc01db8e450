//! What a server shows: the software drive, or a device's model with the drive inside where the device has flash.
//!
//! A model's media go through the page cache and are never synced: its time is the model's, not this machine's disk's.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use assay_drive::model::in_hand::{self, Parts};
use assay_drive::model::nand::{Flash, Host};
use assay_drive::model::rotating::Rotating;
use assay_drive::model::volume::Volume;
use assay_drive::model::{Clock, Modelled, Tally, Time, Timing};
use assay_drive::{Cache, Disk, Drive, DriveOptions, Policy, Promise};
use assay_ports::clock::PacedClock;
use assay_ports::media::{Access, Condition, FileMedia};

use super::job::AttachOptions;
use super::open::in_words;
use crate::models::{Device, Nand};

/// Bytes of a chunk at which a model's drive writes it: a device takes data more evenly than our disks like them.
const CHUNK_BYTES: u32 = 256 << 10;

/// What chance in a model is drawn from: the same each time, so that two runs differ in nothing but the host.
const SEED: u64 = 1;

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

impl<T: Timing> Top for Modelled<T> {
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
    /// How the file is that it lies on.
    pub(super) media: Arc<Condition>,
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
        let clock = Arc::new(StartedClock::new());
        let condition = Arc::clone(file.condition());
        let builder = Builder { media, condition, clock, atomic_write_bytes, options };
        builder.build(file, device)
    }
}

/// What all parts of a stack have in common.
struct Builder<'a> {
    media: &'a Path,
    condition: Arc<Condition>,
    clock: Arc<StartedClock>,
    atomic_write_bytes: u64,
    options: &'a AttachOptions,
}

impl Builder<'_> {
    fn build(&self, file: FileMedia, device: &Device) -> Result<Stack> {
        match device {
            Device::Nand(nand) => self.flash(file, nand),
            Device::Rotating(disks) => {
                let timing = Rotating::new(disks.geometry, SEED)?;
                let volatile_cache = disks.geometry.cache == Cache::Volatile;
                Ok(self.over(Arc::new(file), timing, volatile_cache, None))
            }
            Device::Volume(paid) => {
                Ok(self.over(Arc::new(file), Volume::new(paid.limits, SEED), false, None))
            }
            Device::Network(remote) => {
                let behind = self.build(file, &remote.over)?;
                let volatile_cache = behind.disk.promise().volatile_cache;
                Ok(self.over(behind.disk, remote.timing(SEED), volatile_cache, behind.drive))
            }
        }
    }

    fn flash(&self, file: FileMedia, nand: &Nand) -> Result<Stack> {
        // The log writes every block before it reads it.
        let file: Arc<dyn Disk> = Arc::new(file.discarding_loosely());
        let below = file.promise();
        let flash = Modelled::new(file, self.time(), Flash::new(nand.geometry), below);
        let options = drive_options(nand, self.options.drive());
        let drive =
            Drive::open(Arc::new(flash), options).map_err(|error| in_words(self.media, error));
        let drive = Arc::new(drive.with_context(|| self.media.display().to_string())?);
        let volatile_cache = drive.promise().volatile_cache;
        let disk: Arc<dyn Disk> = Arc::clone(&drive) as _;
        Ok(self.over(disk, Host::new(nand.limits), volatile_cache, Some(drive)))
    }

    fn over<T: Timing + 'static>(
        &self,
        disk: Arc<dyn Disk>,
        timing: T,
        volatile_cache: bool,
        drive: Option<Arc<Drive>>,
    ) -> Stack {
        let promise = Promise { atomic_write_bytes: self.atomic_write_bytes, volatile_cache };
        let top = Arc::new(Modelled::new(disk, self.time(), timing, promise));
        let (clock, media) = (Arc::clone(&self.clock), Arc::clone(&self.condition));
        Stack { disk: Arc::clone(&top) as _, top, clock, drive, media }
    }

    fn time(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock) as _
    }
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
