//! Terminating signals: the first asks for an orderly end, a second one sent on purpose ends the
//! process at once.
//!
//! Ctrl-C, Ctrl-\ and `SIGTERM` count. So does a closed terminal (`SIGHUP`), but it never ends the
//! process at once: shell and kernel both send it. Signals within [`BURST_MS`] of the first count
//! as the same request (`timeout(1)` signals a process and then its group).
//!
//! Guarantees: if `SIGHUP` was ignored when the process started (`nohup`), it stays ignored; before
//! the process is ended the terminal gets its modes back.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::terminal;

/// A signal closer to the first than this, in milliseconds, is no second one: shorter than a
/// person's reaction, longer than a program needs to send two.
const BURST_MS: u64 = 200;

/// Exit code after a second signal.
const EXIT_CODE: i32 = 2;

/// Message of a process that ends at once.
const LEFT: &str = "assay: ended at once; `assay clean` lists and removes what it left behind\n";

/// Records whether, and since when, an end is requested.
#[derive(Debug, Default)]
pub struct Stop {
    wanted: AtomicBool,
    /// Monotonic time of the first request in milliseconds; zero before.
    asked_ms: AtomicU64,
}

impl Stop {
    /// Set as soon as an end is requested.
    #[must_use]
    pub fn flag(&self) -> &AtomicBool {
        &self.wanted
    }

    /// Sets the flag, as a first Ctrl-C does.
    pub fn ask(&self) {
        self.is_asked_again(now_ms());
    }

    /// Installs the signal handlers.
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
            // SAFETY: the action uses atomics, `clock_gettime`, what `restore` uses, `write` and
            // `_exit`, all of which `signal-safety(7)` lists; it takes no lock, allocates nothing
            // and cannot panic.
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

    /// Records a request; returns true for a second one.
    fn is_asked_again(&self, now_ms: u64) -> bool {
        self.wanted.store(true, Ordering::SeqCst);
        let now_ms = now_ms.max(1);
        let first = self.asked_ms.compare_exchange(0, now_ms, Ordering::SeqCst, Ordering::SeqCst);
        first.is_err_and(|first_ms| now_ms.saturating_sub(first_ms) >= BURST_MS)
    }
}

/// Ends this process immediately, with a message about its resources. Safe in a signal handler.
pub fn end_at_once() -> ! {
    terminal::restore();
    // A failure to write cannot be reported.
    let _ = rustix::io::write(rustix::stdio::stderr(), LEFT.as_bytes());
    signal_hook::low_level::exit(EXIT_CODE)
}

/// Returns true if this process ignores `signal` (`proc(5)`, `SigIgn`: bit n − 1 is signal n).
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
        // If one of them ended the process, the test would fail.
        for _ in 0..3 {
            signal_hook::low_level::raise(SIGHUP).unwrap();
        }
        assert!(stop.flag().load(Ordering::SeqCst));
        assert!(!stop.is_asked_again(now_ms()), "who then asks asks for the first time");
    }

    #[test]
    fn what_is_ignored_is_read_from_the_kernels_mask() {
        // Rust programs start with SIGPIPE ignored (std::process).
        assert!(is_ignored(signal_hook::consts::SIGPIPE));
        assert!(!is_ignored(SIGTERM));
    }
}
