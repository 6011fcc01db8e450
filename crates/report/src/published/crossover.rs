//! From how many threads on one configuration is above another, beside what a paper says of that.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use assay_claims::paper::ParsedPaper;
use assay_claims::repeated::Crossover;
use assay_study::{RunState, Study};
use serde::Serialize;

use super::scale;

/// A printed number of threads and the measured one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Crossed {
    /// Name of the printed figure.
    pub figure: String,
    /// Subject, in the claims' words.
    pub what: String,
    /// Its threads.
    pub printed_threads: f64,
    /// The study's result.
    pub metric: String,
    /// The configuration that gets ahead.
    pub config: String,
    /// The configuration that it is measured by.
    pub against: String,
    /// The study's workload.
    pub workload: String,
    /// The study's data profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_profile: Option<String>,
    /// That of the other configuration, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_data_profile: Option<String>,
    /// By how much it is above, in percent of the means, at each number of threads that both have.
    pub percent_by_threads: Vec<(u32, f64)>,
    /// The lowest number of threads at which, as at all above it, it is above; nothing where at the
    /// highest it is not.
    pub threads: Option<u32>,
    /// Divisor of the parallelism of both; `None` if they differ or it is unknown.
    pub parallel_scale: Option<f64>,
}

/// A claim of that kind beside a study.
///
/// # Errors
/// The figure is none, or no number.
pub fn crossed(
    paper: &ParsedPaper,
    one: &Crossover,
    study: &Study,
    scales: [Option<f64>; 2],
) -> Result<Crossed> {
    let figure = paper.figure(&one.figure)?;
    let printed = figure.values().first().context("checked when it was read")?.value;
    let against_profile = one.against_data_profile.as_ref().or(one.data_profile.as_ref());
    let ours = means(study, one, &one.config, one.data_profile.as_ref());
    let theirs = means(study, one, &one.against, against_profile);
    let percent = |(threads, value): (&u32, &f64)| {
        let other = theirs.get(threads).filter(|other| **other > 0.0)?;
        Some((*threads, (value / other - 1.0) * 100.0))
    };
    let percent_by_threads: Vec<(u32, f64)> = ours.iter().filter_map(percent).collect();
    let [config, against] = scales;
    let is_one = |scale: &f64| against.is_some_and(|other| scale::is_alike(*scale, other));
    Ok(Crossed {
        figure: one.figure.get_ref().clone(),
        what: figure.what.clone(),
        printed_threads: printed,
        metric: one.metric.clone(),
        config: one.config.clone(),
        against: one.against.clone(),
        workload: one.workload.clone(),
        data_profile: one.data_profile.clone(),
        against_data_profile: one.against_data_profile.clone(),
        threads: first_of_lead(&percent_by_threads),
        percent_by_threads,
        parallel_scale: config.filter(is_one),
    })
}

/// Means over the runs that ended, by the number of threads.
fn means(
    study: &Study,
    one: &Crossover,
    config: &str,
    data_profile: Option<&String>,
) -> BTreeMap<u32, f64> {
    let is_its = |name: &str| {
        study.workloads.iter().any(|workload| {
            workload.name == name
                && workload.workload == one.workload
                && workload.data_profile.as_ref() == data_profile
        })
    };
    let mut values: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for trial in study.trials.iter().filter(|trial| trial.state == RunState::Done) {
        if trial.key.config == config
            && is_its(&trial.key.workload)
            && let Some(value) = trial.results.get(&one.metric)
        {
            values.entry(trial.key.threads).or_default().push(*value);
        }
    }
    values
        .into_iter()
        .map(|(threads, all)| (threads, all.iter().sum::<f64>() / all.len() as f64))
        .collect()
}

fn first_of_lead(percent_by_threads: &[(u32, f64)]) -> Option<u32> {
    let behind = percent_by_threads.iter().rposition(|(_, percent)| *percent <= 0.0);
    let first = behind.map_or(0, |place| place + 1);
    percent_by_threads.get(first).map(|(threads, _)| *threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_begins_where_it_is_not_lost_again() {
        assert_eq!(
            first_of_lead(&[(1, -5.0), (8, 3.0), (16, -1.0), (32, 4.0), (64, 9.0)]),
            Some(32)
        );
        assert_eq!(first_of_lead(&[(1, 5.0), (8, 3.0)]), Some(1));
        assert_eq!(first_of_lead(&[(1, 5.0), (8, -3.0)]), None);
        assert_eq!(first_of_lead(&[]), None);
    }
}
