//! What a configuration costs and how long its drive lasts, each within the bounds of the figures that it is made of.

pub mod cost;
pub mod endurance;

pub use crate::interval;
