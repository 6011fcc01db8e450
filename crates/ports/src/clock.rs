//! Real time for models: the monotonic clock, and waits that end on time.
//!
//! A sleeping thread is woken late: on a small virtual machine by 20 to 50 µs, the full latency of
//! a fast device. So a clock measures how late wake-ups usually are, wakes its threads that much
//! earlier, and spins for the rest: a few microseconds of each wait, not a core.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use assay_models::{Clock, Time};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{Timespec, clock_gettime};

const NS_PER_S: u64 = 1_000_000_000;

/// Number of sleeps with which a clock measures its lateness at the start, and their length.
const SLEEPS: usize = 100;
const SLEEP: Duration = Duration::from_micros(200);

/// Upper bound of the lead, in nanoseconds: on a machine that is busy otherwise, lateness is not
/// typical.
const LEAD_NS_MAX: u64 = 60_000;

/// Steps by which the estimate moves after a sleep that was later, and after one that was not, in
/// nanoseconds: three to one keeps it at the third quartile (a stochastic approximation of the
/// quantile; Robbins and Monro, "A stochastic approximation method", 1951).
const LATER_NS: u64 = 600;
const SOONER_NS: u64 = 200;

/// A longer sleep lets the CPU go to a deeper idle state, from which it returns more slowly.
const LONG_NS: u64 = 500_000;

/// The time since this value was made. A waiting thread sleeps to absolute times, so that late
/// wake-ups do not add up. Waits never end early.
#[derive(Debug)]
pub struct PacedClock {
    began_ns: u64,
    /// Typical lateness after short and after long sleeps, in nanoseconds.
    lead_ns: [AtomicU64; 2],
}

impl PacedClock {
    /// Starts at time zero, after measuring the lateness of this machine, which takes some 20 ms.
    #[must_use]
    pub fn new() -> PacedClock {
        let clock = PacedClock { began_ns: monotonic_ns(), lead_ns: Default::default() };
        let late = wake_up_lateness(SLEEPS);
        let usual = (late[SLEEPS * 3 / 4].as_nanos() as u64).min(LEAD_NS_MAX);
        clock.lead_ns.iter().for_each(|lead| lead.store(usual, Ordering::Relaxed));
        clock
    }

    /// Sleeps until shortly before `due_ns`, and learns from the wake-up.
    fn sleep_towards(&self, due_ns: u64) {
        let now_ns = monotonic_ns();
        let is_long = due_ns.saturating_sub(now_ns) >= LONG_NS;
        let usual = &self.lead_ns[usize::from(is_long)];
        let lead_ns = usual.load(Ordering::Relaxed);
        let early_ns = due_ns.saturating_sub(lead_ns);
        if early_ns <= now_ns {
            return;
        }
        sleep_until_ns(early_ns);
        let late_ns = monotonic_ns().saturating_sub(early_ns);
        // A concurrent update may be lost here, which is harmless.
        usual.store(learned(lead_ns, late_ns), Ordering::Relaxed);
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

    fn worked(&self) -> Time {
        Time::from_ns(nanoseconds(clock_gettime(ClockId::ThreadCPUTime)))
    }

    fn wait_until(&self, due: Time) {
        if due <= self.now() {
            return;
        }
        self.sleep_towards(self.began_ns.saturating_add(due.as_ns()));
        while self.now() < due {
            std::hint::spin_loop();
        }
    }
}

/// Lateness of a thread that sleeps 200 µs `sleeps` times, ascending.
#[must_use]
pub fn wake_up_lateness(sleeps: usize) -> Vec<Duration> {
    let lateness = |_| {
        let due_ns = monotonic_ns() + SLEEP.as_nanos() as u64;
        sleep_until_ns(due_ns);
        Duration::from_nanos(monotonic_ns().saturating_sub(due_ns))
    };
    let mut late: Vec<Duration> = (0..sleeps).map(lateness).collect();
    late.sort_unstable();
    late
}

fn learned(lead_ns: u64, late_ns: u64) -> u64 {
    match late_ns > lead_ns {
        true => (lead_ns + LATER_NS).min(LEAD_NS_MAX),
        false => lead_ns.saturating_sub(SOONER_NS),
    }
}

fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

fn sleep_until_ns(ns: u64) {
    wake_on_time();
    let time = Timespec { tv_sec: (ns / NS_PER_S) as i64, tv_nsec: (ns % NS_PER_S) as _ };
    while clock_nanosleep_absolute(ClockId::Monotonic, &time) == Err(Errno::INTR) {}
}

/// Reduces the timer slack, by which Linux may wake a thread late: 50 µs unless set (`prctl(2)`,
/// `PR_SET_TIMERSLACK`), the latency of a fast volume. Set once per thread; if that fails, wake-ups
/// are that much later.
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

    use assay_disk::{Disk, MemoryDisk};
    use assay_models::volume::{VolumeLimits, VolumeTiming};
    use assay_models::{Modelled, Rate};

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
    fn what_is_usual_is_where_three_in_four_are_not_later() {
        // Lateness from 0 to 40 µs, evenly distributed, in an order in which neighbours differ.
        let late = |step: u64| step * 7919 % 40_000;
        let usual = (0..100_000).fold(0, |usual, step| learned(usual, late(step)));
        assert!((28_000..32_000).contains(&usual), "{usual}");
        assert_eq!((0..1000).fold(0, |usual, _| learned(usual, 1_000_000)), LEAD_NS_MAX);
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

    fn limited(operations_per_s: f64) -> Modelled<VolumeTiming> {
        let disk = Arc::new(MemoryDisk::new(1 << 20).unwrap());
        let limits = VolumeLimits::only(Rate(operations_per_s), Rate(1e18), Time::ZERO);
        let guarantees = disk.guarantees();
        Modelled::new(disk, Arc::new(PacedClock::new()), VolumeTiming::new(limits, 1), guarantees)
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
        // With either limit, this would take a day.
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
