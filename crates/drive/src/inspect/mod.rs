//! The state of a drive, its check, and its repair.
//!
//! A check writes nothing and names every block that cannot be read. A repair loses nothing that
//! could be read, and names everything that it gave up.

pub(crate) mod check;
pub(crate) mod repair;
mod status;
mod verify;
