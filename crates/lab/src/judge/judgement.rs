//! All that is judged of a study, as it stands in `results.json`.

use std::collections::BTreeSet;

use anyhow::Result;
use serde::Serialize;

use super::compare::{Difference, LEVEL, Stratum, within_study};
use super::measured::{Measured, Standing, measured};
use super::metric::Metric;
use super::noise::{NoiseFloor, NoiseSpread, Twins};
use super::papers::{IntervalTable, PERCENTILE_OF_PERCENTILES, improvement_factor, interval_table};
use super::stalls::{Stalls, stalls};
use super::statistics::holm;
use super::steady::{Steady, steady};
use super::verdict::{Verdict, p_of, verdict};
use crate::store::{CellKey, State, Store, Study};

/// Seed of whatever is drawn at random, so that a study is judged the same each time.
pub(super) const SEED: u64 = 1;

/// A study, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Judgement {
    /// How often an interval covers the truth.
    pub(crate) level: f64,
    /// Differences of so many percent or less do not matter.
    pub(crate) margin_percent: f64,
    /// The arm that others are measured by.
    pub(crate) baseline: Option<String>,
    /// What one arm differs by from itself; nothing where none ran twice.
    pub(crate) noise_floor: Option<NoiseFloor>,
    /// Every arm against the baseline, by workload, arm, metric, then thread counts, at last over all of them.
    pub(crate) comparisons: Vec<Comparison>,
    /// What the samples of each cell's table of seconds are, and are not.
    pub(crate) samples_note: &'static str,
    /// Each cell by itself.
    pub(crate) cells: Vec<OfCell>,
}

/// One arm against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Comparison {
    /// The workload.
    pub(crate) workload: String,
    /// Connections; absent over all thread counts that both have.
    pub(crate) threads: Option<u32>,
    /// The arm measured by: the baseline, or, of a workload that it is not run on, the first arm that is.
    pub(crate) baseline: String,
    /// The arm judged.
    pub(crate) arm: String,
    /// What of it.
    pub(crate) metric: Metric,
    /// By what factor it is better, as STEC's paper tells it: below 1 it is worse.
    pub(crate) improvement_factor: Option<f64>,
    /// How large the difference is, where that can be told.
    pub(crate) difference: Option<Difference>,
    /// p, corrected over the thread counts of the workload.
    pub(crate) p_corrected: Option<f64>,
    /// What may be said.
    #[serde(flatten)]
    pub(crate) verdict: Verdict,
}

/// A cell judged by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OfCell {
    /// Which.
    #[serde(flatten)]
    pub(crate) key: CellKey,
    /// Whether throughput held still.
    pub(crate) steady: Option<Steady>,
    /// Where it broke down.
    pub(crate) stalls: Option<Stalls>,
    /// Its seconds as samples, as some papers print them.
    pub(crate) samples: IntervalTable,
}

/// Judges a study.
///
/// # Errors
/// A store that cannot be read.
pub(crate) fn judgement(store: &Store, study: &Study) -> Result<Judgement> {
    let cells = measured(store, &study.cells)?;
    let margin = study.judging.margin();
    let twins = Twins::of(&cells, &study.judging.twins);
    let by_itself = study.cells.iter().zip(&cells).filter(|(cell, _)| cell.state == State::Done);
    Ok(Judgement {
        level: LEVEL,
        margin_percent: margin * 100.0,
        baseline: baseline(study),
        noise_floor: twins.floor(),
        comparisons: comparisons(study, &cells, &twins, margin),
        samples_note: PERCENTILE_OF_PERCENTILES,
        cells: by_itself
            .map(|(cell, measured)| {
                let series = store.series(cell.id)?;
                Ok(OfCell {
                    key: cell.key.clone(),
                    steady: steady(&measured.tps),
                    stalls: stalls(cell, measured, &series),
                    samples: interval_table(cell, &series),
                })
            })
            .collect::<Result<_>>()?,
    })
}

/// The baseline as the plan names it, else the first arm.
pub(super) fn baseline(study: &Study) -> Option<String> {
    study.judging.baseline.clone().or_else(|| study.arms.first().map(|arm| arm.name.clone()))
}

/// Every arm against the baseline, from cells already read.
pub(super) fn comparisons(
    study: &Study,
    cells: &[Measured],
    twins: &Twins<'_>,
    margin: f64,
) -> Vec<Comparison> {
    let mut found = Vec::new();
    for workload in &study.workloads {
        let runs = |arm: &str| {
            cells.iter().any(|cell| cell.key.arm == arm && cell.key.workload == workload.name)
        };
        let is_twin = |arm: &str| study.judging.twins.contains_key(arm);
        let its: Vec<&str> = study
            .arms
            .iter()
            .map(|arm| arm.name.as_str())
            .filter(|arm| runs(arm) && !is_twin(arm))
            .collect();
        let named = baseline(study).filter(|name| its.contains(&name.as_str()));
        let Some(base) = named.or_else(|| its.first().map(|name| (*name).to_owned())) else {
            continue;
        };
        for arm in its.into_iter().filter(|arm| *arm != base) {
            let pair = Pair { workload: &workload.name, base: &base, other: arm, cells };
            for metric in Metric::ALL {
                let noise = twins.spread(metric, &workload.name);
                found.extend(pair.judged(metric, noise.as_ref(), margin));
            }
        }
    }
    found
}

/// Two arms under one workload.
struct Pair<'a> {
    workload: &'a str,
    base: &'a str,
    other: &'a str,
    cells: &'a [Measured],
}

impl<'a> Pair<'a> {
    /// At each thread count, and over all.
    fn judged(&self, metric: Metric, noise: Option<&NoiseSpread>, margin: f64) -> Vec<Comparison> {
        let counts = self.thread_counts();
        let strata: Vec<Result<Stratum<'a>, String>> =
            counts.iter().map(|threads| self.stratum(*threads)).collect();
        let whole: Vec<Stratum<'a>> = strata.iter().filter_map(|one| one.clone().ok()).collect();
        let differences: Vec<Option<Difference>> = strata
            .iter()
            .map(|one| within_study(metric, std::slice::from_ref(one.as_ref().ok()?), noise, SEED))
            .collect();
        let corrected = correct(&differences);
        let mut all: Vec<Comparison> = Vec::new();
        for (place, threads) in counts.iter().enumerate() {
            let refused = strata[place].as_ref().err().cloned();
            let found = differences[place].clone();
            all.push(self.told(
                metric,
                Some(*threads),
                refused,
                found,
                corrected[place],
                margin,
                noise,
            ));
        }
        if counts.len() > 1 {
            let refused = strata.iter().find_map(|one| one.as_ref().err().cloned());
            let found = within_study(metric, &whole, noise, SEED);
            let p = found.as_ref().map(|one| p_of(one, 1));
            all.push(self.told(metric, None, refused, found, p, margin, noise));
        }
        all
    }

    #[allow(clippy::too_many_arguments, reason = "what is told of a comparison, once")]
    fn told(
        &self,
        metric: Metric,
        threads: Option<u32>,
        refused: Option<String>,
        difference: Option<Difference>,
        p: Option<f64>,
        margin: f64,
        noise: Option<&NoiseSpread>,
    ) -> Comparison {
        let verdict = match (&refused, &difference) {
            (Some(why), _) => Verdict::none(why.clone()),
            (None, None) => Verdict::none(self.why_none(metric)),
            (None, Some(found)) => verdict(metric, found, p.unwrap_or(1.0), margin, noise),
        };
        Comparison {
            workload: self.workload.to_owned(),
            threads,
            baseline: self.base.to_owned(),
            arm: self.other.to_owned(),
            metric,
            improvement_factor: difference.as_ref().and_then(|one| {
                improvement_factor(one.baseline_value, one.value, metric.is_better_higher())
            }),
            difference,
            p_corrected: p,
            verdict,
        }
    }

    /// Thread counts that both arms were planned for.
    fn thread_counts(&self) -> Vec<u32> {
        let of = |arm: &str| -> BTreeSet<u32> {
            let its = self.its().filter(|cell| cell.key.arm == arm);
            its.map(|cell| cell.key.threads).collect()
        };
        of(self.base).intersection(&of(self.other)).copied().collect()
    }

    fn its(&self) -> impl Iterator<Item = &'a Measured> {
        let workload = self.workload;
        self.cells.iter().filter(move |cell| cell.key.workload == workload)
    }

    /// Repeats that both arms have; an error where a cell forbids a verdict.
    fn stratum(&self, threads: u32) -> Result<Stratum<'a>, String> {
        let of = |arm: &'a str| -> Result<Vec<&'a Measured>, String> {
            let its =
                self.its().filter(move |cell| cell.key.arm == arm && cell.key.threads == threads);
            its.filter_map(|cell| match &cell.standing {
                Standing::Usable => Some(Ok(cell)),
                Standing::Missing => None,
                Standing::Forbidden(why) => Some(Err(why.clone())),
            })
            .collect()
        };
        let (base, other) = (of(self.base)?, of(self.other)?);
        let stratum = Stratum { base, other }.of_shared_repeats();
        if stratum.base.is_empty() {
            return Err("no repeat of both arms has been run".into());
        }
        Ok(stratum)
    }

    fn why_none(&self, metric: Metric) -> String {
        let is_its = |cell: &&Measured| [self.base, self.other].contains(&cell.key.arm.as_str());
        why_none(self.its().filter(is_its), metric)
    }
}

/// Why nothing can be told of cells that nothing forbids.
pub(super) fn why_none<'a>(cells: impl Iterator<Item = &'a Measured>, metric: Metric) -> String {
    let absent = cells.filter_map(|cell| cell.absent.get(&metric)).next();
    absent.cloned().unwrap_or_else(|| {
        "one repeat, and nothing tells how it varies: measure for longer, or repeat".into()
    })
}

/// Holm's correction over those that there are.
pub(super) fn correct(differences: &[Option<Difference>]) -> Vec<Option<f64>> {
    let there: Vec<&Difference> = differences.iter().flatten().collect();
    let raw: Vec<f64> = there.iter().map(|one| p_of(one, there.len())).collect();
    let mut corrected = holm(&raw).into_iter();
    differences.iter().map(|one| one.as_ref().and_then(|_| corrected.next())).collect()
}
