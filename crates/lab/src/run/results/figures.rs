//! Results of the measuring window: means of its seconds, counts of the load, and figures derived
//! from both, each as the catalogue of metrics defines it.

use std::collections::BTreeMap;

use assay_load::{KindLatency, LatencyStats, LoadOutcome as Ran, Work};

use super::{ending, file_figures};
use assay_load::capacity::{Capacity, CapacityFound};
use assay_serve::added_share;
pub(crate) use assay_study::Results;
use assay_study::metrics::{MetricEntry, Window, metric};
use assay_study::{Histogram, LatencyClock, Series, Timed, over_window, quotients};

/// Results over a window: from its series, from the load's own counts, and derived from both.
pub(crate) fn of(series: &[Series], ran: &Ran, window: Window) -> Results {
    let mut results = over_window(series, window);
    results.extend(load_results(ran));
    results.extend(derived(&results));
    results
}

/// The rate that a search found and its interval.
pub(crate) fn capacity(capacity: &Capacity) -> Results {
    let CapacityFound::Rate { rate, low, high, .. } = capacity.found else { return Results::new() };
    let named = [
        (metric!("capacity_per_s"), rate),
        (metric!("capacity_low_per_s"), low),
        (metric!("capacity_high_per_s"), high),
    ];
    named.into_iter().map(|(metric, value)| (metric.name.to_owned(), value)).collect()
}

/// Metrics of one clock: the mean, the percentiles from the median up, and the maximum.
type Times = [&'static MetricEntry; 6];

const RESPONSE: Times = [
    metric!("latency_ms_mean"),
    metric!("latency_ms_p50"),
    metric!("latency_ms_p95"),
    metric!("latency_ms_p99"),
    metric!("latency_ms_p999"),
    metric!("latency_ms_max"),
];

const SERVICE: Times = [
    metric!("service_ms_mean"),
    metric!("service_ms_p50"),
    metric!("service_ms_p95"),
    metric!("service_ms_p99"),
    metric!("service_ms_p999"),
    metric!("service_ms_max"),
];

fn load_results(ran: &Ran) -> Results {
    let transaction = ran.latency_of(Timed::TRANSACTION);
    let totals = [
        (metric!("tps"), Some(ran.tps)),
        (metric!("transactions"), Some(ran.events as f64)),
        (metric!("target_rate"), ran.rate_target),
        (metric!("achieved_rate"), ran.rate_target.map(|_| ran.tps)),
    ];
    let totals = totals.into_iter().filter_map(|(metric, value)| Some((metric, value?)));
    let parts: Vec<(&'static MetricEntry, f64)> = match &ran.work {
        Work::Server { .. } => query_results(ran),
        Work::Files { fileio } => file_figures::results(ran, fileio).into(),
    };
    let response = transaction.map(|times| of_clock(RESPONSE, &times.response));
    let service = transaction.map(|times| of_clock(SERVICE, &times.service));
    let times = [response, service].into_iter().flatten().flatten();
    totals
        .chain(parts)
        .chain(times)
        .map(|(metric, value)| (metric.name.to_owned(), value))
        .collect()
}

fn query_results(ran: &Ran) -> Vec<(&'static MetricEntry, f64)> {
    let queries = ran.queries.total() as f64;
    let cpu_us = ran.client_cpu_s.map(|seconds| seconds * 1e6 / queries);
    let results = [
        (metric!("qps"), Some(ran.qps)),
        (metric!("queries_per_transaction"), Some(queries / ran.events as f64)),
        (metric!("errors_ignored"), Some(ran.errors.values().sum::<u64>() as f64)),
        (metric!("reconnects"), Some(ran.reconnects as f64)),
        (metric!("load_cpu_us_per_query"), cpu_us),
    ];
    results.into_iter().filter_map(|(metric, value)| Some((metric, value?))).collect()
}

fn of_clock(times: Times, latency: &LatencyStats) -> [(&'static MetricEntry, f64); 6] {
    let [mean, p50, p95, p99, p999, max] = times;
    [
        (mean, latency.latency_ms_mean),
        (p50, latency.latency_ms_p50),
        (p95, latency.latency_ms_p95),
        (p99, latency.latency_ms_p99),
        (p999, latency.latency_ms_p999),
        (max, latency.latency_ms_max),
    ]
}

/// Results derived from others: the catalogue's quotients, and the latency added to a model's
/// commands.
pub(super) fn derived(results: &Results) -> Results {
    let added = model_added_percent(results).filter(|value| value.is_finite());
    let added = added.map(|value| (metric!("model_added_percent").name.to_owned(), value));
    quotients(results).into_iter().chain(added).collect()
}

pub(crate) fn histograms(latency: &KindLatency) -> [Histogram; 2] {
    let one = |clock: LatencyClock, buckets: &[(u64, u64)]| Histogram {
        kind: Timed::named(&latency.kind),
        clock,
        buckets: buckets.to_vec(),
    };
    [
        one(LatencyClock::Service, &latency.service.buckets_ns),
        one(LatencyClock::Response, &latency.response.buckets_ns),
    ]
}

pub(crate) fn facts(ran: &Ran) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::from([("seed".to_owned(), ran.schedule.seed.to_string())]);
    if let Some(steady) = ran.steady {
        let text = if steady { "throughput had settled" } else { "the limit came first" };
        facts.insert("warm-up".into(), text.into());
    }
    facts.extend(ending::fact(ran).map(|text| ("ended by".into(), text)));
    facts
}

/// Metrics of each kind of a model's commands: the rate, the modelled and the achieved latency.
const MODELLED: [[&MetricEntry; 3]; 3] = [
    [
        metric!("model_reads_per_s"),
        metric!("model_read_latency_ms"),
        metric!("model_read_achieved_latency_ms"),
    ],
    [
        metric!("model_writes_per_s"),
        metric!("model_write_latency_ms"),
        metric!("model_write_achieved_latency_ms"),
    ],
    [
        metric!("model_flushes_per_s"),
        metric!("model_flush_latency_ms"),
        metric!("model_flush_achieved_latency_ms"),
    ],
];

/// Time that all commands of a model took in addition to the modelled time, in percent.
fn model_added_percent(results: &Results) -> Option<f64> {
    let times = MODELLED.into_iter().filter_map(|kind| {
        let [commands_per_s, modelled, shown] =
            kind.map(|metric| results.get(metric.name).copied());
        Some((commands_per_s? * modelled?, commands_per_s? * shown?))
    });
    added_share(times).map(|share| share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_per_transaction_follow_from_means() {
        let means: Results = [
            ("tps", 50.0),
            ("qps", 1000.0),
            ("disk_write_bytes_per_s", 1e6),
            ("server_cpu_percent", 80.0),
            ("drive_write_bytes_host_per_s", 2e6),
            ("drive_write_bytes_media_per_s", 1.5e6),
            ("drive_write_bytes_payload_per_s", 1e6),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let derived = derived(&means);
        assert_eq!(derived["write_bytes_per_transaction"], 20_000.0);
        assert_eq!(derived["server_cpu_us_per_query"], 800.0);
        assert_eq!(derived["drive_write_amplification"], 0.75);
        assert_eq!(derived["drive_write_amplification_payload"], 0.5);
        assert!(!derived.contains_key("daemon_cpu_us_per_query"), "no drive, no figure");
        assert!(!derived.contains_key("fsyncs_per_transaction"), "what is not known is absent");
    }
}
