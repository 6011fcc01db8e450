//! Runs that the machine spoilt, and whether they are repeated.
//!
//! Decided by what was measured of the machine alone, never by what came out of the run: to repeat runs whose results one
//! dislikes would choose results. A run is repeated if it may not be compared and the machine is to blame, or if CPU time was
//! taken from it, unless about as much was taken from the runs before it: then the machine is like that.

use assay_study::{Outcome, Warning};

/// A loss of CPU time up to so many times the usual one is usual.
const USUAL_TIMES: f64 = 2.0;

/// So many runs show what is usual.
const USUAL_RUNS: usize = 3;

/// The runs that may be made beyond those of the plan.
#[derive(Debug)]
pub struct ExtraRuns {
    left: usize,
    /// What was taken of the CPUs in each run so far, in percent.
    taken_percent: Vec<f64>,
}

impl ExtraRuns {
    /// So many, of which some were used before the study was resumed.
    pub fn new(extra: usize, used: usize) -> ExtraRuns {
        ExtraRuns { left: extra.saturating_sub(used), taken_percent: Vec::new() }
    }

    /// How many are left.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Whether a run that ended so is to be repeated; takes one of the extra runs then.
    pub fn repeats(&mut self, outcome: &Outcome) -> bool {
        let is_spoilt = outcome.reason.is_none() && self.is_spoilt(&outcome.warnings);
        self.taken_percent.push(taken_percent(&outcome.warnings));
        let repeats = is_spoilt && self.left > 0;
        self.left -= usize::from(repeats);
        repeats
    }

    fn is_spoilt(&self, warnings: &[Warning]) -> bool {
        let is_usual = self.is_usual(taken_percent(warnings));
        warnings.iter().any(|warning| match warning {
            Warning::CpuTaken { is_too_much: false, .. } => !is_usual,
            other => other.forbids_comparing() && other.is_of_machine(),
        })
    }

    fn is_usual(&self, percent: f64) -> bool {
        let mut before = self.taken_percent.clone();
        before.sort_by(f64::total_cmp);
        before.len() >= USUAL_RUNS && percent <= USUAL_TIMES * before[before.len() / 2]
    }
}

fn taken_percent(warnings: &[Warning]) -> f64 {
    let taken = warnings.iter().find_map(|warning| match warning {
        Warning::CpuTaken { cpu, .. } => Some(cpu.taken_percent()),
        _ => None,
    });
    taken.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::CpuUse;

    fn taken(steal_percent: f64) -> Outcome {
        let cpu = CpuUse { steal_percent, ..CpuUse::default() };
        let warning = Warning::CpuTaken { cpu, is_too_much: steal_percent > 25.0 };
        Outcome { warnings: vec![warning], ..Outcome::default() }
    }

    #[test]
    fn a_spoilt_trial_is_repeated_as_long_as_there_are_runs_left() {
        let mut extra = ExtraRuns::new(3, 1);
        assert!(extra.repeats(&taken(8.0)) && extra.repeats(&taken(30.0)));
        assert!(!extra.repeats(&taken(30.0)), "two were left");
        assert_eq!(extra.left(), 0);
        assert_eq!(ExtraRuns::new(1, 4).left(), 0);
    }

    #[test]
    fn what_is_wrong_with_the_trial_itself_is_not_repeated() {
        let mut extra = ExtraRuns::new(9, 0);
        let missed = |steal_percent| {
            let cpu = CpuUse { busy_percent: 99.0, steal_percent, ..CpuUse::default() };
            let warnings = vec![Warning::MissedDeadlines { percent: 4.0, cpu }];
            Outcome { warnings, ..Outcome::default() }
        };
        assert!(!extra.repeats(&missed(0.0)), "it kept the CPUs busy itself");
        assert!(extra.repeats(&missed(4.0)));
        assert!(!extra.repeats(&Outcome::default()));
        let failed = Outcome { reason: Some("the server ended".into()), ..taken(40.0) };
        assert!(!extra.repeats(&failed));
        assert_eq!(extra.left(), 8);
    }

    #[test]
    fn a_machine_that_always_loses_as_much_is_taken_as_it_is() {
        let mut extra = ExtraRuns::new(100, 0);
        let repeated = (0..20).filter(|_| extra.repeats(&taken(11.0))).count();
        assert_eq!(repeated, USUAL_RUNS, "then it is usual");
        assert!(extra.repeats(&taken(24.0)), "twice the usual and more is not");
        assert!(extra.repeats(&taken(26.0)));
    }
}
