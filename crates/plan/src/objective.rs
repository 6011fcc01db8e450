//! The objective of a plan: the latency that is to be kept. Each run is then a search for the highest rate that keeps it.

use anyhow::{Result, bail, ensure};
use assay_load::capacity::Objective;
use serde::{Deserialize, Serialize};

use super::Plan;
use super::phases::refuse_files;
use assay_study::Happening;

/// What is to be kept, and how long it is searched for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveSpec {
    /// The median of the response times is to be at most this, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// The 90th percentile, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ms: Option<f64>,
    /// The 95th percentile, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<f64>,
    /// The 99th percentile, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// The 99.9th percentile, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ms: Option<f64>,
    /// Half the width that the interval is to have, per cent of the rate. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_percent: Option<f64>,
    /// The most runs of a search, those that let the server rest not counted. Default: 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_max: Option<u32>,
    /// What goes on during the whole search, over and over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<Happening>,
}

const RESOLUTION_PERCENT: f64 = 3.0;
const RUNS_MAX: u32 = 60;

impl ObjectiveSpec {
    /// As the search takes it; nothing where no percentile is given.
    #[must_use]
    pub fn objective(&self) -> Option<Objective> {
        match self.given().as_slice() {
            [(percentile, ms)] => Some(Objective { percentile: *percentile, ms: *ms }),
            _ => None,
        }
    }

    /// Half the width of the interval, as a share of the rate.
    #[must_use]
    pub fn resolution(&self) -> f64 {
        self.resolution_percent.unwrap_or(RESOLUTION_PERCENT) / 100.0
    }

    /// The most runs of a search.
    #[must_use]
    pub fn runs_max(&self) -> u32 {
        self.runs_max.unwrap_or(RUNS_MAX)
    }

    fn given(&self) -> Vec<(f64, f64)> {
        let all = [
            (50.0, self.p50_ms),
            (90.0, self.p90_ms),
            (95.0, self.p95_ms),
            (99.0, self.p99_ms),
            (99.9, self.p999_ms),
        ];
        all.into_iter().filter_map(|(percentile, ms)| Some((percentile, ms?))).collect()
    }

    fn check(&self) -> Result<()> {
        match self.given().len() {
            1 => {}
            0 => bail!("objective names no percentile; give one, such as p99_ms = 10"),
            _ => bail!("objective names several percentiles; keep one of them"),
        }
        if let Some(objective) = self.objective() {
            objective.check()?;
        }
        let percent = self.resolution() * 100.0;
        ensure!(
            (0.5..=50.0).contains(&percent),
            "objective.resolution_percent is {percent}; give from 0.5 to 50"
        );
        ensure!(
            (5..=10_000).contains(&self.runs_max()),
            "objective.runs_max is {}; give from 5 to 10000",
            self.runs_max()
        );
        ensure!(
            self.during != Some(Happening::Restart),
            "objective.during is a restart, during which no rate can be sustained; use phases to see what a restart does"
        );
        ensure!(
            !matches!(self.during, Some(Happening::KillStore(_) | Happening::ReturnStore(_))),
            "objective.during is something that happens once; use phases to see what the loss of a store does"
        );
        Ok(())
    }
}

/// Checks the objective, and that it goes together with the rest of the plan.
///
/// # Errors
/// One line: the key, and what to do.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let Some(objective) = &plan.objective else { return Ok(()) };
    objective.check()?;
    refuse_files(plan, "objective")?;
    let beside = [
        ("rate", plan.rate.is_some()),
        ("rates", !plan.rates.is_empty()),
        ("workload_rates", !plan.workload_rates.is_empty()),
        ("phases", !plan.phases.is_empty()),
        ("events", plan.events.is_some()),
        ("warmup_until_steady", plan.warmup_until_steady),
    ];
    if let Some((key, _)) = beside.iter().find(|(_, is_given)| *is_given) {
        bail!(
            "{key} cannot be combined with objective, whose search chooses the rate of each run and measures it for `seconds`; omit one of them"
        );
    }
    Ok(())
}
