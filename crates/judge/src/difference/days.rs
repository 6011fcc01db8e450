//! How a difference within a study varied from day to day.
//!
//! Guarantees: the unit is the day, so the interval is of what another day and other loads of the
//! tables would show, in so far as these days tell it.

use std::collections::{BTreeMap, BTreeSet};

use assay_study::{Day, Study, Trial};
use serde::Serialize;

use crate::difference::comparison::JudgedComparison;
use crate::interval::LEVEL;
use crate::statistics::{mean, paired};
use crate::trial::measured::is_comparable;

/// A comparison by the days of its study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ByDay {
    /// The ratio of each day, in the order of time.
    pub ratios: Vec<f64>,
    /// Interval of the ratio by what varies between days.
    pub ratio_interval: (f64, f64),
}

impl ByDay {
    /// `None` of a study of one day, and where fewer than two days have both sides.
    #[must_use]
    pub fn of(study: &Study, one: &JudgedComparison) -> Option<ByDay> {
        let logs = by_repeat(study, one);
        let on = |day: &Day| {
            let its: Vec<f64> =
                logs.iter().filter(|(repeat, _)| day.has(**repeat)).map(|(_, log)| *log).collect();
            (!its.is_empty()).then(|| mean(&its))
        };
        let days: Vec<f64> =
            Day::all(&study.sessions, &study.trials).iter().filter_map(on).collect();
        let (low, high) = paired(&days)?.interval(LEVEL);
        Some(ByDay {
            ratios: days.iter().map(|log| log.exp()).collect(),
            ratio_interval: (low.exp(), high.exp()),
        })
    }
}

/// Log ratios of the repeats in which both sides have every thread count that the comparison has.
fn by_repeat(study: &Study, one: &JudgedComparison) -> BTreeMap<u32, f64> {
    let against_workload = one.against_workload.as_deref().unwrap_or(&one.workload);
    let judged = figures(study, one, (&one.config, &one.workload));
    let against = figures(study, one, (&one.baseline, against_workload));
    let threads = |figures: &BTreeMap<(u32, u32), f64>| -> BTreeSet<u32> {
        figures.keys().map(|(_, threads)| *threads).collect()
    };
    let threads: BTreeSet<u32> =
        threads(&judged).intersection(&threads(&against)).copied().collect();
    let repeats: BTreeSet<u32> = judged.keys().map(|(repeat, _)| *repeat).collect();
    let of = |repeat: u32| {
        let logs: Option<Vec<f64>> = threads
            .iter()
            .map(|threads| {
                let run = (repeat, *threads);
                Some((judged.get(&run)? / against.get(&run)?).ln())
            })
            .collect();
        Some((repeat, mean(&logs.filter(|logs| !logs.is_empty())?)))
    };
    repeats.into_iter().filter_map(of).filter(|(_, log)| log.is_finite()).collect()
}

/// The metric of a side's runs that may be compared, by repeat and thread count.
fn figures(study: &Study, one: &JudgedComparison, side: (&str, &str)) -> BTreeMap<(u32, u32), f64> {
    let is_its = |trial: &&Trial| {
        (trial.key.config.as_str(), trial.key.workload.as_str()) == side
            && one.threads.is_none_or(|threads| trial.key.threads == threads)
            && is_comparable(trial)
    };
    let its = study.trials.iter().filter(is_its);
    its.filter_map(|trial| {
        let value = *trial.results.get(one.metric.name())?;
        Some(((trial.key.repeat, trial.key.threads), value))
    })
    .collect()
}
