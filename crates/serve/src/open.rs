//! Opens a drive, and turns errors into words for users.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use assay_drive::{Codec, Disk, Drive, DriveError, DriveOptions, State, Status};
use assay_pool::locate;
use assay_ports::media::{Access, FileMedia, MediaCondition, MediaError};
use assay_ports::rbd::{ImageName, RbdMedia};
use assay_ports::{filesystem, fuse};

use super::writer;

/// Opens the drive on `path`, a file or block device. With `options.read_only` several processes
/// may open it concurrently.
///
/// The drive returns freed segments of a sparse file to its file system. The second value is the
/// condition of the media, now and later.
pub fn open(path: &Path, options: DriveOptions) -> Result<(Drive, Arc<MediaCondition>)> {
    open_with_media(path, options).map(|(drive, media)| (drive, media.condition))
}

/// Like [`open`], but returns the media.
pub(crate) fn open_with_media(path: &Path, options: DriveOptions) -> Result<(Drive, Media)> {
    let access = if options.read_only { Access::ReadOnly } else { Access::ReadWrite };
    let (media, options) = open_whole(path, access, options)?;
    let opened =
        Drive::open(Arc::clone(&media.disk), options).map_err(|error| in_words(path, error));
    let drive = opened.with_context(|| path.display().to_string())?;
    ensure!(
        drive.codec() != Codec::Simulated,
        "{}: this drive was made by a simulation and has no data; make one with `assay drive \
         create`",
        path.display()
    );
    Ok((drive, media))
}

/// The media of a drive.
pub(crate) struct Media {
    disk: Arc<dyn Disk>,
    pub(crate) condition: Arc<MediaCondition>,
    /// The image, if the media are one; it must be closed before the process ends.
    pub(crate) image: Option<Arc<RbdMedia>>,
}

/// Opens a drive's media, and completes the options by the type of the media.
pub fn open_media(
    path: &Path,
    access: Access,
    options: DriveOptions,
) -> Result<(Arc<dyn Disk>, DriveOptions, Arc<MediaCondition>)> {
    open_whole(path, access, options).map(|(media, options)| (media.disk, options, media.condition))
}

fn open_whole(path: &Path, access: Access, options: DriveOptions) -> Result<(Media, DriveOptions)> {
    ensure_tellable(path)?;
    if ImageName::is_meant(path) {
        let image = Arc::new(open_image(path, access)?.discarding_loosely());
        let (disk, condition): (Arc<dyn Disk>, _) = (image.clone(), Arc::clone(image.condition()));
        let options = DriveOptions { discard_media: access == Access::ReadWrite, ..options };
        return Ok((Media { disk, condition, image: Some(image) }, options));
    }
    let media = FileMedia::open(path, access).map_err(|error| match error {
        // Media without whole blocks hold no drive.
        MediaError::Size { .. } => {
            in_words(path, DriveError::NotADrive).context(path.display().to_string())
        }
        error => error.into(),
    })?;
    let condition = Arc::clone(media.condition());
    let discard_media = access == Access::ReadWrite && is_sparse(path);
    // The log writes every block before it reads it.
    let media = media.discarding_loosely();
    // Media that are allocated at once keep their allocation.
    let media = if discard_media { media } else { media.keeping_room() };
    let disk = Arc::new(media);
    let media = Media { disk, condition, image: None };
    Ok((media, DriveOptions { discard_media, ..options }))
}

/// Opens the image that `path` names. For writing, a lock left by a dead server of this machine is
/// broken.
pub fn open_image(path: &Path, access: Access) -> Result<RbdMedia> {
    let name = locate::image(path, None)?.context("this names no image")?;
    let cluster = locate::access(&name)?;
    let media = match access {
        Access::ReadOnly => RbdMedia::open(&cluster, &name, access, None)?,
        Access::ReadWrite => {
            let media =
                RbdMedia::open(&cluster, &name, access, writer::died(&name.path()).as_deref())?;
            media.owner().map_or(Ok(()), |address| writer::note(&name.path(), address))?;
            media
        }
    };
    Ok(media)
}

/// Refuses a path that ledgers and JSON cannot represent.
pub fn ensure_tellable(path: &Path) -> Result<()> {
    ensure!(
        path.to_str().is_some(),
        "{}: the name is not UTF-8, so JSON cannot show it; rename it",
        path.display()
    );
    Ok(())
}

/// Combines the status of a drive with the condition of its media.
pub fn with_media(mut status: Status, media: &MediaCondition) -> Status {
    let problems = media.problems();
    if !problems.is_empty()
        && matches!(status.state, State::Healthy | State::LowSpace | State::Full)
    {
        status.state = State::Damaged;
    }
    status.problems.extend(problems);
    status
}

/// An error of the drive on `path` in words, with the remedy.
#[must_use]
pub fn in_words(path: &Path, error: DriveError) -> anyhow::Error {
    match error {
        DriveError::NotADrive => match media_shown_by(path) {
            Some(media) => anyhow!("this is the device of the drive on {media}; use {media}"),
            None => anyhow!(
                "{error}; make one with `assay drive create` in a new file, or, if it used to be a \
                 drive, try `assay drive check --repair`"
            ),
        },
        DriveError::Shrunk { drive_bytes, .. } => anyhow!(
            "{error}; restore its size, for a file with `truncate -s {drive_bytes}`, then run \
             `assay drive check --repair`"
        ),
        error => error.into(),
    }
}

/// Returns true if `error` means that the media hold no drive.
pub fn is_no_drive(error: &anyhow::Error) -> bool {
    error.root_cause().to_string().starts_with(&DriveError::NotADrive.to_string())
}

/// The media of the drive shown as this file, by a server without a ledger.
fn media_shown_by(path: &Path) -> Option<String> {
    let mount = filesystem::mount_of(path).ok()??;
    (mount.file_system == fuse::FILE_SYSTEM).then_some(mount.source)
}

/// Returns true if the file takes less space than its length. Blocks are counted in 512 bytes
/// (`stat(2)`).
fn is_sparse(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| {
        metadata.is_file() && metadata.blocks().saturating_mul(512) < metadata.len()
    })
}
