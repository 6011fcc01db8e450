//! From what was seen to figures: means over the measuring window, and what they come to per transaction.
//!
//! A result has the name of the series that it is the mean of; what is derived says so by its name
//! (`write_bytes_per_transaction`).

use std::collections::BTreeMap;

use assay_load::{KindLatency, Outcome as Ran};

use super::{ending, warnings};
use crate::drive::added_share;
use crate::store::{Histogram, Outcome, Series};
use crate::watch::STOOD_STILL_MS;

/// Space is what there is at the window's end, not a mean: a large data folder is not walked every second, and it grows.
const SPACE_LAYER: &str = "space";

/// Turns what the load says and the series already in `outcome` into results, histograms and warnings.
pub fn fill(outcome: &mut Outcome, ran: &Ran) {
    outcome.window_s = Some((ran.measure_start_s, ran.measure_end_s));
    outcome.errors = ran.errors.clone();
    outcome.histograms = ran.latency.iter().flat_map(histograms).collect();
    let mut results = window_means(&outcome.series, ran.measure_start_s, ran.measure_end_s);
    results.extend(load_results(ran));
    results.extend(stood_still(&outcome.series, ran.measure_start_s, ran.measure_end_s));
    results.extend(derived(&results));
    outcome.warnings.extend(warnings::of(ran, &results));
    outcome.facts.extend(facts(ran));
    outcome.results = results;
}

/// Figures by their names.
pub(super) type Results = BTreeMap<String, f64>;

/// The mean of each series over the window, but of space what was last seen in it. A latency's seconds weigh as many as they had operations.
fn window_means(series: &[Series], from_s: f64, to_s: f64) -> Results {
    let in_window = |second: u32| f64::from(second) > from_s && f64::from(second) <= to_s + 0.5;
    let by_name: BTreeMap<&str, &Series> =
        series.iter().map(|one| (one.name.as_str(), one)).collect();
    let mut means = Results::new();
    for one in series {
        if one.layer == SPACE_LAYER {
            let last = one.points.iter().rev().find(|(second, _)| f64::from(*second) <= to_s + 0.5);
            means.extend(last.map(|(_, value)| (one.name.clone(), *value)));
            continue;
        }
        let weights = weight_name(&one.name).and_then(|name| by_name.get(name.as_str()));
        let weight = |second: u32| match weights {
            Some(weights) => value_at(weights, second).unwrap_or(0.0),
            None => 1.0,
        };
        let weighed: Vec<(f64, f64)> = one
            .points
            .iter()
            .filter(|(second, _)| in_window(*second))
            .map(|&(second, value)| (value, weight(second)))
            .collect();
        let total: f64 = weighed.iter().map(|(_, weight)| weight).sum();
        if total > 0.0 {
            let mean = weighed.iter().map(|(value, weight)| value * weight).sum::<f64>() / total;
            means.insert(one.name.clone(), mean);
        }
    }
    means
}

/// By how much it grew from the last sample before the window to the first behind it: a reading that waits for a server that
/// stands still is of the second in which it was asked for.
fn stood_still(series: &[Series], from_s: f64, to_s: f64) -> Option<(String, f64)> {
    let one = series.iter().find(|one| one.name == STOOD_STILL_MS)?;
    let at = |second: u32| f64::from(second);
    let before = one.points.iter().rfind(|(second, _)| at(*second) <= from_s);
    let behind = one.points.iter().find(|(second, _)| at(*second) >= to_s);
    let (_, from_ms) = before.or(one.points.first())?;
    let (_, to_ms) = behind.or(one.points.last())?;
    Some((STOOD_STILL_MS.to_owned(), to_ms - from_ms))
}

/// `disk_read_latency_ms` is weighed by `disk_reads_per_s`, likewise write, flush and discard.
fn weight_name(name: &str) -> Option<String> {
    let kind = name.strip_suffix("_latency_ms")?;
    let kind = kind.strip_suffix("_shown").unwrap_or(kind);
    let plural = if kind.ends_with("flush") { "es" } else { "s" };
    Some(format!("{kind}{plural}_per_s"))
}

fn value_at(series: &Series, second: u32) -> Option<f64> {
    let place = series.points.binary_search_by_key(&second, |point| point.0).ok()?;
    series.points.get(place).map(|point| point.1)
}

fn load_results(ran: &Ran) -> Results {
    let mut results = Results::new();
    let mut put = |name: &str, value: f64| results.insert(name.to_owned(), value);
    put("tps", ran.tps);
    put("qps", ran.qps);
    put("transactions", ran.events as f64);
    put("queries_per_transaction", ran.queries.total() as f64 / ran.events as f64);
    put("errors_ignored", ran.errors.values().sum::<u64>() as f64);
    put("reconnects", ran.reconnects as f64);
    if let Some(transaction) = ran.latency_of("transaction") {
        for (prefix, latency) in
            [("latency", &transaction.response), ("service", &transaction.service)]
        {
            put(&format!("{prefix}_ms_mean"), latency.latency_ms_mean);
            put(&format!("{prefix}_ms_p50"), latency.latency_ms_p50);
            put(&format!("{prefix}_ms_p95"), latency.latency_ms_p95);
            put(&format!("{prefix}_ms_p99"), latency.latency_ms_p99);
            put(&format!("{prefix}_ms_p999"), latency.latency_ms_p999);
            put(&format!("{prefix}_ms_max"), latency.latency_ms_max);
        }
    }
    if let Some(target) = ran.rate_target {
        put("target_rate", target);
        put("achieved_rate", ran.tps);
    }
    if let Some(seconds) = ran.client_cpu_s {
        put("load_cpu_us_per_query", seconds * 1e6 / ran.queries.total() as f64);
    }
    results
}

pub(super) fn derived(results: &Results) -> Results {
    let figure = |name: &str| results.get(name).copied();
    let per = |amount: Option<f64>, of: &str| Some(amount? / figure(of)?);
    // Percent of one processor; a hundredth of a second each second.
    let cpu_us = |percent: &str| per(figure(percent).map(|percent| percent * 1e4), "qps");
    let amplified = |part: &str| {
        per(figure(&format!("drive_write_bytes_{part}_per_s")), "drive_write_bytes_host_per_s")
    };
    let percent = |part: &str, of: &str| per(figure(part).map(|part| part * 100.0), of);
    let all = [
        ("write_bytes_per_transaction", per(figure("disk_write_bytes_per_s"), "tps")),
        ("read_bytes_per_transaction", per(figure("disk_read_bytes_per_s"), "tps")),
        ("fsyncs_per_transaction", per(figure("innodb_fsyncs_per_s"), "tps")),
        ("server_cpu_us_per_query", cpu_us("server_cpu_percent")),
        ("serving_cpu_us_per_query", cpu_us("serving_cpu_percent")),
        ("media_write_bytes_per_transaction", per(figure("drive_write_bytes_media_per_s"), "tps")),
        ("model_late_percent", percent("model_late_per_s", "model_commands_per_s")),
        ("model_too_fast_percent", percent("model_too_fast_per_s", "model_commands_per_s")),
        ("model_added_percent", model_added_percent(results)),
        // Over the window as one: the mean of quotients would weigh idle seconds like busy ones.
        ("drive_write_amplification", amplified("media")),
        ("drive_write_amplification_payload", amplified("payload")),
        ("drive_write_amplification_table", amplified("table")),
        ("drive_write_amplification_collection", amplified("collection")),
        ("drive_write_amplification_checkpoint", amplified("checkpoint")),
    ];
    let known = all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.filter(|(_, value)| value.is_finite()).collect()
}

fn histograms(latency: &KindLatency) -> [Histogram; 2] {
    let one = |clock: &str, buckets: &[(u64, u64)]| Histogram {
        kind: latency.kind.clone(),
        clock: clock.into(),
        buckets: buckets.to_vec(),
    };
    [one("service", &latency.service.buckets_ns), one("response", &latency.response.buckets_ns)]
}

fn facts(ran: &Ran) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::from([("seed".to_owned(), ran.schedule.seed.to_string())]);
    if let Some(steady) = ran.steady {
        let text = if steady { "throughput had settled" } else { "the cap came first" };
        facts.insert("warm-up".into(), text.into());
    }
    facts.extend(ending::fact(ran).map(|text| ("ended by".into(), text)));
    facts
}

/// By how much more than modelled all commands of a model took together.
fn model_added_percent(results: &Results) -> Option<f64> {
    let figure = |name: String| results.get(&name).copied();
    let times = [("read", "reads"), ("write", "writes"), ("flush", "flushes")]
        .into_iter()
        .filter_map(|(kind, plural)| {
            let commands_per_s = figure(format!("model_{plural}_per_s"))?;
            let modelled = figure(format!("model_{kind}_latency_ms"))?;
            let shown = figure(format!("model_{kind}_shown_latency_ms"))?;
            Some((commands_per_s * modelled, commands_per_s * shown))
        });
    added_share(times).map(|share| share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(u32, f64)]) -> Series {
        let (unit, label, layer) = (String::new(), String::new(), String::new());
        Series { name: name.into(), unit, label, layer, points: points.to_vec() }
    }

    #[test]
    fn means_are_of_the_window_and_latencies_weigh_operations() {
        let all = [
            series("disk_reads_per_s", &[(1, 900.0), (2, 100.0), (3, 300.0), (4, 900.0)]),
            series("disk_read_latency_ms", &[(1, 99.0), (2, 1.0), (3, 5.0), (4, 99.0)]),
            series("disk_flush_latency_ms", &[(2, 3.0)]),
        ];
        let means = window_means(&all, 1.0, 3.0);
        assert_eq!(means["disk_reads_per_s"], 200.0);
        assert_eq!(means["disk_read_latency_ms"], (100.0 * 1.0 + 300.0 * 5.0) / 400.0);
        assert_eq!(means["disk_flush_latency_ms"], 3.0, "without its weights a plain mean");
    }

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
        assert!(!derived.contains_key("serving_cpu_us_per_query"), "no drive, no figure");
        assert!(!derived.contains_key("fsyncs_per_transaction"), "what is not known is absent");
    }

    #[test]
    fn a_standstill_counts_where_the_window_met_it() {
        // Asked for in second 5, told in second 9.
        let points = [(1, 300.0), (2, 300.0), (5, 4300.0), (9, 4300.0), (10, 9000.0)];
        let all = [series(STOOD_STILL_MS, &points)];
        let stood_still = |from_s, to_s| stood_still(&all, from_s, to_s).unwrap().1;
        assert_eq!(stood_still(2.4, 8.4), 4000.0);
        assert_eq!((stood_still(1.0, 2.0), stood_still(5.5, 8.5)), (0.0, 0.0));
        assert_eq!(stood_still(0.5, 20.0), 8700.0);
    }

    #[test]
    fn space_is_what_there_is_at_the_windows_end() {
        let mut space = series("space_physical_bytes", &[(1, 5.0), (2, 7.0), (9, 8.0)]);
        space.layer = SPACE_LAYER.into();
        assert_eq!(window_means(&[space.clone()], 1.0, 3.0)["space_physical_bytes"], 7.0);
        assert_eq!(window_means(&[space], 4.0, 6.0)["space_physical_bytes"], 7.0);
    }
}
