//! A device in virtual time, in the state of the recorded one at the start of its recording.

use std::sync::Arc;

use anyhow::{Context, Result};
use assay_drive::{Codec, Disk, Drive, DriveOptions};
use assay_models::{
    self, PackedDisk, PreconditionProgress, Preconditioning, Timing, VirtualClock, VirtualDisk,
};

use super::question::Question;
use assay_presets::{Builder, Nand, WEAR_SEED, drive_options, inside};

pub struct VirtualDevice {
    /// The disk for the host.
    pub disk: VirtualDisk<Box<dyn Timing>>,
    /// The drive inside, if there is one.
    pub drive: Option<Arc<Drive>>,
}

impl VirtualDevice {
    /// The device of `question`, preconditioned like the recorded one.
    pub fn new(question: &Question, progress: PreconditionProgress<'_>) -> Result<VirtualDevice> {
        let name = || format!("the model of {}", question.preset.name);
        let media = PackedDisk::new(question.device.media_bytes()).with_context(name)?;
        let media: Arc<dyn Disk> = Arc::new(media);
        if let Some(nand) = question.device.nand() {
            precondition(question, nand, &media, progress).with_context(name)?;
        }
        let clock = Arc::new(VirtualClock::default());
        let builder = Builder {
            clock: Arc::clone(&clock) as _,
            preset: &question.preset,
            options: DriveOptions::default(),
            tears: false,
            in_words: &|error| error.into(),
        };
        let stack = builder.build(media, &question.device, None).with_context(name)?;
        let disk = VirtualDisk::new(clock, stack.top, stack.drive.clone());
        Ok(VirtualDevice { disk, drive: stack.drive })
    }
}

/// Makes the drive on `media`, fills and overwrites it, at full speed.
fn precondition(
    question: &Question,
    nand: &Nand,
    media: &Arc<dyn Disk>,
    progress: PreconditionProgress<'_>,
) -> Result<()> {
    let format = assay_drive::Format {
        codec: if nand.compresses() { Codec::Simulated } else { Codec::None },
        ..nand.format(question.logical_bytes)
    };
    Drive::format(Arc::clone(media), &format)?;
    if question.head.used_bytes == 0 {
        return Ok(());
    }
    let ratio = question.assumed_ratio.or(question.head.ratio).unwrap_or(1.0);
    let plan = Preconditioning {
        bytes: question.head.used_bytes,
        stored_share: ratio.recip().min(1.0),
        seed: WEAR_SEED,
        stands_in: true,
    };
    let drive = inside(nand).open(Arc::clone(media), drive_options(DriveOptions::default()))?;
    assay_models::precondition(&drive, &plan, progress)?;
    Ok(drive.close()?)
}
