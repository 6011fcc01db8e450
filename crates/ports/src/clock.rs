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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use assay_drive::model::volume::{Volume, VolumeLimits};
    use assay_drive::model::{Modelled, Rate};
    use assay_drive::{Disk, MemoryDisk};

    use super::*;

    const MS: Time = Time::from_ns(1_000_000);

    #[test]
    fn waiting_ends_after_its_time_and_mostly_soon_after() {
        let clock = PacedClock::new();
        let late = (0..50).map(|i| {
            let due = clock.now() + Time::from_ns(1_000_000 + i);
            clock.wait_until(due);
            let now = clock.now();
            assert!(now >= due, "woken {:?} before the time", due - now);
            now - due
        });
        let least_late = late.min().unwrap();
        assert!(least_late < MS * 20, "never less than {least_late:?} late");
    }

    #[test]
    fn what_has_come_is_not_waited_for() {
        let (clock, began) = (PacedClock::new(), Instant::now());
        for _ in 0..1000 {
            clock.wait_until(clock.now());
            clock.wait_until(Time::ZERO);
        }
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    fn limited(operations_per_s: f64) -> Modelled<Volume> {
        let disk = Arc::new(MemoryDisk::new(1 << 20).unwrap());
        let limits = VolumeLimits::only(Rate(operations_per_s), Rate(1e18), Time::ZERO);
        let promise = disk.promise();
        Modelled::new(disk, Arc::new(PacedClock::new()), Volume::new(limits, 1), promise)
    }

    #[test]
    fn no_more_goes_through_than_the_rate_whoever_asks() {
        let (threads, each, rate) = (4, 100, 2000.0);
        let disk = limited(rate);
        let began = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let disk = &disk;
                scope.spawn(move || {
                    for _ in 0..each {
                        disk.write(thread * 4096, &[thread as u8; 4096], false).unwrap();
                    }
                });
            }
        });
        let least = Duration::from_secs_f64((threads * each - 1) as f64 / rate);
        assert!(began.elapsed() >= least, "{:?} for {least:?}", began.elapsed());
        let mut data = [0; 4096];
        disk.read(3 * 4096, &mut data).unwrap();
        assert_eq!(data, [3; 4096]);
    }

    #[test]
    fn flushes_and_discards_are_free() {
        let disk = limited(0.01);
        disk.write(0, &[1; 4096], false).unwrap();
        let began = Instant::now();
        for _ in 0..1000 {
            disk.flush().unwrap();
            disk.discard(0, 4096).unwrap();
        }
        // Were either limited, this would take a day.
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
