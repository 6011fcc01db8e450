//! Runs: records that lie close enough together to be read in one go.

use std::ops::Range;

use crate::format::Location;
use assay_disk::BLOCK_BYTES;

/// Limits of one read of media.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    /// Largest gap between two records that are read together, in bytes.
    pub(crate) gap_bytes: u32,
    /// Longest read, in bytes.
    pub(crate) bytes_max: u32,
}

/// Number of records, in order of place, that are read together.
pub(crate) fn together(mut places: impl Iterator<Item = Location>, reach: Reach) -> usize {
    let Some(front) = places.next() else { return 0 };
    let mut before = front;
    let follows = |place: &Location| {
        let is_near = place.segment() == front.segment()
            && place.offset() <= before.offset() + before.length() + reach.gap_bytes
            && place.offset() + place.length() - front.offset() <= reach.bytes_max;
        before = *place;
        is_near
    };
    1 + places.take_while(follows).count()
}

/// The whole blocks of a segment that hold the records from `front` to `back`.
pub(crate) fn span(front: Location, back: Location) -> Range<u32> {
    let block_bytes = BLOCK_BYTES as u32;
    let end = (back.offset() + back.length()).next_multiple_of(block_bytes);
    front.offset() / block_bytes * block_bytes..end
}

/// A record's bytes in a read that began at `start`; too few if a damaged location points behind
/// its end.
pub(crate) fn part_of(bytes: &[u8], start: u32, place: Location) -> &[u8] {
    let first = (place.offset() - start) as usize;
    let end = (first + place.length() as usize).min(bytes.len());
    bytes.get(first..end).unwrap_or_default()
}
