//! Work in the background: making room, checkpoints, and what is due when the host rests.
//!
//! One at a time, under the maintenance lock. The caller gives it a thread and calls again as long as there is more;
//! a host write that finds no free segment comes here too.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use crate::upkeep::collect::{Collecting, Policy};
use assay_disk::{BLOCK_BYTES, DiskError, Result};
use crate::shell::drive::Drive;
use crate::format::Stream;
use crate::core::space::State;

/// Bytes of log for each byte that the next checkpoint would write: a checkpoint costs 4 % at most.
const LOG_PER_CHECKPOINT_BYTE: u64 = 25;

/// Least log between checkpoints on a large drive, in bytes.
const CHECKPOINT_LOG_BYTES: u64 = 1 << 30;

/// Emptied segments for which it is worth to sync the media, where they are small; a large one is worth it alone.
const RELEASE_BATCH: usize = 4;
const SMALL_SEGMENT_BYTES: u32 = 4 << 20;

/// Share of a segment that must be dead before collecting it beats a checkpoint, which may empty newer ones.
const WORTHWHILE_DEAD_SHARE: f64 = 0.1;

/// Steps without a segment for the host after which only the gain counts: by age alone, old segments with hardly
/// anything dead could be collected for ever.
const PATIENT_STEPS: u64 = 32;

/// Whether there is more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Call again at once.
    More,
    /// Nothing to do until the host writes.
    Idle,
}

/// What maintenance remembers between calls.
#[derive(Debug)]
pub(crate) struct Maintenance {
    /// Segments sealed after this are still part of the log that recovery would replay.
    pub(crate) checkpoint_seq: u64,
    pub(crate) checkpoint_log_bytes: u64,
    /// Segments whose nodes wait for the next checkpoint to leave them.
    pub(crate) waiting: Vec<u32>,
    /// The segment in hand.
    pub(crate) collecting: Option<Collecting>,
    /// Steps towards free segments since the host's last chunk.
    steps: u64,
    host_seq: u64,
    /// What the log had come to when maintenance last looked.
    seen_seq: u64,
    seen_open: bool,
    pub(crate) trainer: crate::upkeep::trainer::Trainer,
}

impl Maintenance {
    pub(crate) fn new(checkpoint_seq: u64, log_bytes: u64) -> Maintenance {
        Maintenance {
            checkpoint_seq,
            checkpoint_log_bytes: log_bytes,
            waiting: Vec::new(),
            collecting: None,
            steps: 0,
            host_seq: 0,
            seen_seq: 0,
            seen_open: false,
            trainer: crate::upkeep::trainer::Trainer::default(),
        }
    }
}

impl Drive {
    /// Does a piece of what is due: collection, a checkpoint, writing out what rests in memory.
    ///
    /// Meant to be called again and again by a thread of the caller's: at once after [`Rest::More`], else after some
    /// tens of milliseconds. Between two calls without a write, what is not yet on media is written there.
    ///
    /// # Errors
    /// Those of the media, which stop the drive.
    pub fn maintain(&self) -> Result<Rest> {
        self.running()?;
        let mut maintenance = self.maintenance();
        if self.read_only.is_some() || !self.has_begun() {
            return Ok(Rest::Idle);
        }
        let (free, mark) = self.free_and_low_mark()?;
        if free < mark && self.may_gain(&mut maintenance)? && self.gain_segment(&mut maintenance)? {
            return Ok(Rest::More);
        }
        if self.is_checkpoint_due(&maintenance)? {
            self.checkpoint(&mut maintenance, false)?;
            return Ok(Rest::More);
        }
        self.evict_map()?;
        if self.train(&mut maintenance)? {
            return Ok(Rest::More);
        }
        // What is protected is safe where it is.
        if !self.emulation.keeps_cache {
            self.write_out_at_rest(&mut maintenance)?;
        }
        Ok(Rest::Idle)
    }

    pub(crate) fn maintenance(&self) -> MutexGuard<'_, Maintenance> {
        self.maintenance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room until a host write may take a segment; none if the drive was closed meanwhile.
    ///
    /// # Errors
    /// [`DiskError::Full`] when nothing can be gained.
    pub(crate) fn make_space(&self) -> Result<()> {
        let mut maintenance = self.maintenance();
        loop {
            let (free, mark) = {
                let log = self.log()?;
                (log.space.free_segments(), log.space.host_mark())
            };
            if free > mark || !self.has_begun() {
                return Ok(());
            }
            if self.may_gain(&mut maintenance)? && self.gain_segment(&mut maintenance)? {
                continue;
            }
            if !self.wait_for_readers()? {
                return Err(DiskError::Full);
            }
            maintenance.steps = 0;
        }
    }

    /// Whether it is worth to go on: when everything was collected twice since the host last wrote, nothing more
    /// can be gained.
    fn may_gain(&self, maintenance: &mut Maintenance) -> Result<bool> {
        let log = self.log()?;
        if maintenance.host_seq != log.last_host_seq {
            (maintenance.host_seq, maintenance.steps) = (log.last_host_seq, 0);
        }
        Ok(maintenance.steps <= 2 * u64::from(self.identity.segments))
    }

    fn free_and_low_mark(&self) -> Result<(usize, usize)> {
        let log = self.log()?;
        Ok((log.space.free_segments(), log.space.low_mark()))
    }

    /// One step towards a free segment; false when there is none to take.
    fn gain_segment(&self, maintenance: &mut Maintenance) -> Result<bool> {
        match self.try_gain_segment(maintenance) {
            Err(DiskError::Full) => self.make_room_to_move(maintenance),
            gained => gained,
        }
    }

    /// Collection has no segment to move to, which is no reason to refuse what the host writes: what was emptied is given
    /// back, whoever reads it is waited for, and a checkpoint lets go of what is kept for it. False if there is none of that.
    fn make_room_to_move(&self, maintenance: &mut Maintenance) -> Result<bool> {
        maintenance.steps += 1;
        let emptied = self.emptied(maintenance)?;
        if !emptied.is_empty() {
            self.release(&emptied)?;
            return Ok(true);
        }
        if self.wait_for_readers()? {
            return Ok(true);
        }
        let has_grown = self.log()?.log_bytes > maintenance.checkpoint_log_bytes;
        if has_grown {
            self.checkpoint(maintenance, false)?;
        }
        Ok(has_grown)
    }

    fn try_gain_segment(&self, maintenance: &mut Maintenance) -> Result<bool> {
        if let Some(collecting) = maintenance.collecting.take() {
            self.go_on_collecting(collecting, maintenance)?;
            return Ok(true);
        }
        maintenance.steps += 1;
        let emptied = self.emptied(maintenance)?;
        let (free, mark) = self.free_and_low_mark()?;
        let is_urgent = free + 2 <= mark;
        let batch =
            if self.identity.segment_bytes < SMALL_SEGMENT_BYTES { RELEASE_BATCH } else { 1 };
        if !emptied.is_empty() && (is_urgent || emptied.len() >= batch) {
            self.release(&emptied)?;
            return Ok(true);
        }
        let policy =
            if maintenance.steps > PATIENT_STEPS { Policy::Greedy } else { self.options.policy };
        let victim = self.choose_victim(maintenance, policy)?;
        match victim {
            Some((victim, live)) if live < 1.0 - WORTHWHILE_DEAD_SHARE => {
                self.begin_collecting(victim, maintenance)?;
                return Ok(true);
            }
            _ if self.log()?.log_bytes > maintenance.checkpoint_log_bytes
                && self.would_checkpoint_help(maintenance)? =>
            {
                self.checkpoint(maintenance, false)?;
            }
            Some((victim, live)) if live < 1.0 => self.begin_collecting(victim, maintenance)?,
            _ if !emptied.is_empty() => self.release(&emptied)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sealed segments that hold nothing live and that neither replay nor a reader would need. No new reader comes
    /// to one: nothing leads there. The one in hand is left alone, for what is known of it would no longer be true.
    fn emptied(&self, maintenance: &Maintenance) -> Result<Vec<u32>> {
        let log = self.log()?;
        let emptied = log.space.iter().filter(|(number, segment)| {
            segment.state == State::Sealed
                && segment.live_records == 0
                && segment.sealed_seq <= maintenance.checkpoint_seq
                && !self.is_read(*number)
                && maintenance.collecting.as_ref().is_none_or(|one| one.victim != *number)
        });
        Ok(emptied.map(|(number, _)| number).collect())
    }

    /// Waits until no reader holds an emptied segment: each does for one read of media. False if none did.
    fn wait_for_readers(&self) -> Result<bool> {
        let is_held = || -> Result<bool> {
            let log = self.log()?;
            let mut emptied = log
                .space
                .iter()
                .filter(|(_, segment)| segment.state == State::Sealed && segment.live_records == 0);
            Ok(emptied.any(|(number, _)| self.is_read(number)))
        };
        let waits = is_held()?;
        while is_held()? {
            std::thread::yield_now();
        }
        Ok(waits)
    }

    fn is_read(&self, segment: u32) -> bool {
        self.pins[segment as usize].load(Ordering::Acquire) > 0
    }

    /// Gives emptied segments back, once everything that emptied them is on stable media.
    fn release(&self, emptied: &[u32]) -> Result<()> {
        self.make_durable(true)?;
        // Before anyone else may take them, or the discard would reach what was written there next.
        if self.options.discard_media {
            for &number in emptied {
                let start = self.identity.segment_start(number);
                // A media that cannot discard is as good as one that can, only larger.
                let _ = self.media.discard(start, u64::from(self.identity.segment_bytes));
            }
        }
        let mut log = self.log()?;
        emptied.iter().for_each(|number| log.space.release(*number));
        Ok(())
    }

    /// Whether segments wait for a checkpoint to become collectable or empty.
    fn would_checkpoint_help(&self, maintenance: &Maintenance) -> Result<bool> {
        let log = self.log()?;
        let newer = log.space.iter().any(|(_, segment)| {
            segment.state == State::Sealed
                && segment.sealed_seq > maintenance.checkpoint_seq
                && log.space.live_share(segment) < 1.0 - WORTHWHILE_DEAD_SHARE
        });
        Ok(newer || !maintenance.waiting.is_empty())
    }

    fn is_checkpoint_due(&self, maintenance: &Maintenance) -> Result<bool> {
        let log = self.log()?;
        let since = log.log_bytes - maintenance.checkpoint_log_bytes;
        if let Some(bytes) = self.options.checkpoint_bytes {
            return Ok(since >= bytes);
        }
        let capacity = self.identity.media_bytes;
        let cost = self.map()?.dirty_leaf_count() as u64 * BLOCK_BYTES;
        let least = (capacity / 64).min(CHECKPOINT_LOG_BYTES);
        let wanted = (LOG_PER_CHECKPOINT_BYTE * cost).clamp(least, (capacity / 8).max(least));
        Ok(since >= wanted)
    }

    /// Drops clean leaves beyond the memory that the map may take.
    pub(crate) fn evict_map(&self) -> Result<()> {
        let Some(bytes) = self.options.map_bytes else { return Ok(()) };
        let leaves = (bytes / (BLOCK_BYTES + 64)) as usize;
        // The log's lock keeps leaves in place while a host write uses them.
        let _log = self.log()?;
        if self.map()?.loaded_leaves() > leaves {
            self.map_mut()?.evict(leaves);
        }
        Ok(())
    }

    /// While the host rests: writes the open chunk, then a mark that tells what is durable, so that damage behind
    /// it cannot pass for a torn tail.
    fn write_out_at_rest(&self, maintenance: &mut Maintenance) -> Result<()> {
        {
            let mut log = self.log()?;
            let open = log.has_open(Stream::Host);
            let rests = log.next_seq == maintenance.seen_seq && open == maintenance.seen_open;
            (maintenance.seen_seq, maintenance.seen_open) = (log.next_seq, open);
            if !rests {
                return Ok(());
            }
            log.seal(Stream::Host, &self.counters);
            if log.durable_seq > log.told_durable_seq {
                // Without a segment for it there is no mark, and nothing is lost but evidence.
                let _ = log.mark(&self.chunks, &self.counters);
            }
            maintenance.seen_seq = log.next_seq;
            maintenance.seen_open = false;
        }
        self.write_sealed()
    }
}
