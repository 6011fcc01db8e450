//! Sentences: from values of the store to English, for whoever shows them. Nothing here decides, and nobody takes a sentence apart
//! again.

pub(crate) mod rig;
pub(crate) mod unwatched;
pub(crate) mod warning;

use crate::store::Note;

/// What should be known of a whole study.
pub(crate) fn note(note: Note) -> &'static str {
    match note {
        Note::OnMeasuredDisk => {
            "The study lies on the measured disk; its results are written between cells, not in measured seconds."
        }
    }
}
