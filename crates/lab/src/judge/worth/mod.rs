//! What an arm costs and how long its drive lasts, each within the bounds of the figures that it is made of.

pub(crate) mod cost;
pub(crate) mod endurance;
pub(crate) mod interval;
