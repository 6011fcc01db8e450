//! What a run stands on: a server that is loaded, whoever runs it, and what can be seen of it from here.

use anyhow::Result;
use assay_load::Endpoint;

use super::happenings::Own;
use crate::monitor::Targets;
use assay_study::Outcome;
use assay_study::metrics::Window;

/// A server that stands, ready to be loaded.
pub(super) trait Stand {
    /// How the load reaches the tables.
    ///
    /// # Errors
    /// There is no way to log in any more.
    fn endpoint(&self) -> Result<Endpoint>;

    /// What is monitored, from these CPUs; what cannot be seen is absent.
    fn targets(&self, cpus: &[usize]) -> Targets;

    /// The server as one of our own; nothing where somebody else runs it.
    fn own(&mut self) -> Option<Own<'_>>;

    /// Whether what was measured in the window is what it is taken for.
    ///
    /// # Errors
    /// Why it is not.
    fn verify(&self, outcome: &mut Outcome, window: Window) -> Result<()>;
}
