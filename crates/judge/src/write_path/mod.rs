//! The write path per transaction: what one transaction comes to at each layer, from InnoDB's pages
//! to the flash.
//!
//! Means over a run's measuring window, divided by its transactions. Layers are the counters of the
//! monitor (`docs/measuring.md`); what nobody counted is absent and never zero. Where layers count
//! the same bytes they are held against each other by [`reconcile`](crate::reconcile), and a run in
//! which they do not agree is flagged.

mod layers;
mod spent;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::reconcile::{self, CrossCheck};
use assay_study::metrics::metric;
use assay_study::{RunState, Trial, TrialKey};

pub use layers::{Boundary, LayerName, TransactionLayer};
pub use spent::{Activity, Held, Space, Spent};

/// Results of a run, by name.
type Results = BTreeMap<String, f64>;

/// One run's chain.
#[derive(Debug, Clone, PartialEq)]
pub struct WritePath {
    /// Which run.
    pub key: TrialKey,
    /// Layers that something is known of, the server's first.
    pub layers: Vec<TransactionLayer>,
    /// How bytes written grow or shrink from one layer to another, where both are known.
    pub amplification: Vec<Boundary>,
    /// Where the time of a transaction went, in microseconds of it.
    pub spent: Vec<Spent>,
    /// Bytes that the data take, layer by layer, at the window's end.
    pub space: Vec<Space>,
    /// Checks of figures against each other.
    pub checks: Vec<CrossCheck>,
}

/// The chain of a run that ended with transactions; nothing of others.
pub fn of_trial(trial: &Trial) -> Option<WritePath> {
    let tps = trial.results.get(metric!("tps").name).copied().filter(|tps| *tps > 0.0)?;
    if trial.state != RunState::Done {
        return None;
    }
    let layers = layers::of_results(&trial.results, tps);
    Some(WritePath {
        key: trial.key.clone(),
        amplification: layers::boundaries(&layers),
        spent: spent::times(&trial.results, tps),
        space: spent::space(&trial.results),
        checks: reconcile::of_results(&trial.results, trial.key.threads),
        layers,
    })
}

#[cfg(test)]
impl WritePath {
    /// A layer by its name.
    fn layer(&self, name: LayerName) -> Option<&TransactionLayer> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    /// How many bytes of the second layer one byte of the first became.
    fn amplified(&self, from: LayerName, to: LayerName) -> Option<f64> {
        let boundary = self.amplification.iter().find(|one| one.from == from && one.to == to)?;
        Some(boundary.factor)
    }
}
