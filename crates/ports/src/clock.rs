//! Real time, for models.

use std::cell::Cell;
use std::num::NonZeroU64;

use assay_drive::model::{Clock, Time};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{Timespec, clock_gettime};

/// The machine's monotonic clock; who waits sleeps.
#[derive(Debug, Default)]
pub struct PacedClock;

impl Clock for PacedClock {
    fn now(&self) -> Time {
        let time = clock_gettime(ClockId::Monotonic);
        Time::from_ns(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    fn wait_until(&self, due: Time) {
        thread_local! {
            static IS_SET: Cell<bool> = const { Cell::new(false) };
        }
        if due <= self.now() {
            return;
        }
        if !IS_SET.replace(true) {
            let _ = set_current_timer_slack(NonZeroU64::new(1));
        }
        let ns = due.as_ns();
        let time =
            Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
        while clock_nanosleep_absolute(ClockId::Monotonic, &time) == Err(Errno::INTR) {}
    }
}
