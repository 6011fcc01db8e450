//! How a drive is, whether all of it can be read, and making it whole again.
//!
//! A check writes nothing and names every block that cannot be read. A repair loses nothing that could be read, and says what it
//! gave up.

pub(crate) mod check;
pub(crate) mod repair;
mod status;
mod verify;
