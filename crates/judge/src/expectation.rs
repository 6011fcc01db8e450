//! Sensitivity of a study, stated before it runs: the smallest difference that its repeats should
//! find.
//!
//! It depends on how far two runs of one repeat usually differ by chance. That is not known yet,
//! and is taken from the differences of the demo's runs on two shared CPUs (`docs/measuring.md`):
//! some 5 % on a quiet machine, and half of the share of its CPUs that is lost in addition.

use assay_study::Calibration;

use crate::interval::LEVEL;
use crate::statistics::detectable;

/// Standard deviation of the ratio of two runs of one repeat on a quiet machine, in percent.
const QUIET_PERCENT: f64 = 5.0;

/// Percent of spread that each lost percent of the CPUs adds.
const PERCENT_OF_LOSS: f64 = 0.5;

/// Expected sensitivity of a study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// How often runs are repeated.
    pub repeats: u32,
    /// By how much two runs of one repeat are taken to differ by chance: a standard deviation, in
    /// percent.
    pub deviation_percent: f64,
    /// The smallest difference that is found four times in five, in percent; nothing of a single
    /// repeat.
    pub detectable_percent: Option<f64>,
}

/// Expected sensitivity of that many repeats on such a machine.
#[must_use]
pub fn expectation(repeats: u32, machine: &Calibration) -> Expectation {
    let deviation_percent = QUIET_PERCENT + PERCENT_OF_LOSS * machine.lost_percent();
    let found = detectable((deviation_percent / 100.0).ln_1p(), repeats, LEVEL);
    let detectable_percent = found.map(|effect| effect.exp_m1() * 100.0);
    Expectation { repeats, deviation_percent, detectable_percent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_repeats_and_a_quieter_machine_find_smaller_differences() {
        let of = |repeats, cpu_granted_percent| {
            let machine = Calibration { cpu_granted_percent, ..Calibration::default() };
            expectation(repeats, &machine).detectable_percent
        };
        assert_eq!(of(1, 100.0), None, "one repeat shows no spread between repeats");
        let (two, three, ten) =
            (of(2, 100.0).unwrap(), of(3, 100.0).unwrap(), of(10, 100.0).unwrap());
        assert!(two > 50.0 && three < 20.0 && ten < 6.0, "{two} {three} {ten}");
        assert!(of(3, 80.0).unwrap() > 2.0 * three, "a fifth of the CPUs is lost");
    }
}
