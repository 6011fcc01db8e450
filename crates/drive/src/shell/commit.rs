//! Writing sealed chunks, and making them durable: one sync for all who wait.
//!
//! Whoever seals a chunk helps to write what is sealed. A flush seals what the host wrote, waits until everything before
//! it is written, and syncs the media once; flushes that come meanwhile share the next one. Where a single chunk is all
//! that is not durable yet, it is forced to media as it is written, in place of a write and a sync.

use assay_disk::{DiskError, Result};

use crate::core::log::{Job, Reached};
use crate::format::Stream;
use crate::rules::{Rule, holds};
use crate::shell::drive::{Commit, Drive};
use crate::status::Counters;
use crate::sync::{MutexGuard, whole};

/// Sealed chunks that may wait before a host write helps to write them first.
const UNWRITTEN_CHUNKS_MAX: usize = 4;

impl Drive {
    /// Makes every completed host write durable; with `all`, also what collection and checkpoints wrote.
    pub(crate) fn make_durable(&self, all: bool) -> Result<()> {
        if self.is_durable(all)? {
            return Ok(());
        }
        let mut commit = self.commits();
        commit.asked += 1;
        commit.wants_all |= all;
        let mine = commit.asked;
        loop {
            self.running()?;
            if commit.done >= mine {
                return Ok(());
            }
            if commit.has_leader {
                commit = whole(self.progress.wait(commit));
                continue;
            }
            commit.has_leader = true;
            let covered = commit.asked;
            let all = std::mem::take(&mut commit.wants_all);
            drop(commit);
            let result = self.seal_write_and_sync(all);
            commit = self.commits();
            commit.has_leader = false;
            if result.is_ok() {
                commit.done = covered;
            }
            self.progress.notify_all();
            result?;
        }
    }

    fn is_durable(&self, all: bool) -> Result<bool> {
        let log = self.log()?;
        let open = |stream| log.has_open(stream);
        Ok(if all {
            !Stream::ALL.into_iter().any(open) && log.durable_to() == log.sealed_to()
        } else {
            !open(Stream::Host) && log.last_host_seq <= log.durable_seq
        })
    }

    fn seal_write_and_sync(&self, all: bool) -> Result<()> {
        let (target, forced) = {
            let mut log = self.log()?;
            log.seal(Stream::Host, &self.counters);
            if all {
                Stream::ALL.into_iter().for_each(|stream| log.seal(stream, &self.counters));
            }
            (log.sealed_to(), log.take_only_job())
        };
        if let Some(job) = forced {
            return self.force(job, target);
        }
        let written = match holds(Rule::WrittenBeforeSync) {
            true => self.write_until(target)?,
            false => target,
        };
        self.sync_media()?;
        self.log()?.is_durable_to(written);
        Ok(())
    }

    /// Writes the one chunk that is not durable yet so that it is when this returns.
    fn force(&self, job: Job, target: Reached) -> Result<()> {
        Counters::add(&self.counters.flushes_media, 1);
        self.write_job(job, true)?;
        self.log()?.is_durable_to(target);
        Ok(())
    }

    /// Syncs the media; a failure stops the drive, for what it lost is not known.
    pub(crate) fn sync_media(&self) -> Result<()> {
        Counters::add(&self.counters.flushes_media, 1);
        self.media.flush().map_err(|error| {
            self.stop(format!("a flush of the media failed: {}", media_failure(&error)))
        })
    }

    /// Waits until every chunk up to `target` is written, and writes what nobody has begun; gives how far it is.
    fn write_until(&self, target: Reached) -> Result<Reached> {
        loop {
            self.write_sealed()?;
            let commit = self.commits();
            self.running()?;
            let written = self.log_at_any_time().written_to();
            if written.log >= target.log && written.map >= target.map {
                return Ok(written);
            }
            // Whoever writes the rest takes the commits' lock before it tells, so the news is not missed.
            drop(whole(self.progress.wait(commit)));
        }
    }

    /// Writes sealed chunks until none waits.
    pub(crate) fn write_sealed(&self) -> Result<()> {
        loop {
            let job = self.log()?.take_job();
            let Some(job) = job else { return Ok(()) };
            self.write_job(job, false)?;
        }
    }

    fn write_job(&self, job: Job, forced: bool) -> Result<()> {
        let start = self.identity.segment_start(job.chunk.segment) + u64::from(job.chunk.offset);
        let written = self.media.write(start, &job.chunk.bytes().as_ref()[..job.bytes], forced);
        let written = written.map_err(|error| {
            self.stop(format!("a write to the media failed: {}", media_failure(&error)))
        });
        let told = written.and_then(|()| self.log()).map(|mut log| log.written(job.seq));
        if told.is_ok() {
            self.chunks.close(job.chunk);
        }
        // Also of failure: who waits for this chunk has looked whether the drive runs with the commits' lock held.
        drop(self.commits());
        self.progress.notify_all();
        told
    }

    /// Writes what is sealed, and holds a host write back while too much of it is not written: memory stays bounded.
    pub(crate) fn keep_pace(&self) -> Result<()> {
        loop {
            self.write_sealed()?;
            let commit = self.commits();
            self.running()?;
            if self.log_at_any_time().unwritten_chunks() <= UNWRITTEN_CHUNKS_MAX {
                return Ok(());
            }
            drop(whole(self.progress.wait(commit)));
        }
    }

    pub(crate) fn commits(&self) -> MutexGuard<'_, Commit> {
        whole(self.commit.lock())
    }
}

/// A failure of the media in words for the drive's owner. The words of [`DiskError::Full`] are for the drive's host, and
/// deleting data there frees nothing below.
pub(crate) fn media_failure(error: &DiskError) -> String {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    const ADVICE: &str = "free space there, then detach the drive and attach it again";
    match error {
        DiskError::Full => {
            format!("the file system or pool that holds the media is full; {ADVICE}")
        }
        DiskError::Io(reason) if matches!(reason.kind(), StorageFull | QuotaExceeded) => {
            format!("{}; the file system that holds the media is full; {ADVICE}", chain(error))
        }
        other => chain(other),
    }
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &DiskError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
