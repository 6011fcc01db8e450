//! Measures how long a model's server stalled, which its clock cannot show: commands that waited in
//! the kernel meanwhile arrive, by that clock, only when the server resumes.
//!
//! A thread with the rank of the answering threads sleeps repeatedly; if it wakes late, so do the
//! others. A machine whose clock stops together with it remains undetected.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Length of a sleep.
const TICK: Duration = Duration::from_millis(20);

/// A longer delay is no ordinary wait for a CPU, and counts in full.
const LATE_MIN: Duration = Duration::from_millis(50);

/// The thread that watches this process's clock; it ends when this is dropped.
pub struct StallWatch {
    seen: Arc<Mutex<Seen>>,
    _stop: Sender<()>,
}

#[derive(Debug)]
struct Seen {
    stalled: Duration,
    due: Instant,
}

impl StallWatch {
    /// Starts the thread.
    pub fn watch() -> std::io::Result<StallWatch> {
        let seen = Seen { stalled: Duration::ZERO, due: Instant::now() + TICK };
        let seen = Arc::new(Mutex::new(seen));
        let (stop, stopped) = channel();
        let ticking = Arc::clone(&seen);
        let tick = move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                ticking.lock().woken(Instant::now());
            }
        };
        std::thread::Builder::new().name("stall".into()).spawn(tick)?;
        Ok(StallWatch { seen, _stop: stop })
    }

    /// Total stall so far, including one that has just ended.
    pub fn so_far(&self) -> Duration {
        self.seen.lock().by(Instant::now())
    }
}

impl Seen {
    fn woken(&mut self, now: Instant) {
        *self = Seen { stalled: self.by(now), due: now + TICK };
    }

    fn by(&self, now: Instant) -> Duration {
        let late = now.saturating_duration_since(self.due);
        self.stalled + if late >= LATE_MIN { late } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_much_later_than_asked_counts_and_counts_once() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut seen = Seen { stalled: Duration::ZERO, due: at(20) };
        seen.woken(at(69));
        assert_eq!(seen.stalled, Duration::ZERO);
        // Due at 89: a status requested before the thread wakes includes the stall.
        let four_s = Duration::from_secs(4);
        assert_eq!(seen.by(at(4089)), four_s);
        seen.woken(at(4089));
        assert_eq!((seen.stalled, seen.by(at(4100))), (four_s, four_s));
    }
}
