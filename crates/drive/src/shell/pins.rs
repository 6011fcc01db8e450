//! Readers of segments: a pinned segment is not filled again before its readers are done.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_disk::Result;

use crate::format::Location;
use crate::shell::media::Media;
use crate::sync::{AtomicBool, AtomicU32};

/// The number of readers of each segment.
pub(crate) struct Pins {
    media: Arc<Media>,
    readers: Box<[AtomicU32]>,
    /// Whether a thread waits until a segment has no readers.
    are_awaited: AtomicBool,
}

impl Pins {
    pub(crate) fn new(media: Arc<Media>) -> Pins {
        let readers = (0..media.identity.segments).map(|_| AtomicU32::new(0)).collect();
        Pins { media, readers, are_awaited: AtomicBool::new(false) }
    }

    /// Adds a reader to the segment of a record. The caller holds the map's lock: the map still
    /// leads to the record.
    pub(crate) fn pin(&self, place: Location) {
        self.readers[place.segment() as usize].fetch_add(1, Ordering::SeqCst);
    }

    /// Removes a reader, and wakes a thread that waits for the last one.
    pub(crate) fn unpin(&self, place: Location) {
        let before = self.readers[place.segment() as usize].fetch_sub(1, Ordering::SeqCst);
        if before == 1 && self.are_awaited.load(Ordering::SeqCst) {
            self.media.health.progress.announce();
        }
    }

    /// Whether a segment has a reader.
    pub(crate) fn is_read(&self, segment: u32) -> bool {
        self.readers[segment as usize].load(Ordering::SeqCst) > 0
    }

    /// Waits until none of these segments has a reader, or the drive stops.
    pub(crate) fn wait_until_unread(&self, segments: &[u32]) -> Result<()> {
        let health = &self.media.health;
        self.are_awaited.store(true, Ordering::SeqCst);
        let mut commits = health.progress.lock();
        while segments.iter().any(|segment| self.is_read(*segment)) && health.running().is_ok() {
            commits = health.progress.wait(commits);
        }
        drop(commits);
        self.are_awaited.store(false, Ordering::SeqCst);
        health.running()
    }
}
