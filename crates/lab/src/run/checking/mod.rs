//! Everything that is found out before the first run: whether the plan fits the machine, where it
//! may write, and which runs the study lacks.

pub mod check;
pub(crate) mod missing;
pub(crate) mod place;
pub(crate) mod sessions;
pub mod space_check;
