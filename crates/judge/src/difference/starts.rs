//! Runs that took turns: how far the ratio varies from start to start, and how much of that is
//! noise within a start.
//!
//! Both servers of a start share its minutes, so what the machine does in them is in both and
//! leaves their ratio. The rest has two parts. One changes from turn to turn; longer runs average
//! it out. The other a start fixes for its length: where memory came to lie, which pages came
//! first. Only another start shows that, so a repeat is the unit here as everywhere; blocks of
//! turns taken for repeats tell a false direction in a third of all studies (a test shows it).

use std::collections::BTreeSet;

use assay_load::{SLICE_S, SLICES_BALANCED};
use assay_study::{Design, Study, TrialKey};
use serde::Serialize;

use crate::difference::pairs::{Pair, Side, all};
use crate::statistics::{mean, mean_variance, paired};
use crate::trial::measured::Measured;

/// Own seconds of a side in a block of turns, the shortest stretch in which all sides meet the same
/// drift.
const BLOCK_S: usize = (SLICE_S * SLICES_BALANCED) as usize;

/// The starts of a pair at one thread count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Starts {
    pub config: String,
    pub baseline: String,
    pub workload: String,
    pub threads: u32,
    /// Starts in which both were up.
    pub starts: usize,
    /// Standard deviation of the log ratio from start to start.
    pub deviation: f64,
    /// The part of it that the noise from turn to turn explains; `None` where a run has one block.
    pub within: Option<f64>,
}

impl Starts {
    /// Length of a turn, in seconds.
    pub const TURN_S: u32 = SLICE_S;

    /// Returns true if most of the variance is noise within starts, which longer runs lower too;
    /// `None` where that is not known.
    #[must_use]
    pub fn is_mostly_within(&self) -> Option<bool> {
        self.within.map(|within| within * within > 0.5 * self.deviation * self.deviation)
    }
}

/// The starts of every pair, of a study whose runs take turns.
pub(crate) fn starts(study: &Study, trials: &[Measured]) -> Vec<Starts> {
    if study.judging.design != Design::Switchback {
        return Vec::new();
    }
    let keys: Vec<&TrialKey> = trials.iter().map(|trial| &trial.key).collect();
    let threads: BTreeSet<u32> = keys.iter().map(|key| key.threads).collect();
    let pairs = all(study, &keys);
    let each = pairs.iter().flat_map(|pair| threads.iter().map(move |threads| (pair, *threads)));
    each.filter_map(|(pair, threads)| of_pair(pair, threads, trials)).collect()
}

/// `None` of fewer than two starts.
fn of_pair(pair: &Pair, threads: u32, trials: &[Measured]) -> Option<Starts> {
    let of = |side: &Side| -> Vec<&Measured> {
        let is_its = |one: &&Measured| side.has(&one.key) && one.key.threads == threads;
        trials.iter().filter(is_its).filter(|one| one.eligibility.counts()).collect()
    };
    let (judged, against) = (of(&pair.judged), of(&pair.against));
    let blocks: Vec<Vec<f64>> = judged
        .iter()
        .filter_map(|one| {
            let other = against.iter().find(|other| other.key.repeat == one.key.repeat)?;
            Some(block_ratios(&other.tps, &one.tps)).filter(|ratios| !ratios.is_empty())
        })
        .collect();
    let ratios: Vec<f64> = blocks.iter().map(|ratios| mean(ratios)).collect();
    let between = paired(&ratios)?;
    let within: Vec<f64> = blocks.iter().filter_map(|ratios| variance_of_mean(ratios)).collect();
    Some(Starts {
        config: pair.judged.config.clone(),
        baseline: pair.against.config.clone(),
        workload: pair.judged.workload.clone(),
        threads,
        starts: ratios.len(),
        deviation: between.error * (ratios.len() as f64).sqrt(),
        within: (!within.is_empty()).then(|| mean(&within).sqrt()),
    })
}

/// Blocks may depend on one another. Too few do not show that, and are taken for independent.
fn variance_of_mean(blocks: &[f64]) -> Option<f64> {
    let independent = || Some(paired(blocks)?.error.powi(2));
    mean_variance(blocks).map(|known| known.variance).or_else(independent)
}

/// The log ratio of each block of turns, of both sides' own seconds.
pub(crate) fn block_ratios(against: &[f64], judged: &[f64]) -> Vec<f64> {
    let both = against.chunks_exact(BLOCK_S).zip(judged.chunks_exact(BLOCK_S));
    let ratios = both.map(|(against, judged)| (mean(judged) / mean(against)).ln());
    ratios.filter(|ratio| ratio.is_finite()).collect()
}
