//! Whose time a model keeps.

use parking_lot::Mutex;

use super::time::Time;

/// Where time comes from and what waiting is.
pub trait Clock: Send + Sync {
    /// What time it is.
    fn now(&self) -> Time;

    /// Returns when `due` has come, or at once where nobody waits.
    fn wait_until(&self, due: Time);

    /// CPU time that the calling thread has used so far: what its work takes however many others want its CPU. Zero
    /// where nobody's work is timed.
    fn worked(&self) -> Time {
        Time::ZERO
    }
}

/// A clock that is set by hand and on which nobody waits: a recorded hour goes by as fast as it can be computed.
#[derive(Debug, Default)]
pub struct VirtualClock {
    now: Mutex<Time>,
}

impl VirtualClock {
    /// Sets the time.
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
