//! A run with an objective: the search for the rate at which windows keep it.

use std::time::Instant;

use assay_load::capacity::{Capacity, CapacityRun, Searched, find};
use assay_load::{LoadObserver, LoadSpec, Result, Schedule};
use parking_lot::Mutex;

use crate::run::loads::{AboutHosts, LoadResult, Loads};
use crate::run::progress::Progress;
use assay_plan::PlannedSearch;
use assay_study::TrialKey;
use assay_system::interrupt::Interrupt;

/// Searches for the rate, or loads once without an objective. Returns the result of the deciding
/// load.
pub(super) fn search_or_load(
    loads: &dyn Loads,
    load: &LoadSpec,
    planned: Option<&PlannedSearch>,
    (key, progress): (&TrialKey, &dyn Progress),
    observer: &dyn LoadObserver,
    (origin, interrupt): (Instant, &Interrupt),
) -> Result<(LoadResult, Option<Capacity>)> {
    let stop = interrupt.flag();
    let Some(PlannedSearch { objective, resolution, runs_max, .. }) = planned else {
        return Ok((loads.run(load, origin, observer, stop)?, None));
    };
    let last: Mutex<AboutHosts> = Mutex::default();
    let run = |schedule: &Schedule| {
        let load = load.on(schedule.clone());
        let LoadResult { outcome, about } = loads.run(&load, origin, observer, stop)?;
        *last.lock() = about;
        Ok(outcome)
    };
    let on = CapacityRun { run: &run, schedule: &load.schedule, stop };
    let shown = |step: &_| progress.tried(key, *objective, step);
    let Searched { capacity, outcome } = find(&on, *objective, *resolution, *runs_max, &shown)?;
    Ok((LoadResult { outcome, about: last.into_inner() }, Some(capacity)))
}
