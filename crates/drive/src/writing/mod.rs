//! Host writes and discards.

mod write;
