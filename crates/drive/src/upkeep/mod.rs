//! What is done in the background, one piece at a time, under one lock.
//!
//! Whatever it moves or stores, the host's data stay what they are: a move gives way to what the host wrote meanwhile, a segment
//! is given back only when what emptied it is on stable media, and a checkpoint counts only when both superblocks name it. Room
//! for a checkpoint is always there, see `core::budget`; what cannot be read is set aside and costs nothing else.

pub(crate) mod checkpoint;
mod clean;
pub(crate) mod collect;
pub(crate) mod maintain;
mod resize;
pub(crate) mod trainer;
