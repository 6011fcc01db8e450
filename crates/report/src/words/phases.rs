//! A phase's load and events, in a few words.

use assay_study::{Done, Happening, Phase, PhasePace};

use crate::figures::format::{bytes, count, figure, plural};

/// So many characters of a statement are shown.
const STATEMENT_CHARS_MOST: usize = 80;

/// `100 to 500 per second, workload “writes”, for 10 s`.
pub fn asked(phase: &Phase) -> String {
    let length = format!("for {} s", figure(phase.window.length_s()));
    let workload = phase.workload.as_ref().map(|name| format!("workload “{name}”"));
    let parts: Vec<String> =
        [Some(pace(phase.pace)), workload, Some(length)].into_iter().flatten().collect();
    parts.join(", ")
}

#[allow(clippy::float_cmp, reason = "a rate that does not change is written once, to the bit")]
fn pace(pace: PhasePace) -> String {
    match pace {
        PhasePace::Closed => "closed loop".into(),
        PhasePace::Paused => "pause".into(),
        PhasePace::Rate { from_per_s, to_per_s } if from_per_s == to_per_s => {
            format!("{} per second", figure(from_per_s))
        }
        PhasePace::Rate { from_per_s, to_per_s } => {
            format!("{} to {} per second", figure(from_per_s), figure(to_per_s))
        }
    }
}

pub fn happening(one: &Happening) -> String {
    match one {
        Happening::Scan => "scan of all tables".into(),
        Happening::Checkpoint => "checkpoint".into(),
        Happening::DropPageCache => "page cache dropped".into(),
        Happening::Restart => "server restart".into(),
        Happening::KillStore(store) => format!("store {store} killed"),
        Happening::ReturnStore(store) => format!("store {store} returned, until all is restored"),
        Happening::Sql(statement) if statement.chars().count() > STATEMENT_CHARS_MOST => {
            let shown: String = statement.chars().take(STATEMENT_CHARS_MOST).collect();
            format!("{shown}…")
        }
        Happening::Sql(statement) => statement.clone(),
    }
}

/// The result of an event.
pub fn done(one: Done) -> String {
    match one {
        Done::Scan { rows, bytes: read } => {
            format!("{}, {}", plural(rows as usize, "row"), bytes(read as f64))
        }
        Done::Checkpoint { redo_bytes } => {
            format!("{} of redo log since the last one", bytes(redo_bytes as f64))
        }
        Done::DropPageCache { files } => format!("{} files", count(files as usize)),
        Done::ReturnStore { up_s } => format!("up after {} s", figure(up_s)),
        Done::Restart { stop_s, answer_s, is_orderly } => {
            let how = if is_orderly { "shut down" } else { "killed" };
            format!("{how} after {} s, answered {} s later", figure(stop_s), figure(answer_s))
        }
    }
}
