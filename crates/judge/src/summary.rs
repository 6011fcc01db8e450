//! Cells of equal arm, workload and threads taken together: mean, lowest and highest over the repeats.
//!
//! No judgement here: intervals and verdicts are the statistics' business.

use std::collections::BTreeSet;

use assay_study::metrics::metric;
use assay_study::{Cell, State, Study};

use super::{Metric, is_comparable, is_of_too_few};

/// The repeats of one arm × workload × threads.
#[derive(Debug)]
pub struct Group<'a> {
    /// Place of the arm in the study.
    pub arm: usize,
    /// Place of the workload in the study.
    pub workload: usize,
    /// Connections.
    pub threads: u32,
    /// The repeats in order.
    pub cells: Vec<&'a Cell>,
}

/// A figure over the repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest.
    pub low: f64,
    /// Largest.
    pub high: f64,
    /// Each repeat's value.
    pub values: Vec<f64>,
}

impl Group<'_> {
    /// The repeats that ended with results.
    pub fn done(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().copied().filter(|cell| cell.state == State::Done)
    }

    /// The same with those repeats alone that may be compared; nothing where there are none.
    pub fn comparable(&self) -> Option<Group<'_>> {
        let cells: Vec<&Cell> =
            self.cells.iter().copied().filter(|cell| is_comparable(cell)).collect();
        (!cells.is_empty()).then_some(Group { cells, ..*self })
    }

    /// A value over the repeats that have it.
    pub fn figure(&self, value: impl Fn(&Cell) -> Option<f64>) -> Option<Figure> {
        Figure::of(self.done().filter_map(value).collect())
    }
}

impl Figure {
    /// Nothing of nothing.
    pub fn of(values: Vec<f64>) -> Option<Figure> {
        let first = *values.first()?;
        Some(Figure {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: values.iter().copied().fold(first, f64::min),
            high: values.iter().copied().fold(first, f64::max),
            values,
        })
    }
}

/// A stored result of a cell; nothing of a percentile that a handful of transactions made.
pub fn result(cell: &Cell, name: &str) -> Option<f64> {
    let part = |name: &str| cell.results.get(name).copied();
    let is_of_few = Metric::named(name)
        .zip(part(metric!("transactions").name))
        .is_some_and(|(metric, transactions)| is_of_too_few(metric, transactions));
    if is_of_few { None } else { part(name) }
}

/// All groups in the order of the plan's matrix: workload, threads, arm.
pub fn groups(study: &Study) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for cell in &study.cells {
        let arm = study.arms.iter().position(|arm| arm.name == cell.key.arm);
        let workload = study.workloads.iter().position(|one| one.name == cell.key.workload);
        let (Some(arm), Some(workload)) = (arm, workload) else { continue };
        let threads = cell.key.threads;
        let same = |group: &&mut Group<'_>| {
            (group.arm, group.workload, group.threads) == (arm, workload, threads)
        };
        match groups.last_mut().filter(same) {
            Some(group) => group.cells.push(cell),
            None => groups.push(Group { arm, workload, threads, cells: vec![cell] }),
        }
    }
    groups
}

/// The thread counts of these groups, ascending.
pub fn threads_of<'a>(groups: impl Iterator<Item = &'a Group<'a>>) -> Vec<u32> {
    groups.map(|group| group.threads).collect::<BTreeSet<u32>>().into_iter().collect()
}

/// The thread counts of the study, ascending.
pub fn threads(study: &Study) -> Vec<u32> {
    let mut threads: Vec<u32> = study.cells.iter().map(|cell| cell.key.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}
