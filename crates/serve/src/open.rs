//! Opening a drive, and its errors as a user reads them.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use assay_drive::{Codec, Disk, Drive, DriveError, DriveOptions, State, Status};
use assay_pool::locate;
use assay_ports::media::{Access, Condition, FileMedia, MediaError};
use assay_ports::rbd::{ImageName, RbdMedia};
use assay_ports::{filesystem, fuse};

use super::writer;

/// Opens the drive on `path`, a file or block device; with `options.read_only` several may do so at a time.
///
/// A file that was made sparse gives freed segments back to its file system. How the media are, now and later, is handed
/// back too.
///
/// # Errors
/// One line: it is not there, in use, not a drive, too new, damaged.
pub fn open(path: &Path, options: DriveOptions) -> Result<(Drive, Arc<Condition>)> {
    open_with_media(path, options).map(|(drive, media)| (drive, media.condition))
}

/// As [`open`], with what the drive lies on.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_with_media(path: &Path, options: DriveOptions) -> Result<(Drive, Media)> {
    let access = if options.read_only { Access::ReadOnly } else { Access::ReadWrite };
    let (media, options) = open_whole(path, access, options)?;
    let opened =
        Drive::open(Arc::clone(&media.disk), options).map_err(|error| in_words(path, error));
    let drive = opened.with_context(|| path.display().to_string())?;
    ensure!(
        drive.codec() != Codec::Simulated,
        "{}: this drive was made by a simulation and has no data; make one with `assay drive create`",
        path.display()
    );
    Ok((drive, media))
}

/// What a drive lies on.
pub(crate) struct Media {
    disk: Arc<dyn Disk>,
    /// How it is.
    pub(crate) condition: Arc<Condition>,
    /// It, where it is an image, which is to be closed before the process ends.
    pub(crate) image: Option<Arc<RbdMedia>>,
}

/// Opens what a drive lies on, and completes the options by what it is.
///
/// # Errors
/// One line: it is not there, in use, has no whole blocks.
pub fn open_media(
    path: &Path,
    access: Access,
    options: DriveOptions,
) -> Result<(Arc<dyn Disk>, DriveOptions, Arc<Condition>)> {
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
        // What has no whole blocks, or none, holds no drive.
        MediaError::Size { .. } => {
            in_words(path, DriveError::NotADrive).context(path.display().to_string())
        }
        error => error.into(),
    })?;
    let condition = Arc::clone(media.condition());
    let discard_media = access == Access::ReadWrite && is_sparse(path);
    // The log writes every block before it reads it.
    let media = media.discarding_loosely();
    // Media that are allocated at once keep what they need.
    let media = if discard_media { media } else { media.keeping_room() };
    let disk = Arc::new(media);
    let media = Media { disk, condition, image: None };
    Ok((media, DriveOptions { discard_media, ..options }))
}

/// Opens the image that `path` names. For writing, what a server of this machine that died still had of it is taken over.
///
/// # Errors
/// One line: no such cluster, pool or image; in use; the cluster does not answer.
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

/// Refuses a path that cannot be written down in ledgers and JSON as it is.
///
/// # Errors
/// One line, with what to do.
pub fn ensure_tellable(path: &Path) -> Result<()> {
    ensure!(
        path.to_str().is_some(),
        "{}: the name is not UTF-8, so JSON cannot show it; rename it",
        path.display()
    );
    Ok(())
}

/// How a drive is, and its media with it.
pub fn with_media(mut status: Status, media: &Condition) -> Status {
    let problems = media.problems();
    if !problems.is_empty()
        && matches!(status.state, State::Healthy | State::LowSpace | State::Full)
    {
        status.state = State::Damaged;
    }
    status.problems.extend(problems);
    status
}

/// What an error of the drive on `path` means for whoever asked, and what can be done.
#[must_use]
pub fn in_words(path: &Path, error: DriveError) -> anyhow::Error {
    match error {
        DriveError::NotADrive => match media_shown_by(path) {
            Some(media) => anyhow!("this is the device of the drive on {media}; use {media}"),
            None => anyhow!(
                "{error}; make one with `assay drive create` in a new file, or, if it used to be a drive, try `assay drive check --repair`"
            ),
        },
        DriveError::Shrunk { drive_bytes, .. } => anyhow!(
            "{error}; restore its size, for a file with `truncate -s {drive_bytes}`, then run `assay drive check --repair`"
        ),
        error => error.into(),
    }
}

/// Whether `error` says that no drive begins there.
pub fn is_no_drive(error: &anyhow::Error) -> bool {
    error.root_cause().to_string().starts_with(&DriveError::NotADrive.to_string())
}

/// What the drive lies on that is shown as this file, by a server that no ledger of ours tells of.
fn media_shown_by(path: &Path) -> Option<String> {
    let mount = filesystem::mount_of(path).ok()??;
    (mount.file_system == fuse::FILE_SYSTEM).then_some(mount.source)
}

/// Whether the file takes less space than it is long. Blocks are counted in 512 bytes (`stat(2)`).
fn is_sparse(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| {
        metadata.is_file() && metadata.blocks().saturating_mul(512) < metadata.len()
    })
}
