//! A cache of the bytes that were read from media behind the requested records.
//!
//! A volume that is billed by the operation charges as much for 4 KiB as for 256 KiB, and a scan
//! next reads the data that was written next, which in a log lies behind. So reads of media are
//! made longer, and later reads look here first.
//!
//! Guarantees nothing: a place may have been written since, or its segment filled again. The
//! checksum of a record covers its place, its key and the number by which its segment was opened;
//! if it does not fit, the caller reads media.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::sync::{Mutex, MutexGuard, whole};

use assay_disk::BlockBuffer;

/// Windows that are kept: several for each of the threads that commonly read concurrently.
const WINDOWS: usize = 64;

/// Makes reads of media longer, and keeps their results.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    bytes: u32,
    /// The newest is the last.
    windows: Mutex<VecDeque<Arc<Window>>>,
}

/// Bytes of a segment at the time of the read.
#[derive(Debug)]
pub(crate) struct Window {
    segment: u32,
    place: Range<u32>,
    buffer: BlockBuffer,
}

impl ReadAhead {
    /// Makes reads at least `bytes` long. Zero leaves them unchanged and keeps nothing.
    pub(crate) fn new(bytes: u32) -> ReadAhead {
        ReadAhead { bytes, windows: Mutex::default() }
    }

    /// The end of the longer read for `place` in a segment of `segment_bytes`; `None` if the read
    /// is not made longer.
    pub(crate) fn end(&self, place: &Range<u32>, segment_bytes: u32) -> Option<u32> {
        let end = place.start.saturating_add(self.bytes).min(segment_bytes);
        (end > place.end).then_some(end)
    }

    /// The newest window that holds all of `place`.
    pub(crate) fn find(&self, segment: u32, place: &Range<u32>) -> Option<Arc<Window>> {
        if self.bytes == 0 {
            return None;
        }
        let windows = self.windows();
        windows.iter().rev().find(|window| window.holds(segment, place)).cloned()
    }

    /// Reads `place` of a segment with `read` and keeps the result.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn fill<E>(
        &self,
        segment: u32,
        place: &Range<u32>,
        read: impl FnOnce(&mut BlockBuffer) -> Result<(), E>,
    ) -> Result<Arc<Window>, E> {
        let mut buffer = self.oldest_buffer();
        read(&mut buffer)?;
        let window = Arc::new(Window { segment, place: place.clone(), buffer });
        self.windows().push_back(Arc::clone(&window));
        Ok(window)
    }

    /// Reuses the memory of the oldest window, if there are enough windows and no thread reads it.
    fn oldest_buffer(&self) -> BlockBuffer {
        let mut windows = self.windows();
        let oldest = if windows.len() < WINDOWS { None } else { windows.pop_front() };
        oldest.and_then(Arc::into_inner).map(|window| window.buffer).unwrap_or_default()
    }

    fn windows(&self) -> MutexGuard<'_, VecDeque<Arc<Window>>> {
        whole(self.windows.lock())
    }
}

impl Window {
    fn holds(&self, segment: u32, place: &Range<u32>) -> bool {
        self.segment == segment && self.place.start <= place.start && place.end <= self.place.end
    }

    /// The bytes of a place inside the window.
    pub(crate) fn bytes(&self, place: &Range<u32>) -> &[u8] {
        let range =
            (place.start - self.place.start) as usize..(place.end - self.place.start) as usize;
        self.buffer.as_ref().get(range).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(ahead: &ReadAhead, segment: u32, place: Range<u32>, byte: u8) -> Arc<Window> {
        let read = |buffer: &mut BlockBuffer| {
            buffer.first(place.len()).fill(byte);
            Ok::<_, ()>(())
        };
        ahead.fill(segment, &place, read).unwrap()
    }

    #[test]
    fn a_read_is_made_longer_up_to_the_end_of_its_segment() {
        let ahead = ReadAhead::new(32 << 10);
        assert_eq!(ahead.end(&(4096..12288), 1 << 20), Some(4096 + (32 << 10)));
        assert_eq!(ahead.end(&(0..64 << 10), 1 << 20), None);
        assert_eq!(ahead.end(&(8192..12288), 16384), Some(16384));
        assert_eq!(ReadAhead::new(0).end(&(0..4096), 1 << 20), None);
    }

    #[test]
    fn the_newest_that_holds_all_is_found_and_the_oldest_goes() {
        let ahead = ReadAhead::new(1 << 20);
        fill(&ahead, 7, 8192..16384, 1);
        let found =
            |segment, place| ahead.find(segment, &place).map(|window| window.bytes(&place)[0]);
        assert_eq!(found(7, 12288..16384), Some(1));
        assert_eq!((found(7, 12288..20480), found(8, 12288..16384)), (None, None));
        fill(&ahead, 7, 12288..20480, 2);
        assert_eq!((found(7, 12288..16384), found(7, 8192..12288)), (Some(2), Some(1)));
        for segment in 100..100 + WINDOWS as u32 {
            fill(&ahead, segment, 0..4096, 3);
        }
        assert_eq!((found(7, 8192..12288), found(100, 0..4096)), (None, Some(3)));
        assert_eq!(ahead.windows().len(), WINDOWS);
    }
}
