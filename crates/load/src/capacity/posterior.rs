//! The posterior of a capacity after runs that met the objective or missed it.
//!
//! Bayes' rule on a grid: the probability that a run at rate r meets the objective is a logistic
//! function of ln c − ln r, with the capacity c and the spread both unknown; one run in fifty
//! misleads whatever its rate (a busy machine). The next rate is the median (probabilistic
//! bisection: Horstein, "Sequential transmission using noiseless feedback", 1963).

/// Points of the grid of ln c.
const CAPACITIES: usize = 600;
/// Spreads of ln r: from a hundredth of a percent to six percent.
const SPREADS: [f64; 6] = [0.0001, 0.001, 0.004, 0.012, 0.03, 0.06];
/// Share of runs that mislead whatever their rate.
const MISTAKEN: f64 = 0.02;

/// A distribution over capacities.
#[derive(Debug, Clone)]
pub(super) struct Posterior {
    from: f64,
    step: f64,
    /// For each capacity, the weights of the spreads.
    weights: Vec<[f64; SPREADS.len()]>,
}

impl Posterior {
    /// The prior: any capacity from `low` to `high` events per second.
    pub(super) fn between(low: f64, high: f64) -> Posterior {
        let (from, to) = (low.ln(), high.ln());
        let step = (to - from) / (CAPACITIES - 1) as f64;
        Posterior { from, step, weights: vec![[1.0; SPREADS.len()]; CAPACITIES] }
    }

    /// Updates the posterior with a run at `rate`.
    pub(super) fn learn(&mut self, rate: f64, is_met: bool) {
        let mut sum = 0.0;
        for (place, weights) in self.weights.iter_mut().enumerate() {
            let above = self.from + self.step * place as f64 - rate.ln();
            for (weight, spread) in weights.iter_mut().zip(SPREADS) {
                let met = MISTAKEN + (1.0 - 2.0 * MISTAKEN) / (1.0 + (-above / spread).exp());
                *weight *= if is_met { met } else { 1.0 - met };
                sum += *weight;
            }
        }
        self.weights.iter_mut().flatten().for_each(|weight| *weight /= sum);
    }

    /// A quantile of the capacity.
    pub(super) fn quantile(&self, quantile: f64) -> f64 {
        let whole: f64 = self.weights.iter().flatten().sum();
        let mut below = 0.0;
        for (place, weights) in self.weights.iter().enumerate() {
            let here: f64 = weights.iter().sum();
            if below + here >= quantile * whole {
                // Within a grid step, the density is constant.
                let part = (quantile * whole - below) / here - 0.5;
                return (self.from + self.step * (place as f64 + part)).exp();
            }
            below += here;
        }
        (self.from + self.step * (self.weights.len() - 1) as f64).exp()
    }
}

#[cfg(test)]
mod tests {
    use assay_testing::count;

    use super::*;
    use crate::random::Rng;

    /// Runs at the median until the interval is narrow. Returns its 90 % interval and the number of
    /// runs.
    fn found(truth: f64, spread: f64, seed: u64) -> ([f64; 3], u32) {
        let mut rng = Rng::new(seed, 1);
        let mut posterior = Posterior::between(truth / 3.0, truth * 2.5);
        for runs in 0..200 {
            let interval = [0.05, 0.5, 0.95].map(|quantile| posterior.quantile(quantile));
            if interval[2] / interval[0] < 1.03 {
                return (interval, runs);
            }
            let rate = interval[1];
            let noise = spread * (1.0 / rng.unit().max(1e-12) - 1.0).ln();
            posterior.learn(rate, rate.ln() < truth.ln() + noise);
        }
        panic!("no end");
    }

    #[test]
    fn intervals_cover_the_truth_as_often_as_they_say() {
        let searches = count(100, 300);
        for spread in [0.0005, 0.005, 0.02] {
            let all: Vec<([f64; 3], u32)> =
                (0..searches).map(|seed| found(1000.0, spread, seed)).collect();
            let covered = all.iter().filter(|(i, _)| i[0] <= 1000.0 && 1000.0 <= i[2]).count();
            let near = all.iter().filter(|(i, _)| (i[1] / 1000.0 - 1.0).abs() < 0.03).count();
            let runs = all.iter().map(|(_, runs)| f64::from(*runs)).sum::<f64>() / searches as f64;
            println!("{spread}: covered {covered} near {near} of {searches}, {runs:.1} runs");
            let (covered_least, near_least) = count((82, 93), (255, 285));
            assert!(
                covered >= covered_least && near >= near_least,
                "{spread}: covered {covered}, near {near}"
            );
        }
    }

    #[test]
    fn one_run_that_says_the_wrong_thing_is_outvoted() {
        let mut posterior = Posterior::between(100.0, 4000.0);
        posterior.learn(500.0, false);
        for rate in [300.0, 520.0, 600.0, 800.0, 950.0, 520.0, 700.0] {
            posterior.learn(rate, true);
        }
        for rate in [1100.0, 1050.0, 1500.0] {
            posterior.learn(rate, false);
        }
        assert!((950.0..1060.0).contains(&posterior.quantile(0.5)), "{}", posterior.quantile(0.5));
    }
}
