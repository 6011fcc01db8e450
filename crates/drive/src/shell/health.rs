//! The drive's health: whether it runs, why it stopped, and the problems found so far; and the
//! waiting of threads for each other.
//!
//! A thread that waits has checked, with the lock of [`Progress`] held, that the drive runs.
//! Stopping the drive takes that lock before it wakes the waiters, so none of them misses it.

use std::sync::OnceLock;

use assay_disk::{DiskError, Result};

use crate::sync::{Condvar, Mutex, MutexGuard, whole};

/// Lines of the health log that are kept in memory.
const PROBLEMS_KEPT: usize = 100;

/// Commits that were requested and completed.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    pub(crate) asked: u64,
    pub(crate) done: u64,
    /// Whether any request that is not served yet includes all streams.
    pub(crate) wants_all: bool,
    pub(crate) has_leader: bool,
}

/// The condition on which threads wait: a chunk was written, a commit ended, a segment lost its
/// last reader, or the drive stopped.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    commits: Mutex<Commits>,
    changed: Condvar,
}

impl Progress {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Commits> {
        whole(self.commits.lock())
    }

    pub(crate) fn wait<'a>(&self, commits: MutexGuard<'a, Commits>) -> MutexGuard<'a, Commits> {
        whole(self.changed.wait(commits))
    }

    /// Wakes all waiters. Takes the lock first: a waiter checks its condition with the lock held,
    /// so it does not miss the change.
    pub(crate) fn announce(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Wakes all waiters after a change of `_commits`, whose lock the caller holds.
    pub(crate) fn announce_commit(&self, _commits: &Commits) {
        self.changed.notify_all();
    }
}

/// Whether the drive runs, and the lines of its health log.
#[derive(Debug, Default)]
pub(crate) struct Health {
    stopped: OnceLock<String>,
    problems: Mutex<Vec<String>>,
    pub(crate) progress: Progress,
}

impl Health {
    /// # Errors
    /// [`DiskError::Stopped`] once the drive has stopped.
    pub(crate) fn running(&self) -> Result<()> {
        match self.stopped.get() {
            Some(reason) => Err(DiskError::Stopped { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Stops the drive for good and returns the error for the caller; the first reason stays.
    pub(crate) fn stop(&self, reason: String) -> DiskError {
        let reason = self.stopped.get_or_init(|| reason).clone();
        self.progress.announce();
        DiskError::Stopped { reason }
    }

    /// Stops the drive because a thread panicked while it held the log's or the map's lock.
    pub(crate) fn stop_after_panic(&self) -> DiskError {
        self.stop("a thread failed while it changed the drive's state".into())
    }

    /// The reason for which the drive has stopped.
    pub(crate) fn stop_reason(&self) -> Option<&String> {
        self.stopped.get()
    }

    /// Adds a line to the health log, unless it is there or the log is full.
    pub(crate) fn report(&self, problem: String) {
        let mut problems = whole(self.problems.lock());
        if problems.len() < PROBLEMS_KEPT && !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        whole(self.problems.lock()).clone()
    }

    pub(crate) fn forget_problems(&self) {
        whole(self.problems.lock()).clear();
    }
}
