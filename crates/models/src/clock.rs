//! Clocks of models.

use parking_lot::Mutex;

use super::time::Time;

/// A source of time, and a way to wait for it.
pub trait Clock: Send + Sync {
    fn now(&self) -> Time;

    /// Waits until `due`; returns at once on a virtual clock.
    fn wait_until(&self, due: Time);

    /// CPU time of the calling thread so far, independent of other threads. Zero on a clock that
    /// does not time work.
    fn worked(&self) -> Time {
        Time::ZERO
    }
}

/// A clock that is set by hand and never waits: a recorded hour takes as long as its computation.
#[derive(Debug, Default)]
pub struct VirtualClock {
    now: Mutex<Time>,
}

impl VirtualClock {
    pub fn set(&self, now: Time) {
        *self.now.lock() = now;
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Time {
        *self.now.lock()
    }

    fn wait_until(&self, _due: Time) {}
}
