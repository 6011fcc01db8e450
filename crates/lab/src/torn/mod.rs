//! Torn pages and what servers make of them: by experiment, and on data directories that do not
//! start.
//!
//! - [`experiment`] tears pages by hand with copies of known age in the doublewrite buffer, and
//!   starts a server on each
//! - [`state`] makes what a power cut leaves, in which three versions of each page are known
//! - [`trial`] starts a server on a data directory and checks all of its tables
//!
//! Guarantees: a data directory of somebody else is read and copied, never changed.

mod experiment;
mod state;
mod trial;

pub use experiment::{
    Case, OfKind, TearFindings, TearRequest, TearRow, TearTarget, TornKind, experiment,
};
pub use trial::{End, RestoredFrom, TearTrial, TrialPlace, trial};
