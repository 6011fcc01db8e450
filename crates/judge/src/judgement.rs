//! All that is judged of a study.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::cell::measured::{Measured, Standing, measured};
use crate::cell::metric::Metric;
use crate::cell::sound::sound_series;
use crate::cell::stalls::{Stalls, stalls};
use crate::cell::steady::{Steady, steady};
use crate::difference::compare::{Difference, LEVEL, Stratum, within_study};
use crate::difference::level::{Level, levels};
use crate::difference::noise::{NoiseFloor, NoiseSpread, Twins};
use crate::difference::reason::Reason;
use crate::difference::verdict::{Verdict, Word, p_of, verdict};
use crate::papers::{IntervalTable, improvement_factor, interval_table};
use crate::statistics::holm;
use assay_study::{CellKey, State, Store, Study};

/// Seed of whatever is drawn at random, so that a study is judged the same each time.
pub(crate) const SEED: u64 = 1;

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

/// One arm against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The workload.
    pub workload: String,
    /// Connections; absent over all thread counts that both have.
    pub threads: Option<u32>,
    /// The arm measured by: the baseline, or, of a workload that it is not run on, the first arm that is.
    pub baseline: String,
    /// The arm judged.
    pub arm: String,
    /// What of it.
    pub metric: Metric,
    /// By what factor it is better, as STEC's paper tells it: the ratio, turned over where less is better. Below 1 it is worse.
    pub improvement_factor: Option<f64>,
    /// How large the difference is, where that can be told.
    pub difference: Option<Difference>,
    /// p, corrected over the thread counts of the workload.
    pub p_corrected: Option<f64>,
    /// The share that does not matter.
    pub margin: f64,
    /// What may be said.
    pub verdict: Verdict,
    /// Cells that have been run and have no part in it, for they are marked as not comparable.
    pub left_out: Vec<CellKey>,
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
        baseline: baseline(study),
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

/// The baseline as the plan names it, else the first arm.
pub(crate) fn baseline(study: &Study) -> Option<String> {
    study.judging.baseline.clone().or_else(|| study.arms.first().map(|arm| arm.name.clone()))
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

/// Makes comparisons of differences: the same for arms of one study and of two.
pub(crate) struct Teller<'a> {
    pub(crate) workload: &'a str,
    pub(crate) baseline: &'a str,
    pub(crate) arm: &'a str,
    pub(crate) metric: Metric,
    pub(crate) margin: f64,
    pub(crate) noise: Option<&'a NoiseSpread>,
}

impl Teller<'_> {
    /// One for each thread count, their p corrected; an error is why there can be none.
    pub(crate) fn of_thread_counts(
        &self,
        counts: &[u32],
        strata: &[Result<Stratum<'_>, Reason>],
        compare: impl Fn(&[Stratum<'_>]) -> Option<Difference>,
    ) -> Vec<Comparison> {
        let differences: Vec<Option<Difference>> =
            strata.iter().map(|one| compare(std::slice::from_ref(one.as_ref().ok()?))).collect();
        let corrected = correct(&differences);
        let mut told = Vec::new();
        for (place, difference) in differences.into_iter().enumerate() {
            let stratum = strata[place].as_ref().map(std::slice::from_ref).map_err(Clone::clone);
            told.push(self.told(Some(counts[place]), stratum, difference, corrected[place]));
        }
        told
    }

    fn told(
        &self,
        threads: Option<u32>,
        strata: Result<&[Stratum<'_>], Reason>,
        difference: Option<Difference>,
        p: Option<f64>,
    ) -> Comparison {
        let left_out: Vec<CellKey> = strata
            .iter()
            .flat_map(|strata| strata.iter().flat_map(|one| one.left_out.clone()))
            .collect();
        let verdict = match (strata, &difference) {
            (Err(why), _) => Verdict::none(why),
            (Ok(strata), None) => Verdict::none(why_none(strata, self.metric)),
            (Ok(_), Some(found)) => {
                verdict(self.metric, found, p.unwrap_or(1.0), self.margin, self.noise)
            }
        };
        let factor =
            |one: &Difference| improvement_factor(1.0, one.ratio, self.metric.is_better_higher());
        Comparison {
            workload: self.workload.to_owned(),
            threads,
            baseline: self.baseline.to_owned(),
            arm: self.arm.to_owned(),
            metric: self.metric,
            improvement_factor: difference.as_ref().and_then(factor),
            difference,
            p_corrected: p,
            margin: self.margin,
            verdict,
            left_out,
        }
    }
}

/// Why nothing can be told of cells that nothing forbids.
fn why_none(strata: &[Stratum<'_>], metric: Metric) -> Reason {
    let mut cells = strata.iter().flat_map(|one| one.base.iter().chain(&one.other));
    let absent = cells.find_map(|cell| Some((&cell.key, *cell.absent.get(&metric)?)));
    absent.map_or(Reason::SpreadUnknown, |(key, why)| Reason::FigureAbsent(key.clone(), why))
}

/// Holm's correction over those that there are.
fn correct(differences: &[Option<Difference>]) -> Vec<Option<f64>> {
    let there: Vec<&Difference> = differences.iter().flatten().collect();
    let raw: Vec<f64> = there.iter().map(|one| p_of(one, there.len())).collect();
    let mut corrected = holm(&raw).into_iter();
    differences.iter().map(|one| one.as_ref().and_then(|_| corrected.next())).collect()
}
