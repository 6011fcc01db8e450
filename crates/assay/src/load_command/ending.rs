//! Ends a run: with its outcome, or with an error and the outcome up to then.

use anyhow::{Error, Result};
use assay_load::Outcome;
use parking_lot::Mutex;

use crate::print;

/// Outcome of a run that an error has ended, kept by its observer.
pub(super) type BrokenOff = Mutex<Option<Outcome>>;

/// Outcome to print and write, and the error that ended the run, if any.
pub(super) struct Ending {
    pub(super) outcome: Outcome,
    error: Option<Error>,
}

impl Ending {
    /// # Errors
    /// The run's error, if no event had completed before it.
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

    /// Ends the command, once results are printed and written, with the run's error, if any.
    pub(super) fn end(self) -> Result<()> {
        let Some(error) = self.error else { return Ok(()) };
        print::note(format_args!(
            "an error ended the run after {:.1} s; the results are of what was measured until then",
            self.outcome.elapsed_s
        ));
        Err(error)
    }
}
