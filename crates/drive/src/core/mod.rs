//! The state of a drive: no locks, no media, no time.
//!
//! Every change leaves it whole: a group gets its place in the log and then takes effect in map and
//! space as one; space counts the live records of each segment; the budget is asked before a step
//! whether all its consequences still fit. Nothing waits: work that only other modules can do, such
//! as reading a node, is a result.

pub(crate) mod apply;
pub(crate) mod budget;
pub(crate) mod chunks;
pub(crate) mod group;
pub(crate) mod log;
pub(crate) mod maintenance;
pub(crate) mod map;
pub(crate) mod nodes;
pub(crate) mod space;
pub(crate) mod tables;
pub(crate) mod victims;
