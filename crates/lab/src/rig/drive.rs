//! The software drive in a rig: made empty over its media, then served for as long as the rig
//! stands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_drive::State;
use assay_ports::media::Allocation;

use assay_base::Size;
use assay_plan::PlannedDrive;
use assay_serve::{AttachOptions, Attached, Export, Health, NewDrive, Sizes};
use assay_system::ledger::Ledger;

/// The media of a drive, with the sizes of both.
#[derive(Debug)]
pub struct DriveFiles {
    /// Absolute path, without links, of the file or device, or the name of the image.
    pub path: PathBuf,
    /// Bytes of media, and bytes that the host sees.
    pub sizes: Sizes,
}

/// The drive as it is made.
pub fn new(drive: &PlannedDrive) -> NewDrive {
    NewDrive {
        logical: drive.logical,
        codec: drive.codec,
        unit: drive.unit,
        dictionary: drive.dictionary,
        segment_bytes: None,
    }
}

/// Makes an empty drive in a new file in `directory`.
///
/// # Errors
/// One line: no room for the file.
pub fn in_file(drive: &NewDrive, directory: &Path, capacity: Size) -> Result<DriveFiles> {
    let image = directory.join("drive.img");
    // Its space is taken for good: a drive that runs out of disk would be read as a slow one that
    // failed.
    let sizes = drive.in_file(&image, capacity, Allocation::Full)?;
    Ok(DriveFiles { path: resolved(&image)?, sizes })
}

/// Makes an empty drive on a block device.
///
/// # Errors
/// One line: the device is in use, or the drive's sizes cannot be.
pub fn on_device(drive: &NewDrive, device: &Path) -> Result<DriveFiles> {
    let sizes = drive.on_device(device)?;
    Ok(DriveFiles { path: resolved(device)?, sizes })
}

fn resolved(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| format!("cannot resolve {}", path.display()))
}

/// Serves the drive by a child on these CPUs (empty: all).
///
/// # Errors
/// One line, the serving process's own.
pub fn serve(
    drive: &PlannedDrive,
    media: &DriveFiles,
    ledger: &Arc<Ledger>,
    cpus: &[usize],
) -> Result<Attached> {
    Attached::start(&media.path, &options(drive), &Export::Drive, ledger, cpus)
}

/// Options with which a drive is served.
pub fn options(drive: &PlannedDrive) -> AttachOptions {
    AttachOptions {
        memory: drive.memory,
        read_ahead: drive.read_ahead,
        threads: drive.threads,
        ..AttachOptions::default()
    }
}

/// The trouble of a drive in a rig, in words: its process has ended, or it refuses work. `None` if
/// all is well.
pub fn trouble(drive: &mut Attached) -> Option<String> {
    match drive.ended() {
        Ok(None) => {}
        Ok(Some(how)) => {
            return Some(format!("the process that served the drive ended with {how}"));
        }
        Err(error) => return Some(format!("{error:#}")),
    }
    let status = Health::read(&drive.status_file).ok()?.status;
    // Space that collection regained does not undo an error that the host has met.
    if status.counts.refused_writes > 0 {
        return Some("the drive was full; give it more capacity, or fewer rows".into());
    }
    match status.state {
        State::Healthy | State::LowSpace | State::Full => None,
        state => {
            let state = state.name().replace('_', " ");
            Some(format!("the drive is {state}: {}", status.problems.join("; ")))
        }
    }
}

/// Compression and read-ahead of a drive, in words.
#[must_use]
pub fn manner(drive: &PlannedDrive) -> String {
    let dictionary = if drive.dictionary { " with dictionaries" } else { "" };
    let ahead =
        drive.read_ahead.map_or_else(String::new, |size| format!(", reading at least {size}"));
    format!("{}{dictionary} in units of {}{ahead}", drive.codec, drive.unit)
}
