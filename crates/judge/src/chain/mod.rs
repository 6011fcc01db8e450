//! The chain of evidence: what one transaction comes to at each layer, from InnoDB's pages to the flash.
//!
//! Means over a cell's measuring window, divided by its transactions. Layers are the counters of the watch (`docs/measuring.md`);
//! what nobody counted is absent and never zero. Where layers count the same bytes they are held against each other by
//! [`reconcile`](crate::reconcile), and a cell in which they do not agree is marked.

mod layers;
mod spent;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::reconcile::{self, Check};
use assay_study::metrics::metric;
use assay_study::{Cell, CellKey, State};

pub use layers::{Boundary, Layer, LayerName};
pub use spent::{Activity, Held, Space, Spent};

/// Results of a cell, by name.
type Results = BTreeMap<String, f64>;

/// One cell's chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Which cell.
    pub key: CellKey,
    /// Layers that something is known of, the server's first.
    pub layers: Vec<Layer>,
    /// How bytes written grow or shrink from one layer to another, where both are known.
    pub amplification: Vec<Boundary>,
    /// Where the time of a transaction went, in microseconds of it.
    pub spent: Vec<Spent>,
    /// Bytes that the data take, layer by layer, at the window's end.
    pub space: Vec<Space>,
    /// What was held against each other.
    pub checks: Vec<Check>,
}

/// The chain of a cell that ended with transactions; nothing of others.
pub fn of_cell(cell: &Cell) -> Option<Chain> {
    let tps = cell.results.get(metric!("tps").name).copied().filter(|tps| *tps > 0.0)?;
    if cell.state != State::Done {
        return None;
    }
    let layers = layers::of_results(&cell.results, tps);
    Some(Chain {
        key: cell.key.clone(),
        amplification: layers::boundaries(&layers),
        spent: spent::times(&cell.results, tps),
        space: spent::space(&cell.results),
        checks: reconcile::of_results(&cell.results, cell.key.threads),
        layers,
    })
}

#[cfg(test)]
impl Chain {
    /// A layer by its name.
    fn layer(&self, name: LayerName) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    /// How many bytes of the second layer one byte of the first became.
    fn amplified(&self, from: LayerName, to: LayerName) -> Option<f64> {
        let boundary = self.amplification.iter().find(|one| one.from == from && one.to == to)?;
        Some(boundary.factor)
    }
}
