//! Units of permutation: whole repeats if there are enough, else blocks of time within repeats.

use std::collections::BTreeMap;

use crate::difference::compare::ComparedRuns;
use crate::statistics::{Permuted, flip_signs, mean, settling_seconds};
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;
use assay_study::SecondLatency;

/// With fewer repeats than this no permutation of them can be significant at 5 %: 2 ÷ 2⁶ is 3 %.
const REPEATS_TO_PERMUTE: usize = 6;

/// Units that are exchanged as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    /// Repeats, in each of which both configurations ran.
    Repeats,
    /// Days of two studies, which have nothing in common.
    DaysOfBothStudies,
    /// Power cuts of both configurations, which have nothing in common.
    PowerCuts,
    /// Blocks in which the power of both configurations was cut.
    PowerCutBlocks,
    /// Blocks of time within repeats.
    Blocks {
        /// Seconds of each.
        length_s: usize,
    },
}

/// A permutation test: its units and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Permutation {
    pub of: Units,
    /// How many there are.
    pub units: usize,
    pub permuted: Permuted,
}

/// Permutes the log ratios of repeats if there are enough, else of blocks of time within them.
pub(crate) fn permutation(
    metric: Metric,
    strata: &[ComparedRuns<'_>],
    logs: &[f64],
    seed: u64,
) -> Option<Permutation> {
    if logs.len() >= REPEATS_TO_PERMUTE {
        let permuted = flip_signs(logs, seed)?;
        return Some(Permutation { of: Units::Repeats, units: logs.len(), permuted });
    }
    let pairs: Vec<(&Measured, &Measured)> = strata
        .iter()
        .flat_map(|one| one.base.iter().copied().zip(one.other.iter().copied()))
        .collect();
    let length = pairs
        .iter()
        .flat_map(|(a, b)| [settling_seconds(&a.tps), settling_seconds(&b.tps)])
        .max()?;
    let differences: Vec<f64> = pairs
        .iter()
        .flat_map(|(a, b)| match metric.tail() {
            None => of_blocks(&a.tps, &b.tps, length),
            Some(tail) => of_latency_blocks(a, b, tail, length),
        })
        .collect();
    let permuted = flip_signs(&differences, seed)?;
    let of = Units::Blocks { length_s: length };
    Some(Permutation { of, units: differences.len(), permuted })
}

/// Differences of the means of blocks of `length` seconds, as shares of the baseline's mean; what
/// is left of a block is left out.
fn of_blocks(a: &[f64], b: &[f64], length: usize) -> Vec<f64> {
    let level = mean(a);
    let blocks = a.chunks_exact(length).zip(b.chunks_exact(length));
    blocks.map(|(a, b)| (mean(b) - mean(a)) / level).collect()
}

/// Differences of the share of transactions above the percentile of both configurations together,
/// block by block: if the configurations do not differ, neither has more of them.
fn of_latency_blocks(a: &Measured, b: &Measured, tail: f64, length: usize) -> Vec<f64> {
    let sides = [a.latencies.seconds(), b.latencies.seconds()];
    let Some(bucket) = bucket_above(&sides, tail) else { return Vec::new() };
    let shares = sides.map(|seconds| -> Vec<f64> {
        let share = |block: &[SecondLatency]| {
            let above: u64 = block.iter().map(|one| one.count_above(bucket)).sum();
            above as f64 / block.iter().map(SecondLatency::count).sum::<u64>().max(1) as f64
        };
        seconds.chunks_exact(length).map(share).collect()
    });
    shares[0].iter().zip(&shares[1]).map(|(a, b)| b - a).collect()
}

/// The bucket above which about the share `tail` of all lies.
fn bucket_above(sides: &[Vec<SecondLatency>; 2], tail: f64) -> Option<u32> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for (bucket, count) in sides.iter().flatten().flat_map(|one| &one.buckets) {
        *counts.entry(*bucket).or_default() += count;
    }
    let all: u64 = counts.values().sum();
    let mut below = 0;
    let found = counts.iter().find(|(_, count)| {
        below += **count;
        below as f64 >= all as f64 * (1.0 - tail)
    });
    found.map(|(bucket, _)| *bucket)
}
