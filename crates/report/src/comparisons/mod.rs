//! Comparisons of the judge, selected: which answer the plan's questions, which runs they rest on,
//! and which differences of the plan had no effect.
//!
//! Nothing here judges.

pub(crate) mod by_day;
pub(crate) mod by_start;
pub(crate) mod closed_loop;
pub(crate) mod flagged;
pub(crate) mod known_steps;
pub(crate) mod paired_figures;
pub(crate) mod questions;
pub(crate) mod ran_alike;
pub(crate) mod sentence;
pub(crate) mod uneven_loss;
