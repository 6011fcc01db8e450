//! The state of a drive as a machine: no locks, no media, no time.

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
