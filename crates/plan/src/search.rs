//! The search for the rate at which 95 % of windows keep a latency, resolved from the objective of
//! a plan.

use anyhow::{Result, bail, ensure};
use assay_load::capacity::Objective;
use assay_study::Happening;

use super::document::ObjectiveSpec;

const RESOLUTION_PERCENT: f64 = 3.0;
const RUNS_MAX: u32 = 60;

/// A search for the rate at which 95 % of windows keep a latency, in the place of a single
/// measurement.
#[derive(Debug, Clone)]
pub struct PlannedSearch {
    pub objective: Objective,
    /// Half the width of the interval, as a share of the rate.
    pub resolution: f64,
    /// The most runs, those that let the server rest not counted.
    pub runs_max: u32,
    /// Event that happens during the whole search, over and over.
    pub during: Option<Happening>,
}

impl PlannedSearch {
    /// Resolves the objective of a plan.
    ///
    /// # Errors
    /// One line: the key, and what to do.
    pub fn of(spec: &ObjectiveSpec) -> Result<PlannedSearch> {
        let all = [
            (50.0, spec.p50_ms),
            (90.0, spec.p90_ms),
            (95.0, spec.p95_ms),
            (99.0, spec.p99_ms),
            (99.9, spec.p999_ms),
        ];
        let given = all.into_iter().filter_map(|(percentile, ms)| Some((percentile, ms?)));
        let objective = match given.collect::<Vec<_>>().as_slice() {
            [(percentile, ms)] => Objective { percentile: *percentile, ms: *ms },
            [] => bail!("objective names no percentile; give one, such as p99_ms = 10"),
            _ => bail!("objective names several percentiles; keep one of them"),
        };
        objective.check()?;
        let resolution = spec.resolution_percent.unwrap_or(RESOLUTION_PERCENT) / 100.0;
        let percent = resolution * 100.0;
        ensure!(
            (0.5..=50.0).contains(&percent),
            "objective.resolution_percent is {percent}; give from 0.5 to 50"
        );
        let runs_max = spec.runs_max.unwrap_or(RUNS_MAX);
        ensure!(
            (5..=10_000).contains(&runs_max),
            "objective.runs_max is {runs_max}; give from 5 to 10000"
        );
        let during = spec.during.clone();
        ensure!(
            during != Some(Happening::Restart),
            "objective.during is a restart, during which no rate can be sustained; use phases to \
            see what a restart does"
        );
        ensure!(
            !matches!(during, Some(Happening::KillStore(_) | Happening::ReturnStore(_))),
            "objective.during is something that happens once; use phases to see what the loss of \
            a store does"
        );
        Ok(PlannedSearch { objective, resolution, runs_max, during })
    }
}
