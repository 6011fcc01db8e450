//! What a configuration costs and how long its drive lasts, each within the bounds of the figures that it is made of.

pub mod break_even;
pub mod cost;
pub mod endurance;
pub mod flash_life;

pub use crate::interval;
