//! The end of a run: its outcome, or an error with what was measured until then.

use anyhow::{Error, Result};
use assay_load::LoadOutcome;
use parking_lot::Mutex;

use crate::print;

/// The outcome of a run that an error ended, as stored by an observer.
pub(super) type BrokenOff = Mutex<Option<LoadOutcome>>;

/// An outcome to print and write, and the error that ended the run, if any.
pub(super) struct Ending {
    pub(super) outcome: LoadOutcome,
    error: Option<Error>,
}

impl Ending {
    /// Returns the run's error if no event had ended before it.
    pub(super) fn of(
        ended: std::result::Result<LoadOutcome, impl Into<Error>>,
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

    /// Returns the run's error, after results were printed and written.
    pub(super) fn end(self) -> Result<()> {
        let Some(error) = self.error else { return Ok(()) };
        print::note(format_args!(
            "an error ended the run after {:.1} s; the results are of what was measured until then",
            self.outcome.elapsed_s
        ));
        Err(error)
    }
}
