//! Brings the drive inside a model into the state of a long-used one, at the speed of this machine.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_drive::{Disk, DriveOptions};
use assay_models::{PreconditionProgress, Preconditioned, Preconditioning};
use assay_ports::media::{Access, FileMedia};

use super::open::in_words;
use assay_presets::{Device, Nand, drive_options, inside};

/// Brings the media of `device` into the state of long use. Does nothing for media that store
/// blocks in place, which use does not change.
pub fn precondition(
    device: &Device,
    media: &Path,
    plan: &Preconditioning,
    progress: PreconditionProgress<'_>,
) -> Result<Option<Preconditioned>> {
    device.nand().map(|nand| precondition_drive(media, nand, plan, progress)).transpose()
}

/// Fills and overwrites the drive of `nand` on `media`, which must not be attached.
fn precondition_drive(
    media: &Path,
    nand: &Nand,
    plan: &Preconditioning,
    progress: PreconditionProgress<'_>,
) -> Result<Preconditioned> {
    let name = || media.display().to_string();
    let file = FileMedia::open(media, Access::ReadWrite)?.in_memory_of_kernel()?;
    let file: Arc<dyn Disk> = Arc::new(file.discarding_loosely());
    let opened = inside(nand).open(file, drive_options(DriveOptions::default()));
    let drive = opened.map_err(|error| in_words(media, error)).with_context(name)?;
    let done = assay_models::precondition(&drive, plan, progress).with_context(name)?;
    drive.close().with_context(name)?;
    Ok(done)
}
