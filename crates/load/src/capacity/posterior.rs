//! The posterior of a capacity that varies from run to run, after runs that met the objective or
//! missed it.
//!
//! A run at rate r meets the objective if ln r lies below the logarithm of the capacity of its
//! window, which is normal around a location. One part of its variance is new in each run, the
//! other wanders: an autoregression whose correlation falls to 1/e in [`WANDER_RUNS`] runs. The
//! location, the standard deviation and the share that wanders are unknown; Bayes' rule on a grid
//! (forward filter of a hidden Markov model: Rabiner, "A tutorial on hidden Markov models", 1989)
//! gives the posterior over all of them. One run in fifty misleads whatever its rate (a busy
//! machine).

use std::ops::Range;

/// Points of the grid of the location.
const LOCATIONS: usize = 600;
/// Standard deviations of ln capacity between windows: from a tenth of a per cent to 5.5 %.
const SPREADS: [f64; 7] = [0.001, 0.002, 0.004, 0.008, 0.016, 0.03, 0.055];
/// Exponent of the prior of a spread: by a uniform prior of its logarithm (exponent 0), simulated
/// intervals are too narrow when capacity wanders.
const SPREAD_PRIOR: f64 = 0.25;
/// Shares of the variance that wander, each with its prior.
const WANDERING: [(f64, f64); 3] = [(0.0, 0.2), (0.5, 0.4), (0.9, 0.4)];
/// Correlation time of the wander, in runs.
const WANDER_RUNS: f64 = 10.0;
/// States of the wander, evenly spaced within [`STATE_MOST`] standard deviations.
const STATES: usize = 9;
const STATE_MOST: f64 = 2.4;
/// Share of runs that mislead whatever their rate.
const MISTAKEN: f64 = 0.02;
/// Share of the posterior's mass below which a location is left out.
const NEGLIGIBLE: f64 = 1e-10;

type Weights = [[[f64; STATES]; WANDERING.len()]; SPREADS.len()];

/// A distribution over the capacity's location, spread and wander.
#[derive(Debug, Clone)]
pub(super) struct Posterior {
    from: f64,
    step: f64,
    chain: Chain,
    /// Weights of each location.
    weights: Vec<Weights>,
    /// The locations that are not negligible.
    active: Range<usize>,
}

impl Posterior {
    /// The prior: any capacity from `low` to `high` events per second.
    pub(super) fn between(low: f64, high: f64) -> Posterior {
        let (from, to) = (low.ln(), high.ln());
        let step = (to - from) / (LOCATIONS - 1) as f64;
        let chain = Chain::new();
        let weights = SPREADS.map(|spread| {
            WANDERING.map(|(_, prior)| {
                chain.stationary.map(|state| prior * spread.powf(SPREAD_PRIOR) * state)
            })
        });
        let weights = vec![weights; LOCATIONS];
        Posterior { from, step, chain, weights, active: 0..LOCATIONS }
    }

    /// Lets the time of `runs` runs pass: 1, or 0.5 for a rest.
    pub(super) fn pass(&mut self, runs: f64) {
        let moves = self.chain.moves(runs);
        for states in self.weights[self.active.clone()].iter_mut().flatten().flatten() {
            let before = *states;
            for (after, arriving) in states.iter_mut().zip(&moves) {
                *after = before.iter().zip(arriving).map(|(from, share)| from * share).sum();
            }
        }
    }

    /// Updates the posterior with a run at `rate`.
    pub(super) fn learn(&mut self, rate: f64, is_met: bool) {
        let mut sum = 0.0;
        let states = self.chain.states;
        for place in self.active.clone() {
            let above = self.location(place) - rate.ln();
            for (weights, spread) in self.weights[place].iter_mut().zip(SPREADS) {
                for (weights, (share, _)) in weights.iter_mut().zip(WANDERING) {
                    let (wander, own) = (spread * share.sqrt(), spread * (1.0 - share).sqrt());
                    for (weight, state) in weights.iter_mut().zip(states) {
                        let met = met_share((above + wander * state) / own);
                        *weight *= if is_met { met } else { 1.0 - met };
                        sum += *weight;
                    }
                }
            }
        }
        let of_location = self.weights[self.active.clone()].iter_mut();
        of_location.flatten().flatten().flatten().for_each(|weight| *weight /= sum);
        let is_negligible = |place: usize| total(&self.weights[place]) < NEGLIGIBLE;
        while self.active.len() > 1 && is_negligible(self.active.start) {
            self.active.start += 1;
        }
        while self.active.len() > 1 && is_negligible(self.active.end - 1) {
            self.active.end -= 1;
        }
    }

    /// A quantile of the rate that a share `met` of windows meets.
    pub(super) fn quantile(&self, met: f64, quantile: f64) -> f64 {
        let z = z_of_met(met);
        let mut rates: Vec<(f64, f64)> = self
            .joint()
            .map(|(location, spread, weight)| (location - z * spread, weight))
            .collect();
        rates.sort_by(|a, b| a.0.total_cmp(&b.0));
        let whole: f64 = rates.iter().map(|rate| rate.1).sum();
        let mut below = 0.0;
        for (rate, weight) in &rates {
            if below + weight >= quantile * whole {
                // Around each point of the grid, the density is constant.
                let part = (quantile * whole - below) / weight - 0.5;
                return (rate + part.clamp(-0.5, 0.5) * self.step).exp();
            }
            below += weight;
        }
        rates.last().map_or(0.0, |rate| rate.0.exp())
    }

    /// The rate that a window at another time meets with the probability `met`, the uncertainty of
    /// location and spread included.
    pub(super) fn predicted(&self, met: f64) -> f64 {
        let joint: Vec<(f64, f64, f64)> = self.joint().collect();
        let whole: f64 = joint.iter().map(|one| one.2).sum();
        let share = |ln_rate: f64| -> f64 {
            let of = |(location, spread, weight): &(f64, f64, f64)| {
                weight * met_share((location - ln_rate) / spread)
            };
            joint.iter().map(of).sum::<f64>() / whole
        };
        let beyond = 5.0 * SPREADS[SPREADS.len() - 1];
        let mut low = self.location(self.active.start) - beyond;
        let mut high = self.location(self.active.end) + beyond;
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            if share(middle) > met { low = middle } else { high = middle }
        }
        low.exp()
    }

    /// The standard deviation of ln capacity between windows, its geometric mean.
    pub(super) fn spread(&self) -> f64 {
        let (mut logs, mut whole) = (0.0, 0.0);
        for (_, spread, weight) in self.joint() {
            logs += weight * spread.ln();
            whole += weight;
        }
        (logs / whole).exp()
    }

    fn location(&self, place: usize) -> f64 {
        self.from + self.step * place as f64
    }

    /// Location, spread and weight of each point of the grid.
    fn joint(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        self.active.clone().flat_map(move |place| {
            let of_spread = self.weights[place].iter().zip(SPREADS);
            of_spread.map(move |(weights, spread)| {
                (self.location(place), spread, weights.iter().flatten().sum())
            })
        })
    }
}

fn total(weights: &Weights) -> f64 {
    weights.iter().flatten().flatten().sum()
}

/// The probability that a run `z` standard deviations below its capacity meets the objective.
fn met_share(z: f64) -> f64 {
    MISTAKEN + (1.0 - 2.0 * MISTAKEN) * normal_cdf(z)
}

/// The standard deviations below the capacity at which a run meets the objective with the
/// probability `met`.
fn z_of_met(met: f64) -> f64 {
    let (mut low, mut high) = (-6.0, 6.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if met_share(middle) < met { low = middle } else { high = middle }
    }
    low
}

/// The normal distribution function within 1.4e-4: Bowling et al., "A logistic approximation to the
/// cumulative normal distribution", J. Industrial Engineering and Management 2 (2009).
fn normal_cdf(z: f64) -> f64 {
    let z = z.clamp(-8.0, 8.0);
    1.0 / (1.0 + (-0.07056 * z.powi(3) - 1.5976 * z).exp())
}

/// The states of the wander, in standard deviations, and how it moves between them.
#[derive(Debug, Clone)]
struct Chain {
    states: [f64; STATES],
    stationary: [f64; STATES],
    run: Moves,
    half: Moves,
}

/// For each state, the probabilities of arriving there from each state.
type Moves = [[f64; STATES]; STATES];

impl Chain {
    fn new() -> Chain {
        let spacing = 2.0 * STATE_MOST / (STATES - 1) as f64;
        let raw: [f64; STATES] = std::array::from_fn(|place| spacing * place as f64 - STATE_MOST);
        let density = raw.map(|state| (-state * state / 2.0).exp());
        let whole: f64 = density.iter().sum();
        let stationary = density.map(|one| one / whole);
        let second = raw.iter().zip(stationary).map(|(state, share)| state * state * share);
        let deviation = second.sum::<f64>().sqrt();
        let states = raw.map(|state| state / deviation);
        let moves = |runs: f64| moves(&states, &stationary, (-runs / WANDER_RUNS).exp());
        Chain { states, stationary, run: moves(1.0), half: moves(0.5) }
    }

    fn moves(&self, runs: f64) -> Moves {
        if runs < 1.0 { self.half } else { self.run }
    }
}

/// The moves of an autoregression with this correlation. Its joint density of two neighbours is
/// scaled until the chain keeps its stationary distribution (Sinkhorn, 1964).
fn moves(states: &[f64; STATES], stationary: &[f64; STATES], correlation: f64) -> Moves {
    let sharpness = correlation / (2.0 * (1.0 - correlation * correlation));
    let kernel = states.map(|to| states.map(|from| (-sharpness * (to - from).powi(2)).exp()));
    let mut scale = [1.0_f64; STATES];
    let sum = |row: &[f64; STATES], scale: &[f64; STATES]| -> f64 {
        row.iter().zip(scale).zip(stationary).map(|((one, scale), share)| one * scale * share).sum()
    };
    for _ in 0..300 {
        let before = scale;
        for (scale, row) in scale.iter_mut().zip(&kernel) {
            *scale = (*scale / sum(row, &before)).sqrt();
        }
    }
    let arriving = |to: usize| {
        std::array::from_fn(|from| scale[to] * kernel[to][from] * scale[from] * stationary[to])
    };
    std::array::from_fn(arriving)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wander_keeps_its_distribution_and_forgets_at_its_rate() {
        let chain = Chain::new();
        for (runs, moves) in [(1.0, chain.run), (0.5, chain.half)] {
            let of = |to: usize| -> f64 {
                moves[to].iter().zip(chain.stationary).map(|(share, from)| share * from).sum()
            };
            let mut correlation = 0.0;
            for (to, arriving) in moves.iter().enumerate() {
                assert!((of(to) - chain.stationary[to]).abs() < 1e-6, "{to}");
                for (from, share) in arriving.iter().enumerate() {
                    let pair = chain.states[to] * chain.states[from];
                    correlation += pair * share * chain.stationary[from];
                }
            }
            let expected = (-runs / WANDER_RUNS).exp();
            assert!((correlation - expected).abs() < 0.02, "{correlation} for {expected}");
        }
    }

    #[test]
    fn one_run_that_says_the_wrong_thing_is_outvoted() {
        let mut posterior = Posterior::between(100.0, 4000.0);
        let mut learn = |rate: f64, is_met: bool| {
            posterior.pass(1.0);
            posterior.learn(rate, is_met);
        };
        learn(500.0, false);
        for rate in [300.0, 520.0, 600.0, 800.0, 950.0, 520.0, 700.0] {
            learn(rate, true);
        }
        for rate in [1100.0, 1050.0, 1500.0] {
            learn(rate, false);
        }
        let middle = posterior.quantile(0.5, 0.5);
        assert!((930.0..1070.0).contains(&middle), "{middle}");
    }
}
