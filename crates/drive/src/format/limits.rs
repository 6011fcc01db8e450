//! The share of a segment that tables may take. Readers rely on it, and so do admission and the
//! budget.

use crate::format::{CHUNK_HEADER_BYTES, whole_blocks};

/// Most words of a chunk's table, because the next chunk needs room to repeat it. A host write has
/// far fewer; collection limits its moves to it, however small they are.
pub(crate) fn table_words_most(segment_bytes: u32) -> usize {
    (segment_bytes / 512).min(4096) as usize
}

/// Largest share of a segment that its footer takes, as a divisor, so that a root can list the open
/// tables.
pub(crate) const FOOTER_PART: u32 = 8;

/// Bytes of a footer with `words` words.
pub(crate) fn footer_bytes(words: usize) -> u32 {
    whole_blocks((CHUNK_HEADER_BYTES + 8 * words) as u64) as u32
}

/// Words of one chunk of a root: with its footer it fits the smallest segment.
pub(crate) fn part_words(segment_bytes: u32) -> usize {
    (segment_bytes / 32).min(96 << 10) as usize
}

/// Most words of a footer in the map's stream: the last part of a root repeats those of the open
/// segment, in addition to the segments that the checkpoint took. Raw nodes need less than a tenth
/// of it.
pub(crate) fn map_footer_words_most(segment_bytes: u32) -> usize {
    part_words(segment_bytes) / 2
}
