//! Choosing between the two superblocks: the newer one counts, and what is wrong with the other is told. It is wrong
//! until both are written again, which the first write to the drive does: the other one first, so that a power cut which
//! tears that leaves the one that was chosen.

use crate::format::{ChunkHeader, Identity, Superblock, SuperblockError};
use crate::opening::create::DriveError;
use crate::status::Recovery;
use assay_disk::BlockBuffer;
use assay_disk::{BLOCK_BYTES, Disk, DiskError};

/// Whether a drive may lie on media that begin with `block`, as far as its first 4 KiB tell.
#[must_use]
pub fn begins_drive(block: &[u8]) -> bool {
    Superblock::decode(block) != Err(SuperblockError::Absent)
}

/// Bytes of media that are looked through at once.
const SEARCHED_BYTES: u64 = 1 << 20;

/// Where the drive may end, in bytes, when its first superblock is this: a torn one still tells, for its beginning was written
/// before, but not surely; else the drive ends with its media, unless those have grown.
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

/// The second superblock of a drive whose media have grown, wherever it lies: the last block that is one and says that its drive ends
/// there.
fn find_second(media: &dyn Disk) -> Option<Superblock> {
    let mut buffer = BlockBuffer::zeroed(SEARCHED_BYTES as usize);
    let mut end = media.size() / BLOCK_BYTES * BLOCK_BYTES;
    while end > 0 {
        let start = end.saturating_sub(SEARCHED_BYTES);
        let bytes = &mut buffer.as_mut()[..(end - start) as usize];
        // What cannot be read holds none.
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

/// Whether no segment is another drive's: what an earlier one left behind must not be taken for the last.
fn is_alone(media: &dyn Disk, identity: &Identity) -> bool {
    let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
    (0..identity.segments).all(|segment| {
        media.read(identity.segment_start(segment), block.as_mut()).is_err()
            || ChunkHeader::decode(block.as_ref())
                .is_none_or(|(header, _)| header.drive_id == identity.drive_id)
    })
}

/// The newer of the two superblocks, and which of them it is. With `searches` all of the media are looked through where neither is in
/// its place.
pub(crate) fn read_superblocks(
    media: &dyn Disk,
    recovery: &mut Recovery,
    searches: bool,
) -> Result<(Superblock, usize), DriveError> {
    let mut unreadable = None;
    let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
    // One that cannot be read is as bad as a damaged one, and no worse.
    let mut read = |place| -> Result<_, DriveError> {
        let first = media.read(place, block.as_mut());
        let read = if first.is_err() { media.read(place, block.as_mut()) } else { first };
        match read {
            Ok(()) => Ok(Superblock::decode(block.as_ref())),
            Err(DiskError::Io(error)) => {
                unreadable = Some(error);
                Ok(Err(SuperblockError::Damaged { media_bytes: None }))
            }
            Err(other) => Err(other.into()),
        }
    };
    if media.size() < 2 * BLOCK_BYTES {
        return Err(DriveError::NotADrive);
    }
    let first = read(0)?;
    let mut second = Err(SuperblockError::Absent);
    for end in possible_ends(media, &first)? {
        second = read(Identity::superblock_places(end)[1])?;
        if second.is_ok() {
            break;
        }
    }
    if searches && first.is_err() && second.is_err() {
        second = find_second(media).map_or(second, Ok);
    }
    let (superblock, which) = match (first, second) {
        (Ok(first), Ok(second)) => {
            use std::cmp::Ordering::{Equal, Greater, Less};
            match first.generation.cmp(&second.generation) {
                Greater => (first, 0),
                Equal => (second, 1),
                Less => {
                    // As it is after a power cut while the first one was mended.
                    let older = "the first superblock is older than the second, which was used";
                    recovery.mended.push(older.into());
                    (second, 1)
                }
            }
        }
        (Ok(good), Err(_)) => {
            recovery
                .mended
                .push("the second superblock is torn or damaged; the first was used".into());
            (good, 0)
        }
        (Err(SuperblockError::Other(format)), _) => return Err(DriveError::OtherFormat(format)),
        (Err(_), Ok(good)) => {
            recovery
                .mended
                .push("the first superblock is torn or damaged; the second was used".into());
            (good, 1)
        }
        (_, Err(SuperblockError::Other(format))) => return Err(DriveError::OtherFormat(format)),
        (Err(SuperblockError::Absent), Err(SuperblockError::Absent)) => {
            return Err(DriveError::NotADrive);
        }
        _ => {
            let failed = unreadable.map(|error| DriveError::Disk(DiskError::Io(error)));
            return Err(failed.unwrap_or(DriveError::Damaged));
        }
    };
    let drive_bytes = superblock.identity.media_bytes;
    if drive_bytes > media.size() {
        return Err(DriveError::Shrunk { media_bytes: media.size(), drive_bytes });
    }
    Ok((superblock, which))
}
