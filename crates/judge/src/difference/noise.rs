//! The noise floor: how far two runs of one configuration lie apart that differ in nothing but that
//! they are two.
//!
//! A *A/A run* is a configuration that is another one run again. Each repeat in which both ran is a
//! difference whose truth is zero, so the mean of its square is the variance of a difference of two
//! runs, with as many degrees of freedom as there are differences. The differences of one workload
//! are taken together over thread counts and repeats if there are at least [`POOLED_LEAST`] of
//! them, else those of the whole study.
//!
//! Fewer than [`KNOWN_LEAST`] differences make no floor. Intervals of one repeat may still use
//! them: they widen with Student's t by the few degrees of freedom. A limit from so few would be
//! one of chance: for one difference t is 12.7, and a pair that differs by 2 % would make a floor
//! of 30 %.

use serde::Serialize;

use crate::interval::LEVEL;
use crate::statistics::{mean, t_quantile};
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;

/// Fewer differences than this are not a spread of their own.
const POOLED_LEAST: usize = 4;

/// The fewest differences that make a floor: in 95 of 100 cases the floor is then less than 2.2
/// times the floor of an exactly known spread (2.6 times with three, 3.8 with two, 12.7 with one;
/// a test shows it).
pub(crate) const KNOWN_LEAST: f64 = 4.0;

/// Spread of the differences of one configuration with itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NoiseSpread {
    /// Standard deviation of the log ratio of two runs of one configuration.
    pub deviation: f64,
    /// Degrees of freedom: the number of differences.
    pub df: f64,
    /// How much of its square the seconds of the runs account for.
    pub within: f64,
}

impl NoiseSpread {
    fn of(differences: &[OfItself]) -> Option<NoiseSpread> {
        let squares: Vec<f64> = differences.iter().map(|one| one.log * one.log).collect();
        let within: Vec<f64> = differences.iter().filter_map(|one| one.within).collect();
        (!differences.is_empty()).then(|| NoiseSpread {
            deviation: mean(&squares).sqrt(),
            df: differences.len() as f64,
            within: if within.is_empty() { 0.0 } else { mean(&within) },
        })
    }

    /// Whether there are differences enough to hold others against a floor.
    pub fn makes_a_floor(&self) -> bool {
        self.df >= KNOWN_LEAST
    }

    /// The log ratio that the mean of `repeats` differences of one configuration with itself stays
    /// below in 95 of 100 cases.
    pub fn reach(&self, repeats: usize) -> f64 {
        t_quantile(0.5 + LEVEL / 2.0, self.df) * self.deviation / (repeats.max(1) as f64).sqrt()
    }
}

/// One configuration against itself, once.
#[derive(Debug, Clone, PartialEq)]
struct OfItself {
    workload: String,
    log: f64,
    within: Option<f64>,
}

/// The noise floor of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoiseFloor {
    /// Configurations that ran under two names: the configuration and its A/A run.
    pub configs: Vec<(String, String)>,
    /// Observed differences by workload, thread count and metric.
    pub seen: Vec<Seen>,
}

/// Differences of one configuration from itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Seen {
    /// The workload.
    pub workload: String,
    /// Connections.
    pub threads: u32,
    pub metric: Metric,
    /// The A/A run ÷ the configuration, repeat by repeat.
    pub ratios: Vec<f64>,
    /// The spread that is used for this workload.
    pub spread: NoiseSpread,
    /// Whether it is the whole study's, as this workload has too few.
    pub is_of_study: bool,
    /// The noise floor of one repeat: the difference, in percent, that one configuration stays
    /// below against itself in 95 of 100 cases. Nothing where it is known from too few differences.
    pub floor_percent: Option<f64>,
}

/// The A/A run's runs beside those of its configuration.
#[derive(Debug)]
pub struct AaRuns<'a> {
    pairs: Vec<(&'a Measured, &'a Measured)>,
}

impl<'a> AaRuns<'a> {
    /// The noise floor of these runs; `aa_runs` says which configuration is whose A/A run.
    pub fn of(
        trials: &'a [Measured],
        aa_runs: &std::collections::BTreeMap<String, String>,
    ) -> AaRuns<'a> {
        let usable = |trial: &&Measured| trial.eligibility.counts();
        let of_aa_run = |aa_run: &'a Measured| {
            let original = aa_runs.get(&aa_run.key.config)?;
            let is_it = |trial: &&Measured| {
                trial.key.config == *original
                    && (&trial.key.workload, trial.key.threads, trial.key.repeat)
                        == (&aa_run.key.workload, aa_run.key.threads, aa_run.key.repeat)
            };
            Some((trials.iter().filter(usable).find(is_it)?, aa_run))
        };
        AaRuns { pairs: trials.iter().filter(usable).filter_map(of_aa_run).collect() }
    }

    fn differences(&self, metric: Metric) -> Vec<OfItself> {
        let of_pair = |(config, aa_run): &(&Measured, &Measured)| {
            let (a, b) = (config.figure(metric)?, aa_run.figure(metric)?);
            Some(OfItself {
                workload: config.key.workload.clone(),
                log: (b.value / a.value).ln(),
                within: a.within.zip(b.within).map(|(a, b)| a.variance + b.variance),
            })
        };
        self.pairs.iter().filter_map(of_pair).collect()
    }

    /// The spread that differences of `workload` have if nothing differs; nothing where no
    /// configuration ran twice.
    pub fn spread(&self, metric: Metric, workload: &str) -> Option<NoiseSpread> {
        self.pooled(metric, workload).map(|(spread, _)| spread)
    }

    fn pooled(&self, metric: Metric, workload: &str) -> Option<(NoiseSpread, bool)> {
        let all = self.differences(metric);
        let its: Vec<OfItself> =
            all.iter().filter(|one| one.workload == workload).cloned().collect();
        let is_of_study = its.len() < POOLED_LEAST;
        Some((NoiseSpread::of(if is_of_study { &all } else { &its })?, is_of_study))
    }

    /// All of it, as it is told.
    pub fn floor(&self) -> Option<NoiseFloor> {
        let mut floor = NoiseFloor { configs: Vec::new(), seen: Vec::new() };
        for metric in Metric::ALL {
            for (config, aa_run) in &self.pairs {
                let names = (config.key.config.clone(), aa_run.key.config.clone());
                if !floor.configs.contains(&names) {
                    floor.configs.push(names);
                }
                let (Some(a), Some(b)) = (config.figure(metric), aa_run.figure(metric)) else {
                    continue;
                };
                self.add(&mut floor.seen, metric, config, b.value / a.value);
            }
        }
        (!floor.configs.is_empty()).then_some(floor)
    }

    fn add(&self, seen: &mut Vec<Seen>, metric: Metric, config: &Measured, ratio: f64) {
        let key = &config.key;
        let is_it = |one: &&mut Seen| {
            (&one.workload, one.threads, one.metric) == (&key.workload, key.threads, metric)
        };
        if let Some(one) = seen.iter_mut().find(is_it) {
            one.ratios.push(ratio);
        } else if let Some((spread, is_of_study)) = self.pooled(metric, &key.workload) {
            seen.push(Seen {
                workload: key.workload.clone(),
                threads: key.threads,
                metric,
                ratios: vec![ratio],
                spread,
                is_of_study,
                floor_percent: spread
                    .makes_a_floor()
                    .then(|| (spread.reach(1).exp() - 1.0) * 100.0),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::simulated::Noise;

    /// The ratio of a floor from this many differences to that of an exactly known spread (1.96
    /// deviations) in the worst of 20 cases, and the share of differences of the configuration with
    /// itself below the floor.
    fn floors_of(differences: usize) -> (f64, f64) {
        let mut noise = Noise::new(differences as u64);
        let mut below = 0;
        let mut times: Vec<f64> = (0..4000)
            .map(|_| {
                let of = |log| OfItself { workload: "w".into(), log, within: None };
                let seen: Vec<OfItself> = (0..differences).map(|_| of(noise.normal())).collect();
                let floor = NoiseSpread::of(&seen).unwrap().reach(1);
                below += u32::from(noise.normal().abs() <= floor);
                floor / 1.96
            })
            .collect();
        times.sort_by(f64::total_cmp);
        (times[3800], f64::from(below) / 4000.0)
    }

    #[test]
    fn a_floor_of_few_differences_is_high_by_chance_though_it_is_right_in_95_of_100_cases() {
        for (differences, expected) in [(1, 12.7), (2, 3.8), (3, 2.62), (4, 2.18)] {
            let (times, below) = floors_of(differences);
            assert!((times / expected - 1.0).abs() < 0.08, "{differences}: {times}");
            assert!((below - LEVEL).abs() < 0.011, "{differences}: {below}");
        }
    }
}
