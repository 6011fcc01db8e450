//! Real time, for models.
//!
//! A thread that sleeps is woken late: on a small virtual machine by some 20 µs, as long as a fast device takes in all. So a
//! clock finds out when it is made how late that usually is, has its threads woken that much earlier, and spends what is
//! left of that, should they be early, awake: a few microseconds of each wait, not a core.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use assay_drive::model::{Clock, Time};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{Timespec, clock_gettime};

/// Sleeps by which a clock finds out how late it wakes, and how long they are.
const SLEEPS: usize = 50;
const SLEEP: Duration = Duration::from_micros(200);

/// The most that threads are woken earlier: on a machine that is busy otherwise being late is not usual but bad luck.
const LEAD_MAX: Duration = Duration::from_micros(50);

/// The machine's monotonic clock, from when this was made; who waits sleeps.
#[derive(Debug)]
pub struct PacedClock {
    began_ns: u64,
    lead: Time,
}

impl PacedClock {
    /// Begins at no time, once it is known how late this machine wakes.
    #[must_use]
    pub fn new() -> PacedClock {
        let began_ns = monotonic_ns();
        let mut late: Vec<u64> = (0..SLEEPS).map(|_| late_ns(SLEEP)).collect();
        late.sort_unstable();
        let lead = Duration::from_nanos(late[SLEEPS / 2]).min(LEAD_MAX);
        PacedClock { began_ns, lead: Time::from(lead) }
    }

    fn sleep_until(&self, time: Time) {
        sleep_until_ns(self.began_ns + time.as_ns());
    }
}

impl Default for PacedClock {
    fn default() -> PacedClock {
        PacedClock::new()
    }
}

impl Clock for PacedClock {
    fn now(&self) -> Time {
        Time::from_ns(monotonic_ns() - self.began_ns)
    }

    fn wait_until(&self, due: Time) {
        if due <= self.now() {
            return;
        }
        let early = due - self.lead;
        if early > self.now() {
            self.sleep_until(early);
        }
        while self.now() < due {
            std::hint::spin_loop();
        }
    }
}

fn late_ns(span: Duration) -> u64 {
    let due = Instant::now() + span;
    sleep_until_ns(monotonic_ns() + span.as_nanos() as u64);
    Instant::now().saturating_duration_since(due).as_nanos() as u64
}

fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn sleep_until_ns(ns: u64) {
    wake_on_time();
    let time = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
    while clock_nanosleep_absolute(ClockId::Monotonic, &time) == Err(Errno::INTR) {}
}

/// Linux may wake a thread late by its timer slack, 50 µs unless set (`prctl(2)`, `PR_SET_TIMERSLACK`). Set once for each
/// thread; where it cannot be, waking is that much later.
fn wake_on_time() {
    thread_local! {
        static IS_SET: Cell<bool> = const { Cell::new(false) };
    }
    if !IS_SET.replace(true) {
        let _ = set_current_timer_slack(NonZeroU64::new(1));
    }
}
