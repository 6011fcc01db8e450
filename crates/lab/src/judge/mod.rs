//! From series to verdicts: of every difference between arms how large it is, within what bounds, and what may be said of it.
//! All of it is values; `words` makes sentences of them where they are shown.
//!
//! Pure functions over stored records; only [`judgement`] and [`cell::measured`] read a store, and nothing asks the machine. What is not known
//! is absent and never zero.

mod cell;
pub(crate) mod chain;
mod difference;
pub(crate) mod durability;
mod judgement;
pub(crate) mod paper;
pub(crate) mod papers;
pub(crate) mod reconcile;
mod statistics;
pub(crate) mod summary;
pub(crate) mod worth;

pub(crate) use cell::figure::{ABOVE_LEAST, Absent, is_of_too_few};
pub(crate) use cell::measured::{CLOCK_BEGAN, is_comparable};
pub(crate) use cell::metric::Metric;
pub(crate) use cell::sound::{sound_cell, sound_series};
pub(crate) use cell::stalls::{DEPTH_LEAST, Departure, Stall, Stalls};
pub(crate) use cell::steady::{Held, Steady};
pub(crate) use difference::alike::{Unlike, scale_differences};
pub(crate) use difference::circumstances::{Circumstance, Form, Value, circumstances};
pub(crate) use difference::compare::{Basis, Difference};
pub(crate) use difference::level::Level;
pub(crate) use difference::noise::{NoiseFloor, Seen};
pub(crate) use difference::permute::Units;
pub(crate) use difference::reason::{Reason, SignificanceTest};
pub(crate) use difference::studies::{Between, Chosen, Lone, arms, baseline_of, between, lone};
pub(crate) use difference::verdict::{Verdict, Word};
pub(crate) use judgement::{Comparison, Judgement, OfCell, judgement};
pub(crate) use statistics::{Permuted, median};

#[cfg(test)]
pub(crate) use cell::period::Period;
#[cfg(test)]
pub(crate) use statistics::Spread;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
