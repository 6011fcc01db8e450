//! From series to verdicts: of every difference between arms how large it is, within what bounds, and what may be said of it.
//!
//! Pure functions over stored records; only [`judgement`] and [`measured`] read a store, and nothing asks the machine. What is not known
//! is absent and never zero.

mod alike;
pub(crate) mod chain;
mod compare;
pub(crate) mod cost;
pub(crate) mod durability;
pub(crate) mod endurance;
mod figure;
pub(crate) mod interval;
mod judgement;
mod measured;
mod metric;
mod noise;
pub(crate) mod papers;
mod period;
mod permute;
pub(crate) mod prices;
pub(crate) mod reconcile;
mod stalls;
mod statistics;
mod steady;
mod studies;
mod verdict;
mod words;

pub(crate) use alike::scale_differences;
pub(crate) use compare::Difference;
pub(crate) use judgement::{Comparison, Judgement, OfCell, judgement};
pub(crate) use measured::CLOCK_BEGAN;
pub(crate) use metric::Metric;
pub(crate) use noise::Seen;
pub(crate) use stalls::{Departure, Stalls};
pub(crate) use studies::{Between, Chosen, arms, baseline_of, between};
pub(crate) use verdict::Word;
pub(crate) use words::size;

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
