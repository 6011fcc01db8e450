//! Background work: gaining segments, checkpoints, and writing out while the host is idle.
//!
//! One piece runs at a time, under the maintenance lock. The caller's thread calls again while
//! there is more to do. A host write that finds no free segment does the same work itself.

use std::collections::HashSet;
use std::sync::Arc;

use crate::core::maintenance::Maintenance;
use crate::core::space::{Space, State};
use crate::core::victims::{Policy, WORTHWHILE_DEAD_SHARE};
use crate::format::Stream;
use crate::options::DriveOptions;
use crate::reading::read::Reader;
use crate::rules::{Rule, holds};
use crate::shell::log::SharedLog;
use crate::shell::map::SharedMap;
use crate::shell::media::Media;
use crate::shell::parts::Shell;
use crate::shell::superblocks::Superblocks;
use crate::sync::{Mutex, MutexGuard, whole};
use crate::upkeep::checkpoint::Checkpointer;
use crate::upkeep::collect::Collector;
use crate::upkeep::release::Releaser;
use crate::upkeep::trainer::Trainer;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// Bytes that the host writes for each byte of the next checkpoint: a checkpoint costs 4 % of host
/// writes at most.
const WRITTEN_PER_CHECKPOINT_BYTE: u64 = 25;

/// Least bytes of log between checkpoints on a large drive.
const CHECKPOINT_WRITTEN_BYTES: u64 = 1 << 30;

/// Percentage of the checkpoint interval at which collection waits for the checkpoint. Otherwise a
/// host that never pauses would keep collection busy, and the log to replay would grow without end.
const OVERDUE_PERCENT: u64 = 125;

/// Number of emptied segments that justify a sync of the media, if segments are small; a large one
/// justifies it alone.
const RELEASE_BATCH: usize = 4;
const SMALL_SEGMENT_BYTES: u32 = 4 << 20;

/// Changed nodes may take this much however small the map's memory is, or each command would cause
/// a checkpoint.
const CHANGED_LEAST_BYTES: u64 = 64 << 10;

/// Steps without a free segment for the host after which only the gain counts. By age alone, old
/// segments with hardly anything dead could be collected for ever.
const PATIENT_STEPS: u64 = 32;

/// Whether there is more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// More to do: call again at once.
    More,
    /// Nothing to do until the host writes.
    Idle,
}

/// Does one piece of background work at a time, under the maintenance lock.
pub(crate) struct Upkeep {
    media: Arc<Media>,
    log: Arc<SharedLog>,
    superblocks: Arc<Superblocks>,
    map: Arc<SharedMap>,
    maintenance: Mutex<Maintenance>,
    releaser: Arc<Releaser>,
    checkpointer: Arc<Checkpointer>,
    collector: Collector,
    trainer: Trainer,
    policy: Policy,
    map_bytes: Option<u64>,
    checkpoint_bytes: Option<u64>,
}

impl Upkeep {
    pub(crate) fn new(shell: &Shell, reader: &Arc<Reader>, options: &DriveOptions) -> Upkeep {
        let maintenance = Maintenance::new(
            shell.superblocks.lock().checkpoint_seq,
            shell.log.lock_unchecked().log_bytes,
        );
        let releaser = Arc::new(Releaser::new(shell, options.discard_media));
        let checkpointer = Arc::new(Checkpointer::new(shell, &releaser));
        Upkeep {
            media: Arc::clone(&shell.media),
            log: Arc::clone(&shell.log),
            superblocks: Arc::clone(&shell.superblocks),
            map: Arc::clone(&shell.map),
            maintenance: Mutex::new(maintenance),
            releaser,
            collector: Collector::new(shell, &checkpointer),
            trainer: Trainer::new(shell, reader, &checkpointer),
            checkpointer,
            policy: options.policy,
            map_bytes: options.map_bytes,
            checkpoint_bytes: options.checkpoint_bytes,
        }
    }

    /// Does one piece of the work that is due. With `writes_out`, also writes out everything in
    /// memory if the host wrote nothing between two calls.
    ///
    /// # Errors
    /// Those of the media, which stop the drive.
    pub(crate) fn maintain(&self, writes_out: bool) -> Result<Rest> {
        self.media.health.running()?;
        let mut maintenance = self.lock();
        if !self.log.has_begun() {
            return Ok(Rest::Idle);
        }
        let due_percent = self.checkpoint_due_percent(&maintenance)?;
        let (free, mark) = self.free_and_low_mark()?;
        if free < mark
            && due_percent < OVERDUE_PERCENT
            && self.gain_if_worthwhile(&mut maintenance)?
        {
            return Ok(Rest::More);
        }
        if due_percent >= 100 {
            self.checkpointer.checkpoint(&mut maintenance)?;
            return Ok(Rest::More);
        }
        self.map.evict()?;
        if self.trainer.train(&mut maintenance)? {
            return Ok(Rest::More);
        }
        if writes_out {
            self.write_out_at_rest(&mut maintenance)?;
        }
        Ok(Rest::Idle)
    }

    fn lock(&self) -> MutexGuard<'_, Maintenance> {
        whole(self.maintenance.lock())
    }

    /// Makes a checkpoint now.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        self.checkpointer.checkpoint(&mut self.lock())
    }

    /// Makes the checkpoint that drops empty leaves, which take room as long as they exist.
    pub(crate) fn drop_empty_leaves(&self) -> Result<()> {
        let mut maintenance = self.lock();
        let is_due = self.log.has_begun() && self.map.read()?.empty_leaves() > 0;
        if is_due { self.checkpointer.checkpoint(&mut maintenance) } else { Ok(()) }
    }

    /// Makes the following checkpoints move dictionaries out of these segments, until
    /// [`Upkeep::finish_emptying`].
    pub(crate) fn begin_emptying(&self, segments: HashSet<u32>) {
        self.lock().to_empty = segments;
    }

    /// Makes the last checkpoint that moves dictionaries out of the segments of
    /// [`Upkeep::begin_emptying`]. Collection then starts anew.
    pub(crate) fn finish_emptying(&self) -> Result<()> {
        let mut maintenance = self.lock();
        self.checkpointer.checkpoint(&mut maintenance)?;
        maintenance.to_empty.clear();
        maintenance.collecting = None;
        Ok(())
    }

    /// Gains segments until `is_met`, or until the drive was closed.
    ///
    /// # Errors
    /// [`DiskError::Full`] if no segment can be gained.
    pub(crate) fn make_space(&self, is_met: &dyn Fn(&Space) -> bool) -> Result<()> {
        let mut maintenance = self.lock();
        loop {
            if !self.log.has_begun() || is_met(&self.log.lock()?.space) {
                return Ok(());
            }
            if self.gain_if_worthwhile(&mut maintenance)? {
                continue;
            }
            if !self.releaser.wait_for_readers(&maintenance)? {
                return Err(DiskError::Full);
            }
            maintenance.steps = 0;
        }
    }

    /// Takes a step towards a free segment. Returns false if there is none to take, or if every
    /// segment was collected twice since the host last wrote: then nothing more can be gained.
    fn gain_if_worthwhile(&self, maintenance: &mut Maintenance) -> Result<bool> {
        let host_seq = self.log.lock()?.last_host_seq;
        if maintenance.host_seq != host_seq {
            (maintenance.host_seq, maintenance.steps) = (host_seq, 0);
        }
        let is_worthwhile = maintenance.steps <= 2 * u64::from(self.media.identity.segments);
        if is_worthwhile { self.gain_segment(maintenance) } else { Ok(false) }
    }

    fn free_and_low_mark(&self) -> Result<(u64, u64)> {
        let log = self.log.lock()?;
        Ok((log.space.free_segments() as u64, log.space.low_mark()))
    }

    /// Takes a step towards a free segment; returns false if there is none to take.
    fn gain_segment(&self, maintenance: &mut Maintenance) -> Result<bool> {
        // A loss must be on media before its place is written again, or a rebuild would find the
        // old data.
        if self.map.read()?.has_untold_losses() {
            self.checkpointer.checkpoint(maintenance)?;
            return Ok(true);
        }
        match self.try_gain_segment(maintenance) {
            Err(DiskError::Full) => self.make_room_to_move(maintenance),
            gained => gained,
        }
    }

    /// Makes room for collection, which has no segment to move records to. That is no reason to
    /// refuse a host write: releases emptied segments, waits for their readers, or makes a
    /// checkpoint, which frees its reserve. Returns false if none of these applies.
    fn make_room_to_move(&self, maintenance: &mut Maintenance) -> Result<bool> {
        maintenance.steps += 1;
        let emptied = self.releaser.emptied(maintenance)?;
        if !emptied.is_empty() {
            self.releaser.release(&emptied)?;
            return Ok(true);
        }
        if self.releaser.wait_for_readers(maintenance)? {
            return Ok(true);
        }
        let has_grown = self.log.lock()?.log_bytes > maintenance.checkpoint_log_bytes;
        if has_grown {
            self.checkpointer.checkpoint(maintenance)?;
        }
        Ok(has_grown)
    }

    fn try_gain_segment(&self, maintenance: &mut Maintenance) -> Result<bool> {
        if let Some(collecting) = maintenance.collecting.take() {
            self.collector.go_on(collecting, maintenance)?;
            return Ok(true);
        }
        maintenance.steps += 1;
        let emptied = self.releaser.emptied(maintenance)?;
        let (free, mark) = self.free_and_low_mark()?;
        let is_urgent = free + 2 <= mark;
        let batch =
            if self.media.identity.segment_bytes < SMALL_SEGMENT_BYTES { RELEASE_BATCH } else { 1 };
        if !emptied.is_empty() && (is_urgent || emptied.len() >= batch) {
            self.releaser.release(&emptied)?;
            return Ok(true);
        }
        let policy = if maintenance.steps > PATIENT_STEPS { Policy::Greedy } else { self.policy };
        let victim = {
            let log = self.log.lock()?;
            let (seq, now) = (maintenance.checkpoint_seq, log.log_bytes);
            maintenance.victims.choose(&log.space, policy, seq, now)
        };
        match victim {
            Some((victim, live)) if live < 1.0 - WORTHWHILE_DEAD_SHARE => {
                self.collector.begin(victim, maintenance)?;
                return Ok(true);
            }
            _ if self.map.read()?.empty_leaves() > 0
                || (self.log.lock()?.log_bytes > maintenance.checkpoint_log_bytes
                    && self.would_checkpoint_help(maintenance)?) =>
            {
                self.checkpointer.checkpoint(maintenance)?;
            }
            Some((victim, live)) if live < 1.0 => self.collector.begin(victim, maintenance)?,
            _ if !emptied.is_empty() => self.releaser.release(&emptied)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether a checkpoint would allow segments to be collected or given back: those newer than
    /// the last one, or those of the map's stream.
    fn would_checkpoint_help(&self, maintenance: &Maintenance) -> Result<bool> {
        let log = self.log.lock()?;
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

    /// The log since the last checkpoint, in percent of the interval; a checkpoint is due at 100.
    fn checkpoint_due_percent(&self, maintenance: &Maintenance) -> Result<u64> {
        if self.is_short_of_memory()? {
            return Ok(100);
        }
        let log = self.log.lock()?;
        let since = log.log_bytes - maintenance.checkpoint_log_bytes;
        if let Some(bytes) = self.checkpoint_bytes {
            return Ok(percent_of(since, bytes));
        }
        let capacity = self.media.identity.media_bytes;
        let cost = self.map.read()?.dirty_leaf_count() as u64 * BLOCK_BYTES;
        let least = (capacity / 64).min(CHECKPOINT_WRITTEN_BYTES);
        let wanted = (WRITTEN_PER_CHECKPOINT_BYTE * cost).clamp(least, (capacity / 8).max(least));
        // A block is one change of the map however small its record is: if pages shrink to a
        // thirtieth, a log of this many bytes would take a minute to replay.
        let blocks = log.replay_blocks - maintenance.checkpoint_replay_blocks;
        Ok(percent_of(since.max(blocks * BLOCK_BYTES), wanted))
    }

    /// Whether changed leaves take so much of the map's memory that a checkpoint must clean them.
    fn is_short_of_memory(&self) -> Result<bool> {
        let Some(bytes) = self.map_bytes else { return Ok(false) };
        Ok(self.map.read()?.dirty_bytes() > (bytes / 2).max(CHANGED_LEAST_BYTES))
    }

    /// Keeps a host command within the map's memory limit: drops clean nodes, and makes a
    /// checkpoint if that does not suffice.
    pub(crate) fn keep_memory(&self) -> Result<()> {
        let Some(bytes) = self.map_bytes else { return Ok(()) };
        if self.map.read()?.node_bytes() <= bytes {
            return Ok(());
        }
        self.map.evict()?;
        if self.map.read()?.node_bytes() > bytes
            && self.is_short_of_memory()?
            && self.log.has_begun()
        {
            let mut maintenance = self.lock();
            if self.is_short_of_memory()? && self.log.has_begun() {
                self.checkpointer.checkpoint(&mut maintenance)?;
            }
            drop(maintenance);
            self.map.evict()?;
        }
        Ok(())
    }

    /// Reserves sequence numbers before the first chunk since the drive was opened. They were never
    /// used, so nothing from an earlier incarnation can pass for a part of the log.
    pub(crate) fn begin_incarnation(&self) -> Result<()> {
        if self.log.has_begun() {
            return Ok(());
        }
        let _maintenance = self.lock();
        if self.log.has_begun() {
            return Ok(());
        }
        let first = self.superblocks.reserve_seqs(true)?;
        self.log.lock()?.resume(first);
        self.log.set_begun(true);
        Ok(())
    }

    /// Writes everything out and marks the drive as properly closed. A concurrent or later command
    /// opens it again.
    ///
    /// # Errors
    /// Those of the media.
    pub(crate) fn close(&self) -> Result<()> {
        self.media.health.running()?;
        let mut maintenance = self.lock();
        if !self.log.has_begun() {
            return Ok(());
        }
        self.checkpointer.checkpoint(&mut maintenance)?;
        {
            let log = self.log.lock()?;
            if !log.ends_with(maintenance.checkpoint_seq) && holds(Rule::CloseLooksBack) {
                // The host wrote behind the checkpoint meanwhile: the log goes on, and the drive is
                // not closed.
                return Ok(());
            }
            self.log.set_begun(false);
        }
        // From here on nothing is written before both superblocks have taken the mark back.
        self.superblocks.change(|new| new.clean = true)
    }

    /// If the host is idle, writes the open chunk, then a mark with the durable sequence number, so
    /// that damage behind it cannot pass for a torn tail.
    fn write_out_at_rest(&self, maintenance: &mut Maintenance) -> Result<()> {
        {
            let mut log = self.log.lock()?;
            let open = log.has_open(Stream::Host);
            let rests = log.next_seq == maintenance.seen_seq && open == maintenance.seen_open;
            (maintenance.seen_seq, maintenance.seen_open) = (log.next_seq, open);
            if !rests {
                return Ok(());
            }
            log.seal(Stream::Host, &self.media.counters);
            if log.durable_seq > log.told_durable_seq {
                // Without a segment for it there is no mark; only evidence is lost.
                let _ = log.mark(&self.log.chunks, &self.media.counters);
            }
            maintenance.seen_seq = log.next_seq;
            maintenance.seen_open = false;
        }
        self.log.write_sealed()
    }
}

fn percent_of(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 100 / u128::from(whole.max(1))) as u64
}
