//! Runs that the machine disturbed, and the decision to repeat them.
//!
//! Guarantees: the decision depends only on what others did to the machine, never on results nor on
//! what the run itself can cause: to repeat runs with unwelcome results, or those of the
//! configuration that burdens the machine more, would select results. A run is repeated if it is
//! not comparable because of the machine, or if the machine's host or other programs took CPU time
//! from it, unless about as much is always taken.

#[cfg(doc)]
use assay_study::CpuUse;
use assay_study::{Calibration, Outcome};

use super::cpu_taken;

/// A smaller loss is no reason, in percent: see [`CpuUse::disturbed_percent`].
const LOSS_PERCENT_MAX: f64 = 5.0;

/// A loss up to this multiple of the usual one is usual.
const USUAL_TIMES: f64 = 2.0;

/// Number of runs that show the usual loss.
const USUAL_RUNS: usize = 3;

/// Runs allowed in addition to those of the plan.
#[derive(Debug)]
pub(crate) struct ExtraRuns {
    left: usize,
    /// CPUs that this process may use.
    cpus: usize,
    /// Loss before the first run, in percent of the CPU time that was wanted: all of it.
    calibrated_percent: f64,
    /// Loss in each run so far, likewise.
    lost_percent: Vec<f64>,
}

impl ExtraRuns {
    /// `extra` runs, of which `used` were used before the study was resumed.
    pub(crate) fn new(
        extra: usize,
        used: usize,
        cpus: usize,
        calibration: &Calibration,
    ) -> ExtraRuns {
        let left = extra.saturating_sub(used);
        ExtraRuns {
            left,
            cpus,
            calibrated_percent: calibration.lost_percent(),
            lost_percent: Vec::new(),
        }
    }

    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// The place of the run for which those of a start are to be repeated, which uses so many
    /// `runs` of the extra ones.
    pub(crate) fn repeats(&mut self, start: &[Outcome], runs: usize) -> Option<usize> {
        let lost =
            |outcome: &Outcome| cpu_taken::of(&outcome.results, self.cpus).disturbed_percent();
        let lost_percent: Vec<f64> = start.iter().map(lost).collect();
        let disturbed = start.iter().zip(&lost_percent).position(|(outcome, lost_percent)| {
            outcome.reason.is_none() && self.is_disturbed(outcome, *lost_percent)
        });
        self.lost_percent.extend(lost_percent);
        let repeats = disturbed.filter(|_| self.left >= runs);
        self.left -= if repeats.is_some() { runs } else { 0 };
        repeats
    }

    fn is_disturbed(&self, outcome: &Outcome, lost_percent: f64) -> bool {
        let lost_more = lost_percent > LOSS_PERCENT_MAX.max(self.usual_percent());
        let mut warnings = outcome.warnings.iter();
        lost_more || warnings.any(|warning| warning.forbids_comparing() && warning.is_of_machine())
    }

    /// The largest usual loss.
    fn usual_percent(&self) -> f64 {
        let mut before = self.lost_percent.clone();
        before.sort_by(f64::total_cmp);
        let shown = before.get(before.len() / 2).filter(|_| before.len() >= USUAL_RUNS);
        USUAL_TIMES * self.calibrated_percent.max(shown.copied().unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::Warning;

    /// A run that wanted all CPUs and lost so much of them.
    fn lost(steal_percent: f64) -> Outcome {
        let results =
            [("cpu_user_percent", 100.0 - steal_percent), ("cpu_steal_percent", steal_percent)];
        let results = results.map(|(name, value)| (name.to_owned(), value)).into();
        Outcome { results, ..Outcome::default() }
    }

    fn repeats(extra: &mut ExtraRuns, outcome: Outcome) -> bool {
        extra.repeats(&[outcome], 1).is_some()
    }

    fn extra(extra: usize, used: usize, lost_percent: f64) -> ExtraRuns {
        let cpu_granted_percent = 100.0 - lost_percent;
        ExtraRuns::new(
            extra,
            used,
            2,
            &Calibration { cpu_granted_percent, ..Calibration::default() },
        )
    }

    #[test]
    fn a_disturbed_trial_is_repeated_as_long_as_there_are_runs_left() {
        let mut few = extra(3, 1, 0.0);
        assert!(!repeats(&mut few, lost(4.0)), "it lost too little to matter");
        assert!(repeats(&mut few, lost(8.0)) && repeats(&mut few, lost(30.0)));
        assert!(!repeats(&mut few, lost(30.0)), "two were left");
        assert_eq!(few.left(), 0);
        assert_eq!(extra(1, 4, 0.0).left(), 0);
    }

    #[test]
    fn runs_of_one_start_are_repeated_together() {
        let mut few = extra(3, 0, 0.0);
        assert_eq!(few.repeats(&[lost(0.0), lost(30.0)], 2), Some(1));
        assert_eq!(few.left(), 1);
        assert_eq!(few.repeats(&[lost(0.0), lost(30.0)], 2), None, "one is left");
    }

    #[test]
    fn what_is_wrong_with_the_trial_itself_is_not_repeated() {
        let mut extra = extra(9, 0, 0.0);
        let with = |warning, outcome| Outcome { warnings: vec![warning], ..outcome };
        assert!(!repeats(&mut extra, with(Warning::NotSettled, lost(0.0))));
        let stopped = Warning::Stopped { length_s: 2.0 };
        assert!(repeats(&mut extra, with(stopped, lost(0.0))));
        assert!(!repeats(&mut extra, Outcome::default()));
        let failed = Outcome { reason: Some("the server ended".into()), ..lost(40.0) };
        assert!(!repeats(&mut extra, failed));
        assert_eq!(extra.left(), 8);
    }

    #[test]
    fn a_machine_that_always_loses_as_much_is_taken_as_it_is() {
        let mut unknown = extra(100, 0, 0.0);
        let repeated = (0..20).filter(|_| repeats(&mut unknown, lost(11.0))).count();
        assert_eq!(repeated, USUAL_RUNS, "then it is usual");
        assert!(repeats(&mut unknown, lost(24.0)), "twice the usual and more is not");
        let mut calibrated = extra(100, 0, 9.0);
        assert_eq!((0..20).filter(|_| repeats(&mut calibrated, lost(11.0))).count(), 0);
        assert!(repeats(&mut calibrated, lost(26.0)));
    }
}
