//! Work in the background: making room, checkpoints, and what is due when the host rests.
//!
//! One at a time, under the maintenance lock. The caller gives it a thread and calls again as long as there is more;
//! a host write that finds no free segment comes here too.

use std::sync::atomic::Ordering;

use crate::core::maintenance::Maintenance;
use crate::core::space::{Space, State};
use crate::core::victims::{Policy, WORTHWHILE_DEAD_SHARE};
use crate::format::Stream;
use crate::rules::{Rule, holds};
use crate::shell::drive::Drive;
use crate::sync::{MutexGuard, whole};
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// Bytes that the host writes for each byte that the next checkpoint would write: a checkpoint costs 4 % of them at most.
const WRITTEN_PER_CHECKPOINT_BYTE: u64 = 25;

/// Least written between checkpoints on a large drive, in bytes.
const CHECKPOINT_WRITTEN_BYTES: u64 = 1 << 30;

/// A checkpoint that is due so much waits for collection no longer: a host that never lets up would keep it at work, and the log to
/// replay would grow without end.
const OVERDUE_PERCENT: u64 = 125;

/// Emptied segments for which it is worth to sync the media, where they are small; a large one is worth it alone.
const RELEASE_BATCH: usize = 4;
const SMALL_SEGMENT_BYTES: u32 = 4 << 20;

/// Changed nodes may take this much however little memory the map gets, or each command would bring a checkpoint.
const CHANGED_LEAST_BYTES: u64 = 64 << 10;

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
        let due_percent = self.checkpoint_due_percent(&maintenance)?;
        let (free, mark) = self.free_and_low_mark()?;
        if free < mark
            && due_percent < OVERDUE_PERCENT
            && self.may_gain(&mut maintenance)?
            && self.gain_segment(&mut maintenance)?
        {
            return Ok(Rest::More);
        }
        if due_percent >= 100 {
            self.checkpoint(&mut maintenance)?;
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
        whole(self.maintenance.lock())
    }

    /// Makes room until `is_met`, or the drive was closed meanwhile.
    ///
    /// # Errors
    /// [`DiskError::Full`] when nothing can be gained.
    pub(crate) fn make_space(&self, is_met: &dyn Fn(&Space) -> bool) -> Result<()> {
        let mut maintenance = self.maintenance();
        loop {
            if !self.has_begun() || is_met(&self.log()?.space) {
                return Ok(());
            }
            if self.may_gain(&mut maintenance)? && self.gain_segment(&mut maintenance)? {
                continue;
            }
            if !self.wait_for_readers(&maintenance)? {
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

    fn free_and_low_mark(&self) -> Result<(u64, u64)> {
        let log = self.log()?;
        Ok((log.space.free_segments() as u64, log.space.low_mark()))
    }

    /// One step towards a free segment; false when there is none to take.
    fn gain_segment(&self, maintenance: &mut Maintenance) -> Result<bool> {
        // That something is lost must be on media before anything is written in its place, or a rebuild would find what it
        // was before.
        if self.map()?.has_untold_losses() {
            self.checkpoint(maintenance)?;
            return Ok(true);
        }
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
        if self.wait_for_readers(maintenance)? {
            return Ok(true);
        }
        let has_grown = self.log()?.log_bytes > maintenance.checkpoint_log_bytes;
        if has_grown {
            self.checkpoint(maintenance)?;
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
        let victim = {
            let log = self.log()?;
            let (seq, now) = (maintenance.checkpoint_seq, log.log_bytes);
            maintenance.victims.choose(&log.space, policy, seq, now)
        };
        match victim {
            Some((victim, live)) if live < 1.0 - WORTHWHILE_DEAD_SHARE => {
                self.begin_collecting(victim, maintenance)?;
                return Ok(true);
            }
            _ if self.map()?.empty_leaves() > 0
                || (self.log()?.log_bytes > maintenance.checkpoint_log_bytes
                    && self.would_checkpoint_help(maintenance)?) =>
            {
                self.checkpoint(maintenance)?;
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
        let mut emptied = self.empty_and_old(maintenance)?;
        emptied.retain(|number| !self.is_read(*number));
        Ok(emptied)
    }

    /// The same with those that are read.
    fn empty_and_old(&self, maintenance: &Maintenance) -> Result<Vec<u32>> {
        let log = self.log()?;
        let is_in_hand =
            |number: u32| maintenance.collecting.as_ref().is_some_and(|one| one.victim == number);
        let empty = log.space.empty_segments().filter(|number| {
            log.space.get(*number).is_behind(maintenance.checkpoint_seq) && !is_in_hand(*number)
        });
        Ok(empty.collect())
    }

    /// Waits until no reader holds an emptied segment: each does for one read of media. False if none did.
    pub(crate) fn wait_for_readers(&self, maintenance: &Maintenance) -> Result<bool> {
        let mut held = self.empty_and_old(maintenance)?;
        held.retain(|number| self.is_read(*number));
        if held.is_empty() {
            return Ok(false);
        }
        self.readers_awaited.store(true, Ordering::SeqCst);
        let mut commits = self.commits();
        while held.iter().any(|number| self.is_read(*number)) && self.running().is_ok() {
            commits = whole(self.progress.wait(commits));
        }
        drop(commits);
        self.readers_awaited.store(false, Ordering::SeqCst);
        self.running().map(|()| true)
    }

    /// Gives back what is empty, after a checkpoint or when the drive is opened: nothing needs it any more.
    pub(crate) fn release_empty(&self, maintenance: &Maintenance) -> Result<()> {
        let emptied = self.emptied(maintenance)?;
        if emptied.is_empty() { Ok(()) } else { self.release(&emptied) }
    }

    /// Gives emptied segments back, once everything that emptied them is on stable media.
    fn release(&self, emptied: &[u32]) -> Result<()> {
        if holds(Rule::DurableBeforeRelease) {
            self.make_durable(true)?;
        }
        // Before anyone else may take them, or the discard would reach what was written there next.
        if self.options.discard_media {
            for &number in emptied {
                let start = self.identity.segment_start(number);
                // A media that cannot discard is as good as one that can, only larger.
                let _ = self.media.discard(start, u64::from(self.identity.segment_bytes));
            }
        }
        let mut log = self.log()?;
        for &number in emptied {
            match self.is_unreadable(number) {
                true => log.space.quarantine(number),
                false => log.space.release(number),
            }
        }
        Ok(())
    }

    /// Whether a checkpoint lets segments be collected or given back: those that are newer than the last one, or those of
    /// the map's stream.
    fn would_checkpoint_help(&self, maintenance: &Maintenance) -> Result<bool> {
        let log = self.log()?;
        let space = &log.space;
        let newer = || {
            space.iter().any(|(_, segment)| {
                segment.state == State::Sealed
                    && !segment.is_behind(maintenance.checkpoint_seq)
                    && space.live_share(segment) < 1.0 - WORTHWHILE_DEAD_SHARE
            })
        };
        Ok(space.map_segments() > space.checkpoint_segments() || newer())
    }

    /// How much of what is written between two checkpoints has been, in percent; one is due at 100.
    fn checkpoint_due_percent(&self, maintenance: &Maintenance) -> Result<u64> {
        if self.is_short_of_memory()? {
            return Ok(100);
        }
        let log = self.log()?;
        let since = log.log_bytes - maintenance.checkpoint_log_bytes;
        if let Some(bytes) = self.options.checkpoint_bytes {
            return Ok(percent_of(since, bytes));
        }
        let capacity = self.identity.media_bytes;
        let cost = self.map()?.dirty_leaf_count() as u64 * BLOCK_BYTES;
        let least = (capacity / 64).min(CHECKPOINT_WRITTEN_BYTES);
        let wanted = (WRITTEN_PER_CHECKPOINT_BYTE * cost).clamp(least, (capacity / 8).max(least));
        // However small its record, a block is a change of the map: of pages that shrink to a thirtieth, a log of this many bytes
        // would take a minute to replay.
        let blocks = log.replay_blocks - maintenance.checkpoint_replay_blocks;
        Ok(percent_of(since.max(blocks * BLOCK_BYTES), wanted))
    }

    /// Whether changed leaves take so much of the map's memory that a checkpoint must make them clean.
    fn is_short_of_memory(&self) -> Result<bool> {
        let Some(bytes) = self.options.map_bytes else { return Ok(false) };
        Ok(self.map()?.dirty_bytes() > (bytes / 2).max(CHANGED_LEAST_BYTES))
    }

    /// Keeps a host command within the map's memory: what is clean is dropped, and what is not waits for a checkpoint.
    pub(crate) fn keep_memory(&self) -> Result<()> {
        let Some(bytes) = self.options.map_bytes else { return Ok(()) };
        if self.map()?.node_bytes() <= bytes {
            return Ok(());
        }
        self.evict_map()?;
        if self.map()?.node_bytes() > bytes && self.is_short_of_memory()? && self.has_begun() {
            let mut maintenance = self.maintenance();
            if self.is_short_of_memory()? && self.has_begun() {
                self.checkpoint(&mut maintenance)?;
            }
            drop(maintenance);
            self.evict_map()?;
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

fn percent_of(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 100 / u128::from(whole.max(1))) as u64
}
