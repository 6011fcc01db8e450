//! The expected number of further runs of a search: an estimate for display alone.

use super::{DOUBT, Estimate, HOLDS, Purpose, wide_enough};

/// Runs that halve the interval while it is wide, fitted to searches on simulated queues.
const RUNS_PER_HALVING: f64 = 1.5;
/// Runs in which chance alone narrows the interval to [`SLOW_AT`] on either side; the narrower the
/// final interval, the more of them. Fitted likewise.
const SLOW_RUNS: f64 = 18.0;
const SLOW_AT: f64 = 0.03;
/// Factor for rests: about a third of the counted runs miss, and a rest follows each miss.
const WITH_RESTS: f64 = 1.33;
/// Runs until there is a bracket, and its expected width.
const BRACKET_RUNS: f64 = 3.0;
const BRACKET_RATIO: f64 = 2.0;

/// The rest of a search before its next restart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlook {
    resolution: f64,
    bracket_runs: f64,
    /// Upper end of the interval divided by its lower end.
    ratio: f64,
    /// Half the width to end with, as a share of the rate.
    wide_enough: f64,
    holds_left: u32,
}

impl Outlook {
    /// The outlook before the first run of a search with this resolution.
    pub(super) fn new(resolution: f64) -> Outlook {
        let ratio = BRACKET_RATIO * DOUBT * DOUBT;
        let (bracket_runs, holds_left) = (BRACKET_RUNS, HOLDS);
        Outlook { resolution, bracket_runs, ratio, wide_enough: resolution, holds_left }
    }

    /// Records the estimate after a run in the bracket.
    pub(super) fn narrowed(&mut self, estimate: &Estimate, purpose: Purpose) {
        self.bracket_runs = 0.0;
        self.ratio = estimate.high / estimate.low;
        self.wide_enough = wide_enough(self.resolution, estimate.spread);
        self.holds_left = match purpose {
            Purpose::Hold => self.holds_left.saturating_sub(1),
            Purpose::Probe | Purpose::Rest => HOLDS,
        };
    }

    /// Expected number of runs, rests included, until the interval is narrow enough and its rate
    /// has held; at most `most` runs count.
    pub(super) fn runs_left(&self, most: u32) -> u32 {
        let halvings = (self.ratio.ln() / (1.0 + 2.0 * self.wide_enough).ln()).log2().max(0.0);
        // The inverse square of the interval grows in proportion to the runs.
        let slow =
            SLOW_RUNS * (SLOW_AT / self.wide_enough).sqrt() * (1.0 - 0.25_f64.powf(halvings));
        let narrowing = self.bracket_runs + halvings * RUNS_PER_HALVING + slow;
        // Holding runs are usually met, and need no rest.
        let holding = f64::from(self.holds_left);
        let most = f64::from(most);
        (narrowing.min(most) * WITH_RESTS + holding.min((most - narrowing).max(0.0))).round() as u32
    }
}
