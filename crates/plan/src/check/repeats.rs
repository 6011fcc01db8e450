//! How often runs are repeated, and when the study may end.

use anyhow::{Result, ensure};

use crate::document::{Plan, RepeatsSpec};

/// More repeats of one run than this nobody waits for.
const REPEATS_MOST: u32 = 1000;

/// One repeat shows no spread, so nothing can be decided after it.
const FIRST_LOOK_LEAST: u32 = 2;

/// More looks leave the first ones nothing to spend.
const LOOKS_MOST: usize = 8;

pub(super) fn check(plan: &Plan) -> Result<()> {
    let RepeatsSpec { at_most, looks } = &plan.repeats;
    ensure!((1..=REPEATS_MOST).contains(at_most), "repeats is {at_most}; give from 1 to 1000");
    let Some((first, last)) = looks.first().zip(looks.last()) else { return Ok(()) };
    ensure!(
        *first >= FIRST_LOOK_LEAST && looks.is_sorted_by(|one, next| one < next),
        "repeats.looks is {looks:?}; give rising numbers from 2, such as [3, 5, 8, 12]"
    );
    ensure!(
        last == at_most,
        "repeats.looks ends with {last} and repeats.at_most is {at_most}; give the last look the \
         same number"
    );
    ensure!(
        looks.len() <= LOOKS_MOST,
        "repeats.looks has {} looks; give at most {LOOKS_MOST}",
        looks.len()
    );
    ensure!(
        plan.compare_repeats.is_none(),
        "compare_repeats needs a plain number of repeats; with looks, the study ends when the \
         pairs of [[compare]] are decided"
    );
    Ok(())
}
