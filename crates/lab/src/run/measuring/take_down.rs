//! The end of a run on its rigs: problems of their drives, the trace, and the removal.

use std::path::Path;

use super::trace;
use crate::monitor::{DriveKind, DriveTarget};
use crate::rig::Rig;
use crate::rig::pool::RunPool;
use crate::run::results::{Observations, TakeDown};
use assay_base::text::on_one_line;
use assay_study::Warning;

/// Removes the rigs of a run, whose results stand even if something is left for `assay clean`.
pub(super) fn take_down(
    rigs: Vec<Rig>,
    pool: Option<RunPool>,
    trace: Option<&Path>,
    observations: &Observations,
) -> TakeDown {
    let mut warnings: Vec<Warning> =
        rigs.iter().flat_map(Rig::drive_problems).map(problem).collect();
    let taken_down = rigs.into_iter().rev().try_for_each(Rig::take_down);
    let taken_down = taken_down.and_then(|()| pool.map_or(Ok(()), RunPool::remove));
    let marked = match (trace, &observations.clock, observations.window(), &taken_down) {
        (Some(path), Some(clock), Some(window), Ok(())) => {
            trace::mark_window(path, clock.origin, window)
        }
        _ => Ok(()),
    };
    // The end of a trace is written when its drive is taken down.
    let taken_down = taken_down.map_err(|error| match trace {
        Some(path) => error.context(format!("the trace {} may be cut short", path.display())),
        None => error,
    });
    let errors = taken_down.err().into_iter().chain(marked.err());
    warnings.extend(errors.map(left_behind));
    let name = trace.and_then(Path::file_name);
    let fact = name.map(|name| ("trace".to_owned(), name.to_string_lossy().into_owned()));
    TakeDown { facts: fact.into_iter().collect(), warnings, failure: None }
}

fn problem(problem: String) -> Warning {
    Warning::DriveProblem { problem, is_while_measuring: false }
}

fn left_behind(error: anyhow::Error) -> Warning {
    Warning::LeftBehind { error: on_one_line(&format!("{error:#}")) }
}

/// The process that serves the rig's disk, to be monitored.
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
