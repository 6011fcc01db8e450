//! Media for threads that a scheduler switches, and what goes wrong with them while they are in
//! use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use assay_drive::{BLOCK_BYTES, Disk, DiskError, Guarantees, Result};

use crate::common::media::{Fault, SimulatedMedia};
use crate::common::random::Random;
use crate::shape::SEGMENT_BYTES;

/// Offset of the first segment.
const SEGMENTS_START: u64 = 1 << 20;

/// A trouble of the media, from some command on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// A place that cannot be read any more, whatever is written there.
    Unreadable,
    /// A block does not hold any more what was written.
    Rot,
    /// Blocks that were never written find no room.
    Full,
    /// Flushes answer and do nothing.
    LyingFlush,
}

impl Trouble {
    pub fn draw(random: &mut Random) -> Trouble {
        *random.pick(&[Trouble::Unreadable, Trouble::Rot, Trouble::Full, Trouble::LyingFlush])
    }

    /// Whether what was written may be lost or unreadable with it.
    pub fn harms_data(self) -> bool {
        self != Trouble::Full
    }
}

/// Media that let others go on around each command, and that get into trouble at some command.
pub struct Troubled {
    inner: Arc<SimulatedMedia>,
    yields: bool,
    trouble: Option<Trouble>,
    /// Commands until then.
    until: AtomicU64,
    /// The block of media that it strikes.
    place: u64,
    is_in_trouble: AtomicBool,
    has_begun: AtomicBool,
}

impl Troubled {
    pub fn new(inner: Arc<SimulatedMedia>, yields: bool) -> Troubled {
        Troubled {
            inner,
            yields,
            trouble: None,
            until: AtomicU64::new(0),
            place: 0,
            is_in_trouble: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
        }
    }

    /// The same with trouble to come.
    pub fn with(mut self, trouble: Option<Trouble>, random: &mut Random) -> Troubled {
        self.trouble = trouble;
        *self.until.get_mut() = 1 + random.below(400);
        // Neither superblock: of them there are two.
        self.place = 256 + random.below((self.size() - (2 << 20)) / BLOCK_BYTES);
        self
    }

    /// The media below.
    pub fn inner(&self) -> Arc<SimulatedMedia> {
        Arc::clone(&self.inner)
    }

    /// From now on commands count.
    pub fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    /// Whether trouble has come.
    pub fn is_in_trouble(&self) -> bool {
        self.is_in_trouble.load(Ordering::Relaxed)
    }

    pub fn has(&self, trouble: Trouble) -> bool {
        self.trouble == Some(trouble) && self.is_in_trouble()
    }

    fn place(&self) -> u64 {
        self.inner.stored_from(self.place).unwrap_or(self.place)
    }

    fn command(&self) {
        let counts = self.trouble.is_some() && self.has_begun.load(Ordering::Relaxed);
        if !counts || self.until.fetch_sub(1, Ordering::Relaxed) != 1 {
            return;
        }
        self.is_in_trouble.store(true, Ordering::Relaxed);
        match self.trouble {
            Some(Trouble::Rot) => self.inner.wipe(self.place()),
            Some(Trouble::LyingFlush) => self.inner.inject(Fault::LyingFlush),
            Some(Trouble::Unreadable) => self.inner.inject(Fault::UnreadableAt(self.place())),
            Some(Trouble::Full) | None => {}
        }
    }

    fn around<T>(&self, command: impl FnOnce(&dyn Disk) -> Result<T>) -> Result<T> {
        let give_way = || {
            if self.yields {
                shuttle::thread::yield_now()
            }
        };
        give_way();
        self.command();
        let result = command(&*self.inner);
        give_way();
        result
    }
}

impl Disk for Troubled {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn guarantees(&self) -> Guarantees {
        self.inner.guarantees()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.around(|disk| disk.read(offset, data))
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        let segment = |at: u64| at.saturating_sub(SEGMENTS_START) / SEGMENT_BYTES;
        let last = offset + data.len() as u64 - 1;
        assert_eq!(segment(offset), segment(last), "a write reaches into another segment");
        let mut blocks = offset / BLOCK_BYTES..(offset + data.len() as u64) / BLOCK_BYTES;
        if self.has(Trouble::Full) && blocks.any(|block| !self.inner.is_stored(block)) {
            return Err(DiskError::Full);
        }
        self.around(|disk| disk.write(offset, data, force_unit_access))
    }

    fn flush(&self) -> Result<()> {
        self.around(|disk| disk.flush())
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.around(|disk| disk.discard(offset, length))
    }
}
