//! YCSB's closing lines and status line, and values that it does not measure.

use std::fmt::Write;

use super::each::{self, Taken};
use super::export::{Measurement, Value};
use super::line::{MeasurementInterval, MeasurementType, YcsbCommand, YcsbLine, YcsbReporting};
use crate::outcome::{KindLatency, LoadOutcome, Second};
use crate::record::{LatencyStats, TimedEvent};
use crate::schedule::Pace;

/// YCSB's names of operations, and ours.
const OPERATIONS: [(&str, &str); 5] = [
    ("READ", "read"),
    ("UPDATE", "update"),
    ("INSERT", "insert"),
    ("SCAN", "scan"),
    ("READ-MODIFY-WRITE", "read_modify_write"),
];

/// The text that YCSB writes at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// Measurements, to standard output or to its `exportfile`.
    pub lines: String,
    /// Raw data, to standard output or to `measurement.raw.output_file`; empty if not requested.
    pub raw: String,
}

/// Writes YCSB's text at the end of a run; `each` holds all operations, if the measurement needs
/// each.
#[must_use]
pub fn closing(outcome: &LoadOutcome, line: &YcsbLine, each: &[TimedEvent]) -> Closing {
    let (mut all, mut raw) = (Vec::new(), String::new());
    let mut add = |name: &str, value| {
        all.push(Measurement { metric: "OVERALL".into(), name: name.into(), value });
    };
    add("RunTime(ms)", Value::Whole((outcome.elapsed_s * 1e3).round() as u64));
    add("Throughput(ops/sec)", Value::Double(outcome.tps));
    let report = &line.reporting;
    // YCSB's intended start is the one that a thread has slept for; without a target there is none.
    let has_intended = line.load.schedule.pace != Pace::Closed;
    if report.interval != MeasurementInterval::Intended || !has_intended {
        let of = Of {
            outcome,
            each,
            prefix: "",
            time: |kind| &kind.service,
            ns: |event| event.service_ns,
        };
        operations(&mut all, &mut raw, &of, report);
    }
    if report.interval != MeasurementInterval::Op && has_intended {
        let prefix = if report.interval == MeasurementInterval::Both { "Intended-" } else { "" };
        let of = Of {
            outcome,
            each,
            prefix,
            time: |kind| &kind.response,
            ns: |event| event.response_ns,
        };
        operations(&mut all, &mut raw, &of, report);
    }
    Closing { lines: report.exporter.write(&all), raw }
}

/// One of the two times of all operations.
struct Of<'a> {
    outcome: &'a LoadOutcome,
    each: &'a [TimedEvent],
    prefix: &'a str,
    time: fn(&KindLatency) -> &LatencyStats,
    ns: fn(&TimedEvent) -> Option<u64>,
}

impl Of<'_> {
    /// Every operation of a kind that succeeded, or failed in one of these ways.
    fn each(&self, kind: &str, failures: &[Option<&str>]) -> Vec<Taken> {
        let its = self
            .each
            .iter()
            .filter(|event| event.kind == kind && failures.contains(&event.failure));
        its.filter_map(|event| Some(Taken::new(event.end_ns, (self.ns)(event)?))).collect()
    }
}

/// YCSB's statuses of failures (`site.ycsb.Status`), and ours.
const FAILURES: [(&str, &str); 3] =
    [("ERROR", "error"), ("NOT_FOUND", "not_found"), ("UNEXPECTED_STATE", "unexpected_state")];

fn operations(all: &mut Vec<Measurement>, raw: &mut String, of: &Of<'_>, report: &YcsbReporting) {
    for (name, kind) in OPERATIONS {
        let latency_of = |kind: &str| of.outcome.latency_of(kind).map(of.time);
        let succeeded = latency_of(kind);
        let failed: Vec<Failed<'_>> = FAILURES
            .iter()
            .filter_map(|(status, name)| {
                let latency = latency_of(&format!("{kind}_{name}"))?;
                Some(Failed { status, failures: vec![Some(name)], latency: latency.clone() })
            })
            .collect();
        // Statuses are counted once, under the operation, even if none succeeded.
        let is_counted = of.prefix.is_empty() && kind != "read_modify_write";
        let mut returned = Vec::new();
        if is_counted {
            returned.extend(succeeded.map(|latency| ("OK", latency.count)));
            returned.extend(failed.iter().map(|failure| (failure.status, failure.latency.count)));
        }
        let name = format!("{}{name}", of.prefix);
        if succeeded.is_some() || !returned.is_empty() {
            let none = LatencyStats::default();
            let latency = succeeded.unwrap_or(&none);
            let each = of.each(kind, &[None]);
            Operation { all, raw, name: String::new(), latency, each, returned }
                .measure(&name, report);
        }
        for failure in apart(failed, report) {
            let (name, latency) = (format!("{name}-{}", failure.status), &failure.latency);
            let each = of.each(kind, &failure.failures);
            Operation { all, raw, name: String::new(), latency, each, returned: Vec::new() }
                .measure(&name, report);
        }
    }
}

/// Failed operations, under YCSB's name for them.
struct Failed<'a> {
    status: &'static str,
    failures: Vec<Option<&'a str>>,
    latency: LatencyStats,
}

/// Groups failures under the names of YCSB's times: `FAILED` except for statuses measured
/// separately (`reportlatencyforeacherror`, `latencytrackederrors`).
fn apart<'a>(failed: Vec<Failed<'a>>, report: &YcsbReporting) -> Vec<Failed<'a>> {
    let is_apart = |failure: &Failed<'_>| {
        report.each_error || report.tracked_errors.iter().any(|tracked| tracked == failure.status)
    };
    let (mut all, together): (Vec<_>, Vec<_>) = failed.into_iter().partition(is_apart);
    if !together.is_empty() {
        all.push(Failed {
            status: "FAILED",
            latency: LatencyStats::sum(together.iter().map(|failure| &failure.latency)),
            failures: together.into_iter().flat_map(|failure| failure.failures).collect(),
        });
    }
    all
}

/// The latencies of one operation, for its measurements.
struct Operation<'a> {
    all: &'a mut Vec<Measurement>,
    raw: &'a mut String,
    name: String,
    latency: &'a LatencyStats,
    /// Every operation, if the measurement needs each.
    each: Vec<Taken>,
    /// Statuses with their counts.
    returned: Vec<(&'static str, u64)>,
}

fn us(ms: f64) -> Value {
    Value::Whole((ms * 1e3).floor() as u64)
}

impl Operation<'_> {
    fn measure(&mut self, name: &str, report: &YcsbReporting) {
        match report.measurement {
            MeasurementType::Hdr => self.hdr(name.into(), report),
            MeasurementType::Histogram => self.histogram(name.into(), report),
            // YCSB's names of the two; returned statuses are counted under the first.
            MeasurementType::HdrAndHistogram => {
                self.hdr(format!("Hdr{name}"), report);
                self.histogram(format!("Bucket{name}"), report);
            }
            MeasurementType::TimeSeries => self.time_series(name.into(), report),
            MeasurementType::Raw => self.raw(name.into(), report),
            MeasurementType::HdrAndRaw => {
                self.hdr(format!("Hdr{name}"), report);
                self.raw(format!("Raw{name}"), report);
            }
        }
    }

    fn add(&mut self, name: impl Into<String>, value: Value) {
        self.all.push(Measurement { metric: self.name.clone(), name: name.into(), value });
    }

    fn is_empty(&self) -> bool {
        self.latency.count == 0
    }

    fn count_and_mean(&mut self) {
        let mean = if self.is_empty() { f64::NAN } else { self.latency.latency_ms_mean * 1e3 };
        self.add("Operations", Value::Whole(self.latency.count));
        self.add("AverageLatency(us)", Value::Double(mean));
    }

    /// `of_none` are YCSB's extremes of an operation that never succeeded.
    fn least_and_most(&mut self, of_none: (Value, Value)) {
        if self.is_empty() {
            self.add("MinLatency(us)", of_none.0);
            self.add("MaxLatency(us)", of_none.1);
            return;
        }
        self.add("MinLatency(us)", us(self.latency.latency_ms_min));
        self.add("MaxLatency(us)", us(self.latency.latency_ms_max));
    }

    fn returned(&mut self) {
        for (status, count) in std::mem::take(&mut self.returned) {
            self.add(format!("Return={status}"), Value::Whole(count));
        }
    }

    /// `OneMeasurementHdrHistogram`. A histogram of `HdrHistogram` without a value has Java's
    /// longest number as its least.
    fn hdr(&mut self, name: String, report: &YcsbReporting) {
        self.name = name;
        self.count_and_mean();
        self.least_and_most((Value::Whole(i64::MAX.cast_unsigned()), Value::Whole(0)));
        for percentile in &report.percentiles {
            let value = us(self.latency.quantile_ms(percentile / 100.0));
            self.add(format!("{}PercentileLatency(us)", ordinal(*percentile)), value);
        }
        self.returned();
        if report.is_verbose {
            for (us, count) in in_units_of(1_000, &self.latency.buckets_ns) {
                self.add(us.to_string(), Value::Double(count as f64));
            }
        }
    }

    /// `OneMeasurementHistogram`: buckets of a millisecond, whose lower bounds are the percentiles.
    fn histogram(&mut self, name: String, report: &YcsbReporting) {
        self.name = name;
        let milliseconds = in_units_of(1_000_000, &self.latency.buckets_ns);
        self.count_and_mean();
        self.add("LatencyVariance(us)", Value::Double(variance_us(self.latency)));
        self.least_and_most((Value::MinusOne, Value::MinusOne));
        for (percentile, share) in [("95th", 0.95), ("99th", 0.99)] {
            let mut below = 0;
            let reached = milliseconds.iter().find(|(_, count)| {
                below += *count;
                below as f64 / self.latency.count as f64 >= share
            });
            // A percentile beyond all buckets is not printed.
            if let Some((ms, _)) = reached.filter(|(ms, _)| *ms < report.histogram_buckets) {
                self.add(format!("{percentile}PercentileLatency(us)"), Value::Whole(ms * 1000));
            }
        }
        self.returned();
        if report.is_verbose {
            let of = |ms: u64| milliseconds.iter().find(|(at, _)| *at == ms);
            for ms in 0..report.histogram_buckets {
                self.add(ms.to_string(), Value::Whole(of(ms).map_or(0, |(_, count)| *count)));
            }
            let beyond = milliseconds.iter().filter(|(ms, _)| *ms >= report.histogram_buckets);
            let beyond = beyond.map(|(_, count)| count).sum();
            self.add(format!(">{}", report.histogram_buckets), Value::Whole(beyond));
        }
    }
}

impl Operation<'_> {
    /// `OneMeasurementTimeSeries`.
    fn time_series(&mut self, name: String, report: &YcsbReporting) {
        self.name = name;
        self.count_and_mean();
        self.least_and_most((Value::MinusOne, Value::MinusOne));
        self.returned();
        for (ms, mean_us) in each::series(&self.each, report.granularity_ms) {
            self.add(ms.to_string(), Value::Double(mean_us));
        }
    }

    /// `OneMeasurementRaw`.
    fn raw(&mut self, name: String, report: &YcsbReporting) {
        each::write_raw(self.raw, &name, &self.each);
        self.name = name;
        self.add("Total Operations", Value::Whole(self.each.len() as u64));
        if !report.has_no_summary && !self.each.is_empty() {
            for (name, value) in each::summary(&self.each) {
                self.add(name, value);
            }
        }
        self.returned();
    }
}

/// Buckets by whole units of so many ns, ascending.
fn in_units_of(unit_ns: u64, buckets_ns: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (ns, count) in buckets_ns {
        match all.last_mut() {
            Some((unit, sum)) if *unit == ns / unit_ns => *sum += count,
            _ => all.push((ns / unit_ns, *count)),
        }
    }
    all
}

/// The variance in µs², as YCSB computes it: the mean of squares minus the square of the mean.
fn variance_us(latency: &LatencyStats) -> f64 {
    let square = |(ns, count): &(u64, u64)| (*ns as f64 / 1e3).powi(2) * *count as f64;
    let squares: f64 = latency.buckets_ns.iter().map(square).sum();
    let variance = squares / latency.count as f64 - (latency.latency_ms_mean * 1e3).powi(2);
    if latency.count == 0 { f64::NAN } else { variance.max(0.0) }
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

/// Values that YCSB does not measure, for people: no line has the form by which programs parse
/// YCSB's.
#[must_use]
pub fn beyond(outcome: &LoadOutcome, line: &YcsbLine) -> String {
    let mut text = "Beyond YCSB:\n".to_owned();
    let mut add = |name: &str, value: String| {
        let _ = writeln!(text, "    {name}: {value}");
    };
    let mode = match line.load.workload.mode {
        crate::mode::Mode::Compat => "compat",
        crate::mode::Mode::Strict => "strict",
    };
    add("Mode", mode.into());
    add("Seed", outcome.schedule.seed.to_string());
    if let Some(target) = outcome.rate_target {
        add("Target(ops/sec)", target.to_string());
        add("Achieved(%)", format!("{:.1}", 100.0 * outcome.tps / target));
    }
    if !outcome.errors.is_empty() {
        let errors: Vec<String> =
            outcome.errors.iter().map(|(code, count)| format!("{code} ({count})")).collect();
        add("Errors of the server (times)", errors.join(", "));
    }
    let left = outcome.schedule.events.saturating_sub(outcome.events);
    if line.command == YcsbCommand::Load && left > 0 && !outcome.interrupted {
        add("Inserts not done, by threads that ended at one that failed", left.to_string());
    }
    let Some(all) = outcome.latency_of("transaction") else { return text };
    let times = [("Service", &all.service), ("Response", &all.response)];
    let told = if line.load.schedule.pace == Pace::Closed { &times[..1] } else { &times[..] };
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
    text
}

/// The status line: operations so far, those per second of the last interval, and the expected end
/// of the run.
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
