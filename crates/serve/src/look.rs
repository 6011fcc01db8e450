//! Reads the condition of a drive, served or not.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use assay_drive::DriveOptions;

use super::health::{Attachment, Health};
use super::open::{open, with_media};
use super::registry::RegisteredDrive;
use super::{log, place};

/// The health from its server, with the mount points.
pub fn health_of(attached: &RegisteredDrive) -> Result<Health> {
    let mut health = attached.health()?;
    health.attachment.mounted_on = attached.mounted_on()?;
    Ok(health)
}

/// The health of the drive on `path`, which must not be attached.
pub fn look_at(path: &Path) -> Result<Health> {
    look_at_left(path, Attachment::default())
}

/// The health of a drive that nobody serves; `left` are the remains of a dead server.
pub fn look_at_left(path: &Path, left: Attachment) -> Result<Health> {
    let began = Instant::now();
    let (drive, condition) =
        open(path, DriveOptions { read_only: true, ..DriveOptions::default() })?;
    let open_ms = Some(began.elapsed().as_secs_f64() * 1e3);
    let media = place::resolved(path)?;
    let log = left.log.clone().or_else(|| log::found_of(&media));
    let media_space = Some(condition.space().into());
    let attachment = Attachment { open_ms, read_only: true, log, media_space, ..left };
    Ok(Health::new(&media, attachment, with_media(drive.status(), &condition)))
}
