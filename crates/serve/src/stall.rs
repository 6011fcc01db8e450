//! How long a model's server stalled: what nobody else can tell, for commands that wait in the kernel meanwhile come, by
//! the model's clock, only when it goes on.
//!
//! A thread of the rank of those that answer asks to be woken again and again; what it wakes later than that, the others do,
//! too. A machine whose clock stands still with it is not found out.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often it asks to be woken.
const TICK: Duration = Duration::from_millis(20);

/// What is later than this is no ordinary wait for a CPU; it counts in full.
const LATE_MIN: Duration = Duration::from_millis(50);

/// The thread that watches this process's own clock; it ends when this is dropped.
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
    /// Begins to watch.
    ///
    /// # Errors
    /// No thread could be started.
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

    /// For how long it stalled so far, a stall that has just ended included.
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
        // Due at 89: a status that is asked for before the thread is woken has it already.
        let four_s = Duration::from_secs(4);
        assert_eq!(seen.by(at(4089)), four_s);
        seen.woken(at(4089));
        assert_eq!((seen.stalled, seen.by(at(4100))), (four_s, four_s));
    }
}
