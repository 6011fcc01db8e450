//! Main effects and interactions in a full cross of factors.
//!
//! A main effect is the ratio of one level to the baseline's, as the geometric mean over the levels
//! of the others (Yates, "The design and analysis of factorial experiments", 1937). All runs take
//! part in it, so of a 2 × 2 it has half the variance of two configurations compared. An
//! interaction is the ratio of an effect at one level of another factor to the same effect at the
//! baseline's. The repeat is the unit of both. Main effects of one metric are one family (Holm),
//! interactions another.

use std::collections::BTreeSet;

use crate::difference::compare::{ComparedRuns, Difference, within_study};
use crate::difference::comparison::{JudgedComparison, SEED, Teller, Undecided};
use crate::difference::contrast::Contrast;
use crate::difference::cross::{Cross, CrossedFactor, crosses};
use crate::difference::family::all_asked;
use crate::difference::looks::Rules;
use crate::difference::noise::{AaRuns, NoiseSpread};
use crate::difference::steps::{WeightedStep, contrast, log_ratio, resolution, strata, weights};
use crate::difference::taken::{CountedBytes, Taken};
use crate::difference::verdict::{ALPHA, Conclusion};
use crate::interval::LEVEL;
use crate::statistics::{Spread, holm};
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;
use assay_study::{Study, TrialKey};

/// The effects of the factors of a full cross.
#[derive(Debug, Clone, PartialEq)]
pub struct Effects {
    pub cross: Cross,
    /// Effects of each factor: metric by metric, at each thread count, at last over all of them.
    pub main: Vec<Effect>,
    /// Interactions of each two factors over all thread counts, metric by metric.
    pub interactions: Vec<Interaction>,
    /// Bytes for each transaction, where all configurations count them.
    pub bytes: Vec<BytesEffect>,
}

/// The effect of one level of a factor against the baseline's level.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    pub factor: String,
    /// The comparison of the two levels: they stand in the places of the configurations.
    pub judged: JudgedComparison,
}

/// The effect of a level on the bytes for a transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct BytesEffect {
    pub factor: String,
    pub against: String,
    pub level: String,
    pub taken: Taken,
}

/// How the effect of one factor changes with a level of another.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    pub metric: Metric,
    /// Connections; absent over all thread counts of several.
    pub threads: Option<u32>,
    pub factors: [String; 2],
    /// The levels of the baseline.
    pub against: [String; 2],
    pub levels: [String; 2],
    /// The effect of the first factor with the second at its level ÷ the same at the baseline's.
    pub ratio: f64,
    /// Its 95 % interval; `None` with a single repeat.
    pub interval: Option<(f64, f64)>,
    /// p of Student's t, corrected over the interactions of the metric.
    pub p_corrected: Option<f64>,
    /// Effects at single levels, where the interval excludes 1 and p is at most 5 %: the main
    /// effects then depend on the other factor.
    pub simple: Vec<SimpleEffect>,
}

impl Interaction {
    /// Returns true if the effects are known to depend on each other.
    pub fn is_there(&self) -> bool {
        let is_beyond = self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
        is_beyond && self.p_corrected.is_some_and(|p| p <= ALPHA)
    }
}

/// The effect of a level where another factor has one level.
#[derive(Debug, Clone, PartialEq)]
pub struct SimpleEffect {
    pub effect: Effect,
    /// The other factor.
    pub at_factor: String,
    pub at_level: String,
}

/// Effects of every full cross of a study.
pub(crate) fn effects(
    study: &Study,
    trials: &[Measured],
    metrics: &[Metric],
    aa_runs: &AaRuns<'_>,
    rules: Rules,
) -> Vec<Effects> {
    let keys: Vec<&TrialKey> = trials.iter().map(|trial| &trial.key).collect();
    let of_cross = |cross: Cross| {
        let (mut main, mut interactions) = (Vec::new(), Vec::new());
        for metric in metrics.iter().copied() {
            let noise = aa_runs.spread(metric, &cross.workload);
            let runs = Crossed { cross: &cross, trials, metric, noise: noise.as_ref(), rules };
            if runs.has_figures() {
                main.extend(runs.main());
                interactions.extend(runs.interactions());
            }
        }
        let bytes = bytes(study, &cross);
        Effects { main, interactions, bytes, cross }
    };
    crosses(study, &keys).into_iter().map(of_cross).collect()
}

/// A cross, one metric of its runs, and what they are judged by.
struct Crossed<'a> {
    cross: &'a Cross,
    trials: &'a [Measured],
    metric: Metric,
    noise: Option<&'a NoiseSpread>,
    rules: Rules,
}

/// A level of a factor other than the baseline's, both as places.
#[derive(Clone, Copy)]
struct Level {
    factor: usize,
    level: usize,
}

fn levels(cross: &Cross) -> Vec<Level> {
    let of = |(factor, one): (usize, &CrossedFactor)| {
        (1..one.levels.len()).map(move |level| Level { factor, level }).collect::<Vec<_>>()
    };
    cross.factors.iter().enumerate().flat_map(of).collect()
}

fn equal_steps(pairs: &[[&str; 2]], weight: f64) -> Vec<WeightedStep> {
    let share = weight / pairs.len() as f64;
    let step = |[against, config]: &[&str; 2]| WeightedStep {
        weight: share,
        against: (*against).to_owned(),
        config: (*config).to_owned(),
    };
    pairs.iter().map(step).collect()
}

impl Crossed<'_> {
    fn has_figures(&self) -> bool {
        let is_its = |trial: &&Measured| trial.key.workload == self.cross.workload;
        self.trials.iter().filter(is_its).any(|trial| trial.figures.contains_key(&self.metric))
    }

    /// At each thread count, and over all of several; those at single thread counts are one family,
    /// those over all another.
    fn main(&self) -> Vec<Effect> {
        let levels = levels(self.cross);
        let each: Vec<(Level, Undecided)> = levels
            .iter()
            .flat_map(|level| {
                let at = |threads: &u32| self.effect(*level, Some(*threads), |_| true);
                self.cross.threads.iter().map(at).collect::<Vec<_>>()
            })
            .collect();
        let each = self.corrected(each);
        if self.cross.threads.len() < 2 {
            return each;
        }
        let over_all =
            levels.iter().map(|level| self.effect(*level, None, |_| true)).collect::<Vec<_>>();
        let over_all = self.corrected(over_all);
        let mut ordered = Vec::new();
        let of_level = each.chunks(self.cross.threads.len());
        for (of_level, mut over_all) in of_level.zip(over_all) {
            let conclusions: Vec<(u32, Conclusion)> = of_level
                .iter()
                .filter_map(|one| Some((one.judged.threads?, one.judged.verdict.conclusion)))
                .collect();
            over_all.judged.verdict = over_all.judged.verdict.clone().beside(&conclusions);
            ordered.extend(of_level.iter().cloned().chain([over_all]));
        }
        ordered
    }

    fn compare(&self, strata: &[ComparedRuns<'_>]) -> Option<Difference> {
        within_study(self.metric, strata, self.noise, SEED)
    }

    /// The effect of a level where the levels of all factors are as `at` wants.
    fn effect(
        &self,
        level: Level,
        threads: Option<u32>,
        at: impl Fn(&[usize]) -> bool,
    ) -> (Level, Undecided) {
        let steps = equal_steps(&self.cross.pairs(level.factor, level.level, at), 1.0);
        let counts = threads.map_or_else(|| self.cross.threads.clone(), |one| [one].into());
        let strata = strata(self.trials, &self.cross.workload, &counts, &steps);
        let factor = &self.cross.factors[level.factor];
        let teller = Teller {
            workload: &self.cross.workload,
            baseline: &factor.levels[0],
            config: &factor.levels[level.level],
            against_workload: None,
            question: None,
            metric: self.metric,
            margin: self.rules.margin,
            noise: self.noise,
            is_one_study: true,
        };
        let strata = strata.as_deref().map_err(Clone::clone);
        (level, teller.undecided(threads, strata, &|strata| self.compare(strata)))
    }

    /// The effects with Holm's correction over all of these.
    fn corrected(&self, family: Vec<(Level, Undecided)>) -> Vec<Effect> {
        let (levels, undecided): (Vec<Level>, Vec<Undecided>) = family.into_iter().unzip();
        let name = |level: &Level| self.cross.factors[level.factor].name.clone();
        let judged = all_asked(undecided, &self.rules.look).into_iter();
        let effect = |(level, judged): (&Level, _)| Effect { factor: name(level), judged };
        levels.iter().zip(judged).map(effect).collect()
    }

    fn interactions(&self) -> Vec<Interaction> {
        let levels = levels(self.cross);
        let pairs = levels.iter().enumerate().flat_map(|(place, one)| {
            let others = levels[place + 1..].iter().filter(|other| other.factor != one.factor);
            others.map(|other| [*one, *other])
        });
        let known: Vec<([Level; 2], (Contrast, f64))> =
            pairs.filter_map(|both| Some((both, self.contrast(both)?))).collect();
        let spread = |(_, (one, resolution)): &([Level; 2], (Contrast, f64))| {
            Some(one.spread()?.at_least(*resolution, LEVEL))
        };
        let spreads: Vec<Option<Spread>> = known.iter().map(spread).collect();
        let raw: Vec<f64> = spreads.iter().flatten().map(|one| one.p()).collect();
        let mut corrected = holm(&raw).into_iter();
        let each = known.iter().zip(spreads).map(|((both, (found, _)), spread)| {
            let interval = spread.map(|spread| spread.interval(LEVEL));
            let names =
                |of: &dyn Fn(&Level) -> String| -> [String; 2] { [of(&both[0]), of(&both[1])] };
            let name =
                |one: &Level, level: usize| self.cross.factors[one.factor].levels[level].clone();
            let interaction = Interaction {
                metric: self.metric,
                threads: self.single_thread_count(),
                factors: names(&|one| self.cross.factors[one.factor].name.clone()),
                against: names(&|one| name(one, 0)),
                levels: names(&|one| name(one, one.level)),
                ratio: found.value().exp(),
                interval: interval.map(|(low, high)| (low.exp(), high.exp())),
                p_corrected: spread.and_then(|_| corrected.next()),
                simple: Vec::new(),
            };
            let simple = if interaction.is_there() { self.simple(*both) } else { Vec::new() };
            Interaction { simple, ..interaction }
        });
        each.collect()
    }

    fn single_thread_count(&self) -> Option<u32> {
        let mut counts = self.cross.threads.iter().copied();
        counts.next().filter(|_| counts.next().is_none())
    }

    /// The logarithm of the interaction, and the resolution of the two ratios in it; `None` if a
    /// run forbids it or a figure is absent.
    fn contrast(&self, [one, other]: [Level; 2]) -> Option<(Contrast, f64)> {
        let at = |level: usize| {
            self.cross.pairs(one.factor, one.level, |levels| levels[other.factor] == level)
        };
        let steps = [equal_steps(&at(0), -1.0), equal_steps(&at(other.level), 1.0)].concat();
        let counts = &self.cross.threads;
        let strata = strata(self.trials, &self.cross.workload, counts, &steps).ok()?;
        let found = contrast(self.metric, &strata, &weights(&steps, counts.len()), log_ratio)?;
        Some((found, 2.0 * resolution(self.metric, &strata)))
    }

    /// The effects of each of both levels at each level of the other, one family.
    fn simple(&self, [one, other]: [Level; 2]) -> Vec<SimpleEffect> {
        let places =
            [(one, other, 0), (one, other, other.level), (other, one, 0), (other, one, one.level)];
        let threads = self.single_thread_count();
        let effect = |(level, at, place): &(Level, Level, usize)| {
            self.effect(*level, threads, |levels| levels[at.factor] == *place)
        };
        let effects = self.corrected(places.iter().map(effect).collect());
        let simple = |(effect, (_, at, place)): (Effect, &(Level, Level, usize))| SimpleEffect {
            effect,
            at_factor: self.cross.factors[at.factor].name.clone(),
            at_level: self.cross.factors[at.factor].levels[*place].clone(),
        };
        effects.into_iter().zip(&places).map(simple).collect()
    }
}

fn bytes(study: &Study, cross: &Cross) -> Vec<BytesEffect> {
    let configs: BTreeSet<&str> = cross.cells.iter().map(|cell| cell.config.as_str()).collect();
    let Some(counted) = CountedBytes::of(study, &cross.workload, &cross.threads, &configs) else {
        return Vec::new();
    };
    let effect = |one: Level| {
        let factor = &cross.factors[one.factor];
        let steps = equal_steps(&cross.pairs(one.factor, one.level, |_| true), 1.0);
        Some(BytesEffect {
            factor: factor.name.clone(),
            against: factor.levels[0].clone(),
            level: factor.levels[one.level].clone(),
            taken: counted.taken(&steps)?,
        })
    };
    levels(cross).into_iter().filter_map(effect).collect()
}
