//! The runs of a comparison by thread count and repeat, of which some may be missing.
//!
//! Guarantees: the repeat is the unit, whether all its runs are there or not. A run that was lost
//! never makes an interval narrower by taking what the thread counts of a repeat share for
//! independent.

use std::collections::BTreeSet;

use crate::difference::compare::ComparedRuns;
use crate::statistics::{Spread, jackknife, mean, paired};
use crate::trial::figure::RunFigure;
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;

/// Figures of the baseline and of the other in one repeat.
#[derive(Debug, Clone, Copy)]
struct Cell {
    repeat: u32,
    figures: [RunFigure; 2],
}

/// Figures of both sides by thread count, each by repeat.
#[derive(Debug)]
pub(crate) struct Blocks(Vec<Vec<Cell>>);

impl Blocks {
    /// The figures of each stratum; `None` if one is absent, or a stratum has no repeat.
    pub(crate) fn of(metric: Metric, strata: &[ComparedRuns<'_>]) -> Option<Blocks> {
        let of_stratum = |one: &ComparedRuns<'_>| {
            let both = one.base.iter().zip(&one.other);
            let cells = both.map(|(a, b)| cell(metric, a, b));
            cells.collect::<Option<Vec<Cell>>>().filter(|cells| !cells.is_empty())
        };
        let counts: Option<Vec<Vec<Cell>>> = strata.iter().map(of_stratum).collect();
        counts.filter(|counts| !counts.is_empty()).map(Blocks)
    }

    /// Thread counts.
    pub(crate) fn thread_counts(&self) -> usize {
        self.0.len()
    }

    /// Repeats of the thread count that has the fewest.
    pub(crate) fn repeats_least(&self) -> usize {
        self.0.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// The first repeat of each thread count.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = &[RunFigure; 2]> {
        self.0.iter().filter_map(|cells| Some(&cells.first()?.figures))
    }

    /// The mean over thread counts of the means over their repeats.
    pub(crate) fn mean(&self, of: impl Fn(&[RunFigure; 2]) -> f64) -> f64 {
        mean(&self.by_repeat(of))
    }

    /// The same with its spread: Student's over the repeats if each has all its runs, else the
    /// jackknife over them, which is the same for whole ones. `None` if a thread count has a single
    /// repeat.
    pub(crate) fn spread(&self, of: impl Fn(&[RunFigure; 2]) -> f64) -> Option<Spread> {
        if self.repeats_least() < 2 {
            return None;
        }
        if self.is_whole() {
            return paired(&self.by_repeat(of));
        }
        let without: Vec<f64> =
            self.repeats().into_iter().map(|repeat| self.mean_without(repeat, &of)).collect();
        jackknife(self.mean(&of), &without)
    }

    /// The part of each repeat in the mean: its mean over thread counts, where each thread count
    /// weighs the same in all whatever runs are missing. Their mean is [`Blocks::mean`].
    pub(crate) fn by_repeat(&self, of: impl Fn(&[RunFigure; 2]) -> f64) -> Vec<f64> {
        let repeats = self.repeats();
        let part = |repeat: &u32| {
            let its = self.0.iter().map(|cells| {
                let share = repeats.len() as f64 / cells.len() as f64;
                let value =
                    cells.iter().find(|cell| cell.repeat == *repeat).map(|c| of(&c.figures));
                value.map_or(0.0, |value| share * value)
            });
            mean(&its.collect::<Vec<f64>>())
        };
        repeats.iter().map(part).collect()
    }

    fn mean_without(&self, repeat: u32, of: &impl Fn(&[RunFigure; 2]) -> f64) -> f64 {
        let rest = |cells: &Vec<Cell>| {
            let others = cells.iter().filter(|cell| cell.repeat != repeat);
            mean(&others.map(|cell| of(&cell.figures)).collect::<Vec<f64>>())
        };
        mean(&self.0.iter().map(rest).collect::<Vec<f64>>())
    }

    fn repeats(&self) -> BTreeSet<u32> {
        self.0.iter().flatten().map(|cell| cell.repeat).collect()
    }

    /// Returns true if each thread count has every repeat.
    fn is_whole(&self) -> bool {
        self.repeats_least() == self.repeats().len()
    }
}

fn cell(metric: Metric, a: &Measured, b: &Measured) -> Option<Cell> {
    Some(Cell { repeat: a.key.repeat, figures: [a.figure(metric)?, b.figure(metric)?] })
}
