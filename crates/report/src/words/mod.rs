//! From values of judge and store to English, for every room that shows something.
//!
//! Nothing here decides, and nobody takes apart again what is made here: who needs a part of a
//! sentence asks for that part.

pub mod answer;
pub mod calibration;
pub(crate) mod chance;
pub mod circumstance;
pub mod disturbed;
pub mod durability;
pub mod effects;
pub mod endurance;
pub mod given;
pub(crate) mod looks;
pub mod overlay;
pub mod paper;
pub mod phases;
pub mod power_cuts;
pub mod reason;
pub mod reconcile;
pub mod recovery;
pub mod rig;
pub mod samples;
pub mod settling;
pub mod size;
pub mod stalls;
pub mod steady;
pub mod steps;
#[cfg(test)]
mod testing;
pub mod unlike;
mod unmonitored;
pub mod verdict;
pub mod warning;
pub(crate) mod worth;
pub mod write_path;

use assay_study::Note;

/// Text in place of a missing value.
const NONE: &str = "none";

/// A note on a whole study.
pub fn note(note: Note) -> &'static str {
    match note {
        Note::OnMeasuredDisk => {
            "The study is on the measured disk; its results are written between runs, not while \
            measuring."
        }
    }
}

/// A percentage without needless digits.
fn short(percent: f64) -> String {
    let text = format!("{percent:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
