//! Published figures, and whether they agree with each other.
//!
//! A paper is a file in `claims/` or the user's own. It holds each figure once, with its digits and
//! its place. Checks are arithmetic over those figures with intervals for rounding, so that only an
//! impossible figure is called wrong.

#[cfg(test)]
mod assumed_tests;
pub mod document;
mod expression;
#[cfg(test)]
mod file_tests;
pub mod find;
#[cfg(test)]
mod findings;
mod interval;
pub mod outcome;
pub mod paper;
mod printed;
mod reading;
pub mod repeated;
#[cfg(test)]
mod tests;
pub mod text;

/// The title and the comparisons with printed figures of the claims `named`, for a plan.
///
/// Fails if there are no such claims, or no plan repeats them.
pub fn beside(named: &str) -> anyhow::Result<assay_study::Paper> {
    repeated::printed(&find::find(named)?)
}
