//! Everything that a run can record or store is in the catalogue of metrics, and a run can make
//! everything in the catalogue.

use std::collections::BTreeSet;

use assay_load::{Fileio, KindLatency, LatencyStats, LoadOutcome as Ran, Work};

use super::measuring::seconds::{LOAD_SERIES, QUERY_SERIES};
use super::results::figures::{self, Results};
use super::results::file_figures::FILE_SERIES;
use super::results::servers;
use crate::monitor::declarable;
use assay_study::metrics::{self, MetricEntry, Window};
use assay_study::{Capacity, CapacityFound, Objective, OfServer, Series};

/// Each series of the monitor and the load, some of them of two CPUs.
fn recorded() -> Vec<(String, &'static MetricEntry)> {
    let monitored = declarable().into_iter().map(|info| (info.name, info.metric));
    let load = LOAD_SERIES.iter().chain(&QUERY_SERIES).map(|(metric, _)| *metric);
    let load = load.chain(FILE_SERIES.iter().map(|(metric, _)| *metric));
    let load = load.map(|metric| (metric.name.to_owned(), metric));
    let of_each = servers::OF_EACH.iter().map(|(_, shown)| (shown.name_of("1"), *shown));
    monitored.chain(load).chain(of_each).collect()
}

#[test]
fn every_series_is_made_once_and_none_is_made_by_nobody() {
    let recorded = recorded();
    for (name, metric) in &recorded {
        assert_eq!(metrics::find(name), Some(*metric));
        assert!(metric.is_series, "{name}");
        // The file system or the drive reports physical space.
        let most = if *name == "space_physical_bytes" { 2 } else { 1 };
        assert_eq!(recorded.iter().filter(|(other, _)| other == name).count(), most, "{name}");
    }
    let made: BTreeSet<&str> = recorded.iter().map(|(_, metric)| metric.name).collect();
    let known = metrics::all().filter(|metric| metric.is_series).map(|metric| metric.name);
    assert_eq!(made, known.collect());
}

/// The results of a run of which everything is known.
fn stored() -> Results {
    let one_to_nine = || (1..=9).map(|second| (second, f64::from(second))).collect();
    let series = |(name, metric): (String, &MetricEntry)| Series {
        name,
        points: one_to_nine(),
        ..Series::of(metric)
    };
    let series: Vec<Series> = recorded().into_iter().map(series).collect();
    let window = Window { from_s: 1.0, to_s: 9.0 };
    let latency = KindLatency {
        kind: "transaction".into(),
        service: LatencyStats::default(),
        response: LatencyStats::default(),
    };
    let mut ran = Ran {
        measure_start_s: window.from_s,
        measure_end_s: window.to_s,
        events: 8,
        tps: 1.0,
        qps: 20.0,
        latency: vec![latency],
        rate_target: Some(1.0),
        client_cpu_s: Some(1.0),
        ..Ran::default()
    };
    ran.queries.read = 160;
    let of_queries = figures::of(&series, &ran, window);
    // The same once more on files: no run loads both.
    ran.work = Work::Files { fileio: Fileio::default() };
    let of_files = figures::of(&series, &ran, window);
    let found =
        CapacityFound::Rate { rate: 2.0, low: 1.0, high: 3.0, met_share: 0.95, spread: None };
    let objective = Objective { percentile: 99.0, ms: 10.0 };
    let searched = Capacity { objective, found, restarts: 0, runs: Vec::new() };
    let several = servers::summary(&[OfServer {
        server: 1,
        neighbour: None,
        results: [("tps".to_owned(), 1.0), ("latency_ms_p99".to_owned(), 2.0)].into(),
    }]);
    let all = of_files.into_iter().chain(of_queries).chain(several);
    all.chain(figures::capacity(&searched)).collect()
}

#[test]
fn every_result_is_known_and_none_is_made_by_nobody() {
    let stored = stored();
    for name in stored.keys() {
        assert!(metrics::find(name).is_some(), "{name}");
    }
    let made: BTreeSet<&str> =
        stored.keys().filter_map(|name| Some(metrics::find(name)?.name)).collect();
    let known: BTreeSet<&str> = metrics::all().map(|metric| metric.name).collect();
    // Results of a rig on a model alone, see `fill`.
    let of_rig = BTreeSet::from(["fill_begin_percent", "fill_end_percent"]);
    assert_eq!(known.difference(&made).copied().collect::<BTreeSet<_>>(), of_rig);
}

#[test]
fn what_a_metric_comes_to_is_by_its_rule() {
    let stored = stored();
    assert_eq!(stored["disk_reads_per_s"], 5.5, "the mean of seconds 2 to 9");
    let squares: f64 = (2..=9).map(|n| f64::from(n * n)).sum();
    assert_eq!(stored["disk_read_latency_ms"], squares / 44.0, "as many reads as milliseconds");
    assert_eq!(stored["space_file_bytes"], 9.0, "what was last seen");
    assert_eq!(stored["model_stalled_ms"], 8.0, "from second 1 to second 9");
    assert_eq!(stored["drive_write_amplification"], 1.0, "of the window as one");
    assert_eq!(stored["server_cpu_us_per_query"], 5.5 * 1e4 / 20.0);
    assert_eq!(stored["tps"], 1.0, "the load's own, not the mean of its seconds");
}
