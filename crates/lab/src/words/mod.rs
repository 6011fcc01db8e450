//! From values of judge and store to English, for every room that shows something.
//!
//! Nothing here decides, and nobody takes apart again what is made here: who needs a part of a sentence asks for that part.

pub(crate) mod chain;
pub(crate) mod circumstance;
pub(crate) mod durability;
pub(crate) mod endurance;
pub(crate) mod json;
pub(crate) mod paper;
pub(crate) mod reason;
pub(crate) mod reconcile;
pub(crate) mod rig;
pub(crate) mod samples;
pub(crate) mod size;
pub(crate) mod stalls;
pub(crate) mod steady;
#[cfg(test)]
mod testing;
pub(crate) mod unlike;
mod unwatched;
pub(crate) mod verdict;
pub(crate) mod warning;

use assay_study::Note;

/// What stands in the place of a value that is not there.
const NONE: &str = "none";

/// What should be known of a whole study.
pub(crate) fn note(note: Note) -> &'static str {
    match note {
        Note::OnMeasuredDisk => {
            "The study lies on the measured disk; its results are written between cells, not in measured seconds."
        }
    }
}

/// A percentage without needless digits.
fn short(percent: f64) -> String {
    let text = format!("{percent:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
