//! Loss of each server as others join: for configurations that differ in the number of servers
//! alone, each server's throughput beside that number.
//!
//! Intervals are Student's of the repeats' logarithms, as everywhere; a single repeat has no
//! bounds. Configurations with a noisy neighbour are left out: they differ in its load too.

use assay_study::metrics::metric;
use assay_study::{RigRecord, Study, Trial};

use super::interval::Interval;
use super::statistics::unpaired;
use super::summary::{RepeatGroup, result};

/// Servers of one kind under one load, by how many there were.
#[derive(Debug, Clone, PartialEq)]
pub struct Sharing {
    /// Place of the workload in the study.
    pub workload: usize,
    /// Connections of each server.
    pub threads: u32,
    /// From few servers to many; at least two.
    pub points: Vec<Point>,
}

/// So many servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// How many.
    pub servers: u32,
    /// Place of their configuration in the study.
    pub config: usize,
    /// Transactions a second of each, the mean of all.
    pub tps_each: Interval,
    /// The same by that of the fewest servers; nothing of these.
    pub tps_kept: Option<Interval>,
    /// The 99th percentile of the server whose is longest, in ms.
    pub p99_ms: Option<Interval>,
}

/// Every kind of servers under every load that is there in more than one number.
#[must_use]
pub fn sharing(study: &Study, groups: &[RepeatGroup<'_>]) -> Vec<Sharing> {
    let mut all = Vec::new();
    let mut seen: Vec<&RepeatGroup<'_>> = Vec::new();
    for group in groups {
        if seen.iter().any(|one| is_of_one_kind(study, one, group)) {
            continue;
        }
        seen.push(group);
        let its = groups.iter().filter(|other| is_of_one_kind(study, group, other));
        let mut points: Vec<(u32, &RepeatGroup<'_>)> =
            its.filter_map(|one| Some((servers_of(one)?, one))).collect();
        points.sort_by_key(|(servers, _)| *servers);
        points.dedup_by_key(|(servers, _)| *servers);
        let first = points.first().map(|(_, group)| *group);
        let points: Vec<Point> = points
            .iter()
            .filter_map(|(servers, one)| {
                let fewest = first.filter(|first| !std::ptr::eq(*first, *one));
                point(*servers, one, fewest)
            })
            .collect();
        if points.len() > 1 {
            let RepeatGroup { workload, threads, .. } = *group;
            all.push(Sharing { workload, threads, points });
        }
    }
    all
}

/// Whether two groups differ in nothing but the number of their servers.
fn is_of_one_kind(study: &Study, one: &RepeatGroup<'_>, other: &RepeatGroup<'_>) -> bool {
    let kind = |group: &RepeatGroup<'_>| {
        let config = study.configs.get(group.config)?;
        let rig = RigRecord { servers: None, in_effect: None, ..config.rig.clone() };
        Some((rig, &config.settings))
    };
    (one.workload, one.threads) == (other.workload, other.threads) && kind(one) == kind(other)
}

/// Nothing where one of them has another load.
fn servers_of(group: &RepeatGroup<'_>) -> Option<u32> {
    let trial = group.done().next()?;
    match trial.servers.len() {
        0 => Some(1),
        _ if trial.servers.iter().any(|one| one.neighbour.is_some()) => None,
        servers => u32::try_from(servers).ok(),
    }
}

fn point(servers: u32, group: &RepeatGroup<'_>, fewest: Option<&RepeatGroup<'_>>) -> Option<Point> {
    let tps = values(group, tps_each);
    let tps_each = Interval::of_repeats(&tps)?;
    Some(Point {
        servers,
        config: group.config,
        tps_each,
        tps_kept: fewest.and_then(|fewest| quotient(&tps, &values(fewest, self::tps_each))),
        p99_ms: Interval::of_repeats(&values(group, p99_worst)),
    })
}

fn values(group: &RepeatGroup<'_>, of: fn(&Trial) -> Option<f64>) -> Vec<f64> {
    group.done().filter_map(of).collect()
}

fn tps_each(trial: &Trial) -> Option<f64> {
    let several = result(trial, metric!("tps_of_servers_mean").name);
    several.or_else(|| result(trial, metric!("tps").name))
}

fn p99_worst(trial: &Trial) -> Option<f64> {
    let several = result(trial, metric!("latency_ms_p99_of_servers_worst").name);
    several.or_else(|| result(trial, metric!("latency_ms_p99").name))
}

/// The mean of one by that of the other.
fn quotient(over: &[f64], under: &[f64]) -> Option<Interval> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let is_sound = |values: &[f64]| !values.is_empty() && values.iter().all(|value| *value > 0.0);
    if !is_sound(over) || !is_sound(under) {
        return None;
    }
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let mid = mean(over) / mean(under);
    let spread = unpaired(&logs(over), &logs(under));
    Some(spread.map_or(Interval::exactly(mid), |spread| Interval::about(mid, &spread)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::summary::groups;
    use super::*;
    use assay_study::{Config, OfServer, TrialKey, WorkloadRecord};

    fn config(name: &str) -> Config {
        Config { name: name.into(), rig: RigRecord::default(), settings: BTreeMap::new() }
    }

    fn trial(config: &str, repeat: u32, each: &[f64], neighbour: Option<&str>) -> Trial {
        let key = TrialKey { config: config.into(), workload: "w".into(), threads: 4, repeat };
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        let total: f64 = each.iter().sum();
        let mut results = vec![("tps", total), ("transactions", 1e6), ("latency_ms_p99", 2.0)];
        if each.len() > 1 {
            results.push(("tps_of_servers_mean", mean));
            results.push(("latency_ms_p99_of_servers_worst", 3.0));
        }
        let server = |(place, _): (usize, &f64)| OfServer {
            server: place as u32 + 1,
            neighbour: neighbour.filter(|_| place + 1 == each.len()).map(str::to_owned),
            results: BTreeMap::new(),
        };
        let servers = each.iter().enumerate().map(server).collect();
        let servers = if each.len() > 1 { servers } else { Vec::new() };
        Trial { servers, ..Trial::done(key, &results) }
    }

    fn study() -> Study {
        let mut other = config("other settings");
        other.settings.insert("innodb_doublewrite".into(), "OFF".into());
        let workload = WorkloadRecord {
            name: "w".into(),
            data_profile: None,
            workload: "w".into(),
            recipe: "oltp_read_write".into(),
            options: BTreeMap::new(),
        };
        Study {
            configs: vec![config("3"), config("1"), config("noisy"), other],
            workloads: vec![workload],
            trials: vec![
                trial("3", 1, &[50.0, 52.0, 48.0], None),
                trial("3", 2, &[50.5, 51.5, 48.0], None),
                trial("1", 1, &[100.0], None),
                trial("1", 2, &[102.0], None),
                trial("noisy", 1, &[9.0, 9.0], Some("noise")),
                trial("other settings", 1, &[77.0], None),
            ],
            ..Study::default()
        }
    }

    #[test]
    fn what_each_keeps_is_told_by_the_fewest_and_within_bounds() {
        let study = study();
        let all = sharing(&study, &groups(&study));
        assert_eq!(all.len(), 1, "one kind of servers is there in more than one number: {all:?}");
        let points = &all[0].points;
        let counts: Vec<(u32, usize)> =
            points.iter().map(|point| (point.servers, point.config)).collect();
        assert_eq!(counts, [(1, 1), (3, 0)]);
        assert!((points[1].tps_each.mid - 50.0).abs() < 1e-9);
        assert_eq!(points[0].tps_kept, None);
        let kept = points[1].tps_kept.unwrap();
        assert!((kept.mid - 50.0 / 101.0).abs() < 1e-9 && kept.low < kept.mid, "{kept:?}");
        assert!(kept.high < 0.6, "no doubt that each does less: {kept:?}");
        assert_eq!(points[0].p99_ms.unwrap().mid, 2.0);
        assert!((points[1].p99_ms.unwrap().mid - 3.0).abs() < 1e-9);
    }

    #[test]
    fn other_settings_and_neighbours_are_no_more_servers_of_the_same_kind() {
        let mut study = study();
        study.trials.retain(|trial| trial.key.config != "3");
        assert_eq!(sharing(&study, &groups(&study)), []);
    }
}
