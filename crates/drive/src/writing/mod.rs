//! Host writes and discards.

pub(crate) mod units;
mod write;
