//! The body of the fuzz target `plan`, shared with the test next to it.

use assay_plan::Plan;

/// Parses a plan. A refusal is a message without control characters except line breaks.
pub fn plan(text: &str) {
    let Err(error) = Plan::parse(text) else { return };
    let message = format!("{error:#}");
    assert!(!message.is_empty());
    let is_printable = |sign: char| sign == '\n' || !sign.is_control();
    assert!(message.chars().all(is_printable), "{message:?}");
}
