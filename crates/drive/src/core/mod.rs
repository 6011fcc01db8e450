//! The state of a drive as a machine: no locks, no media, no time.

pub(crate) mod apply;
pub(crate) mod budget;
pub(crate) mod chunks;
pub(crate) mod group;
pub(crate) mod log;
pub(crate) mod map;
pub(crate) mod space;
