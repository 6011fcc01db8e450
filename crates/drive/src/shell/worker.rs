//! Codec contexts and scratch memory of a host command, reused by the next one.

use crate::codec::{Codec, Coder};
use crate::core::group::Group;
use crate::format::Location;
use crate::sync::{Mutex, whole};
use assay_disk::BlockBuffer;

/// Contexts and scratch memory of one command.
pub(crate) struct Worker {
    pub(crate) coder: Coder,
    pub(crate) group: Group,
    pub(crate) places: Vec<Location>,
    /// One place in each pinned segment.
    pub(crate) pinned: Vec<Location>,
    /// Records to fetch from media: location and block.
    pub(crate) fetch: Vec<(Location, u64)>,
    pub(crate) media: BlockBuffer,
    pub(crate) unit: Vec<u8>,
}

/// Idle workers.
pub(crate) struct Workers {
    codec: Codec,
    resting: Mutex<Vec<Worker>>,
}

impl Workers {
    pub(crate) fn new(codec: Codec) -> Workers {
        Workers { codec, resting: Mutex::default() }
    }

    /// Lends a worker to `work`.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Worker) -> T) -> T {
        let rested = whole(self.resting.lock()).pop();
        let mut worker = rested.unwrap_or_else(|| Worker::new(self.codec));
        let result = work(&mut worker);
        whole(self.resting.lock()).push(worker);
        result
    }
}

impl Worker {
    fn new(codec: Codec) -> Worker {
        Worker {
            coder: Coder::new(codec),
            group: Group::default(),
            places: Vec::new(),
            pinned: Vec::new(),
            fetch: Vec::new(),
            media: BlockBuffer::default(),
            unit: Vec::new(),
        }
    }
}
