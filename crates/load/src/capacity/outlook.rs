//! How many runs a search still takes, as far as can be told: an estimate for those who wait, on which nothing else rests.

use super::{DOUBT, HOLDS, Purpose};

/// Runs that narrow what is believed to half its width, fitted to searches on simulated queues.
const RUNS_PER_HALVING: f64 = 2.5;
/// Of the last halvings each takes so many more where the interval is to be within [`SLOW_AT`] on either side, for chance is then as
/// wide as what is left; with the square of what is asked for it becomes less. Fitted likewise.
const SLOW_RUNS: f64 = 13.5;
const SLOW_HALVINGS: f64 = 2.0;
const SLOW_AT: f64 = 0.015;
/// Runs that count, and with them those that rest: about half of all miss, and a rest follows each miss.
const WITH_RESTS: f64 = 1.5;
/// Runs until there is a bracket, and the bracket's width, before there is one.
const BRACKET_RUNS: f64 = 3.0;
const BRACKET_RATIO: f64 = 2.0;

/// What is still to be done between two restarts of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlook {
    bracket_runs: f64,
    /// The upper end of what is believed by its lower end.
    ratio: f64,
    holds_left: u32,
}

impl Outlook {
    /// Before the first run.
    pub(super) fn new() -> Outlook {
        let ratio = BRACKET_RATIO * DOUBT * DOUBT;
        Outlook { bracket_runs: BRACKET_RUNS, ratio, holds_left: HOLDS }
    }

    /// A run in the bracket has ended, after which the capacity is believed to lie between these ends.
    pub(super) fn narrowed(&mut self, [below, above]: [f64; 2], purpose: Purpose) {
        self.bracket_runs = 0.0;
        self.ratio = above / below;
        self.holds_left = match purpose {
            Purpose::Hold => self.holds_left.saturating_sub(1),
            Purpose::Probe | Purpose::Rest => HOLDS,
        };
    }

    /// Runs to come, rests included, until the interval is within `resolution` on either side and has held; at most `most` that count.
    pub(super) fn runs_left(&self, resolution: f64, most: u32) -> u32 {
        let halvings = (self.ratio.ln() / (1.0 + 2.0 * resolution).ln()).log2().max(0.0);
        let slow = SLOW_RUNS * (SLOW_AT / resolution).powi(2) * halvings.min(SLOW_HALVINGS);
        let narrowing = self.bracket_runs + halvings * RUNS_PER_HALVING + slow;
        // Runs that hold are met, as a rule, and nothing rests after those.
        let holding = f64::from(self.holds_left);
        let most = f64::from(most);
        (narrowing.min(most) * WITH_RESTS + holding.min((most - narrowing).max(0.0))).round() as u32
    }
}
