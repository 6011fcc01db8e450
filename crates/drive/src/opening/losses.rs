//! Losses in the log: the chunks that are given up, and the lines of the health log for them.

use std::ops::Range;

use assay_disk::BLOCK_BYTES;

use crate::core::apply::blocks_of;
use crate::core::tables::SegmentChunk;
use crate::format::{Op, Words};
use crate::status::GivenUp;

/// The loss of a chunk and of those found behind it in the log.
pub(crate) fn given_up(seq: u64, behind: &[SegmentChunk]) -> GivenUp {
    let blocks = behind
        .iter()
        .flat_map(|chunk| Words::new(&chunk.words))
        .filter(|entry| matches!(entry.op, Op::Data | Op::Unit | Op::Zero))
        .map(|entry| blocks_of(&entry));
    let bytes = |blocks: Range<u64>| blocks.start * BLOCK_BYTES..blocks.end * BLOCK_BYTES;
    let ranges = joined(blocks.map(bytes).collect());
    GivenUp { seq, chunks: behind.len() as u64, ranges }
}

/// The line for a chunk that was on stable media and is not there; `behind` chunks were found
/// behind it.
pub(crate) fn lost_chunk(seq: u64, behind: u64) -> String {
    format!(
        "the log is damaged: chunk {seq} was on stable media and cannot be read; \
         {behind} later chunks are not applied"
    )
}

/// Sorts ranges and joins adjacent ones.
pub(crate) fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}
