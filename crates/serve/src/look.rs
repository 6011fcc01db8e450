//! How a drive is, whether somebody serves it or nobody.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use assay_drive::DriveOptions;

use super::health::{Attachment, Health};
use super::open::{open, with_media};
use super::registry::Attached;
use super::{log, place};

/// What its server says, and where it is mounted.
///
/// # Errors
/// It does not answer, or the mounts cannot be read.
pub fn health_of(attached: &Attached) -> Result<Health> {
    let mut health = attached.health()?;
    health.attachment.mounted_on = attached.mounted_on()?;
    Ok(health)
}

/// How the drive on `path` is, which is not attached.
///
/// # Errors
/// One line: not there, not a drive, in use.
pub fn look_at(path: &Path) -> Result<Health> {
    look_at_left(path, Attachment::default())
}

/// Of a drive that nobody serves; `left` is what a server that died has left of it.
///
/// # Errors
/// As of [`look_at`].
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
