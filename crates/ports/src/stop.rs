//! Signals that ask for an end: the first one asks, a second one that somebody meant ends the process at once.
//!
//! Ctrl-C, Ctrl-\ and `SIGTERM` ask. So does a terminal that is closed (`SIGHUP`), but it never ends the process at once: the shell
//! and the kernel both send it, and nobody is there who could want anything else. What comes within [`BURST_MS`] of the first
//! is the same wish told twice (`timeout(1)` signals a process and then its group).
//!
//! Guarantees: who ignored `SIGHUP` when the process began (`nohup`) goes on ignoring it; before the process is ended the terminal has
//! its modes back.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::terminal;

/// Signals that are closer to the first than this, in milliseconds, are no second one: below what a person who has seen the
/// first have no effect needs, above what a program needs to send two.
const BURST_MS: u64 = 200;

/// With what a process ends that was asked twice.
const EXIT_CODE: i32 = 2;

/// The output of a process that ends at once.
const LEFT: &str = "assay: ended at once; `assay clean` lists and removes what it left behind\n";

/// Whether, and since when, somebody wants an end.
#[derive(Debug, Default)]
pub struct Stop {
    wanted: AtomicBool,
    /// On the monotonic clock, in milliseconds; zero while nobody has.
    asked_ms: AtomicU64,
}

impl Stop {
    /// Set as soon as an end is wanted.
    #[must_use]
    pub fn flag(&self) -> &AtomicBool {
        &self.wanted
    }

    /// As if Ctrl-C had been pressed for the first time.
    pub fn ask(&self) {
        self.is_asked_again(now_ms());
    }

    /// Has the signals ask from now on.
    ///
    /// # Errors
    /// The handlers cannot be set.
    pub fn listen(self: &Arc<Stop>) -> io::Result<()> {
        for signal in [SIGINT, SIGQUIT, SIGTERM] {
            let stop = Arc::clone(self);
            let action = move || {
                if stop.is_asked_again(now_ms()) {
                    end_at_once();
                }
            };
            // SAFETY: the action uses atomics, `clock_gettime`, what `restore` uses, `write` and `_exit`, all of which
            // `signal-safety(7)` lists; it takes no lock, allocates nothing and cannot panic.
            #[allow(unsafe_code)]
            unsafe {
                signal_hook::low_level::register(signal, action)?;
            }
        }
        if !is_ignored(SIGHUP) {
            let stop = Arc::clone(self);
            let action = move || stop.wanted.store(true, Ordering::SeqCst);
            // SAFETY: the action stores to an atomic.
            #[allow(unsafe_code)]
            unsafe {
                signal_hook::low_level::register(SIGHUP, action)?;
            }
        }
        Ok(())
    }

    /// Notes that somebody asks; whether that is the second time.
    fn is_asked_again(&self, now_ms: u64) -> bool {
        self.wanted.store(true, Ordering::SeqCst);
        let now_ms = now_ms.max(1);
        let first = self.asked_ms.compare_exchange(0, now_ms, Ordering::SeqCst, Ordering::SeqCst);
        first.is_err_and(|first_ms| now_ms.saturating_sub(first_ms) >= BURST_MS)
    }
}

/// Ends this process, whatever it waits for, and says what becomes of what it made. Safe in a signal handler.
pub fn end_at_once() -> ! {
    terminal::restore();
    // Nobody is there to be told that it cannot be said.
    let _ = rustix::io::write(rustix::stdio::stderr(), LEFT.as_bytes());
    signal_hook::low_level::exit(EXIT_CODE)
}

/// Whether this process ignores `signal` (`proc(5)`, `SigIgn`: bit n − 1 is signal n).
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (1..=64).contains(&signal) && mask & (1 << (signal - 1)) != 0
}

fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned().saturating_mul(1000) + now.tv_nsec.cast_unsigned() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_asks_once_and_a_later_signal_again() {
        let stop = Stop::default();
        assert!(!stop.flag().load(Ordering::SeqCst));
        assert!(!stop.is_asked_again(5000), "the first asks");
        assert!(stop.flag().load(Ordering::SeqCst));
        assert!(!stop.is_asked_again(5000 + BURST_MS - 1), "the same wish told twice");
        assert!(stop.is_asked_again(5000 + BURST_MS));
    }

    #[test]
    fn closing_the_terminal_asks_and_is_never_a_second_time() {
        let stop = Arc::new(Stop::default());
        stop.listen().unwrap();
        if is_ignored(SIGHUP) {
            return;
        }
        // Were one of them to end the process, no test of this program would pass.
        for _ in 0..3 {
            signal_hook::low_level::raise(SIGHUP).unwrap();
        }
        assert!(stop.flag().load(Ordering::SeqCst));
        assert!(!stop.is_asked_again(now_ms()), "who then asks asks for the first time");
    }

    #[test]
    fn what_is_ignored_is_read_from_the_kernels_mask() {
        // Rust programs begin with SIGPIPE ignored (std::process).
        assert!(is_ignored(signal_hook::consts::SIGPIPE));
        assert!(!is_ignored(SIGTERM));
    }
}
