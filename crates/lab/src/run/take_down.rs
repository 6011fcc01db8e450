//! The end of a run on a rig: what its drive says is wrong with it, its trace, and everything removed.

use std::path::Path;
use std::time::Instant;

use super::trace;
use crate::monitor::DriveTarget;
use crate::rig::Rig;
use assay_base::text::on_one_line;
use assay_serve::Attached;
use assay_study::{Outcome, Warning};

/// What was measured holds even if something is left for `assay clean`.
pub(super) fn take_down(rig: Rig, trace: Option<&Path>, origin: Instant, outcome: &mut Outcome) {
    outcome.warnings.extend(rig.drive_problems().into_iter().map(problem));
    let taken_down = rig.take_down();
    let told = match (trace, outcome.window, &taken_down) {
        (Some(path), Some(window), Ok(())) => trace::tell_window(path, origin, window),
        _ => Ok(()),
    };
    if let Some(name) = trace.and_then(Path::file_name) {
        outcome.facts.insert("trace".into(), name.to_string_lossy().into_owned());
    }
    // What a trace lacks it may have lacked only in the end, when it was written out.
    let taken_down = taken_down.map_err(|error| match trace {
        Some(path) => error.context(format!("the trace {} may be cut short", path.display())),
        None => error,
    });
    let errors = taken_down.err().into_iter().chain(told.err());
    outcome.warnings.extend(errors.map(left_behind));
}

fn problem(problem: String) -> Warning {
    Warning::DriveProblem { problem, is_while_measuring: false }
}

fn left_behind(error: anyhow::Error) -> Warning {
    Warning::LeftBehind { error: on_one_line(&format!("{error:#}")) }
}

/// What the monitor looks at of a drive.
pub(super) fn drive_target(drive: &Attached) -> DriveTarget {
    DriveTarget {
        pid: drive.pid(),
        status_file: drive.status_file.clone(),
        media: drive.health.media.clone(),
        is_model: drive.health.model.is_some(),
    }
}
