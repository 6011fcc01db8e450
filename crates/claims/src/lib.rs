//! Published figures, and what follows from them and what does not.
//!
//! A paper is a file in `claims/`, or one of the user's own: every figure stands there once, with its digits and its place. Checks
//! are arithmetic over those figures; rounding is carried along as intervals, so that only what cannot be is called so.

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

/// What a plan that names these claims stands beside: their title and every comparison with its printed figures.
///
/// # Errors
/// One line: no such claims, or ones that no plan repeats.
pub fn beside(named: &str) -> anyhow::Result<assay_study::Paper> {
    repeated::printed(&find::find(named)?)
}
