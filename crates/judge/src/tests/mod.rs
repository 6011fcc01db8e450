//! Invented studies whose truth is known: how often intervals hold it, and what is said of it.

mod intervals;
mod verdicts;

use super::Comparison;
use crate::cell::measured::Measured;
use crate::difference::noise::Twins;
use crate::judgement::comparisons;
use crate::simulated::{Truth, key, study};
use crate::statistics::simulated::Noise;

/// Cells of two arms, the other's level `ratio` times the baseline's.
pub(super) fn cells(
    noise: &mut Noise,
    truth: &Truth,
    threads: u32,
    repeats: u32,
    ratio: f64,
) -> Vec<Measured> {
    let mut cells = Vec::new();
    for repeat in 1..=repeats {
        cells.push(truth.cell(noise, key("base", threads, repeat), 1000.0));
        cells.push(truth.cell(noise, key("other", threads, repeat), 1000.0 * ratio));
    }
    cells
}

pub(super) fn judged(cells: &[Measured], twins: &[(&str, &str)]) -> Vec<Comparison> {
    let study = study(&["base", "other"], twins);
    comparisons(&study, cells, &Twins::of(cells, &study.judging.twins), 0.03)
}

pub(super) fn throughput(cells: &[Measured]) -> Comparison {
    judged(cells, &[]).remove(0)
}
