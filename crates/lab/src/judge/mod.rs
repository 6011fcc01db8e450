//! From series to verdicts: of every difference between arms how large it is, within what bounds, and what may be said of it.
//!
//! Pure functions over stored records; only [`judgement`] and [`measured`] read a store.

mod alike;
mod compare;
mod figure;
mod judgement;
mod measured;
mod metric;
mod noise;
pub(crate) mod papers;
mod period;
mod permute;
mod stalls;
mod statistics;
mod steady;
mod studies;
mod verdict;
mod words;

pub(crate) use alike::scale_differences;
pub(crate) use judgement::{Comparison, Judgement, OfCell, judgement};
pub(crate) use measured::CLOCK_BEGAN;
pub(crate) use metric::Metric;
pub(crate) use noise::Seen;
pub(crate) use stalls::{Departure, Stalls};
pub(crate) use studies::{Between, Chosen, arms, baseline_of, between};
pub(crate) use verdict::Word;

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
