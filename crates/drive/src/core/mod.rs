//! The state of a drive: no locks, no media, no time.
//!
//! Whoever holds it changes it by a few steps, each of which leaves it whole: a group gets its place in the log and then takes
//! effect in map and space as one; the space knows how much lives in each segment; the budget says before a step whether what
//! that can lead to still fits. What only other modules can do, as reading a node that is not in memory, is a result: nothing waits.

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
