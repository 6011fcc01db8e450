//! A gate between an association's commands and its disks.
//!
//! Guarantees: after [`Gate::close`] no further command passes, and once [`Gate::is_drained`] has
//! returned true, none that had passed is still at a disk. So a command of an association that was
//! given up can never be applied after one of its successor.

use std::sync::atomic::{AtomicU64, Ordering};

/// Closed, in the highest bit; below it the number of commands that have passed and not ended.
#[derive(Debug)]
pub(crate) struct Gate(AtomicU64);

const CLOSED: u64 = 1 << 63;

/// A command that has passed; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Passage<'a>(&'a Gate);

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate(AtomicU64::new(0))
    }

    /// Lets a command pass, unless the gate is closed.
    pub(crate) fn pass(&self) -> Option<Passage<'_>> {
        let before = self.0.fetch_add(1, Ordering::AcqRel);
        let passage = Passage(self);
        (before & CLOSED == 0).then_some(passage)
    }

    /// Lets no further command pass.
    pub(crate) fn close(&self) {
        self.0.fetch_or(CLOSED, Ordering::AcqRel);
    }

    /// Returns true if the gate is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Returns true if the gate is closed and no command is behind it.
    pub(crate) fn is_drained(&self) -> bool {
        self.0.load(Ordering::Acquire) == CLOSED
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_lets_nothing_pass_and_is_drained_when_all_have_ended() {
        let gate = Gate::new();
        let passage = gate.pass().unwrap();
        gate.close();
        assert!(gate.is_closed() && !gate.is_drained(), "one is behind it");
        assert!(gate.pass().is_none());
        drop(passage);
        assert!(gate.is_drained(), "a refused command leaves nothing behind");
    }
}
