//! Real time for models: the monotonic clock, and waiting that ends on time.

use std::num::NonZeroU64;

use assay_drive::model::{Clock, Time};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{Timespec, clock_gettime};

/// The time since the machine came up, on which a waiting thread sleeps.
///
/// Waiting never ends early. It sleeps to an absolute time, so that being woken late does not add up, and takes no
/// processor meanwhile.
#[derive(Debug, Clone, Copy, Default)]
pub struct PacedClock;

const NS_PER_S: u64 = 1_000_000_000;

impl Clock for PacedClock {
    fn now(&self) -> Time {
        let time = clock_gettime(ClockId::Monotonic);
        Time::from_ns(time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64)
    }

    fn wait_until(&self, due: Time) {
        if due <= self.now() {
            return;
        }
        wake_on_time();
        let time = Timespec {
            tv_sec: (due.as_ns() / NS_PER_S) as i64,
            tv_nsec: (due.as_ns() % NS_PER_S) as _,
        };
        while clock_nanosleep_absolute(ClockId::Monotonic, &time) == Err(Errno::INTR) {}
    }
}

/// Linux may wake a thread late by its timer slack, 50 µs unless set (`prctl(2)`, `PR_SET_TIMERSLACK`): as long as
/// an operation of a fast volume takes. Set once for each thread; where it cannot be, waking is that much later.
fn wake_on_time() {
    thread_local! {
        static IS_SET: () = {
            let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
        };
    }
    IS_SET.with(|()| {});
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
        let clock = PacedClock;
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
        let (clock, began) = (PacedClock, Instant::now());
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
        Modelled::new(disk, Arc::new(PacedClock), Volume::new(limits, 1), promise)
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
