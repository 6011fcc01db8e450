//! Load on one server from several hosts at once, as one load.
//!
//! Each host runs its part of the load ([`assay_load::Part`]): all begin at one instant, which each finds on its own clock by what the
//! comparison said of it, and what they found is put together ([`assay_load::together`]). A host that is lost fails the load, and the
//! others are stopped. Account and password travel on the sessions alone.

mod files;
mod here;
mod task;
mod there;

pub use here::{HostOutcome, LoadFound, preflight, run};
pub use there::carry_out;
