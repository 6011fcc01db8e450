//! One run by itself: its figures and how far its seconds leave them open, whether it held still,
//! where it broke down.

pub(crate) mod figure;
pub(crate) mod measured;
pub(crate) mod metric;
pub(crate) mod of_statement;
pub(crate) mod period;
pub(crate) mod phase;
pub(crate) mod settling;
pub(crate) mod sound;
pub(crate) mod stalls;
pub(crate) mod statements;
pub(crate) mod steady;
