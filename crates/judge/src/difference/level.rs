//! The throughput of one configuration under one load by itself, with its interval: what figures
//! that are made of it inherit.
//!
//! As with differences, what is repeated decides. Of two repeats and more the interval is
//! Student's, of the mean of their logarithms. Of one it is the spread of a configuration that ran
//! twice, whose variance is that of two runs and so twice that of one; without such a configuration
//! only what its seconds leave open is known, and of a run without seconds nothing.

use serde::Serialize;

use crate::difference::compare::Basis;
use crate::difference::noise::{AaRuns, NoiseSpread};
use crate::interval::Interval;
use crate::statistics::Spread;
use crate::trial::figure::RunFigure;
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;

/// Throughput of one configuration × workload × threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThroughputLevel {
    /// Name of the configuration.
    pub config: String,
    /// Name of the workload.
    pub workload: String,
    /// Connections.
    pub threads: u32,
    /// Transactions per second: the mean over the repeats and its interval.
    pub tps: Interval,
    /// Data behind the interval; `None` if nothing tells its width.
    pub basis: Option<Basis>,
}

/// Levels of every configuration × workload × threads that has throughput, in the order of the
/// runs.
pub(crate) fn levels(trials: &[Measured], aa_runs: &AaRuns<'_>) -> Vec<ThroughputLevel> {
    let mut found: Vec<ThroughputLevel> = Vec::new();
    for trial in trials {
        let key = &trial.key;
        let is_it = |one: &ThroughputLevel| {
            (&one.config, &one.workload, one.threads) == (&key.config, &key.workload, key.threads)
        };
        if found.iter().any(is_it) {
            continue;
        }
        let its = trials.iter().filter(|one| {
            (&one.key.config, &one.key.workload, one.key.threads)
                == (&key.config, &key.workload, key.threads)
        });
        let figures: Vec<RunFigure> =
            its.filter_map(|one| one.figure(Metric::Throughput)).collect();
        let noise = aa_runs.spread(Metric::Throughput, &key.workload);
        let Some((tps, basis)) = level(&figures, noise.as_ref()) else { continue };
        found.push(ThroughputLevel {
            config: key.config.clone(),
            workload: key.workload.clone(),
            threads: key.threads,
            tps,
            basis,
        });
    }
    found
}

/// The mean of these figures, which are above zero, with its interval.
fn level(figures: &[RunFigure], noise: Option<&NoiseSpread>) -> Option<(Interval, Option<Basis>)> {
    let one = match figures {
        [one] => one,
        several => {
            let values: Vec<f64> = several.iter().map(|one| one.value).collect();
            return Some((Interval::of_repeats(&values)?, Some(Basis::Repeats)));
        }
    };
    let (spread, basis) = match (noise, one.within) {
        (Some(noise), _) => {
            let error = noise.deviation / std::f64::consts::SQRT_2;
            (Spread { mean: 0.0, error, df: noise.df }, Basis::OneRepeatAndNoiseFloor)
        }
        (None, Some(known)) => {
            let error = known.variance.sqrt();
            (Spread { mean: 0.0, error, df: known.df }, Basis::OneRepeat)
        }
        (None, None) => return Some((Interval::exactly(one.value), None)),
    };
    Some((Interval::about(one.value, &spread), Some(basis)))
}

#[cfg(test)]
mod tests {
    use assay_testing::count;

    use super::*;
    use crate::simulated::{Truth, key};
    use crate::statistics::MeanVariance;
    use crate::statistics::simulated::Noise;

    fn figure(value: f64, variance: Option<f64>) -> RunFigure {
        RunFigure {
            value,
            within: variance.map(|variance| MeanVariance { variance, df: 30.0 }),
            resolution: 0.0,
        }
    }

    #[test]
    fn intervals_cover_the_truth_at_their_stated_rate() {
        let (cases, expected) = count((200, 180..=199), (1000, 925..=975));
        for repeats in [2, 3, 5] {
            let mut noise = Noise::new(7);
            let truth = Truth::minute(0.05);
            let covered = (0..cases).filter(|_| {
                let trials: Vec<Measured> = (1..=repeats)
                    .map(|repeat| truth.trial(&mut noise, key("a", 8, repeat), 100.0))
                    .collect();
                let found = levels(&trials, &AaRuns::of(&[], &Default::default()));
                found[0].tps.low <= 100.0 && 100.0 <= found[0].tps.high
            });
            let covered = covered.count();
            assert!(expected.contains(&covered), "{covered} of {cases} with {repeats} repeats");
        }
    }

    #[test]
    fn a_single_trial_is_as_wide_as_what_is_known_of_it() {
        let floor = NoiseSpread { deviation: 0.2, df: 30.0, within: 0.0 };
        let one = [figure(100.0, Some(1e-4))];
        let (alone, basis) = level(&one, None).unwrap();
        assert_eq!(basis, Some(Basis::OneRepeat));
        // Student's t of 30 degrees at 97.5 % is 2.0423.
        assert!((alone.high / 100.0 - (2.0423_f64 * 0.01).exp()).abs() < 1e-5);
        let (beside_aa_runs, basis) = level(&one, Some(&floor)).unwrap();
        assert_eq!(basis, Some(Basis::OneRepeatAndNoiseFloor));
        assert!((beside_aa_runs.high / 100.0 - (2.0423_f64 * 0.02_f64.sqrt()).exp()).abs() < 1e-4);
        let (unknown, basis) = level(&[figure(100.0, None)], None).unwrap();
        assert_eq!((unknown.low, unknown.mid, unknown.high, basis), (100.0, 100.0, 100.0, None));
        assert_eq!(level(&[], Some(&floor)), None);
    }
}
