//! Series of several servers, combined as those of one: counts and rates added up, times and shares
//! averaged.
//!
//! Times are weighted by their operations, as the catalogue says. A second that one server lacks is
//! a gap. Series of the machine, such as its CPUs, exist once and stay unchanged.

use std::collections::BTreeMap;

use assay_study::Series;
use assay_study::metrics::{Aggregation, Layer, MetricEntry, Unit, find};

/// Disks of concurrent servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Disks {
    /// Each server has its own.
    #[default]
    Own,
    /// All servers use directories of one disk, whose counters include all of them.
    Shared,
}

/// Combines the series of all servers, in the order of the first.
pub(crate) fn together(of_servers: &[Vec<Series>], disks: Disks) -> Vec<Series> {
    let Some(first) = of_servers.first() else { return Vec::new() };
    first.iter().filter_map(|series| one(series, of_servers, disks)).collect()
}

impl Disks {
    /// Returns true if a layer exists once for all servers.
    pub(crate) fn is_there_once(self, layer: Layer) -> bool {
        match layer {
            Layer::Disk => self == Disks::Shared,
            Layer::Cpu | Layer::Backing | Layer::Pool | Layer::Load | Layer::Monitor => true,
            _ => false,
        }
    }
}

/// Returns true if the values of several servers add up. Shares of a CPU do, other shares do not.
fn adds_up(metric: &MetricEntry) -> bool {
    match metric.unit {
        Unit::PerSecond
        | Unit::BytesPerSecond
        | Unit::Bytes
        | Unit::Count
        | Unit::Pages
        | Unit::MillisecondsPerSecond
        | Unit::MicrosecondsPerSecond => true,
        Unit::Percent => matches!(metric.layer, Layer::Server | Layer::Daemon),
        _ => false,
    }
}

fn one(first: &Series, of_servers: &[Vec<Series>], disks: Disks) -> Option<Series> {
    if disks.is_there_once(first.layer) {
        return Some(first.clone());
    }
    let all: Option<Vec<&Series>> = of_servers.iter().map(|its| named(its, &first.name)).collect();
    let all = all?;
    let metric = find(&first.name);
    let points = match metric {
        Some(metric) if adds_up(metric) => combined(&all, |values| values.iter().sum()),
        Some(MetricEntry { aggregation: Aggregation::WeightedMean { by }, .. }) => {
            let weights: Vec<BTreeMap<u32, f64>> = of_servers
                .iter()
                .map(|its| named(its, by).map(|series| series.points.iter().copied().collect()))
                .map(Option::unwrap_or_default)
                .collect();
            weighted(&all, &weights)
        }
        _ => combined(&all, |values| values.iter().sum::<f64>() / values.len() as f64),
    };
    (!points.is_empty()).then(|| Series { points, ..first.clone() })
}

fn named<'a>(series: &'a [Series], name: &str) -> Option<&'a Series> {
    series.iter().find(|series| series.name == name)
}

/// Combines the values of each second that all series have.
fn combined(all: &[&Series], of: impl Fn(&[f64]) -> f64) -> Vec<(u32, f64)> {
    let mut seconds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (second, value) in all.iter().flat_map(|series| &series.points) {
        seconds.entry(*second).or_default().push(*value);
    }
    let whole = seconds.into_iter().filter(|(_, values)| values.len() == all.len());
    whole.map(|(second, values)| (second, of(&values))).collect()
}

/// The weighted mean of each second; a server without operations has no weight.
fn weighted(all: &[&Series], weights: &[BTreeMap<u32, f64>]) -> Vec<(u32, f64)> {
    let mut seconds: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (series, weights) in all.iter().zip(weights) {
        for (second, value) in &series.points {
            let weight = weights.get(second).copied().unwrap_or(0.0);
            let (sum, total) = seconds.entry(*second).or_default();
            *sum += value * weight;
            *total += weight;
        }
    }
    let known = seconds.into_iter().filter(|(_, (_, total))| *total > 0.0);
    known.map(|(second, (sum, total))| (second, sum / total)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(u32, f64)]) -> Series {
        Series { points: points.to_vec(), ..Series::of(find(name).unwrap()) }
    }

    #[test]
    fn rates_add_up_times_are_weighed_and_the_machine_is_there_once() {
        let server = |reads: f64, ms: f64, cpu: f64, dirty: f64| {
            vec![
                series("disk_reads_per_s", &[(1, reads), (2, reads)]),
                series("disk_read_latency_ms", &[(1, ms)]),
                series("server_cpu_percent", &[(1, cpu)]),
                series("disk_utilisation_percent", &[(1, dirty)]),
                series("cpu_user_percent", &[(1, 40.0)]),
            ]
        };
        let mut other = server(300.0, 5.0, 30.0, 60.0);
        other[0].points.pop();
        other.pop();
        let servers = [server(100.0, 1.0, 50.0, 20.0), other];
        let all = together(&servers, Disks::Own);
        let points = |name: &str| named(&all, name).unwrap().points.clone();
        assert_eq!(points("disk_reads_per_s"), [(1, 400.0)], "the second second is a gap");
        assert_eq!(points("disk_read_latency_ms"), [(1, (100.0 + 1500.0) / 400.0)]);
        assert_eq!(points("server_cpu_percent"), [(1, 80.0)]);
        assert_eq!(points("disk_utilisation_percent"), [(1, 40.0)]);
        assert_eq!(points("cpu_user_percent"), [(1, 40.0)]);
        // Both counted the same disk.
        let shared = together(&servers, Disks::Shared);
        let reads = named(&shared, "disk_reads_per_s").unwrap();
        assert_eq!(reads.points, [(1, 100.0), (2, 100.0)]);
    }

    #[test]
    fn what_one_server_lacks_is_not_there() {
        let one = vec![series("disk_reads_per_s", &[(1, 3.0)])];
        assert!(together(&[one.clone(), Vec::new()], Disks::Own).is_empty());
        assert_eq!(together(std::slice::from_ref(&one), Disks::Own), one);
        assert!(together(&[], Disks::Own).is_empty());
    }
}
