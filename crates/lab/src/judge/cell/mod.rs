//! One cell by itself: its figures and how far its seconds leave them open, whether it held still, where it broke down.

pub(in crate::judge) mod figure;
pub(in crate::judge) mod measured;
pub(in crate::judge) mod metric;
pub(in crate::judge) mod period;
pub(in crate::judge) mod sound;
pub(in crate::judge) mod stalls;
pub(in crate::judge) mod steady;
