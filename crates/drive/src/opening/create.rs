//! Creating a drive on media: an empty log and a first checkpoint.

use std::sync::Arc;

use thiserror::Error;

use crate::codec::Codec;
use crate::core::budget::Budget;
use crate::core::map::Map;
use crate::core::nodes::slots_for;
use crate::core::space::{Space, incompressible_blocks, most_live_bytes};
use crate::drive::Drive;
use crate::format::{
    Cursor, Identity, LOGICAL_PER_CAPACITY, OtherSuperblock, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN,
    SEGMENTS_MAX, SEGMENTS_START, STREAMS, Stream, Superblock,
};
use crate::options::DriveOptions;
use crate::shell::bad_places::Unreadable;
use crate::shell::parts::{Parts, Shell};
use crate::shell::superblocks::Chosen;
use crate::status::{Counters, Recovery};
use assay_disk::Bytes;
use assay_disk::{BLOCK_BYTES, Disk, DiskError};

/// Fewest segments with which collection always finds room to work.
const SEGMENTS_MIN: u64 = 24;

/// Number of segments of a drive whose size allows it: enough that the free ones do not matter.
const SEGMENTS_WANTED: u64 = 2048;

/// Segment size of a large drive, in bytes.
const SEGMENT_BYTES_DEFAULT: u64 = 32 << 20;

/// Divisor of the power of two that is added to a segment for its tables, so that the segment holds
/// as many writes of 256 KiB as the power of two. Otherwise the last write would not fit, a quarter
/// of a segment of 1 MiB.
const TABLES_PART: u64 = 32;

/// Segment size from which on tables take less than that share, in bytes.
const SEGMENT_BYTES_ROOMY: u64 = 8 << 20;

/// Sequence numbers below this open the first segments.
const FIRST_SEQ: u64 = 16;

/// The properties of a new drive.
#[derive(Debug, Clone)]
pub struct Format {
    /// Distinguishes this drive from any other that ever lay on the media; a random number.
    pub drive_id: u64,
    /// Size that the host sees, in bytes: a multiple of 4096, possibly more than the media holds.
    pub logical_bytes: u64,
    /// Codec of host writes.
    pub codec: Codec,
    /// Compresses aligned 16 KiB as one.
    pub units: bool,
    /// Trains dictionaries from the host's data; for zstd only.
    pub dictionary: bool,
    /// Size of a segment in bytes, a power of two or 33/32 of one; `None`: chosen by the size of
    /// the media.
    pub segment_bytes: Option<u32>,
}

/// The reason for which a drive cannot be created or opened.
#[derive(Debug, Error)]
pub enum DriveError {
    /// The media holds something else, or nothing.
    #[error("this is not an Assay drive")]
    NotADrive,
    /// The format belongs to another version.
    #[error(
        "the drive has format {0}, which this version cannot read; \
         use {which} Assay, and copy its files",
        which = which_version(*.0)
    )]
    OtherFormat(u32),
    /// Both superblocks are damaged.
    #[error("both superblocks of the drive are damaged; it cannot be opened")]
    Damaged,
    /// The media is smaller than the drive.
    #[error("the media has {}, but the drive needs {}", Bytes(*.media_bytes), Bytes(*.drive_bytes))]
    Shrunk {
        /// Size of the media, in bytes.
        media_bytes: u64,
        /// Size of the drive, in bytes.
        drive_bytes: u64,
    },
    /// The media is too small for a drive.
    #[error("a drive needs a capacity of at least {}", Bytes(*.least_bytes))]
    TooSmall {
        /// Least size of the media, in bytes.
        least_bytes: u64,
    },
    /// Another property is impossible; the text says which.
    #[error("{0}")]
    Impossible(String),
    /// The media failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// The version that reads such a format, for messages.
fn which_version(format: u32) -> &'static str {
    if format > crate::format::FORMAT { "a newer" } else { "the older" }
}

impl Format {
    /// Bytes that records may take on media of `media_bytes`, as [`crate::Status::usable_bytes`].
    ///
    /// # Errors
    /// [`DriveError::TooSmall`] and [`DriveError::Impossible`].
    pub fn usable_bytes(&self, media_bytes: u64) -> Result<u64, DriveError> {
        Ok(most_live_bytes(&identity(media_bytes, self)?))
    }

    /// Bytes of incompressible data that such a drive takes on media of `media_bytes`.
    ///
    /// # Errors
    /// [`DriveError::TooSmall`] and [`DriveError::Impossible`].
    pub fn incompressible_bytes(&self, media_bytes: u64) -> Result<u64, DriveError> {
        Ok(incompressible_blocks(&identity(media_bytes, self)?) * BLOCK_BYTES)
    }

    /// Checks that there can be such a drive on media of `media_bytes`.
    ///
    /// # Errors
    /// [`DriveError::TooSmall`] and [`DriveError::Impossible`].
    pub fn check(&self, media_bytes: u64) -> Result<(), DriveError> {
        identity(media_bytes, self).map(drop)
    }
}

impl Drive {
    /// Creates an empty drive on all of `media`. Earlier contents are lost, but not erased.
    ///
    /// # Errors
    /// [`DriveError::TooSmall`] and [`DriveError::Impossible`], with nothing written; those of the
    /// media.
    pub fn format(media: Arc<dyn Disk>, format: &Format) -> Result<(), DriveError> {
        let identity = identity(media.size(), format)?;
        let mut space = Space::fresh(&identity);
        let mut cursors = <[Cursor; STREAMS]>::default();
        for (number, stream) in (0..).zip(Stream::ALL) {
            space.open_this(number, stream, u64::from(number) + 1);
            cursors[stream as usize].segment = number;
        }
        let superblock = Superblock {
            identity,
            generation: 0,
            checkpoint_seq: FIRST_SEQ - 1,
            log_end_seq: FIRST_SEQ,
            unused_seq: FIRST_SEQ,
            clean: false,
            cuts: Vec::new(),
            root_seqs: (0, 0),
            root: Vec::new(),
        };
        let parts = Parts {
            chosen: Chosen { superblock, which: 1, other: OtherSuperblock::Whole },
            map: Map::new(identity.logical_bytes / BLOCK_BYTES),
            space,
            cursors,
            next_seq: FIRST_SEQ,
            counters: Counters::default(),
            next_dictionary: 1,
            unreadable: Unreadable::default(),
        };
        let options = DriveOptions::default();
        let shell = Shell::assemble(media, &options, parts);
        shell.log.set_begun(true);
        Ok(Drive::new(shell, options, Recovery::default(), None).close()?)
    }
}

/// Default size of a segment on media of this size, in bytes.
fn segment_bytes_for(media_bytes: u64) -> u64 {
    let power =
        (media_bytes / SEGMENTS_WANTED).next_power_of_two().clamp(1 << 20, SEGMENT_BYTES_DEFAULT);
    if power < SEGMENT_BYTES_ROOMY { power + power / TABLES_PART } else { power }
}

/// Whether a size is a power of two, with or without room for tables.
fn is_segment_size(bytes: u64) -> bool {
    let power = (bytes + 1).next_power_of_two() / 2;
    bytes == power || bytes == power + power / TABLES_PART
}

fn identity(media_bytes: u64, format: &Format) -> Result<Identity, DriveError> {
    let segment_bytes = match format.segment_bytes {
        Some(bytes) => u64::from(bytes),
        None => segment_bytes_for(media_bytes),
    };
    let range = u64::from(SEGMENT_BYTES_MIN)..=u64::from(SEGMENT_BYTES_MAX);
    if !range.contains(&segment_bytes) || !is_segment_size(segment_bytes) {
        let (least, most) = (Bytes(*range.start()), Bytes(*range.end()));
        let text = format!("a segment is a power of two from {least} to {most}, or 33/32 of one");
        return Err(DriveError::Impossible(text));
    }
    let overhead = SEGMENTS_START + BLOCK_BYTES;
    let segments = media_bytes.saturating_sub(overhead) / segment_bytes;
    if segments < SEGMENTS_MIN {
        return Err(DriveError::TooSmall { least_bytes: overhead + SEGMENTS_MIN * segment_bytes });
    }
    if segments > u64::from(SEGMENTS_MAX) {
        let most = Bytes(overhead + u64::from(SEGMENTS_MAX) * segment_bytes);
        let text =
            format!("the capacity may be {most} at most, in segments of {}", Bytes(segment_bytes));
        return Err(DriveError::Impossible(text));
    }
    if format.logical_bytes == 0 || !format.logical_bytes.is_multiple_of(BLOCK_BYTES) {
        let text = "the logical size must be a multiple of 4096 bytes and not zero";
        return Err(DriveError::Impossible(text.into()));
    }
    if format.dictionary && format.codec != Codec::Zstd {
        return Err(DriveError::Impossible("dictionaries need the codec zstd".into()));
    }
    let identity = Identity {
        drive_id: format.drive_id,
        media_bytes: media_bytes / BLOCK_BYTES * BLOCK_BYTES,
        segment_bytes: segment_bytes as u32,
        segments: segments as u32,
        codec: format.codec,
        units: format.units,
        dictionary: format.dictionary,
        logical_bytes: format.logical_bytes,
    };
    let most = identity.logical_bytes_most();
    if format.logical_bytes > most {
        let text = format!(
            "the logical size may be {} at most, {LOGICAL_PER_CAPACITY} times the capacity",
            Bytes(most)
        );
        return Err(DriveError::Impossible(text));
    }
    if !Budget::new(&identity).has_nameable_root(slots_for(format.logical_bytes / BLOCK_BYTES)) {
        let text = format!(
            "segments of {} are too small for so large a drive: choose larger ones",
            Bytes(segment_bytes)
        );
        return Err(DriveError::Impossible(text));
    }
    Ok(identity)
}
