//! The clock of a run, and its measuring window.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::record::Phase;
use crate::schedule::SECOND_NS;
use crate::turns::Turns;

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

    /// Its zero, in ns of the Unix epoch by the system's current clock.
    pub(crate) fn epoch_ns(&self) -> u64 {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (unix.as_nanos() as u64).saturating_sub(self.now())
    }

    /// The instant `ns`; `None` for `u64::MAX`, which is never.
    pub(crate) fn instant(&self, ns: u64) -> Option<Instant> {
        if ns == u64::MAX { None } else { self.origin.checked_add(Duration::from_nanos(ns)) }
    }
}

/// Start and end of measuring, and end of the load, in ns of the clock. All may be set while the
/// load runs.
#[derive(Debug)]
pub(crate) struct Window {
    start: AtomicU64,
    end: AtomicU64,
    stop: AtomicU64,
    turns: Option<Turns>,
}

impl Window {
    /// A window that has not started and has no end.
    pub(crate) fn new(turns: Option<Turns>) -> Window {
        let never = || AtomicU64::new(u64::MAX);
        Window { start: never(), end: never(), stop: never(), turns }
    }

    pub(crate) fn start(&self) -> u64 {
        self.start.load(Ordering::Relaxed)
    }

    /// No event starts from this time on.
    pub(crate) fn stop(&self) -> u64 {
        self.stop.load(Ordering::Relaxed)
    }

    /// Events that end from this time on are not measured.
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
        } else if ns >= self.end() {
            Phase::Late
        } else if self.turns.is_none_or(|turns| turns.counts(ns, self.start())) {
            Phase::Measure
        } else {
            Phase::Between
        }
    }

    /// The instant at which a worker that is free at `ns` may start an event.
    #[inline]
    pub(crate) fn next_turn(&self, ns: u64) -> u64 {
        self.turns.map_or(ns, |turns| turns.next(ns, self.start()))
    }

    /// The measured time until `end`, in ns.
    pub(crate) fn counted(&self, start: u64, end: u64) -> u64 {
        match self.turns {
            Some(turns) => turns.counted_ns(start, end),
            None => end.saturating_sub(start),
        }
    }
}
