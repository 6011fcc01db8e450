//! Load on one server from several hosts at once.
//!
//! Each host runs its part of the load ([`assay_load::LoadPart`]). All parts start at one instant,
//! which each host finds on its own clock by the measured offset, and their outcomes are merged
//! ([`assay_load::together`]). Losing a host fails the load and stops the others. Account and
//! password travel on the sessions alone.

mod files;
mod here;
mod task;
mod there;

pub use here::{HostOutcome, LoadFound, preflight, run};
pub use there::carry_out;
