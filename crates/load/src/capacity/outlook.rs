//! The expected number of further runs of a search: an estimate for display alone.

use super::{DOUBT, HOLDS, Purpose};

/// Runs that halve the interval, fitted to searches on simulated queues.
const RUNS_PER_HALVING: f64 = 2.5;
/// Additional runs of each of the last halvings at a resolution of [`SLOW_AT`], where chance is as
/// wide as the rest of the interval; they shrink with the square of the resolution. Fitted
/// likewise.
const SLOW_RUNS: f64 = 13.5;
const SLOW_HALVINGS: f64 = 2.0;
const SLOW_AT: f64 = 0.015;
/// Factor for rests: about half of the counted runs miss, and a rest follows each miss.
const WITH_RESTS: f64 = 1.5;
/// Runs until there is a bracket, and its expected width.
const BRACKET_RUNS: f64 = 3.0;
const BRACKET_RATIO: f64 = 2.0;

/// The rest of a search before its next restart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlook {
    bracket_runs: f64,
    /// Upper end of the interval divided by its lower end.
    ratio: f64,
    holds_left: u32,
}

impl Outlook {
    /// The outlook before the first run.
    pub(super) fn new() -> Outlook {
        let ratio = BRACKET_RATIO * DOUBT * DOUBT;
        Outlook { bracket_runs: BRACKET_RUNS, ratio, holds_left: HOLDS }
    }

    /// Records the interval after a run in the bracket.
    pub(super) fn narrowed(&mut self, [below, above]: [f64; 2], purpose: Purpose) {
        self.bracket_runs = 0.0;
        self.ratio = above / below;
        self.holds_left = match purpose {
            Purpose::Hold => self.holds_left.saturating_sub(1),
            Purpose::Probe | Purpose::Rest => HOLDS,
        };
    }

    /// Expected number of runs, rests included, until the interval is within `resolution` on either
    /// side and has held; at most `most` runs count.
    pub(super) fn runs_left(&self, resolution: f64, most: u32) -> u32 {
        let halvings = (self.ratio.ln() / (1.0 + 2.0 * resolution).ln()).log2().max(0.0);
        let slow = SLOW_RUNS * (SLOW_AT / resolution).powi(2) * halvings.min(SLOW_HALVINGS);
        let narrowing = self.bracket_runs + halvings * RUNS_PER_HALVING + slow;
        // Holding runs are usually met, and need no rest.
        let holding = f64::from(self.holds_left);
        let most = f64::from(most);
        (narrowing.min(most) * WITH_RESTS + holding.min((most - narrowing).max(0.0))).round() as u32
    }
}
