//! A process that may be replaced: the server, which a run may restart.
//!
//! The restart reports when the process has ended and which process follows. A probe that finds
//! another process than before leaves a gap: a difference between counters of two processes has no
//! meaning.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Stands for no process.
const NONE: u32 = 0;

/// The current process, if there is one. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Followed {
    pid: Arc<AtomicU32>,
}

/// The change of a followed process since a probe last looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Same,
    /// It has ended and has no successor yet.
    Gone,
    /// It has been replaced.
    Other(u32),
}

impl Followed {
    pub(crate) fn new(pid: u32) -> Followed {
        Followed { pid: Arc::new(AtomicU32::new(pid)) }
    }

    /// Replaces the process, or reports that it has ended.
    pub(crate) fn turn_to(&self, pid: Option<u32>) {
        self.pid.store(pid.unwrap_or(NONE), Ordering::Relaxed);
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid != NONE)
    }

    pub(super) fn since(&self, known: u32) -> Turn {
        match self.pid() {
            None => Turn::Gone,
            Some(pid) if pid == known => Turn::Same,
            Some(pid) => Turn::Other(pid),
        }
    }
}
