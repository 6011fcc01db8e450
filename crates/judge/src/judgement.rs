//! All that is judged of a study.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::cell::measured::{Measured, Standing, measured};
use crate::cell::metric::Metric;
use crate::cell::sound::sound_series;
use crate::cell::stalls::{Stalls, stalls};
use crate::cell::steady::{Steady, steady};
use crate::difference::compare::{Stratum, within_study};
use crate::difference::comparison::{Comparison, SEED, Teller, baseline_of};
use crate::difference::level::{Level, levels};
use crate::difference::noise::{NoiseFloor, NoiseSpread, Twins};
use crate::difference::reason::Reason;
use crate::difference::verdict::{Word, p_of};
use crate::interval::LEVEL;
use crate::papers::{IntervalTable, interval_table};
use assay_study::{CellKey, State, Store, Study};

/// A study, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// How often an interval covers the truth.
    pub level: f64,
    /// Differences of so many percent or less do not matter.
    pub margin_percent: f64,
    /// The arm that others are measured by.
    pub baseline: Option<String>,
    /// What one arm differs by from itself; nothing where none ran twice.
    pub noise_floor: Option<NoiseFloor>,
    /// Throughput of each arm under each load by itself.
    pub levels: Vec<Level>,
    /// Every arm against the baseline, by workload, arm, metric, then thread counts, at last over all of them.
    pub comparisons: Vec<Comparison>,
    /// Each cell by itself.
    pub cells: Vec<OfCell>,
}

/// A cell judged by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct OfCell {
    /// Which.
    pub key: CellKey,
    /// Whether throughput held still.
    pub steady: Option<Steady>,
    /// Where it broke down.
    pub stalls: Option<Stalls>,
    /// Its seconds as samples, as some papers print them.
    pub samples: IntervalTable,
}

/// Judges a study.
///
/// # Errors
/// A store that cannot be read.
pub fn judgement(store: &Store, study: &Study) -> Result<Judgement> {
    let cells = measured(store, &study.cells)?;
    let margin = study.judging.margin();
    let twins = Twins::of(&cells, &study.judging.twins);
    let by_itself = study.cells.iter().zip(&cells).filter(|(cell, _)| cell.state == State::Done);
    Ok(Judgement {
        level: LEVEL,
        margin_percent: margin * 100.0,
        baseline: baseline_of(study),
        noise_floor: twins.floor(),
        levels: levels(&comparable(&cells), &twins),
        comparisons: comparisons(study, &cells, &twins, margin),
        cells: by_itself
            .map(|(cell, measured)| {
                let series = sound_series(store.series(cell.id)?);
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

/// Cells that may be compared, and of an arm × workload × threads without any, those that there are: its figures carry their marks.
fn comparable(cells: &[Measured]) -> Vec<Measured> {
    let is_usable = |cell: &Measured| cell.standing == Standing::Usable;
    let load =
        |cell: &Measured| (cell.key.arm.clone(), cell.key.workload.clone(), cell.key.threads);
    let usable: BTreeSet<_> = cells.iter().filter(|cell| is_usable(cell)).map(load).collect();
    cells.iter().filter(|cell| is_usable(cell) || !usable.contains(&load(cell))).cloned().collect()
}

/// Every arm against the baseline, from cells already read.
pub(crate) fn comparisons(
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
        let named = baseline_of(study).filter(|name| its.contains(&name.as_str()));
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
        let strata: Vec<Result<Stratum<'a>, Reason>> =
            counts.iter().map(|threads| self.stratum(*threads)).collect();
        let of = |strata: &[Stratum<'_>]| within_study(metric, strata, noise, SEED);
        let teller = Teller {
            workload: self.workload,
            baseline: self.base,
            arm: self.other,
            metric,
            margin,
            noise,
        };
        let mut all = teller.of_thread_counts(&counts, &strata, of);
        if counts.len() > 1 {
            let whole: Result<Vec<Stratum<'a>>, Reason> = strata.into_iter().collect();
            let found = whole.as_ref().ok().and_then(|whole| of(whole));
            let p = found.as_ref().map(|one| p_of(one, 1));
            let each: Vec<(u32, Word)> =
                all.iter().filter_map(|one| Some((one.threads?, one.verdict.word))).collect();
            let whole = teller.told(None, whole.as_deref().map_err(Clone::clone), found, p);
            let verdict = whole.verdict.beside(&each);
            all.push(Comparison { verdict, ..whole });
        }
        all
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
    fn stratum(&self, threads: u32) -> Result<Stratum<'a>, Reason> {
        let of = |arm: &'a str| {
            self.its().filter(move |cell| cell.key.arm == arm && cell.key.threads == threads)
        };
        Stratum::of(of(self.base), of(self.other), true)
    }
}
