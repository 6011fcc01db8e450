//! A cell as the statistics see it: its figures, its seconds, and whether it may be judged at all.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::cell::figure::{Absent, Figure, figures};
use crate::cell::metric::Metric;
use crate::cell::sound::is_sound;
use assay_study::{Cell, CellKey, SecondLatencies, State, Store, Warning};

/// The fact of a cell that says when its clock began, RFC 3339.
pub const CLOCK_BEGAN: &str = "clock began";

/// Whether a cell may be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It ended, and nothing forbids it.
    Usable,
    /// It was not run, or is not yet.
    Missing,
    /// It is marked as not comparable: this machine was the reason, so other repeats may stand without it.
    NotComparable,
    /// It failed: what an arm cannot do is no matter of chance, so nothing is said without it.
    Failed,
}

/// A cell with what was seen in its measuring window.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Its coordinates.
    pub key: CellKey,
    /// Whether it may be judged.
    pub standing: Standing,
    /// Transactions per second, of every second of the window.
    pub tps: Vec<f64>,
    /// Response times, second by second, of the window alone.
    pub latencies: SecondLatencies,
    /// What is judged of it; absent where it cannot be told.
    pub figures: BTreeMap<Metric, Figure>,
    /// Why figures are absent that one would expect.
    pub absent: BTreeMap<Metric, Absent>,
}

/// The cells of a study that may be compared, with what is needed of their series.
///
/// # Errors
/// A store that cannot be read.
pub fn measured(store: &Store, cells: &[Cell]) -> Result<Vec<Measured>> {
    cells.iter().map(|cell| read(store, cell)).collect()
}

fn read(store: &Store, cell: &Cell) -> Result<Measured> {
    let mut measured = Measured {
        key: cell.key.clone(),
        standing: standing(cell),
        tps: Vec::new(),
        latencies: SecondLatencies::default(),
        figures: BTreeMap::new(),
        absent: BTreeMap::new(),
    };
    let Some(window) = cell.window.filter(|_| cell.state == State::Done) else {
        return Ok(measured);
    };
    let points = store.points(cell.id, Metric::Throughput.name())?;
    let inside = points.into_iter().filter(|(second, _)| window.contains_second(*second));
    measured.tps = inside.map(|point| point.1).filter(|value| is_sound(*value)).collect();
    if let Some(all) = store.second_latencies(cell.id)? {
        let seconds = all.seconds();
        let inside = seconds.iter().filter(|one| window.contains_second(one.second));
        inside.for_each(|one| measured.latencies.push(one));
    }
    let histograms = store.histograms(cell.id)?;
    let whole = histograms.iter().find(|one| one.is_of_responses());
    let buckets = whole.map_or(&[][..], |one| &one.buckets);
    figures(&mut measured, &cell.results, buckets);
    Ok(measured)
}

/// Whether figures of a cell may be set against another's: it ended, and no warning forbids it.
pub fn is_comparable(cell: &Cell) -> bool {
    standing(cell) == Standing::Usable
}

fn standing(cell: &Cell) -> Standing {
    match cell.state {
        State::Pending | State::Running => Standing::Missing,
        State::Failed => Standing::Failed,
        State::Done if cell.warnings.iter().any(Warning::forbids_comparing) => {
            Standing::NotComparable
        }
        State::Done => Standing::Usable,
    }
}
