//! Makes an empty drive, in a new file or on a block device, for `create` and for the lab's rigs.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, Format, begins_drive};
use assay_ports::blockdev;
use assay_ports::media::{Access, Allocation, FileMedia, MediaError};

use super::health_text::human;
use super::open::{ensure_tellable, open_image};
use super::writer;
use assay_base::Size;
use assay_base::text::shell_word;
use assay_presets::CompressionUnit;
use assay_system::free_bytes;

/// The parameters of a new drive.
#[derive(Debug, Clone, Copy)]
pub struct NewDrive {
    /// Size for the host; `None`: the size of the media.
    pub logical: Option<Size>,
    pub codec: Codec,
    /// Unit of compression.
    pub unit: CompressionUnit,
    /// True if dictionaries are trained.
    pub dictionary: bool,
    /// Segment size in bytes; `None`: by the capacity.
    pub segment_bytes: Option<u32>,
}

/// The sizes of a new drive.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Size of the media.
    pub capacity: Size,
    /// Size for the host.
    pub logical: Size,
}

impl NewDrive {
    /// Makes the drive in the new file `path` of `capacity` bytes, allocated at once unless it is
    /// sparse. After an error nothing has changed.
    pub fn in_file(&self, path: &Path, capacity: Size, allocation: Allocation) -> Result<Sizes> {
        ensure_tellable(&std::path::absolute(path)?)?;
        let format = self.format(capacity)?;
        if !capacity.0.is_multiple_of(BLOCK_BYTES) {
            return Err(MediaError::Size { path: path.into(), size: capacity.0 }.into());
        }
        format.check(capacity.0).with_context(|| path.display().to_string())?;
        if allocation == Allocation::Full {
            ensure_room(path, capacity)?;
        }
        let in_words = |error| match error {
            MediaError::Exists { .. } if is_drive(path) => anyhow!(
                "{} already exists and is a drive; use `assay drive attach {}`, or give a new file",
                path.display(),
                shell_word(&path.to_string_lossy())
            ),
            error => anyhow::Error::from(error),
        };
        // The file appears under its name once it is a drive.
        let (media, file) = FileMedia::begin(path, capacity.0, allocation).map_err(in_words)?;
        write(path, media, &format)?;
        file.finish().map_err(in_words)?;
        Ok(Sizes { capacity, logical: Size(format.logical_bytes) })
    }

    /// Makes the drive on the block device `path` and overwrites it. The caller has confirmed that.
    /// After an error nothing has changed.
    pub fn on_device(&self, path: &Path) -> Result<Sizes> {
        blockdev::check_unused(path)?;
        let media = FileMedia::open(path, Access::ReadWrite)?;
        let capacity = Size(media.size());
        let format = self.format(capacity)?;
        write(path, media, &format)?;
        Ok(Sizes { capacity, logical: Size(format.logical_bytes) })
    }

    /// Makes the drive on the image `path` and overwrites it. The caller has confirmed that. After
    /// an error nothing has changed.
    pub fn on_image(&self, path: &Path) -> Result<Sizes> {
        let media = open_image(path, Access::ReadWrite)?;
        let capacity = Size(media.size());
        let format = self.format(capacity)?;
        let media = Arc::new(media);
        let made = Drive::format(Arc::clone(&media) as _, &format);
        media.close();
        writer::forget(path);
        made.with_context(|| path.display().to_string())?;
        Ok(Sizes { capacity, logical: Size(format.logical_bytes) })
    }

    fn format(&self, capacity: Size) -> Result<Format> {
        let mut id = [0; 8];
        rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty())
            .context("cannot draw a number for the drive")?;
        Ok(Format {
            drive_id: u64::from_le_bytes(id),
            logical_bytes: self.logical.unwrap_or(capacity).0,
            codec: self.codec,
            units: self.unit == CompressionUnit::Page,
            dictionary: self.dictionary,
            segment_bytes: self.segment_bytes,
        })
    }
}

/// Returns true if the file starts like a drive. An attached drive is read past its server, but its
/// start does not move.
fn is_drive(path: &Path) -> bool {
    let mut block = [0; BLOCK_BYTES as usize];
    let mut read = || File::open(path).and_then(|mut file| file.read_exact(&mut block));
    path.is_file() && read().is_ok() && begins_drive(&block)
}

/// Checks the free space first, so that a failing attempt does not fill the file system for others.
/// Where free space is unknown, the attempt shows it.
fn ensure_room(path: &Path, capacity: Size) -> Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let Ok(free) = free_bytes(directory.unwrap_or(Path::new("."))) else { return Ok(()) };
    ensure!(
        capacity.0 <= free,
        "no space for {capacity} at {}, only for {}; free some, or use a smaller capacity",
        path.display(),
        human(free)
    );
    Ok(())
}

fn write(path: &Path, media: FileMedia, format: &Format) -> Result<()> {
    Drive::format(Arc::new(media), format).with_context(|| path.display().to_string())
}
