//! The log that threads share: its lock, the writing of sealed chunks, and making them durable with
//! one sync for all who wait.
//!
//! A thread that seals a chunk helps to write what is sealed. A flush seals what the host wrote,
//! waits until everything before it is written, and syncs the media once; flushes that come
//! meanwhile share the next sync. If a single chunk is all that is not durable yet, it is written
//! with force-unit-access, in place of a write and a sync.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_disk::{DiskError, Result};

use crate::core::chunks::Chunks;
use crate::core::group::Group;
use crate::core::log::{Job, Log, Reached};
use crate::core::space::{Space, Urgency};
use crate::format::{Location, Stream};
use crate::rules::{Rule, holds};
use crate::shell::media::Media;
use crate::status::Counters;
use crate::sync::{AtomicBool, Mutex, MutexGuard, whole};

/// Sealed chunks that may wait before a host write helps to write them first.
const UNWRITTEN_CHUNKS_MAX: usize = 4;

/// The log under its lock, and the chunks that are in memory.
pub(crate) struct SharedLog {
    media: Arc<Media>,
    state: Mutex<Log>,
    pub(crate) chunks: Chunks,
    /// Whether this incarnation has its own sequence numbers, so that the log may grow.
    is_begun: AtomicBool,
}

impl SharedLog {
    pub(crate) fn new(media: Arc<Media>, state: Log, chunks: Chunks) -> SharedLog {
        SharedLog { media, state: Mutex::new(state), chunks, is_begun: AtomicBool::new(false) }
    }

    /// Locks the log, unless the drive has stopped.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Log>> {
        self.media.health.running()?;
        self.state.lock().map_err(|_| self.media.health.stop_after_panic())
    }

    /// Locks the log for reading only, also if the drive has stopped.
    pub(crate) fn lock_unchecked(&self) -> MutexGuard<'_, Log> {
        whole(self.state.lock())
    }

    /// Whether this incarnation may write.
    pub(crate) fn has_begun(&self) -> bool {
        self.is_begun.load(Ordering::Acquire)
    }

    pub(crate) fn set_begun(&self, is_begun: bool) {
        self.is_begun.store(is_begun, Ordering::Release);
    }

    /// Makes every completed host write durable; with `all`, also what collection and checkpoints
    /// wrote.
    pub(crate) fn make_durable(&self, all: bool) -> Result<()> {
        if self.is_durable(all)? {
            return Ok(());
        }
        let progress = &self.media.health.progress;
        let mut commits = progress.lock();
        commits.asked += 1;
        commits.wants_all |= all;
        let mine = commits.asked;
        loop {
            self.media.health.running()?;
            if commits.done >= mine {
                return Ok(());
            }
            if commits.has_leader {
                commits = progress.wait(commits);
                continue;
            }
            commits.has_leader = true;
            let covered = commits.asked;
            let all = std::mem::take(&mut commits.wants_all);
            drop(commits);
            let result = self.seal_write_and_sync(all);
            commits = progress.lock();
            commits.has_leader = false;
            if result.is_ok() {
                commits.done = covered;
            }
            progress.announce_commit(&commits);
            result?;
        }
    }

    fn is_durable(&self, all: bool) -> Result<bool> {
        let log = self.lock()?;
        let open = |stream| log.has_open(stream);
        Ok(if all {
            !Stream::ALL.into_iter().any(open) && log.durable_to() == log.sealed_to()
        } else {
            !open(Stream::Host) && log.last_host_seq <= log.durable_seq
        })
    }

    fn seal_write_and_sync(&self, all: bool) -> Result<()> {
        let (target, only_job) = {
            let mut log = self.lock()?;
            log.seal(Stream::Host, &self.media.counters);
            if all {
                Stream::ALL.into_iter().for_each(|stream| log.seal(stream, &self.media.counters));
            }
            (log.sealed_to(), log.take_only_job())
        };
        if let Some(job) = only_job {
            return self.write_fua(job, target);
        }
        let written = match holds(Rule::WrittenBeforeSync) {
            true => self.write_until(target)?,
            false => target,
        };
        self.media.sync()?;
        self.lock()?.note_durable(written);
        Ok(())
    }

    /// Writes the only chunk that is not durable yet with force-unit-access.
    fn write_fua(&self, job: Job, target: Reached) -> Result<()> {
        Counters::add(&self.media.counters.flushes_media, 1);
        self.write_job(job, true)?;
        self.lock()?.note_durable(target);
        Ok(())
    }

    /// Writes chunks that no thread has begun to write and waits for the others, until every chunk
    /// up to `target` is written. Returns how far the log is written then.
    fn write_until(&self, target: Reached) -> Result<Reached> {
        let health = &self.media.health;
        loop {
            self.write_sealed()?;
            let commits = health.progress.lock();
            health.running()?;
            let written = self.lock_unchecked().written_to();
            if written.log >= target.log && written.map >= target.map {
                return Ok(written);
            }
            // The thread that writes the rest takes the commits' lock before it wakes others, so
            // this wait does not miss it.
            drop(health.progress.wait(commits));
        }
    }

    /// Writes sealed chunks until none is queued.
    pub(crate) fn write_sealed(&self) -> Result<()> {
        loop {
            let job = self.lock()?.take_job();
            let Some(job) = job else { return Ok(()) };
            self.write_job(job, false)?;
        }
    }

    fn write_job(&self, job: Job, force_unit_access: bool) -> Result<()> {
        let start = self.media.identity.segment_start(job.chunk.segment);
        let place = start + u64::from(job.chunk.offset);
        let bytes = job.chunk.bytes();
        let written =
            self.media.disk().write(place, &bytes.as_ref()[..job.bytes], force_unit_access);
        drop(bytes);
        let written = written.map_err(|error| self.media.stop_writing(&error));
        let noted = written.and_then(|()| self.lock()).map(|mut log| log.note_written(job.seq));
        if noted.is_ok() {
            self.chunks.close(job.chunk);
        }
        // After a failure too: threads that wait for this chunk check again whether the drive runs.
        self.media.health.progress.announce();
        noted
    }

    /// Writes sealed chunks, and holds a host write back while too many are not written: memory
    /// stays bounded.
    pub(crate) fn keep_pace(&self) -> Result<()> {
        let health = &self.media.health;
        loop {
            self.write_sealed()?;
            let commits = health.progress.lock();
            health.running()?;
            if self.lock_unchecked().unwritten_chunks() <= UNWRITTEN_CHUNKS_MAX {
                return Ok(());
            }
            drop(health.progress.wait(commits));
        }
    }

    /// Appends each record of a group by itself to the map's stream, so that a chunk is filled as
    /// far as the next record allows.
    pub(crate) fn append_to_map_stream(
        &self,
        group: &Group,
        scratch: &mut Vec<Location>,
        places: &mut Vec<Location>,
    ) -> Result<()> {
        {
            let mut log = self.lock()?;
            for (index, record) in group.records.iter().enumerate() {
                let (payload, words) = (record.length as usize, record.words());
                let (urgency, counters) = (Urgency::Ordinary, &self.media.counters);
                log.make_room(Stream::Map, payload, words, urgency, &self.chunks, counters)
                    .map_err(|_| self.stop_without_room())?;
                log.place(Stream::Map, group, |number| number == index, scratch);
                let place = scratch.get(index).copied().unwrap_or_default();
                log.space.add(place);
                places.push(place);
            }
        }
        self.keep_pace()
    }

    /// Stops the drive because a checkpoint found no segment: leaves that count as stored are not.
    /// The budget rules it out.
    pub(crate) fn stop_without_room(&self) -> DiskError {
        self.media.health.stop("no segment was left for a checkpoint".into())
    }

    /// Checks that there is room for a checkpoint, as there always must be; otherwise reports it
    /// long before one is due.
    pub(crate) fn check_room(&self, space: &Space) {
        if !space.fits() {
            let (free, needed) = (space.free_segments(), space.kept_free());
            debug_assert!(false, "{free} segments are free, {needed} are needed");
            self.media.health.report(format!(
                "only {free} of the {needed} segments that checkpoints need are free: \
                 new data waits until more are free"
            ));
        }
    }
}
