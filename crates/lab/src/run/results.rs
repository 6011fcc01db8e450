//! From what was seen to figures: means over the measuring window, what they come to per transaction, and marks
//! where they do not reconcile.
//!
//! A result has the name of the series that it is the mean of; what is derived says so by its name
//! (`write_bytes_per_transaction`).

use std::collections::BTreeMap;

use assay_load::{KindLatency, Outcome as Ran, Pace, Schedule, queries_per_event};

use super::ending;
use crate::drive::{ADDED_SHARE_MAX, LATE_SHARE_MAX, added_share};
use crate::store::{Histogram, Outcome, Series};

/// Space is what there is at the window's end, not a mean: a large data folder is not walked every second, and it grows.
const SPACE_LAYER: &str = "space";

/// Of what InnoDB wrote to its files, the device writes at least so much: what is cached for a while or compressed by
/// punching holes falls below.
const FILE_BYTES_LEAST: f64 = 0.85;

/// And at most so much, beside what each flush costs: metadata of the file system, and blocks that are written in part.
const FILE_BYTES_MOST: f64 = 1.35;

/// What a flush may write beside the data, in bytes: eight blocks of 4 KiB. A commit of ext4's journal is a descriptor
/// block, each changed block of metadata (inode, extents, bitmaps, group descriptor) and a commit block (Linux,
/// `Documentation/filesystems/ext4/journal.rst`), all whole blocks, as is the padded end of the log that is flushed.
/// 25.7 kB a flush were measured under InnoDB, with the software drive and without it.
const FLUSH_BYTES_MOST: f64 = 8.0 * 4096.0;

/// Half a percent more than what rounding, the window's edges and the watch's clock were seen to make.
const RECIPE_TOLERANCE: f64 = 0.02;

/// Little's law holds for means; the rest is the client's own time between two events.
const LITTLE_TOLERANCE: f64 = 0.05;

/// Two counters of the same bytes, read by two threads at the edges of a window.
const DRIVE_TOLERANCE: f64 = 0.1;

/// How much of a rate that was asked for may be missed.
const RATE_TOLERANCE: f64 = 0.02;

/// A generator that uses more of its processors than this is measured along with the server.
const LOAD_BUSY_PERCENT: f64 = 85.0;

/// Turns what the load says and the series already in `outcome` into results, histograms and marks.
pub fn fill(outcome: &mut Outcome, ran: &Ran) {
    outcome.window_s = Some((ran.measure_start_s, ran.measure_end_s));
    outcome.errors = ran.errors.clone();
    outcome.histograms = ran.latency.iter().flat_map(histograms).collect();
    let mut results = window_means(&outcome.series, ran.measure_start_s, ran.measure_end_s);
    results.extend(load_results(ran));
    results.extend(derived(&results));
    outcome.marks.extend(marks(ran, &results));
    outcome.facts.extend(facts(ran));
    outcome.results = results;
}

type Results = BTreeMap<String, f64>;

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

fn derived(results: &Results) -> Results {
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
        ("model_below_port_percent", percent("model_below_port_per_s", "model_commands_per_s")),
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

fn marks(ran: &Ran, results: &Results) -> Vec<String> {
    let schedule = &ran.schedule;
    [
        recipe_mark(ran),
        little_mark(results, schedule),
        rate_mark(ran),
        bytes_mark(results),
        drive_mark(results),
        model_mark(results),
        load_mark(results, schedule),
        steady_mark(ran),
        ending::mark(ran),
        ran.workload.distortion(&ran.schema).map(|distortion| distortion.to_string()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Queries ÷ transactions is the recipe's, but for events cut by the window's edges and for repeats.
fn recipe_mark(ran: &Ran) -> Option<String> {
    let expected = queries_per_event(&ran.workload, &ran.schema).total() as f64;
    let found = ran.queries.total() as f64 / ran.events as f64;
    let edges = f64::from(ran.schedule.threads) / ran.events as f64;
    let repeats = ran.errors.values().sum::<u64>() as f64 / ran.events as f64;
    let is_off = (found / expected - 1.0).abs() > RECIPE_TOLERANCE + edges + repeats;
    is_off.then(|| format!("{found:.2} queries a transaction, the recipe has {expected:.0}"))
}

/// Threads = TPS × mean latency (Little 1961), in closed loop.
fn little_mark(results: &Results, schedule: &Schedule) -> Option<String> {
    if schedule.pace != Pace::Closed {
        return None;
    }
    let busy = results.get("tps")? * results.get("latency_ms_mean")? / 1000.0;
    let threads = f64::from(schedule.threads);
    let edges = threads / results.get("transactions")?;
    let is_off = (busy / threads - 1.0).abs() > LITTLE_TOLERANCE + edges;
    is_off.then(|| format!("TPS × mean latency is {busy:.2}, there were {threads:.0} threads"))
}

fn rate_mark(ran: &Ran) -> Option<String> {
    let target = ran.rate_target?;
    // A Poisson process of n events has a relative spread of 1/√n.
    let spread = 3.0 / (target * ran.elapsed_s).sqrt();
    let is_off = ran.tps < target * (1.0 - RATE_TOLERANCE - spread);
    is_off.then(|| format!("{:.1} of {target:.1} transactions/s asked for: overloaded", ran.tps))
}

/// What the device wrote is about what InnoDB, the binary log as far as it is known, and flushes explain.
fn bytes_mark(results: &Results) -> Option<String> {
    let figure = |name: &str| results.get(name).copied();
    let file = |kind: &str| figure(&format!("innodb_file_{kind}_write_bytes_per_s"));
    let files = file("data")? + file("redo")? + file("doublewrite")?;
    let device = figure("disk_write_bytes_per_s")?;
    let binlog = figure("sql_binlog_write_bytes_per_s").unwrap_or(0.0);
    let flushes = flushes_per_s(results);
    let most = (files + binlog) * FILE_BYTES_MOST + flushes * FLUSH_BYTES_MOST;
    let mb = |bytes: f64| format!("{:.1} MB/s", bytes / 1e6);
    match () {
        () if files <= 1e6 => None,
        () if device < files * FILE_BYTES_LEAST => Some(format!(
            "the device wrote {}, InnoDB {} to its files: pages stayed in memory or took less space than they have, \
             so bytes written for each transaction are too few; measure for longer",
            mb(device),
            mb(files),
        )),
        () if device > most => Some(format!(
            "the device wrote {}, InnoDB and the binary log {} to their files, which with {flushes:.0} flushes/s explains \
             {}: something else wrote to it, so do not compare what it wrote",
            mb(device),
            mb(files + binlog),
            mb(most),
        )),
        () => None,
    }
}

/// Flushes that the server asked for, or that came to the device if those are more; zero where neither is known.
fn flushes_per_s(results: &Results) -> f64 {
    let figure = |name: &str| results.get(name).copied().unwrap_or(0.0);
    let asked_for = figure("innodb_fsyncs_per_s") + figure("sql_binlog_fsyncs_per_s");
    asked_for.max(figure("disk_flushes_per_s"))
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

/// A model that our own processors kept from its time does not show the device, nor does one that is too fast for the port.
fn model_mark(results: &Results) -> Option<String> {
    let late = *results.get("model_late_percent")?;
    if late > LATE_SHARE_MAX * 100.0 {
        return Some(format!(
            "not comparable: our own processors made {late:.1} % of the model's commands late; use fewer threads, a \
             larger parallel_scale, or a faster machine"
        ));
    }
    let added = *results.get("model_added_percent")?;
    (added > ADDED_SHARE_MAX * 100.0).then(|| {
        format!(
            "not comparable: the model's commands took {added:.1} % longer than the device's would, most of them being \
             faster than can be shown here; use more threads, a larger parallel_scale, or a faster machine"
        )
    })
}

/// What the drive says it was given is what the kernel says it gave to the drive's device.
fn drive_mark(results: &Results) -> Option<String> {
    let told = *results.get("drive_write_bytes_host_per_s")?;
    let given = *results.get("disk_write_bytes_per_s")?;
    let is_off = given > 1e6 && (told / given - 1.0).abs() > DRIVE_TOLERANCE;
    is_off.then(|| {
        format!("the drive took {:.1} MB/s, its device wrote {:.1} MB/s", told / 1e6, given / 1e6)
    })
}

fn load_mark(results: &Results, schedule: &Schedule) -> Option<String> {
    let cpus = match schedule.cpus.len() {
        0 => assay_ports::cpu::available().map_or(1, |cpus| cpus.len()),
        count => count,
    };
    let busy = (results.get("load_cpu_user_percent")? + results.get("load_cpu_system_percent")?)
        / cpus as f64;
    (busy > LOAD_BUSY_PERCENT).then(|| {
        format!("the load generator used {busy:.0} % of its processors: it may be the limit")
    })
}

fn steady_mark(ran: &Ran) -> Option<String> {
    (ran.steady == Some(false))
        .then(|| "throughput had not settled when measuring began".to_owned())
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
    fn space_is_what_there_is_at_the_windows_end() {
        let mut space = series("space_physical_bytes", &[(1, 5.0), (2, 7.0), (9, 8.0)]);
        space.layer = SPACE_LAYER.into();
        assert_eq!(window_means(&[space.clone()], 1.0, 3.0)["space_physical_bytes"], 7.0);
        assert_eq!(window_means(&[space], 4.0, 6.0)["space_physical_bytes"], 7.0);
    }

    #[test]
    fn the_device_writes_what_files_and_flushes_explain_or_the_cell_is_marked() {
        let results = |device: f64, fsyncs: f64, binlog: Option<f64>| -> Results {
            let mut results: Results = [
                ("innodb_file_data_write_bytes_per_s", 3e6),
                ("innodb_file_redo_write_bytes_per_s", 1e6),
                ("innodb_file_doublewrite_write_bytes_per_s", 0.0),
                ("disk_write_bytes_per_s", device),
                ("innodb_fsyncs_per_s", fsyncs),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
            results.extend(binlog.map(|bytes| ("sql_binlog_write_bytes_per_s".to_owned(), bytes)));
            results
        };
        // A journal commit for each of 200 fsyncs, as measured.
        assert_eq!(bytes_mark(&results(4e6 + 200.0 * 25.7e3, 200.0, None)), None);
        let mark = bytes_mark(&results(4e6 + 200.0 * 25.7e3, 10.0, None)).unwrap();
        assert!(mark.contains("9.1 MB/s") && mark.contains("something else wrote to it"), "{mark}");
        assert_eq!(bytes_mark(&results(7e6, 10.0, Some(1.5e6))), None);
        assert!(bytes_mark(&results(7e6, 10.0, None)).is_some(), "the binary log explains it");
        let mark = bytes_mark(&results(3e6, 200.0, Some(1.5e6))).unwrap();
        assert!(mark.contains("stayed in memory"), "{mark}");
        assert_eq!(bytes_mark(&Results::new()), None);
    }

    #[test]
    fn a_drive_and_its_device_agree_or_the_cell_is_marked() {
        let results = |told: f64| -> Results {
            [("drive_write_bytes_host_per_s", told), ("disk_write_bytes_per_s", 10e6)]
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        };
        assert_eq!(drive_mark(&results(10.4e6)), None);
        assert!(drive_mark(&results(7e6)).is_some());
        assert_eq!(drive_mark(&Results::new()), None);
    }

    #[test]
    fn a_model_that_is_kept_from_its_time_is_marked() {
        let results = |late: f64| -> Results { [("model_late_percent".to_owned(), late)].into() };
        assert_eq!(model_mark(&results(0.9)), None);
        assert!(model_mark(&results(1.1)).unwrap().starts_with("not comparable: "));
        assert_eq!(model_mark(&Results::new()), None);
        let added = |shown_ms: f64| -> Results {
            let figures = [
                ("model_late_per_s", 0.0),
                ("model_commands_per_s", 100.0),
                ("model_reads_per_s", 50.0),
                ("model_read_latency_ms", 1.0),
                ("model_read_shown_latency_ms", 1.0),
                ("model_writes_per_s", 50.0),
                ("model_write_latency_ms", 0.2),
                ("model_write_shown_latency_ms", shown_ms),
            ];
            let mut results: Results = figures.map(|(name, value)| (name.to_owned(), value)).into();
            results.extend(derived(&results));
            results
        };
        assert_eq!(model_mark(&added(0.25)), None, "4 % of the time of all");
        let mark = model_mark(&added(0.3)).unwrap();
        assert!(mark.contains("took 8.3 % longer"), "{mark}");
    }

    #[test]
    fn what_breaks_littles_law_is_marked_and_what_keeps_it_is_not() {
        let results = |tps: f64| -> Results {
            [("tps", tps), ("latency_ms_mean", 10.0), ("transactions", tps * 10.0)]
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        };
        let schedule = Schedule { threads: 8, ..Schedule::default() };
        assert_eq!(little_mark(&results(790.0), &schedule), None);
        assert!(little_mark(&results(700.0), &schedule).is_some());
    }
}
