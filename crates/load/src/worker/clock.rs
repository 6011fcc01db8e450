//! The clock of a run and the window that is measured on it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::record::Phase;
use crate::schedule::SECOND_NS;

/// The number of the second that holds `ns`.
pub(crate) fn second_of(ns: u64) -> u64 {
    ns / SECOND_NS
}

/// Nanoseconds since an origin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn from(origin: Instant) -> Clock {
        Clock { origin }
    }

    pub(crate) fn starting_now() -> Clock {
        Clock { origin: Instant::now() }
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Its zero, in ns of the Unix epoch, as the system's clock has it now.
    pub(crate) fn epoch_ns(&self) -> u64 {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (unix.as_nanos() as u64).saturating_sub(self.now())
    }

    /// When it is `ns`; nothing for what is never.
    pub(crate) fn instant(&self, ns: u64) -> Option<Instant> {
        if ns == u64::MAX { None } else { self.origin.checked_add(Duration::from_nanos(ns)) }
    }
}

/// From when to when is measured and when the load ends, in ns of the clock. All may be set while it runs.
#[derive(Debug)]
pub(crate) struct Window {
    start: AtomicU64,
    end: AtomicU64,
    stop: AtomicU64,
}

impl Window {
    /// Not begun and without end.
    pub(crate) fn new() -> Window {
        let never = || AtomicU64::new(u64::MAX);
        Window { start: never(), end: never(), stop: never() }
    }

    pub(crate) fn start(&self) -> u64 {
        self.start.load(Ordering::Relaxed)
    }

    /// No event starts from here on.
    pub(crate) fn stop(&self) -> u64 {
        self.stop.load(Ordering::Relaxed)
    }

    /// What ends from here on is not measured.
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    pub(crate) fn set_start(&self, ns: u64) {
        self.start.store(ns, Ordering::Relaxed);
    }

    pub(crate) fn set_stop(&self, ns: u64) {
        self.stop.store(ns, Ordering::Relaxed);
    }

    pub(crate) fn set_end(&self, ns: u64) {
        self.end.store(ns, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn phase(&self, ns: u64) -> Phase {
        if ns < self.start() {
            Phase::Warmup
        } else if ns < self.end() {
            Phase::Measure
        } else {
            Phase::Late
        }
    }
}
