//! The choice between the two superblocks: the newer one counts, and problems of the other are
//! reported.
//!
//! A power cut while both are written leaves the other one torn or older. That is no damage:
//! opening the drive for writing rewrites it; the chosen one is not touched, so another power cut
//! finds it whole. A damaged one stays until both are rewritten, which the first write to the drive
//! does, the other one first.

use crate::format::{ChunkHeader, Identity, OtherSuperblock, Superblock, SuperblockError};
use crate::opening::create::DriveError;
use crate::shell::superblocks::Chosen;
use assay_disk::BlockBuffer;
use assay_disk::{BLOCK_BYTES, Disk, DiskError};

/// Whether `block`, the first 4 KiB of media, can be that of a drive.
#[must_use]
pub fn begins_drive(block: &[u8]) -> bool {
    Superblock::decode(block) != Err(SuperblockError::Absent)
}

/// Bytes of one read of the search.
const SEARCHED_BYTES: u64 = 1 << 20;

/// Possible ends of the drive, in bytes, according to its first superblock. A torn one may still
/// tell the end, because its first sector was written before; otherwise the drive ends with its
/// media, unless they have grown.
fn possible_ends(
    media: &dyn Disk,
    first: &Result<Superblock, SuperblockError>,
) -> Result<Vec<u64>, DriveError> {
    let media_bytes = media.size();
    match first {
        Ok(Superblock { identity, .. }) if identity.media_bytes > media_bytes => {
            Err(DriveError::Shrunk { media_bytes, drive_bytes: identity.media_bytes })
        }
        Ok(superblock) => Ok(vec![superblock.identity.media_bytes]),
        Err(SuperblockError::Damaged { media_bytes: Some(told) }) if *told < media_bytes => {
            Ok(vec![*told, media_bytes])
        }
        Err(_) => Ok(vec![media_bytes]),
    }
}

/// Searches for the second superblock of a drive whose media have grown: the last block that is a
/// superblock and names its own place as the drive's end.
fn find_second(media: &dyn Disk) -> Option<Superblock> {
    let mut buffer = BlockBuffer::zeroed(SEARCHED_BYTES as usize);
    let mut end = media.size() / BLOCK_BYTES * BLOCK_BYTES;
    while end > 0 {
        let start = end.saturating_sub(SEARCHED_BYTES);
        let bytes = &mut buffer.as_mut()[..(end - start) as usize];
        // A place that cannot be read holds none.
        if media.read(start, bytes).is_ok() {
            let blocks = bytes.chunks(BLOCK_BYTES as usize).enumerate();
            let ends_here = |index: usize, superblock: &Superblock| {
                superblock.identity.media_bytes == start + (index as u64 + 1) * BLOCK_BYTES
            };
            let second = blocks.rev().find_map(|(index, block)| {
                Superblock::decode(block).ok().filter(|superblock| ends_here(index, superblock))
            });
            if second.as_ref().is_some_and(|superblock| is_alone(media, &superblock.identity)) {
                return second;
            }
        }
        end = start;
    }
    None
}

/// Whether no segment belongs to another drive, so that the superblock of an earlier drive does not
/// count.
fn is_alone(media: &dyn Disk, identity: &Identity) -> bool {
    let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
    (0..identity.segments).all(|segment| {
        media.read(identity.segment_start(segment), block.as_mut()).is_err()
            || ChunkHeader::decode(block.as_ref())
                .is_none_or(|(header, _)| header.drive_id == identity.drive_id)
    })
}

/// One superblock as it was read.
struct Found {
    decoded: Result<Superblock, SuperblockError>,
    block: BlockBuffer,
    failure: Option<std::io::Error>,
}

impl Found {
    /// Reads the superblock at `place`. One that cannot be read counts as damaged.
    fn at(media: &dyn Disk, place: u64) -> Result<Found, DriveError> {
        let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
        let first = media.read(place, block.as_mut());
        let read = if first.is_err() { media.read(place, block.as_mut()) } else { first };
        let (decoded, failure) = match read {
            Ok(()) => (Superblock::decode(block.as_ref()), None),
            Err(DiskError::Io(error)) => {
                (Err(SuperblockError::Damaged { media_bytes: None }), Some(error))
            }
            Err(other) => return Err(other.into()),
        };
        Ok(Found { decoded, block, failure })
    }

    /// The state of a superblock that was not chosen.
    fn fault(&self, chosen: &Superblock) -> OtherSuperblock {
        match () {
            () if self.failure.is_some() => OtherSuperblock::Unreadable,
            () if chosen.may_be_torn_as(self.block.as_ref()) => OtherSuperblock::Torn,
            () => OtherSuperblock::Damaged,
        }
    }
}

/// The newer of the two superblocks, and the state of the other. With `searches`, all media are
/// searched if neither is in its place.
pub(crate) fn read_superblocks(media: &dyn Disk, searches: bool) -> Result<Chosen, DriveError> {
    if media.size() < 2 * BLOCK_BYTES {
        return Err(DriveError::NotADrive);
    }
    let first = Found::at(media, 0)?;
    let mut second = None;
    for end in possible_ends(media, &first.decoded)? {
        let found = Found::at(media, Identity::superblock_places(end)[1])?;
        let is_whole = found.decoded.is_ok();
        second = Some(found);
        if is_whole {
            break;
        }
    }
    let Some(mut second) = second else { return Err(DriveError::NotADrive) };
    if searches && first.decoded.is_err() && second.decoded.is_err() {
        second.decoded = find_second(media).map_or(second.decoded, Ok);
    }
    let chosen = choose(first, second)?;
    let drive_bytes = chosen.superblock.identity.media_bytes;
    if drive_bytes > media.size() {
        return Err(DriveError::Shrunk { media_bytes: media.size(), drive_bytes });
    }
    Ok(chosen)
}

fn choose(first: Found, second: Found) -> Result<Chosen, DriveError> {
    let chosen = |superblock, which, other| Ok(Chosen { superblock, which, other });
    match (&first.decoded, &second.decoded) {
        (Ok(one), Ok(two)) if one.generation > two.generation => {
            chosen(one.clone(), 0, OtherSuperblock::Whole)
        }
        (Ok(one), Ok(two)) => {
            // A power cut while the first one was rewritten leaves this.
            let is_older = one.generation < two.generation;
            let other = if is_older { OtherSuperblock::Older } else { OtherSuperblock::Whole };
            chosen(two.clone(), 1, other)
        }
        (Ok(good), Err(_)) => chosen(good.clone(), 0, second.fault(good)),
        (Err(SuperblockError::Other(format)), _) => Err(DriveError::OtherFormat(*format)),
        (Err(_), Ok(good)) => chosen(good.clone(), 1, first.fault(good)),
        (_, Err(SuperblockError::Other(format))) => Err(DriveError::OtherFormat(*format)),
        (Err(SuperblockError::Absent), Err(SuperblockError::Absent)) => Err(DriveError::NotADrive),
        _ => {
            let failed = second.failure.or(first.failure);
            Err(failed.map_or(DriveError::Damaged, |error| DriveError::Disk(DiskError::Io(error))))
        }
    }
}
