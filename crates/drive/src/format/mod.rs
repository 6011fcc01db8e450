//! Every structure on media: the meaning of each byte, and what is refused.
//!
//! All numbers are little-endian. Decoding trusts nothing: any bytes give a value or `None`, never
//! a panic. `docs/on-media.md` describes the same structures for readers without this code.

mod chunk;
mod entry;
mod limits;
mod location;
mod mix;
mod root;
mod superblock;
#[cfg(test)]
mod tests;

pub(crate) use chunk::{
    CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, FooterChunk, MAP_SEQS, RepeatedChunk, STREAMS,
    Stream, chunk_bytes, parity_of,
};
pub(crate) use entry::{Entry, MAX_WORDS_PER_ENTRY, NodeId, Op, Words};
pub(crate) use limits::{
    FOOTER_PART, footer_bytes, map_footer_words_most, part_words, table_words_most,
};
pub(crate) use location::Location;
pub(crate) use mix::{RecordContext, plain_checksum};
pub(crate) use root::{Cursor, Root, RootBody, RootEnd, SegmentRow};
pub(crate) use superblock::{
    FORMAT, Identity, MAX_ROOT_PARTS, OtherSuperblock, Superblock, SuperblockError,
};

use assay_disk::BLOCK_BYTES;

/// Bytes before a record's payload: codec id and checksum.
pub(crate) const RECORD_HEADER_BYTES: usize = 5;

/// Blocks of one 16 KiB unit.
pub(crate) const UNIT_BLOCKS: u64 = 4;

/// Blocks of the largest host write that is one group: 256 KiB.
pub(crate) const GROUP_BLOCKS: u64 = 64;

/// First byte of the first segment; the superblock lies before it.
pub(crate) const SEGMENTS_START: u64 = 1 << 20;

/// Largest chunk, in bytes.
pub(crate) const CHUNK_BYTES_MAX: u32 = 1 << 20;

/// Smallest segment, in bytes: it holds a 256 KiB group of incompressible blocks with its tables.
pub(crate) const SEGMENT_BYTES_MIN: u32 = 512 << 10;

/// Largest segment that a [`Location`] can address, in bytes.
pub(crate) const SEGMENT_BYTES_MAX: u32 = 64 << 20;

/// Most segments that a [`Location`] can address.
pub(crate) const SEGMENTS_MAX: u32 = (1 << 20) - 1;

/// Most logical bytes that an entry can address.
pub(crate) const LOGICAL_BYTES_MAX: u64 = (1 << 39) * BLOCK_BYTES;

/// Most logical bytes for each byte of capacity.
pub const LOGICAL_PER_CAPACITY: u64 = 1 << 16;

/// Rounds up to whole blocks, in bytes.
pub(crate) const fn whole_blocks(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK_BYTES)
}

/// Reads little-endian numbers from the front of bytes that may be too short.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    pub(crate) fn u8(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    /// Reads a count of items of at least `bytes_each` bytes; `None` if the rest could not hold
    /// them.
    pub(crate) fn count(&mut self, bytes_each: usize) -> Option<usize> {
        let count = usize::try_from(self.u64()?).ok()?;
        (count <= self.0.len() / bytes_each).then_some(count)
    }
}
