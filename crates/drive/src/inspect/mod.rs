//! How a drive is, and whether all of it can be read.

pub(crate) mod check;
mod health;
pub(crate) mod repair;
mod verify;
