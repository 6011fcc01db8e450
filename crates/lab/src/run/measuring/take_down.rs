//! The end of a run on its rigs: what their drives say is wrong with them, the trace, and everything removed.

use std::path::Path;
use std::time::Instant;

use super::trace;
use crate::monitor::{DriveKind, DriveTarget};
use crate::rig::Rig;
use crate::rig::pool::RunPool;
use assay_base::text::on_one_line;
use assay_study::{Outcome, Warning};

/// What was measured holds even if something is left for `assay clean`.
pub(super) fn take_down(
    rigs: Vec<Rig>,
    pool: Option<RunPool>,
    trace: Option<&Path>,
    origin: Instant,
    outcome: &mut Outcome,
) {
    outcome.warnings.extend(rigs.iter().flat_map(Rig::drive_problems).map(problem));
    let taken_down = rigs.into_iter().rev().try_for_each(Rig::take_down);
    let taken_down = taken_down.and_then(|()| pool.map_or(Ok(()), RunPool::remove));
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

/// What the monitor looks at of what serves the rig's disk.
pub(super) fn drive_target(rig: &Rig, pool: Option<&RunPool>) -> Option<DriveTarget> {
    let attached = rig.drive()?;
    let below_pool = pool.map(RunPool::target).and_then(|target| target.directory);
    Some(DriveTarget {
        pid: attached.pid(),
        status_file: attached.status_file.clone(),
        media: match pool {
            Some(_) => below_pool,
            None => Some(attached.health.media.clone()),
        },
        kind: match (&attached.health.model, rig.is_bare_image()) {
            (Some(_), _) => DriveKind::Model,
            (None, true) => DriveKind::Image,
            (None, false) => DriveKind::Drive,
        },
    })
}
