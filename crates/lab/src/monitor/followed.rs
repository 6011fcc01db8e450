//! A process that gives way to another: the server, which a run may restart.
//!
//! Whoever restarts it says when it is gone and which is there then. A probe that finds another process than before leaves a gap:
//! what two processes counted is no growth of anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// In the place of a process that is not there.
const NONE: u32 = 0;

/// The process that is there now, if one is. Clones follow the same.
#[derive(Debug, Clone)]
pub struct Followed {
    pid: Arc<AtomicU32>,
}

/// What has become of a followed process since a probe last looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is the one that it was.
    Same,
    /// It is gone, and no other is there yet.
    Gone,
    /// Another is there.
    Other(u32),
}

impl Followed {
    /// The process of this number.
    pub fn new(pid: u32) -> Followed {
        Followed { pid: Arc::new(AtomicU32::new(pid)) }
    }

    /// That another is there from now on, or none.
    pub fn turn_to(&self, pid: Option<u32>) {
        self.pid.store(pid.unwrap_or(NONE), Ordering::Relaxed);
    }

    /// The one that is there now.
    pub fn pid(&self) -> Option<u32> {
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
