//! The disk that a server serves: a drive, an image, a model, or a disk whose power can be cut.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use assay_drive::{Codec, Counts, Disk, Drive, Recovery, State, Status};
use assay_models::Tearing;
use assay_ports::fuse::Resize;
use assay_ports::media::{Access, MediaCondition};
use assay_ports::rbd::RbdMedia;

use super::job::{Export, ServerJob};
use super::open::{Media, open_image, open_with_media, with_media};
use super::powered::Powered;
use super::stack::ModelStack;
use assay_presets::Device;

/// The largest request of the kernel to a device without a drive inside; common devices take as
/// much.
const REQUEST_BYTES: u64 = 256 << 10;

#[derive(Clone)]
pub enum Opened {
    /// The software drive.
    Drive {
        drive: Arc<Drive>,
        media: Arc<MediaCondition>,
        /// The media, if they are an image.
        image: Option<Arc<RbdMedia>>,
        /// True if writes are torn on purpose.
        tears: bool,
    },
    /// An image as it is, without a drive inside.
    Image(Arc<RbdMedia>),
    /// A device's model.
    Model(Arc<ModelStack>),
    /// A disk, with or without a drive, whose power can be cut.
    Powered(Arc<Powered>),
}

impl Opened {
    /// Opens the disk of the job.
    pub fn open(job: &ServerJob) -> Result<Opened> {
        let options = &job.options;
        match &job.export {
            Export::Drive => {
                let (drive, Media { condition: media, image, .. }) =
                    open_with_media(&job.media, options.drive())?;
                Ok(Opened::Drive { drive: Arc::new(drive), media, image, tears: options.tears() })
            }
            Export::Image => {
                let access = if options.read_only { Access::ReadOnly } else { Access::ReadWrite };
                Ok(Opened::Image(Arc::new(open_image(&job.media, access)?)))
            }
            Export::Model { device: model, trace, .. } => {
                let preset = model.preset()?;
                let device = Device::new(&preset, model.scale)?;
                let stack =
                    ModelStack::new(&job.media, &device, &preset, options, trace.as_deref())?;
                Ok(Opened::Model(Arc::new(stack)))
            }
            Export::Powered(power) => Ok(Opened::Powered(Arc::new(Powered::open(job, power)?))),
        }
    }

    pub fn disk(&self) -> Arc<dyn Disk> {
        match self {
            Opened::Drive { drive, tears: true, .. } => Arc::new(Tearing::new(Arc::clone(drive))),
            Opened::Drive { drive, .. } => Arc::clone(drive) as _,
            Opened::Image(image) => Arc::clone(image) as _,
            Opened::Model(stack) => Arc::clone(&stack.top) as _,
            Opened::Powered(powered) => Arc::clone(&powered.watch) as _,
        }
    }

    fn drive(&self) -> Option<&Arc<Drive>> {
        match self {
            Opened::Drive { drive, .. } => Some(drive),
            Opened::Image(_) => None,
            Opened::Model(stack) => stack.drive.as_ref(),
            Opened::Powered(powered) => powered.drive.as_ref(),
        }
    }

    /// A drive can grow; a device cannot.
    pub fn resize(&self) -> Option<Resize> {
        let Opened::Drive { drive, .. } = self else { return None };
        let drive = Arc::clone(drive);
        Some(Box::new(move |bytes| drive.resize(bytes)))
    }

    /// The largest command that the drive takes, a limit for the kernel's requests.
    pub fn largest_request_bytes(&self) -> u64 {
        self.drive().map_or(REQUEST_BYTES, |drive| drive.guarantees().atomic_write_bytes)
    }

    pub fn close(&self) -> assay_drive::Result<()> {
        if let Opened::Powered(powered) = self {
            return powered.close();
        }
        let closed = self.drive().map_or(Ok(()), |drive| drive.close());
        match self {
            Opened::Image(image) | Opened::Drive { image: Some(image), .. } => image.close(),
            Opened::Drive { image: None, .. } | Opened::Model(_) | Opened::Powered(_) => {}
        }
        closed
    }

    /// Its status; for a device without a drive inside, the status of the file `media`.
    pub fn status(&self, media: &Path) -> Status {
        let drive = self.drive().map(|drive| drive.status());
        let status = drive.unwrap_or_else(|| plain(media, self.disk().size()));
        let mut status = with_media(status, self.media());
        if let Opened::Model(stack) = self {
            status.problems.extend(stack.recording.as_ref().and_then(|trace| trace.problem()));
        }
        status
    }

    pub fn media(&self) -> &MediaCondition {
        match self {
            Opened::Drive { media, .. } => media,
            Opened::Image(image) => image.condition(),
            Opened::Model(stack) => &stack.media,
            Opened::Powered(powered) => &powered.media,
        }
    }
}

/// The status of a disk that stores blocks in place. Blocks of the file are counted in 512 bytes
/// (`stat(2)`).
fn plain(media: &Path, bytes: u64) -> Status {
    use std::os::unix::fs::MetadataExt;
    let used = media.metadata().map_or(0, |file| file.blocks().saturating_mul(512)).min(bytes);
    Status {
        state: State::Healthy,
        problems: Vec::new(),
        capacity_bytes: bytes,
        usable_bytes: bytes,
        free_bytes: bytes - used,
        logical_bytes: bytes,
        logical_bytes_used: used,
        media_bytes_used: used,
        codec: Codec::None.name(),
        unit_blocks: 1,
        dictionary_versions: 0,
        segment_bytes: 0,
        segments: 0,
        segments_free: 0,
        segments_damaged: 0,
        map_bytes: 0,
        recovery: Recovery { clean: true, ..Recovery::default() },
        counts: Counts::default(),
    }
}
