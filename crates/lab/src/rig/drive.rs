//! The software drive in a rig: made empty over its media, then served for as long as the rig stands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_drive::State;
use assay_ports::media::Allocation;

use assay_plan::RigSpec;
use assay_serve::{AttachOptions, Attached, Export, Health, NewDrive, Sizes};
use assay_system::ledger::Ledger;

/// What a drive lies on, and how large both are.
#[derive(Debug)]
pub struct Media {
    /// Absolute path, without links, of the file or device, or the name of the image.
    pub path: PathBuf,
    /// Bytes of media, and bytes that the host sees.
    pub sizes: Sizes,
}

/// Makes an empty drive on the `image` of a pool, on the device that `spec` names, or else in a new file in `directory`.
///
/// # Errors
/// One line: the device is in use, no room for the image, sizes that cannot be.
pub fn make(spec: &RigSpec, directory: &Path, image: Option<&Path>) -> Result<Media> {
    let drive = NewDrive {
        logical: spec.logical,
        codec: spec.drive_codec(),
        unit: spec.unit.unwrap_or_default(),
        dictionary: spec.dictionary,
        segment_bytes: None,
    };
    if let Some(image) = image {
        return Ok(Media { path: image.to_owned(), sizes: drive.on_image(image)? });
    }
    let (named, sizes) = match &spec.device {
        Some(device) => (device.clone(), drive.on_device(device)?),
        None => {
            let image = directory.join("drive.img");
            let capacity = spec.capacity.context("a drive in an image needs a capacity")?;
            // Its space is taken for good: a drive that runs out of disk would be read as a slow one that failed.
            let sizes = drive.in_file(&image, capacity, Allocation::Full)?;
            (image, sizes)
        }
    };
    let path =
        named.canonicalize().with_context(|| format!("cannot resolve {}", named.display()))?;
    Ok(Media { path, sizes })
}

/// Has it served by a child on these CPUs (empty: all).
///
/// # Errors
/// One line, the serving process's own.
pub fn serve(
    spec: &RigSpec,
    media: &Media,
    ledger: &Arc<Ledger>,
    cpus: &[usize],
) -> Result<Attached> {
    let default = AttachOptions::default();
    let options = AttachOptions {
        memory: spec.memory,
        read_ahead: spec.read_ahead,
        threads: spec.threads.unwrap_or(default.threads),
        ..default
    };
    Attached::start(&media.path, &options, &Export::Drive, ledger, cpus)
}

/// What is wrong with a drive in a rig, in words: its process has ended, or it refuses work. Nothing where all is well.
pub fn trouble(drive: &mut Attached) -> Option<String> {
    match drive.ended() {
        Ok(None) => {}
        Ok(Some(how)) => {
            return Some(format!("the process that served the drive ended with {how}"));
        }
        Err(error) => return Some(format!("{error:#}")),
    }
    let status = Health::read(&drive.status_file).ok()?.status;
    // What came back by collection since does not undo an error that the host has met.
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

/// What the drive does with what it is given, in words.
#[must_use]
pub fn manner(spec: &RigSpec) -> String {
    let dictionary = if spec.dictionary { " with dictionaries" } else { "" };
    let unit = spec.unit.unwrap_or_default();
    let ahead =
        spec.read_ahead.map_or_else(String::new, |size| format!(", reading at least {size}"));
    format!("{}{dictionary} in units of {unit}{ahead}", spec.drive_codec())
}
