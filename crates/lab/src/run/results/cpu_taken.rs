//! CPU time that a run lost to others, and the warning about it.
//!
//! A virtual machine's host takes CPU time as it likes (steal), a control group's quota by the
//! period. Configurations of a study are affected in random order, so it is noise, which intervals
//! include. From a twentieth of all CPUs on a warning says so; from a quarter on the run is not
//! comparable.

use super::figures::Results;
use assay_study::{CpuUse, Warning};

/// Percent of all CPUs.
const SAID_PERCENT: f64 = 5.0;
const COMPARABLE_PERCENT: f64 = 25.0;

pub(crate) fn warning(results: &Results, cpus: usize) -> Option<Warning> {
    let cpu = of(results, cpus);
    let taken = cpu.taken_percent();
    let is_too_much = taken > COMPARABLE_PERCENT;
    (taken > SAID_PERCENT).then_some(Warning::CpuTaken { cpu, is_too_much })
}

/// The use of CPU time, as far as it was counted.
pub(crate) fn of(results: &Results, cpus: usize) -> CpuUse {
    CpuUse::of_results(results, cpus as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(steal: f64, throttled: f64) -> Option<Warning> {
        let results = [("cpu_steal_percent", steal), ("cpu_throttled_percent", throttled)];
        warning(&results.map(|(name, value)| (name.to_owned(), value)).into(), 2)
    }

    #[test]
    fn stolen_and_throttled_time_is_said_and_a_quarter_forbids_comparing() {
        let forbids =
            |steal, throttled| taken(steal, throttled).map(|warning| warning.forbids_comparing());
        assert_eq!(forbids(4.5, 0.0), None);
        assert_eq!(forbids(3.0, 2.5), Some(false));
        assert_eq!(forbids(18.3, 0.0), Some(false), "noise, which the interval holds");
        assert_eq!(forbids(1.0, 25.0), Some(true));
        assert_eq!(warning(&Results::new(), 2), None, "not counted, not said");
        assert!(taken(6.0, 0.0).is_some_and(|warning| warning.is_of_machine()));
    }
}
