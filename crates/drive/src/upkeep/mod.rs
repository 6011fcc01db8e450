//! What is done in the background, one piece at a time.

pub(crate) mod checkpoint;
mod clean;
pub(crate) mod collect;
pub(crate) mod maintain;
pub(crate) mod trainer;
