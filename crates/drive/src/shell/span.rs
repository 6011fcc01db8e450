//! Runs: records that lie close enough together to be read in one go.

use std::ops::Range;

use crate::format::Location;
use crate::shell::drive::Drive;
use assay_disk::BlockBuffer;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// How far one read of media goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    /// Bytes between two records for which one read goes on rather than two.
    pub(crate) gap_bytes: u32,
    /// Longest read, in bytes.
    pub(crate) bytes_max: u32,
}

/// How many of these records, in order of place, are read together.
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

impl Drive {
    /// Reads a span of a segment.
    ///
    /// # Errors
    /// Those of the media.
    pub(crate) fn read_span<'buffer>(
        &self,
        segment: u32,
        span: &Range<u32>,
        buffer: &'buffer mut BlockBuffer,
    ) -> Result<&'buffer [u8]> {
        let bytes = buffer.first(span.len());
        self.read_media(self.identity.segment_start(segment) + u64::from(span.start), bytes)?;
        Ok(bytes)
    }

    /// The same, asked for once more where it cannot be read: a disk may fail once.
    ///
    /// # Errors
    /// Those of the media.
    pub(crate) fn read_span_stubbornly<'buffer>(
        &self,
        segment: u32,
        span: &Range<u32>,
        buffer: &'buffer mut BlockBuffer,
    ) -> Result<&'buffer [u8]> {
        let bytes = buffer.first(span.len());
        let start = self.identity.segment_start(segment) + u64::from(span.start);
        match self.read_media(start, bytes) {
            Err(DiskError::Io(_)) => self.read_media(start, bytes)?,
            read => read?,
        }
        Ok(bytes)
    }
}

/// A record's bytes in what was read from `start` on; too few where a damaged location points behind the end.
pub(crate) fn part_of(bytes: &[u8], start: u32, place: Location) -> &[u8] {
    let first = (place.offset() - start) as usize;
    let end = (first + place.length() as usize).min(bytes.len());
    bytes.get(first..end).unwrap_or_default()
}
