//! `assay claims`: published figures, what follows from them and what does not, and what a study measured beside them.
//!
//! A paper is a file in `claims/`, or one of the user's own: every figure stands there once, with its digits and its place. Checks
//! are arithmetic over those figures; rounding is carried along as intervals, so that only what cannot be is called so.

mod command;
mod document;
mod expression;
#[cfg(test)]
mod file_tests;
mod find;
#[cfg(test)]
mod findings;
mod interval;
mod outcome;
mod paper;
mod parser;
mod printed;
mod repeated;
mod show;
mod study;
#[cfg(test)]
mod study_tests;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use command::{ClaimsArgs, run};

/// What a plan that names these claims stands beside: their title and every comparison with its printed figures.
///
/// # Errors
/// One line: no such claims, or ones that no plan repeats.
pub(crate) fn beside(named: &str) -> anyhow::Result<crate::store::Paper> {
    repeated::printed(&find::find(named)?)
}
