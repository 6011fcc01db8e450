//! A disk that lets through no more than was paid for: operations and bytes a second, as a cloud volume does.
//!
//! A read or a write counts as one operation for each [`Limits::bytes_per_operation`] or part of it. Flushes and
//! discards are free and do not wait. A command waits before it reaches the disk below, in the order in which
//! commands came, and pays after it was let through: from rest the first goes at once, however large.

use std::num::{NonZeroU64, NonZeroU128};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_drive::{Disk, Promise, Result};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{Timespec, clock_gettime};

/// What is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Operations a second, reads and writes together.
    pub operations_per_s: NonZeroU64,
    /// Bytes a second, reads and writes together.
    pub bytes_per_s: NonZeroU64,
    /// The most bytes that count as one operation. AWS counts 256 KiB for its SSD volumes ("Amazon EBS I/O
    /// characteristics and monitoring").
    pub bytes_per_operation: NonZeroU64,
    /// How long a rest is made up for: after one at least this long, this much time's worth goes at once. Without any,
    /// a command whose thread is woken late is lost to the rate; 10 ms make up for that.
    pub burst: Duration,
}

/// A disk over a disk that keeps within [`Limits`].
pub struct LimitedDisk {
    disk: Arc<dyn Disk>,
    schedule: Mutex<Schedule>,
}

impl LimitedDisk {
    /// Limits `disk`.
    #[must_use]
    pub fn new(disk: Arc<dyn Disk>, limits: Limits) -> LimitedDisk {
        LimitedDisk { disk, schedule: Mutex::new(Schedule::new(limits)) }
    }

    fn wait_for_turn(&self, bytes: usize) {
        let turn = {
            let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
            schedule.turn(now(), bytes as u64)
        };
        sleep_until(turn);
    }
}

impl Disk for LimitedDisk {
    fn size(&self) -> u64 {
        self.disk.size()
    }

    fn promise(&self) -> Promise {
        self.disk.promise()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.wait_for_turn(data.len());
        self.disk.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        self.wait_for_turn(data.len());
        self.disk.write(offset, data, force_unit_access)
    }

    fn flush(&self) -> Result<()> {
        self.disk.flush()
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.disk.discard(offset, length)
    }
}

/// When each command may go. All times are picoseconds of one clock: at three million operations a second,
/// nanoseconds would round the rate by a thousandth.
#[derive(Debug)]
struct Schedule {
    limits: Limits,
    /// When everything let through so far is paid for.
    operations_paid_at: u128,
    bytes_paid_at: u128,
}

const PICOSECONDS_PER_S: u128 = 1_000_000_000_000;

impl Schedule {
    fn new(limits: Limits) -> Schedule {
        Schedule { limits, operations_paid_at: 0, bytes_paid_at: 0 }
    }

    /// The time at which a command of `bytes` that came at `now` may go.
    ///
    /// This is the generic cell rate algorithm in its virtual scheduling form (ITU-T I.371, annex A), once for
    /// operations and once for bytes: in any time T, no more goes than the rate × (T + burst), and one command.
    fn turn(&mut self, now: u128, bytes: u64) -> u128 {
        let burst = self.limits.burst.as_nanos() * 1000;
        let operations = bytes.div_ceil(self.limits.bytes_per_operation.get()).max(1);
        let mut turn = now;
        for (paid_at, amount, rate) in [
            (&mut self.operations_paid_at, operations, self.limits.operations_per_s),
            (&mut self.bytes_paid_at, bytes, self.limits.bytes_per_s),
        ] {
            turn = turn.max(paid_at.saturating_sub(burst));
            let cost = u128::from(amount) * PICOSECONDS_PER_S / NonZeroU128::from(rate);
            *paid_at = now.max(*paid_at) + cost;
        }
        turn
    }
}

/// The monotonic clock, in picoseconds.
fn now() -> u128 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u128 * 1_000_000_000 + time.tv_nsec as u128) * 1000
}

/// Sleeps to an absolute time, so that being woken late does not add up.
fn sleep_until(picoseconds: u128) {
    if picoseconds <= now() {
        return;
    }
    wake_on_time();
    let nanoseconds = picoseconds.div_ceil(1000);
    let time = Timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as _,
    };
    while clock_nanosleep_absolute(ClockId::Monotonic, &time) == Err(Errno::INTR) {}
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
    use std::time::Instant;

    use assay_drive::MemoryDisk;

    use super::*;

    const KIB: u64 = 1024;
    const MILLISECOND: u128 = PICOSECONDS_PER_S / 1000;

    fn limits(operations_per_s: u64, bytes_per_s: u64, burst_ms: u64) -> Limits {
        Limits {
            operations_per_s: NonZeroU64::new(operations_per_s).unwrap(),
            bytes_per_s: NonZeroU64::new(bytes_per_s).unwrap(),
            bytes_per_operation: NonZeroU64::new(256 * KIB).unwrap(),
            burst: Duration::from_millis(burst_ms),
        }
    }

    fn turns(limits: Limits, start: u128, sizes: &[u64]) -> Vec<u128> {
        let mut schedule = Schedule::new(limits);
        sizes.iter().map(|&bytes| (schedule.turn(start, bytes) - start) / MILLISECOND).collect()
    }

    #[test]
    fn operations_go_one_by_one_and_large_ones_count_for_several() {
        let limits = limits(1000, u64::MAX, 0);
        assert_eq!(turns(limits, 7 * MILLISECOND, &[4 * KIB; 4]), [0, 1, 2, 3]);
        let sizes = [256 * KIB, 256 * KIB + 4096, 1024 * KIB, 0, 4 * KIB];
        assert_eq!(turns(limits, MILLISECOND, &sizes), [0, 1, 3, 7, 8]);
    }

    #[test]
    fn bytes_are_limited_beside_operations() {
        // 1000 KiB/s: 100 KiB take a tenth of a second whatever the operations allow.
        let limits = limits(1000, 1000 * KIB, 0);
        let sizes = [100 * KIB, 4 * KIB, 4 * KIB, 4 * KIB];
        assert_eq!(turns(limits, MILLISECOND, &sizes), [0, 100, 104, 108]);
    }

    #[test]
    fn a_rest_is_made_up_for_but_no_longer_than_the_burst() {
        let mut schedule = Schedule::new(limits(1000, u64::MAX, 3));
        let mut turns = |now: u128| -> Vec<u128> {
            (0..6).map(|_| schedule.turn(now * MILLISECOND, 4096) / MILLISECOND - now).collect()
        };
        assert_eq!(turns(1_000), [0, 0, 0, 0, 1, 2]);
        // Two of the six are still to be paid for when half of the rest is over.
        assert_eq!(turns(1_004), [0, 0, 1, 2, 3, 4]);
        assert_eq!(turns(9_000), [0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn rates_that_do_not_divide_a_second_do_not_drift() {
        let mut schedule = Schedule::new(limits(3_000_000, u64::MAX, 0));
        let last = (0..=30_000_000).map(|_| schedule.turn(0, 4096)).last().unwrap();
        let error = (10 * PICOSECONDS_PER_S).abs_diff(last);
        assert!(error < 10 * PICOSECONDS_PER_S / 100_000, "{error} ps off in 10 s");
    }

    #[test]
    fn no_more_goes_through_than_the_rate_whoever_asks() {
        let (threads, each, rate) = (4, 100, 2000);
        let disk = Arc::new(MemoryDisk::new(1 << 20).unwrap());
        let disk = LimitedDisk::new(disk, limits(rate, u64::MAX, 0));
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
        let least = Duration::from_secs_f64((threads * each - 1) as f64 / rate as f64);
        assert!(began.elapsed() >= least, "{:?} for {least:?}", began.elapsed());
        let mut data = [0; 4096];
        disk.read(3 * 4096, &mut data).unwrap();
        assert_eq!(data, [3; 4096]);
    }

    #[test]
    fn sleeping_ends_after_its_time_and_mostly_soon_after() {
        let late = (0..50).map(|_| {
            let due = now() + MILLISECOND;
            sleep_until(due);
            now().checked_sub(due).expect("woken before the time")
        });
        let least_late = late.min().unwrap();
        assert!(least_late < 20 * MILLISECOND, "never less than {least_late} ps late");
    }

    #[test]
    fn flushes_and_discards_are_free() {
        let disk = Arc::new(MemoryDisk::new(1 << 20).unwrap());
        let disk = LimitedDisk::new(disk, limits(1, 1, 0));
        disk.write(0, &[1; 4096], false).unwrap();
        let began = Instant::now();
        for _ in 0..1000 {
            disk.flush().unwrap();
            disk.discard(0, 4096).unwrap();
        }
        // Were either limited, this would take a quarter of an hour.
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
