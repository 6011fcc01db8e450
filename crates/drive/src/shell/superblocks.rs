//! The two superblocks: written one after the other, so that a power cut leaves one of them whole.
//!
//! They also hand out sequence numbers: before the log grows, each opening of the drive reserves
//! numbers that were never used.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_disk::{BLOCK_BYTES, BlockBuffer, DiskError, Result};

use crate::format::{Identity, OtherSuperblock, Superblock};
use crate::rules::{Rule, holds};
use crate::shell::media::{Media, media_failure};
use crate::status::Counters;
use crate::sync::{AtomicBool, Mutex, MutexGuard, whole};

/// Sequence numbers that one incarnation may use before a superblock must say so.
pub(crate) const INCARNATION_SEQS: u64 = 1 << 36;

/// The superblock with which a drive was opened, and the state of the other.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) superblock: Superblock,
    /// 0 for the first, 1 for the second.
    pub(crate) which: usize,
    pub(crate) other: OtherSuperblock,
}

/// The contents of both superblocks, and their copies on media.
pub(crate) struct Superblocks {
    media: Arc<Media>,
    current: Mutex<Superblock>,
    /// Whether both copies have been written since the drive was opened.
    are_rewritten: AtomicBool,
    /// The copy with which the drive was opened: it is written last.
    which: usize,
    /// The state of the other copy when the drive was opened.
    other: OtherSuperblock,
    /// Where the log ended when the drive was opened: what was numbered from here on is lost.
    pub(crate) log_stop_seq: AtomicU64,
}

impl Superblocks {
    pub(crate) fn new(media: Arc<Media>, chosen: Chosen, log_stop_seq: u64) -> Superblocks {
        Superblocks {
            media,
            current: Mutex::new(chosen.superblock),
            are_rewritten: AtomicBool::new(false),
            which: chosen.which,
            other: chosen.other,
            log_stop_seq: AtomicU64::new(log_stop_seq),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Superblock> {
        whole(self.current.lock())
    }

    /// The current superblock, as one with which a drive can be put together anew.
    pub(crate) fn chosen(&self) -> Chosen {
        Chosen { superblock: self.lock().clone(), which: self.which, other: self.other }
    }

    pub(crate) fn are_rewritten(&self) -> bool {
        self.are_rewritten.load(Ordering::Acquire)
    }

    /// Whether the copy that the drive was not opened with is as a power cut leaves it.
    pub(crate) fn has_power_cut_copy(&self) -> bool {
        self.other.is_of_power_cut()
    }

    /// Changes the superblock and writes both copies; returns what `change` does. After an error,
    /// the superblock in memory is unchanged.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Superblock) -> T) -> Result<T> {
        let mut current = self.lock();
        let mut new = current.clone();
        let value = change(&mut new);
        self.write_both(&mut new)?;
        *current = new;
        Ok(value)
    }

    /// Writes both copies, one after the other: a power cut leaves one of them whole. The one that
    /// the drive was opened with comes last, for the other may be torn already.
    fn write_both(&self, superblock: &mut Superblock) -> Result<()> {
        superblock.generation += 1;
        let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
        superblock.encode(block.as_mut());
        let mut places = Identity::superblock_places(self.media.identity.media_bytes);
        if self.which == 0 && holds(Rule::WorseSuperblockFirst) {
            places.reverse();
        }
        for place in places {
            if let Err(error) = self.media.disk().write(place, block.as_ref(), false) {
                let error = media_failure(&error);
                let reason = format!("writing the superblock failed: {error}");
                return Err(self.media.health.stop(reason));
            }
            if holds(Rule::FlushBetweenSuperblocks) {
                self.media.sync()?;
            }
            self.count_write();
        }
        self.are_rewritten.store(true, Ordering::Release);
        Ok(())
    }

    fn count_write(&self) {
        Counters::add(&self.media.counters.write_bytes_checkpoint, BLOCK_BYTES);
        Counters::add(&self.media.counters.writes_media, 1);
    }

    /// Reserves sequence numbers in both superblocks and returns the first; with `after_checkpoint`
    /// the log goes on with it.
    pub(crate) fn reserve_seqs(&self, after_checkpoint: bool) -> Result<u64> {
        self.change(|new| {
            let log_stop_seq = self.log_stop_seq.load(Ordering::Acquire);
            let first = if holds(Rule::IncarnationJumps) { new.unused_seq } else { log_stop_seq };
            new.unused_seq = first + INCARNATION_SEQS;
            if !new.clean {
                new.cut(log_stop_seq, first);
            }
            new.clean = false;
            if after_checkpoint {
                new.checkpoint_seq = first - 1;
                new.log_end_seq = new.unused_seq;
            }
            first
        })
    }

    /// Rewrites the copy that a power cut has torn, or left older, as the one that was chosen. If
    /// the media refuse that, the first write to the drive tries again.
    pub(crate) fn mend_torn(&self) {
        if !self.has_power_cut_copy() || self.are_rewritten() {
            return;
        }
        let superblock = self.lock();
        let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
        superblock.encode(block.as_mut());
        let other = 1 - self.which;
        let place = Identity::superblock_places(self.media.identity.media_bytes)[other];
        match self.media.disk().write(place, block.as_ref(), true) {
            Ok(()) => {
                self.count_write();
                self.are_rewritten.store(true, Ordering::Release);
            }
            Err(DiskError::Full) => {}
            Err(error) => {
                let problem = format!("a torn superblock cannot be rewritten: {error}");
                self.media.health.report(problem);
            }
        }
    }
}
