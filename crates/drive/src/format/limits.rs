//! How much of a segment its tables may take: what a reader relies on, and what admission and the budget count with.

use crate::format::{CHUNK_HEADER_BYTES, whole_blocks};

/// Words that a table may have, for the next chunk repeats it, and must have room for that. What the host writes at once has far
/// less; collection asks for no more, however small what it moves is.
pub(crate) fn table_words_most(segment_bytes: u32) -> usize {
    (segment_bytes / 512).min(4096) as usize
}

/// A segment's footer takes one part in so many of it at most, so that a root can tell of those that are open.
pub(crate) const FOOTER_PART: u32 = 8;

/// Bytes of a footer with so many words.
pub(crate) fn footer_bytes(words: usize) -> u32 {
    whole_blocks((CHUNK_HEADER_BYTES + 8 * words) as u64) as u32
}

/// Words of one chunk of a root: with its footer it fits the smallest segment.
pub(crate) fn part_words(segment_bytes: u32) -> usize {
    (segment_bytes / 32).min(96 << 10) as usize
}

/// Words that a footer may have in the map's stream: the last part of a root tells them of the segment that is open, beside the
/// segments that the checkpoint took. Nodes that are stored raw never come to a tenth of it.
pub(crate) fn map_footer_words_most(segment_bytes: u32) -> usize {
    part_words(segment_bytes) / 2
}
