//! The superblock: the drive's identity, and the place of its newest checkpoint.
//!
//! There are two copies, in the first and in the last block of the media, written one after the
//! other with a flush in between, so a power cut damages one at most. The copy with the higher
//! generation counts.

use thiserror::Error;

use super::{
    LOGICAL_BYTES_MAX, LOGICAL_PER_CAPACITY, Location, RECORD_HEADER_BYTES, Reader,
    SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, SEGMENTS_MAX, SEGMENTS_START,
};
use crate::codec::Codec;
use assay_disk::BLOCK_BYTES;

const MAGIC: [u8; 8] = *b"ASSAYDRV";
/// The newest format: format 2 with segments of any size. Version 2 tests a segment in pieces of
/// 512 KiB, and would write behind the end of a segment whose size is not a multiple of that.
pub(crate) const FORMAT: u32 = 3;
/// The oldest format that this version reads. It still writes it if the segment size is a power of
/// two.
const FORMAT_OF_POWERS: u32 = 2;
const BYTES: usize = BLOCK_BYTES as usize;
const CHECKSUM_AT: usize = BYTES - 4;

/// Bytes that any disk writes whole.
const SECTOR_BYTES: usize = 512;

/// Most generations between a torn superblock and the whole one: one is being written, and the
/// previous one may have been torn before.
const TORN_GENERATIONS: u64 = 2;

/// Most chunks of a root.
pub(crate) const MAX_ROOT_PARTS: usize = 240;

/// Most cuts that are stored; the oldest is dropped first.
const MAX_CUTS: usize = 96;

/// The reason for which a block is no superblock.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum SuperblockError {
    #[error("no superblock")]
    Absent,
    /// `media_bytes`: the end of the drive, if the rest of the block tells it.
    #[error("damaged superblock")]
    Damaged { media_bytes: Option<u64> },
    #[error("format {0}")]
    Other(u32),
}

/// The state of the superblock that was not chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherSuperblock {
    /// As good as the chosen one, or left by a power cut between two writes.
    Whole,
    /// A power cut came between the writes of the two.
    Older,
    /// A power cut came while it was written.
    Torn,
    /// No power cut leaves such a block.
    Damaged,
    /// The media did not return it.
    Unreadable,
}

impl OtherSuperblock {
    /// Whether a power cut explains the state.
    pub(crate) fn is_of_power_cut(self) -> bool {
        matches!(self, OtherSuperblock::Older | OtherSuperblock::Torn)
    }

    /// A line for the health log; `chosen` is 0 for the first superblock and 1 for the second.
    pub(crate) fn told(self, chosen: usize) -> Option<String> {
        let (one, used) = if chosen == 0 { ("second", "first") } else { ("first", "second") };
        let found = match self {
            OtherSuperblock::Whole => return None,
            OtherSuperblock::Older => "is older, as a power cut leaves it",
            OtherSuperblock::Torn => "was torn by a power cut",
            OtherSuperblock::Damaged => "is damaged",
            OtherSuperblock::Unreadable => "cannot be read",
        };
        Some(format!("the {one} superblock {found}; the {used} was used"))
    }
}

/// The properties of a drive that never change, except its logical size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) drive_id: u64,
    pub(crate) media_bytes: u64,
    pub(crate) segment_bytes: u32,
    pub(crate) segments: u32,
    pub(crate) codec: Codec,
    /// Compresses aligned 16 KiB as one.
    pub(crate) units: bool,
    /// Trains dictionaries.
    pub(crate) dictionary: bool,
    pub(crate) logical_bytes: u64,
}

/// A superblock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) identity: Identity,
    /// Number of the superblock in the drive's life.
    pub(crate) generation: u64,
    /// The checkpoint holds everything up to this sequence number; the log goes on with the next.
    pub(crate) checkpoint_seq: u64,
    /// The log behind the checkpoint ends before this number. Chunks with higher ones are from
    /// recoveries that never reached a checkpoint of their own.
    pub(crate) log_end_seq: u64,
    /// No sequence number from here on was ever used.
    pub(crate) unused_seq: u64,
    /// Whether the drive was closed after the checkpoint.
    pub(crate) clean: bool,
    /// Ranges of sequence numbers, first and next, that crashes have cut off. Their chunks may lie
    /// somewhere on media, and are not part of the log.
    pub(crate) cuts: Vec<(u64, u64)>,
    /// First and last number of the root's chunks, in the count of the map's stream.
    pub(crate) root_seqs: (u64, u64),
    /// Chunks of the root, in order, with their lengths in blocks; empty before the first
    /// checkpoint.
    pub(crate) root: Vec<Location>,
}

impl Superblock {
    pub(crate) fn encode(&self, out: &mut [u8]) {
        let identity = &self.identity;
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend(MAGIC);
        bytes.extend(identity.format().to_le_bytes());
        bytes.extend(identity.drive_id.to_le_bytes());
        bytes.extend(identity.media_bytes.to_le_bytes());
        bytes.extend(identity.segment_bytes.to_le_bytes());
        bytes.extend(identity.segments.to_le_bytes());
        bytes.extend([identity.codec as u8, u8::from(identity.units)]);
        bytes.extend([u8::from(identity.dictionary), u8::from(self.clean)]);
        bytes.extend(identity.logical_bytes.to_le_bytes());
        let (first, last) = self.root_seqs;
        let seqs = [self.checkpoint_seq, self.log_end_seq, self.unused_seq, first, last];
        for number in std::iter::once(self.generation).chain(seqs) {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend((self.root.len() as u64).to_le_bytes());
        self.root.iter().for_each(|part| bytes.extend(part.word().to_le_bytes()));
        bytes.extend((self.cuts.len() as u64).to_le_bytes());
        for (first, next) in &self.cuts {
            bytes.extend(first.to_le_bytes());
            bytes.extend(next.to_le_bytes());
        }
        bytes.resize(CHECKSUM_AT, 0);
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        out[..BYTES].copy_from_slice(&bytes);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Superblock, SuperblockError> {
        let mut reader = Reader(bytes);
        if bytes.len() < BYTES || !bytes.starts_with(&MAGIC) {
            return Err(SuperblockError::Absent);
        }
        let stored = u32::from_le_bytes(
            bytes[CHECKSUM_AT..BYTES].try_into().map_err(|_| SuperblockError::Absent)?,
        );
        if crc32c::crc32c(&bytes[..CHECKSUM_AT]) != stored {
            return Err(SuperblockError::Damaged { media_bytes: Superblock::told_end(reader) });
        }
        reader.u64();
        match reader.u32() {
            Some(FORMAT_OF_POWERS..=FORMAT) => {
                Superblock::body(&mut reader).ok_or(SuperblockError::Damaged { media_bytes: None })
            }
            other => Err(SuperblockError::Other(other.unwrap_or(0))),
        }
    }

    /// Adds a cut from `first` to before `next`.
    pub(crate) fn cut(&mut self, first: u64, next: u64) {
        if self.cuts.len() == MAX_CUTS {
            self.cuts.remove(0);
        }
        self.cuts.push((first, next));
    }

    /// Whether a chunk with this number was cut off.
    pub(crate) fn is_cut(&self, seq: u64) -> bool {
        self.cuts.iter().any(|(first, next)| (*first..*next).contains(&seq))
    }

    /// Whether a node that is complete up to this number belongs to a part that was cut off. The
    /// checkpoint of an opening is complete up to the number before its first, which no chunk has.
    pub(crate) fn cuts_node(&self, seq: u64) -> bool {
        self.cuts.iter().any(|(first, next)| *first <= seq && seq + 1 < *next)
    }

    /// Whether `block`, whose checksum is wrong, can be what a power cut left of a superblock that
    /// was written before or after this one. Sectors are written whole, in any order, so the first
    /// one is that of some superblock of this drive: of this very generation, or of one near it.
    pub(crate) fn may_be_torn_as(&self, block: &[u8]) -> bool {
        let mut reader = Reader(block);
        let (Some(_), Some(format)) = (reader.u64(), reader.u32()) else { return false };
        let is_of_drive = block.starts_with(&MAGIC) && format == self.identity.format();
        let Some(torn) = is_of_drive.then(|| Superblock::body(&mut reader)).flatten() else {
            return false;
        };
        let logical_bytes = self.identity.logical_bytes;
        if (Identity { logical_bytes, ..torn.identity }) != self.identity {
            return false;
        }
        match torn.generation.abs_diff(self.generation) {
            0 => {
                let mut whole = [0; BYTES];
                self.encode(&mut whole);
                block[..SECTOR_BYTES] == whole[..SECTOR_BYTES]
            }
            apart => apart <= TORN_GENERATIONS,
        }
    }

    /// The end of a drive according to the beginning of a damaged superblock.
    fn told_end(mut reader: Reader<'_>) -> Option<u64> {
        let (_magic, format, _drive_id) = (reader.u64()?, reader.u32()?, reader.u64()?);
        let end = reader.u64()?;
        let is_known = (FORMAT_OF_POWERS..=FORMAT).contains(&format);
        let is_end = is_known && end >= SEGMENTS_START && end.is_multiple_of(BLOCK_BYTES);
        is_end.then_some(end)
    }

    fn body(reader: &mut Reader<'_>) -> Option<Superblock> {
        let (drive_id, media_bytes) = (reader.u64()?, reader.u64()?);
        let (segment_bytes, segments) = (reader.u32()?, reader.u32()?);
        let codec = Codec::from_id(reader.u8()?)?;
        let [units, dictionary, clean] = [reader.u8()? == 1, reader.u8()? == 1, reader.u8()? == 1];
        let logical_bytes = reader.u64()?;
        let identity = Identity {
            drive_id,
            media_bytes,
            segment_bytes,
            segments,
            codec,
            units,
            dictionary,
            logical_bytes,
        };
        let (generation, checkpoint_seq) = (reader.u64()?, reader.u64()?);
        let (log_end_seq, unused_seq) = (reader.u64()?, reader.u64()?);
        let root_seqs = (reader.u64()?, reader.u64()?);
        let parts = reader.count(8)?;
        let root: Option<Vec<_>> =
            (0..parts).map(|_| reader.u64().map(Location::from_word)).collect();
        let count = reader.count(16)?;
        let cuts: Option<Vec<_>> =
            (0..count).map(|_| Some((reader.u64()?, reader.u64()?))).collect();
        let superblock = Superblock {
            identity,
            generation,
            checkpoint_seq,
            log_end_seq,
            unused_seq,
            clean,
            cuts: cuts?,
            root_seqs,
            root: root?,
        };
        (identity.is_possible() && parts <= MAX_ROOT_PARTS).then_some(superblock)
    }
}

impl Identity {
    /// The oldest format that such a drive can have.
    fn format(&self) -> u32 {
        if self.segment_bytes.is_power_of_two() { FORMAT_OF_POWERS } else { FORMAT }
    }

    /// Whether the numbers are consistent and within the format's limits.
    pub(crate) fn is_possible(&self) -> bool {
        let data = u64::from(self.segments) * u64::from(self.segment_bytes);
        let end = SEGMENTS_START + data + BLOCK_BYTES;
        (SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&self.segment_bytes)
            && u64::from(self.segment_bytes).is_multiple_of(BLOCK_BYTES)
            && (1..=SEGMENTS_MAX).contains(&self.segments)
            && end <= self.media_bytes
            && self.logical_bytes.is_multiple_of(BLOCK_BYTES)
            && self.logical_bytes <= LOGICAL_BYTES_MAX
            && self.media_bytes.is_multiple_of(BLOCK_BYTES)
    }

    /// Most logical bytes for a drive of this capacity. A root has a word for each GiB; with this
    /// limit, two roots take a thousandth of the media.
    pub(crate) fn logical_bytes_most(&self) -> u64 {
        self.media_bytes.saturating_mul(LOGICAL_PER_CAPACITY).min(LOGICAL_BYTES_MAX)
    }

    /// First byte of a segment on media.
    pub(crate) fn segment_start(&self, segment: u32) -> u64 {
        SEGMENTS_START + u64::from(segment) * u64::from(self.segment_bytes)
    }

    /// Whether a record can lie at `place`; true for no record.
    pub(crate) fn can_hold(&self, place: Location) -> bool {
        place.is_none()
            || (place.segment() < self.segments
                && place.offset() + place.length() <= self.segment_bytes
                && place.length() as usize > RECORD_HEADER_BYTES)
    }

    /// The offsets of the two superblocks.
    pub(crate) fn superblock_places(media_bytes: u64) -> [u64; 2] {
        [0, (media_bytes / BLOCK_BYTES * BLOCK_BYTES).saturating_sub(BLOCK_BYTES)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock() -> Superblock {
        let identity = Identity {
            drive_id: 1,
            media_bytes: 64 << 20,
            segment_bytes: 1 << 20,
            segments: 62,
            codec: Codec::Zstd,
            units: true,
            dictionary: false,
            logical_bytes: 1 << 30,
        };
        Superblock {
            identity,
            generation: 5,
            checkpoint_seq: 6,
            log_end_seq: 7,
            unused_seq: 8,
            clean: true,
            cuts: vec![(5, 6); MAX_CUTS],
            root_seqs: (9, 10),
            root: vec![Location::new(3, 4096, 0, false); MAX_ROOT_PARTS],
        }
    }

    #[test]
    fn a_superblock_comes_back() {
        let mut block = [0; BYTES];
        superblock().encode(&mut block);
        assert_eq!(Superblock::decode(&block), Ok(superblock()));
    }

    /// A version that knows only format 2 must refuse drives that it would damage, and read all
    /// others.
    #[test]
    fn only_segments_with_room_for_tables_need_the_newer_format() {
        let mut block = [0; BYTES];
        for (segment_bytes, format) in [(1 << 20, 2), (1056 << 10, 3)] {
            let mut superblock = superblock();
            superblock.identity.segment_bytes = segment_bytes;
            superblock.identity.segments = 55;
            superblock.encode(&mut block);
            assert_eq!(block[8..12], [format, 0, 0, 0], "{segment_bytes}");
            assert_eq!(Superblock::decode(&block), Ok(superblock));
        }
    }

    #[test]
    fn other_drives_other_formats_and_damage_are_told_apart() {
        let mut block = [0; BYTES];
        assert_eq!(Superblock::decode(&block), Err(SuperblockError::Absent));
        superblock().encode(&mut block);
        block[100] ^= 1;
        let damaged = SuperblockError::Damaged { media_bytes: Some(64 << 20) };
        assert_eq!(Superblock::decode(&block), Err(damaged));
        // A corrupt size is not an end.
        block[20] ^= 1;
        let damaged = SuperblockError::Damaged { media_bytes: None };
        assert_eq!(Superblock::decode(&block), Err(damaged));
        superblock().encode(&mut block);
        block[8] = 9;
        let checksum = crc32c::crc32c(&block[..CHECKSUM_AT]);
        block[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(Superblock::decode(&block), Err(SuperblockError::Other(9)));
    }

    /// Every mixture of the sectors of two consecutive superblocks is torn; a flipped bit is damage
    /// wherever a sector of this generation shows it.
    #[test]
    fn what_a_power_cut_leaves_is_told_from_damage() {
        let mut next = superblock();
        (next.generation, next.checkpoint_seq, next.unused_seq) = (6, 60, 80);
        next.cuts = vec![(5, 60)];
        let (mut old, mut new) = ([0; BYTES], [0; BYTES]);
        superblock().encode(&mut old);
        next.encode(&mut new);
        for mixture in 1_u32..255 {
            let mut torn = old;
            for sector in (0..8).filter(|sector| mixture & (1 << sector) != 0) {
                let range = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
                torn[range.clone()].copy_from_slice(&new[range]);
            }
            if Superblock::decode(&torn).is_err() {
                assert!(superblock().may_be_torn_as(&torn), "{mixture:#b}");
                assert!(next.may_be_torn_as(&torn), "{mixture:#b}");
            }
        }
        let (generation, generation_bits) = (48, 3);
        for bit in 0..8 * SECTOR_BYTES {
            let mut flipped = new;
            flipped[bit / 8] ^= 1 << (bit % 8);
            let is_near = (8 * generation..8 * generation + generation_bits).contains(&bit);
            assert!(is_near || !next.may_be_torn_as(&flipped), "bit {bit}");
        }
        assert!(!next.may_be_torn_as(&[0; BYTES]));
    }

    #[test]
    fn numbers_that_cannot_be_are_damage() {
        let mut impossible = superblock();
        impossible.identity.segments = 64;
        let mut block = [0; BYTES];
        impossible.encode(&mut block);
        assert!(matches!(Superblock::decode(&block), Err(SuperblockError::Damaged { .. })));
    }
}
