//! A device's model as a stack of disks: timing over timing, with the drive inside where the device
//! has flash. The layers are the same whatever the clock and the media are: a device that is
//! served, and one in virtual time.

use std::sync::Arc;

use anyhow::Result;
use assay_drive::{Disk, Drive, DriveError, DriveOptions, Guarantees, Policy};
use assay_models::nand::{FlashTiming, HostTiming};
use assay_models::rotating::Rotating;
use assay_models::volume::VolumeTiming;
use assay_models::{Clock, CommandObserver, Inside, MirrorTiming, Modelled, Tearing, Timing};

use super::device::Device;
use super::fault::InjectedFault;
use super::nand::Nand;
use super::preset::Preset;

/// Bytes of a chunk at which a model's drive writes it: a device takes data more evenly than our
/// disks like them.
const CHUNK_BYTES: u32 = 256 << 10;

/// Seed of a model's random numbers: the same each time, so that two runs differ only in the host.
const SEED: u64 = 1;

/// The device as the host sees it: a disk that keeps its time.
pub type Top = Modelled<Box<dyn Timing>>;

/// A device's model, built.
pub struct Stack {
    /// The disk that the host sees.
    pub top: Arc<Top>,
    /// The drive inside, where there is one.
    pub drive: Option<Arc<Drive>>,
}

/// Everything that the parts of a stack share.
pub struct Builder<'a> {
    pub clock: Arc<dyn Clock>,
    /// Guarantees and faults of the device.
    pub preset: &'a Preset,
    /// Options of the drive inside, in addition to the device's own.
    pub options: DriveOptions,
    /// Whether writes tear, whatever the preset's faults are.
    pub tears: bool,
    /// Says why there is no drive on the media.
    pub in_words: &'a dyn Fn(DriveError) -> anyhow::Error,
}

/// The uppermost part of a device, and what it lies on.
struct Layer {
    below: Arc<dyn Disk>,
    timing: Box<dyn Timing>,
    volatile_cache: bool,
    drive: Option<Arc<Drive>>,
}

impl Builder<'_> {
    /// The model of `device` over `media`, which hold a drive of it already where the device has
    /// flash. `observer` is told of what the host asks for.
    ///
    /// # Errors
    /// One line: there is no drive on the media.
    pub fn build(
        &self,
        media: Arc<dyn Disk>,
        device: &Device,
        observer: Option<Box<dyn CommandObserver>>,
    ) -> Result<Stack> {
        let layer = self.layer(media, device)?;
        let drive = layer.drive.clone();
        let layer = Layer { timing: self.fault().top(layer.timing), ..layer };
        let top = self.modelled(layer);
        let top = match observer {
            Some(observer) => top.observed_by(observer),
            None => top,
        };
        Ok(Stack { top: Arc::new(top), drive })
    }

    fn layer(&self, media: Arc<dyn Disk>, device: &Device) -> Result<Layer> {
        let plain = |timing: Box<dyn Timing>, volatile_cache| Layer {
            below: Arc::clone(&media),
            timing: self.fault().part(timing),
            volatile_cache,
            drive: None,
        };
        match device {
            Device::Nand(nand) => self.flash(media, nand, 1),
            Device::Mirror(mirror) => self.flash(media, &mirror.side, mirror.sides),
            Device::Rotating(disks) => {
                let timing = Rotating::new(disks.geometry, SEED)?;
                Ok(plain(Box::new(timing), disks.geometry.cache.is_volatile()))
            }
            Device::Volume(paid) => {
                Ok(plain(Box::new(VolumeTiming::new(paid.limits, SEED)), false))
            }
            Device::Network(remote) => {
                let behind = self.layer(media, &remote.over)?;
                let (volatile_cache, drive) = (behind.volatile_cache, behind.drive.clone());
                let below = Arc::new(self.modelled(behind));
                let timing = self.fault().part(Box::new(remote.network.timing(SEED)));
                Ok(Layer { below, timing, volatile_cache, drive })
            }
        }
    }

    /// Flash of so many sides: their translation layers do the same at the same times, so one drive
    /// stands in for all of them.
    fn flash(&self, media: Arc<dyn Disk>, nand: &Nand, sides: u32) -> Result<Layer> {
        let below = media.guarantees();
        // Not by the stripe, which decides the die: each side would then read half of its dies.
        let turn_bytes = nand.geometry.stripe_bytes() * nand.geometry.dies();
        let flash = || FlashTiming::new(nand.geometry);
        let timing = self.fault().part(Box::new(MirrorTiming::new(sides, turn_bytes, flash)));
        let flash = Modelled::new(media, self.time(), timing, below);
        let tears = self.tears || self.fault().tears;
        // A disk that tears loses every write that was not forced, whatever its cache is.
        let inside = Inside { flushes_protected: tears, ..inside(nand) };
        let options = drive_options(self.options.clone());
        let drive = Arc::new(inside.open(Arc::new(flash), options).map_err(self.in_words)?);
        let below: Arc<dyn Disk> = match tears {
            true => Arc::new(Tearing::new(Arc::clone(&drive))),
            false => Arc::clone(&drive) as _,
        };
        let host = || HostTiming::new(nand.limits);
        let timing = self.fault().part(Box::new(MirrorTiming::new(sides, turn_bytes, host)));
        let volatile_cache = nand.cache.is_volatile();
        Ok(Layer { below, timing, volatile_cache, drive: Some(drive) })
    }

    fn modelled(&self, layer: Layer) -> Top {
        let Layer { below, timing, volatile_cache, .. } = layer;
        let atomic_write_bytes = self.preset.atomic_write_bytes();
        let guarantees = Guarantees { atomic_write_bytes, volatile_cache };
        Modelled::new(below, self.time(), timing, guarantees)
    }

    fn fault(&self) -> InjectedFault {
        self.preset.fault()
    }

    fn time(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }
}

/// Options of the drive that stands in for a device's translation layer.
#[must_use]
pub fn inside(nand: &Nand) -> Inside {
    Inside {
        cache: nand.cache,
        stores_zeroes: !nand.compresses(),
        chunk_bytes: Some(CHUNK_BYTES),
        ..Inside::default()
    }
}

/// With which options it is opened.
#[must_use]
pub fn drive_options(options: DriveOptions) -> DriveOptions {
    DriveOptions { policy: Policy::Greedy, discard_media: true, ..options }
}
