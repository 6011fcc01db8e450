//! How far one configuration lies from another, within what bounds, and how significant that would
//! be if there were no difference.
//!
//! The judge computes on logarithms and reports ratios: a factor is the same in both directions,
//! and a mean over thread counts does not favour the largest figures.
//!
//! **What is repeated decides.** A repeat holds every run once, with the same draws, in random
//! order: a randomised complete block design. So with two repeats and more the unit is the repeat:
//! the interval is Student's, of the paired differences, and what varies within a run and from run
//! to run is in it alike. A bootstrap of seconds and few repeats would be too narrow (Davison and
//! Hinkley, "Bootstrap methods and their application", 1997, section 3.8, on hierarchical data; a
//! test shows it). With one repeat only seconds vary: what a second run would have been is then
//! known from a configuration that ran twice (see [`crate::difference::noise`]), and where there is
//! none, the result says so and is weaker for it.

use serde::Serialize;

use crate::difference::blocks::Blocks;
use crate::difference::noise::NoiseSpread;
use crate::difference::permute::{Permutation, Units, permutation};
use crate::difference::reason::Reason;
use crate::difference::verdict::Conclusion;
use crate::interval::LEVEL;
use crate::statistics::{MeanVariance, Spread, exchange, flip_signs, mean, paired, unpaired};
use crate::trial::figure::RunFigure;
use crate::trial::measured::{Eligibility, Measured};
use crate::trial::metric::Metric;
use assay_study::TrialKey;

/// Data from which an interval is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Differences within repeats.
    Repeats,
    /// Days of two studies, on which sessions were made that have nothing in common.
    SeparateSessions,
    /// Two studies, of which one was made on a single day: how two days of the same would differ is
    /// not known, and neither repeats of one day nor a floor measured within it tell it.
    SeparateRuns,
    /// Power cuts, which have nothing in common.
    PowerCuts,
    /// Differences within blocks of power cuts.
    PowerCutBlocks,
    /// One repeat, and the spread of a configuration that ran twice.
    OneRepeatAndNoiseFloor,
    /// One repeat: how it varied from second to second, and no more.
    OneRepeat,
}

/// Which flagged runs may explain a conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suspects {
    /// All that are flagged.
    All,
    /// Not those of the other that were slowed: it is better in spite of them.
    OfBetter,
    /// Not those of the baseline that were slowed: the other is worse in spite of them.
    OfWorse,
}

impl Suspects {
    /// Those that may explain this conclusion.
    pub(crate) fn of(conclusion: Conclusion) -> Suspects {
        match conclusion {
            Conclusion::Better => Suspects::OfBetter,
            Conclusion::Worse => Suspects::OfWorse,
            Conclusion::Equivalent | Conclusion::Inconclusive => Suspects::All,
        }
    }

    /// Whether slowed runs of the baseline and of the other are among them.
    fn slowed(self) -> [bool; 2] {
        [self != Suspects::OfWorse, self != Suspects::OfBetter]
    }
}

fn is_suspect(run: &Measured, has_slowed: bool) -> bool {
    match run.eligibility {
        Eligibility::Doubtful => true,
        Eligibility::Slowed => has_slowed,
        _ => false,
    }
}

/// Runs of one workload at one thread count that are compared.
#[derive(Debug, Clone, Default)]
pub struct ComparedRuns<'a> {
    /// Runs of the baseline.
    pub base: Vec<&'a Measured>,
    /// Runs of the other; the n-th is of the same repeat as the n-th of the baseline, unless they
    /// are of two studies.
    pub other: Vec<&'a Measured>,
    /// Runs of either that are done and are not among them, for the machine disturbed them.
    pub left_out: Vec<TrialKey>,
    /// Runs among them that are flagged for what their configuration may have caused.
    pub doubtful: Vec<TrialKey>,
}

/// Where runs are left out, so many must remain.
const REPEATS_LEAST: usize = 2;

impl<'a> ComparedRuns<'a> {
    /// Compares the runs of both sides. A failed run forbids a verdict. A run that the machine
    /// disturbed is left out with its partner if enough repeats remain. A doubtful run stays.
    ///
    /// # Errors
    ///
    /// The reason why there is no verdict.
    pub fn of(
        mut base: impl Iterator<Item = &'a Measured>,
        mut other: impl Iterator<Item = &'a Measured>,
        is_one_study: bool,
    ) -> Result<ComparedRuns<'a>, Reason> {
        let (mut left_out, mut doubtful) = (Vec::new(), Vec::new());
        let mut usable = |trials: &mut dyn Iterator<Item = &'a Measured>| {
            let mut its = Vec::new();
            for trial in trials {
                match trial.eligibility {
                    Eligibility::Usable => its.push(trial),
                    Eligibility::Missing => {}
                    Eligibility::Disturbed => left_out.push(trial.key.clone()),
                    Eligibility::Doubtful | Eligibility::Slowed => {
                        doubtful.push(trial.key.clone());
                        its.push(trial);
                    }
                    Eligibility::Failed => return Err(Reason::TrialFailed(trial.key.clone())),
                }
            }
            Ok(its)
        };
        let (base, other) = (usable(&mut base)?, usable(&mut other)?);
        let whole = ComparedRuns { base, other, left_out, doubtful };
        let stratum = if is_one_study { whole.of_shared_repeats() } else { whole };
        match (stratum.repeats_least(), stratum.left_out.first()) {
            (0..REPEATS_LEAST, Some(trial)) => Err(Reason::TrialNotComparable(trial.clone())),
            (0, None) => Err(Reason::NoSharedRepeat),
            _ => Ok(stratum),
        }
    }

    /// Those without the runs that may explain a conclusion; of one study without their partners
    /// either.
    ///
    /// # Errors
    /// Too few repeats are left; one of the runs.
    pub(crate) fn without(
        &self,
        of: Suspects,
        is_one_study: bool,
    ) -> Result<ComparedRuns<'a>, TrialKey> {
        let side = |runs: &[&'a Measured], has_slowed: bool| -> Vec<&'a Measured> {
            runs.iter().filter(|run| !is_suspect(run, has_slowed)).copied().collect()
        };
        let [base, other] = of.slowed();
        let sound = ComparedRuns {
            base: side(&self.base, base),
            other: side(&self.other, other),
            ..ComparedRuns::default()
        };
        let sound = if is_one_study { sound.of_shared_repeats() } else { sound };
        let first = self.suspects(of).next();
        match first.filter(|_| sound.repeats_least() < REPEATS_LEAST) {
            Some(run) => Err(run.key.clone()),
            None => Ok(sound),
        }
    }

    /// Runs that may explain a conclusion.
    pub(crate) fn suspects(&self, of: Suspects) -> impl Iterator<Item = &'a Measured> {
        let [base, other] = of.slowed();
        let base = self.base.iter().filter(move |run| is_suspect(run, base));
        base.chain(self.other.iter().filter(move |run| is_suspect(run, other))).copied()
    }

    /// Runs of the side with fewer.
    fn repeats_least(&self) -> usize {
        self.base.len().min(self.other.len())
    }

    /// Those of repeats that both have, side by side.
    fn of_shared_repeats(self) -> Self {
        let both = self.base.iter().filter_map(|trial| {
            Some((*trial, *self.other.iter().find(|one| one.key.repeat == trial.key.repeat)?))
        });
        let (base, other) = both.unzip();
        ComparedRuns { base, other, ..self }
    }
}

/// A difference and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Mean of the baseline's runs, in the metric's unit.
    pub baseline_value: f64,
    /// The same of the other.
    pub value: f64,
    /// The other ÷ the baseline: the geometric mean over repeats and thread counts.
    pub ratio: f64,
    /// Its interval.
    pub ratio_interval: (f64, f64),
    /// The other less the baseline, in the metric's unit.
    pub difference: f64,
    /// Its interval.
    pub difference_interval: (f64, f64),
    pub basis: Basis,
    /// Repeats compared; of two studies the days of the one with fewer, or its repeats where it has
    /// one day.
    pub repeats: usize,
    /// Thread counts that it is the mean over.
    pub thread_counts: usize,
    /// Standard deviation of a single repeat's log ratio.
    pub deviation: f64,
    /// p of the interval's own t test.
    pub p_t: f64,
    /// A permutation test of the same.
    pub permutation: Option<Permutation>,
    /// The logarithm of the ratio.
    pub log: Spread,
    /// The difference in the metric's unit.
    pub plain: Spread,
    /// The share of cases in which the intervals hold the truth.
    pub level: f64,
}

impl Difference {
    /// How far the noise floor of as many repeats and thread counts reaches, as a logarithm: what
    /// is independent averages out.
    pub fn floor(&self, noise: &NoiseSpread) -> f64 {
        noise.reach(self.repeats * self.thread_counts)
    }

    /// The same with intervals of this level.
    #[must_use]
    pub fn at_level(self, level: f64) -> Difference {
        let (low, high) = self.log.interval(level);
        Difference {
            ratio_interval: (low.exp(), high.exp()),
            difference_interval: self.plain.interval(level),
            level,
            ..self
        }
    }

    /// Whether nothing is known but how one run varied from second to second.
    pub fn rests_on_seconds_alone(&self) -> bool {
        self.basis == Basis::OneRepeat
    }
}

/// Compares runs whose n-th are of the same repeat; with several thread counts, over all of them.
/// Nothing where a figure is absent or nothing tells how it varies.
pub fn within_study(
    metric: Metric,
    strata: &[ComparedRuns<'_>],
    noise: Option<&NoiseSpread>,
    seed: u64,
) -> Option<Difference> {
    let found = estimated(metric, strata, noise)?;
    let logs = Blocks::of(metric, strata)?.by_repeat(log_ratio);
    let permutation = permutation(metric, strata, &logs, seed);
    Some(Difference { permutation, ..found })
}

/// The same without its permutation test.
pub(crate) fn estimated(
    metric: Metric,
    strata: &[ComparedRuns<'_>],
    noise: Option<&NoiseSpread>,
) -> Option<Difference> {
    let blocks = Blocks::of(metric, strata)?;
    let plain = |[a, b]: &[RunFigure; 2]| b.value - a.value;
    let levels = [blocks.mean(|[a, _]| a.value), blocks.mean(|[_, b]| b.value)];
    let (log, plain, basis) = match (blocks.spread(log_ratio), blocks.spread(plain)) {
        (Some(log), Some(plain)) => (log, plain, Basis::Repeats),
        _ => {
            let (log, basis) = single(blocks.firsts(), noise)?;
            (log, carried_over(&log, blocks.mean(plain), levels), basis)
        }
    };
    let counts = [blocks.repeats_least(), blocks.thread_counts()];
    // Both values may lie half a bucket from what is reported, in all repeats to the same side.
    let resolution = blocks.mean(|[a, b]| (a.resolution + b.resolution) / 2.0);
    let [log, plain] = resolved(&log, &plain, resolution, levels);
    Some(told(levels, &log, &plain, basis, counts, None))
}

/// Spreads of a log ratio and of the plain difference whose intervals are no narrower than the
/// figures' resolution.
pub(crate) fn resolved(
    log: &Spread,
    plain: &Spread,
    resolution: f64,
    levels: [f64; 2],
) -> [Spread; 2] {
    let level = levels[0].max(levels[1]);
    [log.at_least(resolution, LEVEL), plain.at_least(resolution * level, LEVEL)]
}

fn log_ratio([a, b]: &[RunFigure; 2]) -> f64 {
    (b.value / a.value).ln()
}

/// Compares samples that share nothing and are no runs: of positive values. Nothing where one has
/// fewer than two.
pub(crate) fn between_samples(a: &[f64], b: &[f64], seed: u64) -> Option<Difference> {
    let logs = [a, b].map(|values| values.iter().map(|value| value.ln()).collect::<Vec<f64>>());
    let (log, plain) = (unpaired(&logs[0], &logs[1])?, unpaired(a, b)?);
    let permutation = exchange(&logs[0], &logs[1], seed).map(|permuted| Permutation {
        of: Units::PowerCuts,
        units: a.len() + b.len(),
        permuted,
    });
    let least = a.len().min(b.len());
    let levels = [a, b].map(mean);
    Some(told(levels, &log, &plain, Basis::PowerCuts, [least, 1], permutation))
}

/// Compares samples whose n-th values are of the same block: of positive values. Nothing for fewer
/// than two blocks.
pub(crate) fn between_blocks(pairs: &[[f64; 2]], seed: u64) -> Option<Difference> {
    let of = |difference: fn(&[f64; 2]) -> f64| pairs.iter().map(difference).collect::<Vec<f64>>();
    let logs = of(|[a, b]| (b / a).ln());
    let (log, plain) = (paired(&logs)?, paired(&of(|[a, b]| b - a))?);
    let permutation = flip_signs(&logs, seed).map(|permuted| Permutation {
        of: Units::PowerCutBlocks,
        units: pairs.len(),
        permuted,
    });
    let levels = [of(|[a, _]| *a), of(|[_, b]| *b)].map(|values| mean(&values));
    Some(told(levels, &log, &plain, Basis::PowerCutBlocks, [pairs.len(), 1], permutation))
}

pub(crate) fn told(
    levels: [f64; 2],
    log: &Spread,
    plain: &Spread,
    basis: Basis,
    [repeats, thread_counts]: [usize; 2],
    permutation: Option<Permutation>,
) -> Difference {
    let (low, high) = log.interval(LEVEL);
    Difference {
        baseline_value: levels[0],
        value: levels[1],
        ratio: log.mean.exp(),
        ratio_interval: (low.exp(), high.exp()),
        difference: plain.mean,
        difference_interval: plain.interval(LEVEL),
        basis,
        repeats,
        thread_counts,
        deviation: log.error * (repeats as f64).sqrt(),
        p_t: log.p(),
        permutation,
        log: *log,
        plain: *plain,
        level: LEVEL,
    }
}

/// The mean of independent values.
pub(crate) fn mean_of(spreads: &[Spread]) -> Spread {
    let n = spreads.len() as f64;
    let value = spreads.iter().map(|one| one.mean).sum::<f64>() / n;
    let parts: Vec<(f64, f64)> =
        spreads.iter().map(|one| ((one.error / n).powi(2), one.df)).collect();
    Spread::of_parts(value, &parts)
}

/// Spread of a single repeat: from its seconds, and from the noise floor where there is one.
pub(crate) fn single<'a>(
    firsts: impl Iterator<Item = &'a [RunFigure; 2]>,
    noise: Option<&NoiseSpread>,
) -> Option<(Spread, Basis)> {
    let spreads: Option<Vec<Spread>> = firsts.map(|pair| single_of(pair, noise)).collect();
    let mut all = mean_of(&spreads?);
    if let Some(noise) = noise {
        // All thread counts lean on the same estimate, so together they know it no better than one
        // does.
        all.df = noise.df;
    }
    let basis = if noise.is_some() { Basis::OneRepeatAndNoiseFloor } else { Basis::OneRepeat };
    Some((all, basis))
}

fn single_of([a, b]: &[RunFigure; 2], noise: Option<&NoiseSpread>) -> Option<Spread> {
    let value = (b.value / a.value).ln();
    let seconds = a.within.zip(b.within);
    let known = |one: MeanVariance| (one.variance, one.df);
    let Some(noise) = noise else {
        return seconds.map(|(a, b)| Spread::of_parts(value, &[known(a), known(b)]));
    };
    // The A/A runs' spread lacks the variance within these runs beyond that within the A/A runs.
    let here = seconds.map_or(0.0, |(a, b)| a.variance + b.variance);
    let beyond = (here - noise.within).max(0.0);
    let error = (noise.deviation.powi(2) + beyond).sqrt();
    Some(Spread { mean: value, error, df: noise.df })
}

/// A spread of logarithms as one of plain differences of these levels (the delta method).
pub(crate) fn carried_over(log: &Spread, difference: f64, [base, other]: [f64; 2]) -> Spread {
    let level = ((base * base + other * other) / 2.0).sqrt();
    Spread { mean: difference, error: log.error * level, df: log.df }
}
