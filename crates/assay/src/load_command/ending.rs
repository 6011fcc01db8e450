//! How a run ends: with its outcome, or with an error and what was measured until then.

use anyhow::{Error, Result};
use assay_load::Outcome;
use parking_lot::Mutex;

use crate::print;

/// Where an observer keeps the outcome of a run that an error ends.
pub(super) type BrokenOff = Mutex<Option<Outcome>>;

/// An outcome that is to be printed and written, and the error that ended the run if one did.
pub(super) struct Ending {
    pub(super) outcome: Outcome,
    error: Option<Error>,
}

impl Ending {
    /// # Errors
    /// The run's, if no event had ended before it.
    pub(super) fn of(
        ended: std::result::Result<Outcome, impl Into<Error>>,
        broken_off: &BrokenOff,
    ) -> Result<Ending> {
        match (ended, broken_off.lock().take()) {
            (Ok(outcome), _) => Ok(Ending { outcome, error: None }),
            (Err(error), Some(outcome)) if outcome.events > 0 => {
                Ok(Ending { outcome, error: Some(error.into()) })
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Ends the command, once results are printed and written.
    ///
    /// # Errors
    /// The run's.
    pub(super) fn end(self) -> Result<()> {
        let Some(error) = self.error else { return Ok(()) };
        print::note(format_args!(
            "an error ended the run after {:.1} s; the results are of what was measured until then",
            self.outcome.elapsed_s
        ));
        Err(error)
    }
}
