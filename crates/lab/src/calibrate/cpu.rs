//! Share of the CPUs that a program gets if it wants all of them, and the owners of the rest.
//!
//! Stolen time shows only while somebody wants to run, so a thread spins on each CPU; what is not
//! the spinning of these is somebody else's.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_ports::cpu::{available, bind_thread};
use assay_study::{Calibration, CpuUse};
use rustix::time::{ClockId, clock_gettime};

use crate::monitor::{CpuSeconds, cpu_seconds, quota_cpus, throttled_s};

/// Long enough for the ticks of `/proc/stat`, of 10 ms, to tell half a percent.
const SPIN: Duration = Duration::from_millis(1500);

/// Counters at one moment.
struct Moment {
    at: Instant,
    machine: CpuSeconds,
    /// CPU time of this process, in seconds.
    own_s: f64,
    throttled_s: Option<f64>,
}

impl Moment {
    fn now(cpus: &[usize]) -> Result<Moment> {
        let own = clock_gettime(ClockId::ProcessCPUTime);
        Ok(Moment {
            at: Instant::now(),
            machine: cpu_seconds(cpus).context("cannot read /proc/stat")?,
            own_s: own.tv_sec as f64 + own.tv_nsec as f64 / 1e9,
            throttled_s: throttled_s(),
        })
    }
}

/// The part of a calibration that is about CPUs.
///
/// # Errors
/// They cannot be counted, or `/proc/stat` cannot be read.
pub(super) fn calibrate() -> Result<Calibration> {
    let cpus = available().context("cannot determine the CPUs")?;
    let before = Moment::now(&cpus)?;
    spin(&cpus);
    let cpu = cpu_use(&before, &Moment::now(&cpus)?, cpus.len());
    Ok(Calibration {
        cpus: cpus.len() as u32,
        cpu_granted_percent: (100.0 - cpu.lost_percent()).max(0.0),
        cpu,
        quota_cpus: quota_cpus(),
        ..Calibration::default()
    })
}

fn spin(cpus: &[usize]) {
    let until = Instant::now() + SPIN;
    thread::scope(|scope| {
        for &cpu in cpus {
            scope.spawn(move || {
                // Without permission to bind threads, the kernel spreads them.
                let _ = bind_thread(&[cpu]);
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
            });
        }
    });
}

fn cpu_use(before: &Moment, after: &Moment, cpus: usize) -> CpuUse {
    let all_s = (after.machine.all_s - before.machine.all_s).max(f64::MIN_POSITIVE);
    let percent = |seconds: f64, of: f64| (seconds / of * 100.0).clamp(0.0, 100.0);
    let worked_s = after.machine.worked_s - before.machine.worked_s;
    let wall_s = (after.at - before.at).as_secs_f64() * cpus as f64;
    let throttled_s =
        after.throttled_s.zip(before.throttled_s).map_or(0.0, |(after, before)| after - before);
    let steal_percent = percent(after.machine.steal_s - before.machine.steal_s, all_s);
    CpuUse {
        busy_percent: percent(worked_s, all_s) + steal_percent,
        steal_percent,
        throttled_percent: percent(throttled_s, wall_s),
        others_percent: percent(worked_s - (after.own_s - before.own_s), all_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(
        at: Instant,
        worked_s: f64,
        steal_s: f64,
        all_s: f64,
        own_s: f64,
        throttled_s: f64,
    ) -> Moment {
        let machine = CpuSeconds { worked_s, steal_s, all_s };
        Moment { at, machine, own_s, throttled_s: Some(throttled_s) }
    }

    #[test]
    fn what_was_not_our_own_is_shared_out_among_those_who_had_it() {
        let began = Instant::now();
        let before = moment(began, 100.0, 5.0, 400.0, 1.0, 0.0);
        // Two CPUs for a second: 1.7 s of work, of which 1.5 are ours, 0.2 stolen, 0.1 idle, 0.08
        // throttled.
        let after = moment(began + Duration::from_secs(1), 101.7, 5.2, 402.0, 2.5, 0.08);
        let found = cpu_use(&before, &after, 2);
        let rounded = |percent: f64| (percent * 10.0).round() / 10.0;
        assert_eq!(rounded(found.steal_percent), 10.0);
        assert_eq!(rounded(found.others_percent), 10.0);
        assert_eq!(rounded(found.throttled_percent), 4.0);
        assert_eq!(rounded(found.lost_percent()), 24.0);
    }

    #[test]
    fn this_machine_grants_something() {
        let found = calibrate().unwrap();
        assert!(found.cpus > 0 && found.cpu_granted_percent > 1.0, "{found:?}");
        assert!(found.cpu_granted_percent <= 100.0, "{found:?}");
    }
}
