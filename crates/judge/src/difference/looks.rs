//! When a study is judged, and how much of the chance of a false direction each look may spend.
//!
//! Guarantees: over all looks that a plan names, false directions stay within 5 %, whenever the
//! study ends. A look that the plan did not name, because runs were added afterwards or the study
//! was interrupted, may spend half a percent in all.

use assay_study::{LookMade, RunState, Study};
use serde::Serialize;

use super::verdict::ALPHA;
use crate::interval::LEVEL;

/// The chance that unplanned looks may spend together.
const UNPLANNED: f64 = 0.005;

/// Sums of shares of the whole chance that differ by less are equal.
const ROUNDING: f64 = 1e-9;

/// A look at the results of a study.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Look {
    /// Repeats that it looks at.
    pub repeats: u32,
    /// The chance of a false direction that it may spend.
    pub alpha: f64,
    /// The chance that this look and those before it have spent.
    pub spent: f64,
    /// Repeats of the next planned look, if there is one.
    pub next: Option<u32>,
    /// Whether the plan names it.
    pub is_planned: bool,
}

impl Look {
    /// The one look of a study that is judged once.
    pub(crate) const ONLY: Look =
        Look { repeats: 0, alpha: ALPHA, spent: ALPHA, next: None, is_planned: true };

    /// The look that the study's finished runs allow.
    #[must_use]
    pub fn of(study: &Study) -> Look {
        if study.trials.is_empty() {
            return Look::ONLY;
        }
        let complete = complete_repeats(study);
        let schedule = schedule(study);
        let reached = schedule.iter().rev().find(|(repeats, _)| *repeats <= complete);
        let next = schedule.iter().map(|one| one.0).find(|repeats| *repeats > complete);
        let has_looks = !study.judging.looks.is_empty();
        let repeats = match reached {
            // A study with looks is judged as it was at the last of them.
            Some((repeats, _)) if has_looks => *repeats,
            _ => complete,
        };
        let planned = reached.filter(|one| one.0 == repeats).map(|one| one.1);
        let before: Vec<&LookMade> =
            study.looks.iter().filter(|one| one.repeats != repeats).collect();
        let spent = |is_planned: bool| -> f64 {
            before.iter().filter(|one| one.is_planned == is_planned).map(|one| one.alpha).sum()
        };
        // A plan that was changed afterwards spends nothing twice.
        let planned = planned.filter(|alpha| spent(true) + alpha <= ALPHA + ROUNDING);
        let number = before.iter().filter(|one| !one.is_planned).count() as i32 + 1;
        let alpha = planned.unwrap_or(UNPLANNED * 0.5_f64.powi(number));
        let spent = spent(true) + spent(false) + alpha;
        Look { repeats, alpha, spent, next, is_planned: planned.is_some() }
    }

    /// The look as the store keeps it.
    #[must_use]
    pub fn made(&self) -> LookMade {
        let Look { repeats, alpha, is_planned, .. } = *self;
        LookMade { repeats, alpha, is_planned }
    }

    /// Returns true if the look is at this repeat.
    pub(crate) fn has(&self, repeat: u32) -> bool {
        !self.is_planned || self.repeats == 0 || repeat <= self.repeats
    }

    /// The share of cases in which an interval of this look holds the truth.
    #[must_use]
    pub fn level(&self) -> f64 {
        1.0 - self.alpha
    }

    /// Level of the intervals in the report: 95 % after an unplanned look.
    #[must_use]
    pub fn told_level(&self) -> f64 {
        if self.is_planned { self.level() } else { LEVEL }
    }

    /// A p of this look, on the scale of a single one: at most 5 % where it may be called
    /// significant.
    pub(crate) fn p_as_single(&self, p: f64) -> f64 {
        (p * (ALPHA / self.alpha)).min(1.0)
    }
}

/// Repeats of each planned look and the chance that it may spend: of one look all; of K in rising
/// shares 1, 2, …, K, because few repeats find little (a Bonferroni bound, which holds however the
/// looks depend on one another; the idea of spending is Lan's and DeMets', "Discrete sequential
/// boundaries for clinical trials", Biometrika 70, 1983).
fn schedule(study: &Study) -> Vec<(u32, f64)> {
    let looks = &study.judging.looks;
    if looks.is_empty() {
        let all = study.trials.iter().map(|trial| trial.key.repeat).max();
        return all.map(|all| (all, ALPHA)).into_iter().collect();
    }
    let shares = (looks.len() * (looks.len() + 1) / 2) as f64;
    (1..).zip(looks).map(|(place, look)| (*look, ALPHA * f64::from(place) / shares)).collect()
}

/// Repeats of which every run has ended.
fn complete_repeats(study: &Study) -> u32 {
    let has_ended = |state: RunState| matches!(state, RunState::Done | RunState::Failed);
    let open = study.trials.iter().filter(|trial| !has_ended(trial.state));
    let first_open = open.map(|trial| trial.key.repeat).min();
    let last = study.trials.iter().map(|trial| trial.key.repeat).max().unwrap_or(0);
    first_open.map_or(last, |repeat| repeat - 1)
}

/// Rules by which verdicts follow from the runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// The share that does not matter.
    pub(crate) margin: f64,
    pub(crate) look: Look,
}

impl Rules {
    pub(crate) fn of(study: &Study) -> Rules {
        Rules { margin: study.judging.margin(), look: Look::of(study) }
    }
}
