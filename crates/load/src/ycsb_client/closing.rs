//! YCSB's closing lines and status line, and what it does not tell.

use std::fmt::Write;

use super::line::{CommandLine, Interval};
use crate::outcome::{KindLatency, Outcome, Second};
use crate::record::Latency;
use crate::schedule::Pace;

/// YCSB's names of operations, and ours.
const OPERATIONS: [(&str, &str); 5] = [
    ("READ", "read"),
    ("UPDATE", "update"),
    ("INSERT", "insert"),
    ("SCAN", "scan"),
    ("READ-MODIFY-WRITE", "read_modify_write"),
];

/// The lines that end a run.
#[must_use]
pub fn closing(outcome: &Outcome, line: &CommandLine) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "[OVERALL], RunTime(ms), {:.0}", outcome.elapsed_s * 1e3);
    let _ = writeln!(text, "[OVERALL], Throughput(ops/sec), {}", outcome.tps);
    let report = &line.reporting;
    // YCSB's intended start is the one before which a thread has slept; without a target there is none.
    let has_intended = line.schedule.pace != Pace::Closed;
    if report.interval != Interval::Intended || !has_intended {
        operations(&mut text, outcome, "", &report.percentiles, |kind| &kind.service);
    }
    if report.interval != Interval::Op && has_intended {
        let prefix = if report.interval == Interval::Both { "Intended-" } else { "" };
        operations(&mut text, outcome, prefix, &report.percentiles, |kind| &kind.response);
    }
    beyond(&mut text, outcome, line);
    text
}

fn operations(
    text: &mut String,
    outcome: &Outcome,
    prefix: &str,
    percentiles: &[f64],
    time: fn(&KindLatency) -> &Latency,
) {
    for (name, kind) in OPERATIONS {
        let Some(found) = outcome.latency_of(kind) else { continue };
        let (name, latency) = (format!("[{prefix}{name}]"), time(found));
        let us = |ms: f64| (ms * 1e3).floor();
        let _ = writeln!(text, "{name}, Operations, {}", latency.count);
        let _ = writeln!(text, "{name}, AverageLatency(us), {}", latency.latency_ms_mean * 1e3);
        let _ = writeln!(text, "{name}, MinLatency(us), {}", us(latency.latency_ms_min));
        let _ = writeln!(text, "{name}, MaxLatency(us), {}", us(latency.latency_ms_max));
        for percentile in percentiles {
            let value = us(latency.quantile_ms(percentile / 100.0));
            let _ =
                writeln!(text, "{name}, {}PercentileLatency(us), {value}", ordinal(*percentile));
        }
        if prefix.is_empty() && kind != "read_modify_write" {
            let _ = writeln!(text, "{name}, Return=OK, {}", latency.count);
        }
    }
    let failed: u64 = outcome.errors.values().sum();
    if prefix.is_empty() && failed > 0 {
        let _ = writeln!(text, "[FAILED], Operations, {failed}");
    }
}

/// `95th`, `91st`, `99.9`, as YCSB writes it.
fn ordinal(percentile: f64) -> String {
    if percentile.fract() != 0.0 {
        return percentile.to_string();
    }
    let whole = percentile as u64;
    let suffix = match (whole % 100, whole % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{whole}{suffix}")
}

/// What YCSB does not tell.
fn beyond(text: &mut String, outcome: &Outcome, line: &CommandLine) {
    let mut add = |name: &str, value: String| {
        let _ = writeln!(text, "[ASSAY], {name}, {value}");
    };
    let mode = match line.workload.mode {
        crate::mode::Mode::Compat => "compat",
        crate::mode::Mode::Strict => "strict",
    };
    add("Mode", mode.into());
    add("Seed", outcome.schedule.seed.to_string());
    if let Some(target) = outcome.rate_target {
        add("Target(ops/sec)", target.to_string());
        add("Achieved(%)", format!("{:.1}", 100.0 * outcome.tps / target));
    }
    let Some(all) = outcome.latency_of("transaction") else { return };
    let times = [("Service", &all.service), ("Response", &all.response)];
    let told = if line.schedule.pace == Pace::Closed { &times[..1] } else { &times[..] };
    for (name, latency) in told {
        for (percentile, ms) in [
            ("p50", latency.latency_ms_p50),
            ("p99", latency.latency_ms_p99),
            ("p99.9", latency.latency_ms_p999),
        ] {
            add(&format!("{name} {percentile}(us)"), format!("{:.0}", ms * 1e3));
        }
    }
    if let Some(waiting) = outcome.hidden_wait() {
        add("Operations waiting at the end", waiting.events.to_string());
        add("Longest of these waits(us)", format!("{:.0}", waiting.wait_ms_max * 1e3));
    }
    if let Some(cpu_s) = outcome.client_cpu_s
        && outcome.events > 0
    {
        add("Client CPU(us/op)", format!("{:.2}", cpu_s * 1e6 / outcome.events as f64));
    }
}

/// The line of a second under way: operations so far, those of the last interval per second, and when the run will be over.
#[must_use]
pub fn status(
    elapsed_s: f64,
    done: u64,
    of_interval: u64,
    interval_s: f64,
    second: &Second,
    total: u64,
) -> String {
    let rate = of_interval as f64 / interval_s.max(1e-9);
    let mut text = format!("{elapsed_s:.0} sec: {done} operations; {rate:.2} current ops/sec;");
    let mean = done as f64 / elapsed_s.max(1e-9);
    if total > done && mean > 0.0 {
        let left_s = (total - done) as f64 / mean;
        let _ = write!(text, " est completion in {};", duration(left_s));
    }
    if second.queue_length > 0 {
        let _ = write!(text, " behind by {} operations;", second.queue_length);
    }
    text
}

/// `12 seconds`, `3 minutes`, `2 hours 5 minutes`.
fn duration(seconds: f64) -> String {
    let plural =
        |count: u64, unit: &str| format!("{count} {unit}{}", if count == 1 { "" } else { "s" });
    let whole = seconds.ceil() as u64;
    match (whole / 3600, whole % 3600 / 60) {
        (0, 0) => plural(whole, "second"),
        (0, minutes) => plural(minutes, "minute"),
        (hours, minutes) => format!("{} {}", plural(hours, "hour"), plural(minutes, "minute")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_the_names_that_ycsb_gives_them() {
        let names = [50.0, 91.0, 11.0, 22.0, 93.0, 99.9, 95.0].map(ordinal);
        assert_eq!(names, ["50th", "91st", "11th", "22nd", "93rd", "99.9", "95th"]);
    }

    #[test]
    fn time_left_is_told_in_words() {
        assert_eq!(
            [1.0, 59.2, 125.0, 7500.0].map(duration),
            ["1 second", "1 minute", "2 minutes", "2 hours 5 minutes"]
        );
    }
}
