//! Repeats tests that measure time if the hypervisor took CPU time meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::skip::{note, own_name};

/// Number of attempts, if every failure came on a disturbed machine.
const ATTEMPTS_MOST: u32 = 3;

/// Share of CPU time that the hypervisor may take during a test, in percent. The tests' bounds for
/// models and load leave about 10 % on either side.
const STEAL_PERCENT_MOST: f64 = 3.0;

/// Runs a test that measures. A failure while the hypervisor took CPU time from the machine is
/// reported and the test is repeated, at most twice. A failure on a calm machine, and the last one,
/// count.
///
/// # Panics
/// As `test` does.
pub fn calm<T>(test: impl FnMut() -> T) -> T {
    let mut before = CpuTimes::now();
    let stolen_percent = || {
        let now = CpuTimes::now();
        let stolen = now.stolen_percent_since(&before);
        before = now;
        stolen
    };
    calm_by(test, stolen_percent, note)
}

/// Like [`calm`]. `stolen_percent` returns the share that the hypervisor took since the last call;
/// `report` receives a line for each attempt that is repeated.
fn calm_by<T>(
    mut test: impl FnMut() -> T,
    mut stolen_percent: impl FnMut() -> f64,
    report: impl Fn(&str),
) -> T {
    let mut attempt = 1;
    loop {
        let panic = match catch_unwind(AssertUnwindSafe(&mut test)) {
            Ok(measured) => return measured,
            Err(panic) => panic,
        };
        let stolen = stolen_percent();
        if stolen <= STEAL_PERCENT_MOST || attempt == ATTEMPTS_MOST {
            resume_unwind(panic);
        }
        attempt += 1;
        report(&format!(
            "DISTURBED: the hypervisor took {stolen:.0} % of the CPU time during {}; attempt \
             {attempt} follows",
            own_name()
        ));
    }
}

/// CPU time of the machine since its start, in ticks.
struct CpuTimes {
    all: u64,
    stolen: u64,
}

impl CpuTimes {
    fn now() -> CpuTimes {
        CpuTimes::of(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Reads the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal
    /// (proc(5)).
    fn of(stat: &str) -> CpuTimes {
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_ascii_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
        CpuTimes {
            all: ticks.iter().take(8).sum(),
            stolen: ticks.get(7).copied().unwrap_or_default(),
        }
    }

    fn stolen_percent_since(&self, before: &CpuTimes) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.stolen.saturating_sub(before.stolen) as f64 / all as f64 * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_all_cpu_time() {
        let before = CpuTimes::of("cpu  100 0 50 850 0 0 0 0 0 0\ncpu0 1 1 1 1");
        let after = CpuTimes::of("cpu  160 0 60 900 0 0 0 30 0 0");
        assert!((after.stolen_percent_since(&before) - 20.0).abs() < 1e-9);
    }

    /// Number of attempts of a test that always fails, if the hypervisor takes that share of the
    /// CPU time.
    fn attempts(stolen_percent: f64) -> u32 {
        let mut attempts = 0;
        let test = || {
            attempts += 1;
            panic!("as it is")
        };
        let failed =
            catch_unwind(AssertUnwindSafe(|| calm_by::<()>(test, || stolen_percent, |_| {})));
        assert!(failed.is_err());
        attempts
    }

    #[test]
    fn a_failure_stands_at_once_on_a_calm_machine_and_in_the_end_on_any() {
        assert_eq!(attempts(0.0), 1);
        assert_eq!(attempts(30.0), ATTEMPTS_MOST);
    }

    #[test]
    fn a_test_that_passes_on_a_disturbed_machine_passes() {
        let mut runs = 0;
        let passed = calm_by(
            || {
                runs += 1;
                assert!(runs == 2, "disturbed");
                runs
            },
            || 30.0,
            |_| {},
        );
        assert_eq!(passed, 2);
    }
}
