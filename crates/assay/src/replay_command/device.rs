//! Builds a device in virtual time, in the state that the recorded device had when its recording
//! began.

use std::sync::Arc;

use anyhow::{Context, Result};
use assay_drive::{Codec, Disk, Drive, DriveOptions};
use assay_models::{
    self, PackedDisk, PreconditionProgress, Preconditioning, Timing, VirtualClock, VirtualDisk,
};

use super::prepared::PreparedReplay;
use assay_presets::{Builder, Nand, WEAR_SEED, drive_options, inside};

/// A modelled device on a virtual clock.
pub(crate) struct VirtualDevice {
    /// The device as the host sees it.
    pub disk: VirtualDisk<Box<dyn Timing>>,
    /// Drive inside the device, if it has flash.
    pub drive: Option<Arc<Drive>>,
}

impl VirtualDevice {
    /// Builds the device and preconditions it as the recorded one was.
    ///
    /// # Errors
    /// The recorded data do not fit.
    pub fn new(
        prepared: &PreparedReplay,
        progress: PreconditionProgress<'_>,
    ) -> Result<VirtualDevice> {
        let name = || format!("the model of {}", prepared.preset.name);
        let media = PackedDisk::new(prepared.device.media_bytes()).with_context(name)?;
        let media: Arc<dyn Disk> = Arc::new(media);
        if let Some(nand) = prepared.device.nand() {
            precondition(prepared, nand, &media, progress).with_context(name)?;
        }
        let clock = Arc::new(VirtualClock::default());
        let builder = Builder {
            clock: Arc::clone(&clock) as _,
            preset: &prepared.preset,
            options: DriveOptions::default(),
            tears: false,
            in_words: &|error| error.into(),
        };
        let stack = builder.build(media, &prepared.device, None).with_context(name)?;
        let disk = VirtualDisk::new(clock, stack.top, stack.drive.clone());
        Ok(VirtualDevice { disk, drive: stack.drive })
    }
}

/// Formats the drive on `media` and fills and overwrites it, without waiting for modelled
/// latencies.
fn precondition(
    prepared: &PreparedReplay,
    nand: &Nand,
    media: &Arc<dyn Disk>,
    progress: PreconditionProgress<'_>,
) -> Result<()> {
    let format = assay_drive::Format {
        codec: if nand.compresses() { Codec::Simulated } else { Codec::None },
        ..nand.format(prepared.logical_bytes)
    };
    Drive::format(Arc::clone(media), &format)?;
    if prepared.head.used_bytes == 0 {
        return Ok(());
    }
    let ratio = prepared.assumed_ratio.or(prepared.head.ratio).unwrap_or(1.0);
    let plan = Preconditioning {
        bytes: prepared.head.used_bytes,
        stored_share: ratio.recip().min(1.0),
        seed: WEAR_SEED,
        stands_in: true,
    };
    let drive = inside(nand).open(Arc::clone(media), drive_options(DriveOptions::default()))?;
    assay_models::precondition(&drive, &plan, progress)?;
    Ok(drive.close()?)
}
