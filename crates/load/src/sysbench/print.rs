//! Interval lines and the final block under sysbench's labels, then values that sysbench lacks.

use std::io::{self, Write};

use super::parse::{SysbenchLine, SysbenchReporting};
use super::percentile::{buckets, percentile_ms, value_ms};
use crate::fileio::Fileio;
use crate::generator::Generator;
use crate::outcome::{LoadOutcome, Second, Work};
use crate::record::{LatencyStats, Queries};
use crate::schedule::{Pace, Schedule, Warmup};
use crate::schema::Schema;
use crate::workload::Workload;

/// Prints a run as it proceeds.
#[derive(Debug)]
pub struct SysbenchPrinter<W> {
    out: W,
    reporting: SysbenchReporting,
    open_loop: bool,
    intervals: Intervals,
}

/// Seconds added up since the last line.
#[derive(Debug, Default)]
pub(super) struct ReportInterval {
    pub(super) length_s: f64,
    events: u64,
    pub(super) queries: Queries,
    errors: u64,
    reconnects: u64,
    pub(super) latency: LatencyStats,
}

/// The schedule of interval lines.
#[derive(Debug, Default)]
pub(super) struct Intervals {
    /// Start of the load, in seconds of its clock, once known.
    start_s: Option<f64>,
    interval: ReportInterval,
}

impl Intervals {
    /// Adds a second. If it ends an interval of `every` seconds, returns the interval and the whole
    /// seconds since the start.
    pub(super) fn add(&mut self, second: &Second, every: u64) -> Option<(u64, ReportInterval)> {
        let start_s = *self.start_s.get_or_insert(second.end_s - second.length_s);
        self.interval.add(second);
        let elapsed_s = second.end_s - start_s;
        let elapsed = elapsed_s.round() as u64;
        let is_whole = (elapsed_s - elapsed_s.round()).abs() < 1e-6;
        let ends = every > 0 && is_whole && elapsed > 0 && elapsed.is_multiple_of(every);
        ends.then(|| (elapsed, std::mem::take(&mut self.interval)))
    }
}

impl ReportInterval {
    fn add(&mut self, second: &Second) {
        self.length_s += second.length_s;
        self.events += second.events;
        self.queries.read += second.queries.read;
        self.queries.write += second.queries.write;
        self.queries.other += second.queries.other;
        self.errors += second.errors;
        self.reconnects += second.reconnects;
        self.latency.count += second.latency.count;
        self.latency.buckets_ns.extend_from_slice(&second.latency.buckets_ns);
    }
}

impl<W: Write> SysbenchPrinter<W> {
    /// A printer for the command line `line`.
    pub fn new(out: W, line: &SysbenchLine) -> SysbenchPrinter<W> {
        SysbenchPrinter {
            out,
            reporting: line.reporting.clone(),
            open_loop: line.load.schedule.pace != Pace::Closed,
            intervals: Intervals::default(),
        }
    }

    fn is_silent(&self) -> bool {
        self.reporting.verbosity < 3
    }

    /// Prints the text before the first connection.
    pub fn header(&mut self, line: &SysbenchLine) -> io::Result<()> {
        if self.is_silent() {
            return Ok(());
        }
        options(&mut self.out, &line.load.schedule, &self.reporting)?;
        writeln!(self.out)?;
        started(&mut self.out)
    }

    /// Adds a second, and prints a line if the interval is over.
    pub fn second(&mut self, second: &Second) -> io::Result<()> {
        let ended = self.intervals.add(second, self.reporting.report_interval);
        let Some((elapsed, interval)) = ended.filter(|_| !self.is_silent()) else {
            return Ok(());
        };
        let per_second = |count: u64| count as f64 / interval.length_s;
        let percentile = self.reporting.percentile;
        writeln!(
            self.out,
            "[ {elapsed}s ] thds: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat \
             (ms,{percentile}%): {:.2} \
             err/s: {:.2} reconn/s: {:.2}",
            second.threads,
            per_second(interval.events),
            per_second(interval.queries.total()),
            per_second(interval.queries.read),
            per_second(interval.queries.write),
            per_second(interval.queries.other),
            if percentile == 0 { 0.0 } else { percentile_ms(&interval.latency, percentile) },
            per_second(interval.errors),
            per_second(interval.reconnects),
        )?;
        if self.open_loop {
            let (queue, busy) = (second.queue_length, second.concurrency);
            writeln!(self.out, "[ {elapsed}s ] queue length: {queue}, concurrency: {busy}")?;
        }
        self.out.flush()
    }

    /// Prints the final block, and values that sysbench lacks.
    pub fn outcome(&mut self, outcome: &LoadOutcome) -> io::Result<()> {
        if outcome.is_forced() {
            let fatal = "FATAL: The --max-time limit has expired, forcing shutdown...";
            writeln!(self.out, "{fatal}")?;
        }
        if self.is_silent() {
            return Ok(());
        }
        let events =
            outcome.latency_of("transaction").map(|kind| kind.response.clone()).unwrap_or_default();
        if self.reporting.histogram {
            histogram(&mut self.out, &events)?;
        }
        statistics(&mut self.out, outcome)?;
        latency(&mut self.out, &events, outcome, self.reporting.percentile)?;
        fairness(&mut self.out, outcome)?;
        additions(&mut self.out, outcome)?;
        self.out.flush()
    }
}

/// Prints the beginning of a report.
pub(super) fn options(
    out: &mut impl Write,
    schedule: &Schedule,
    reporting: &SysbenchReporting,
) -> io::Result<()> {
    writeln!(out, "Running the test with following options:")?;
    writeln!(out, "Number of threads: {}", schedule.threads)?;
    if let Some(per_second) = schedule.pace.per_second() {
        writeln!(out, "Target transaction rate: {per_second}/sec")?;
    }
    match reporting.report_interval {
        0 => {}
        n => writeln!(out, "Report intermediate results every {n} second(s)")?,
    }
    match reporting.seed_given {
        true => {
            writeln!(out, "Initializing random number generator from seed ({}).", schedule.seed)?
        }
        false => writeln!(out, "Initializing random number generator from current time")?,
    }
    match schedule.forced_shutdown {
        Some(grace_s) if schedule.seconds > 0.0 => {
            let seconds = schedule.seconds + grace_s;
            writeln!(out, "\nForcing shutdown in {seconds} seconds")?;
        }
        _ => writeln!(out)?,
    }
    Ok(())
}

/// Prints the start of the threads.
pub(super) fn started(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Initializing worker threads...\n\nThreads started!\n")?;
    out.flush()
}

pub(super) fn histogram(out: &mut impl Write, events: &LatencyStats) -> io::Result<()> {
    let counts = buckets(events);
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    writeln!(out, "Latency histogram (values are in milliseconds)")?;
    writeln!(out, "       value  ------------- distribution ------------- count")?;
    for (bucket, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        let bar = "*".repeat((count as f64 / most as f64 * 40.0 + 0.5) as usize);
        writeln!(out, "{:12.3} |{bar:40} {count}", value_ms(bucket))?;
    }
    writeln!(out, " ")
}

fn statistics(out: &mut impl Write, outcome: &LoadOutcome) -> io::Result<()> {
    let Queries { read, write, other } = outcome.queries;
    let total = outcome.queries.total();
    let errors: u64 = outcome.errors.values().sum();
    let rate =
        |count: u64| if outcome.elapsed_s > 0.0 { count as f64 / outcome.elapsed_s } else { 0.0 };
    writeln!(out, "SQL statistics:")?;
    writeln!(out, "    queries performed:")?;
    for (label, count) in [("read:", read), ("write:", write), ("other:", other), ("total:", total)]
    {
        writeln!(out, "        {label:33}{count}")?;
    }
    for (label, count) in [
        ("transactions:", outcome.events),
        ("queries:", total),
        ("ignored errors:", errors),
        ("reconnects:", outcome.reconnects),
    ] {
        writeln!(out, "    {label:37}{count:<6} ({:.2} per sec.)", rate(count))?;
    }
    if outcome.is_forced() {
        let unfinished = "Number of unfinished transactions on forced shutdown";
        writeln!(out, "\n{unfinished}: {}", outcome.events_cut)?;
    }
    writeln!(out, "\nGeneral statistics:")?;
    writeln!(out, "    {:37}{:.4}s", "total time:", outcome.elapsed_s)?;
    writeln!(out, "    {:37}{}", "total number of events:", outcome.events)
}

pub(super) fn latency(
    out: &mut impl Write,
    events: &LatencyStats,
    outcome: &LoadOutcome,
    percentile: u32,
) -> io::Result<()> {
    let mean = if events.count > 0 { outcome.latency_ms_sum / events.count as f64 } else { 0.0 };
    writeln!(out, "\nLatency (ms):")?;
    writeln!(out, "         min:{:40.2}", events.latency_ms_min)?;
    writeln!(out, "         avg:{mean:40.2}")?;
    writeln!(out, "         max:{:40.2}", events.latency_ms_max)?;
    match percentile {
        0 => writeln!(out, "         percentile stats:               disabled")?,
        _ => writeln!(
            out,
            "        {percentile:3}th percentile:{:28.2}",
            percentile_ms(events, percentile)
        )?,
    }
    writeln!(out, "         sum:{:40.2}", outcome.latency_ms_sum)
}

pub(super) fn fairness(out: &mut impl Write, outcome: &LoadOutcome) -> io::Result<()> {
    let spread = |value: fn(&crate::outcome::ThreadOutcome) -> f64| {
        let count = outcome.threads.len().max(1) as f64;
        let mean = outcome.threads.iter().map(value).sum::<f64>() / count;
        let variance =
            outcome.threads.iter().map(|t| (value(t) - mean).powi(2)).sum::<f64>() / count;
        (mean, variance.sqrt())
    };
    let (events, events_deviation) = spread(|thread| thread.events as f64);
    let (busy, busy_deviation) = spread(|thread| thread.busy_s);
    writeln!(out, "\nThreads fairness:")?;
    writeln!(out, "    events (avg/stddev):           {events:.4}/{events_deviation:.2}")?;
    writeln!(out, "    execution time (avg/stddev):   {busy:.4}/{busy_deviation:.2}\n")
}

fn of_statements(
    out: &mut impl Write,
    outcome: &LoadOutcome,
    workload: &Workload,
    schema: &Schema,
) -> io::Result<()> {
    let settings = format!(
        "{}, {}{}, seed {}",
        lower(workload.mode),
        lower(workload.distribution().rand_type),
        if workload.rand_scatter { " scattered" } else { "" },
        outcome.schedule.seed
    );
    writeln!(out, "    {:37}{settings}", "mode, keys, seed:")?;
    if workload.recipe.generator() == Generator::V04 {
        as_0_4(out, outcome)?;
    }
    if let Some(distortion) = workload.distortion(schema) {
        writeln!(out, "    {:37}{distortion}", "keys:")?;
    }
    Ok(())
}

fn of_files(out: &mut impl Write, outcome: &LoadOutcome, fileio: &Fileio) -> io::Result<()> {
    let seed = outcome.schedule.seed;
    writeln!(out, "    {:37}{}, seed {seed}", "mode, seed:", lower(fileio.mode))?;
    let data = match fileio.data_ratio() {
        Some(ratio) => format!("random, compress {ratio}:1"),
        None => "zeroes, as sysbench writes".to_owned(),
    };
    writeln!(out, "    {:37}{data}", "data written:")?;
    let Some(device) = outcome.device else { return Ok(()) };
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    if let Some(percent) = device.read_percent() {
        let read = mib(device.read_bytes);
        let label = "read from the device:";
        writeln!(
            out,
            "    {label:37}{percent:.1} % of {read:.2} MiB; the page cache gave the rest"
        )?;
    }
    if let Some(percent) = device.write_percent() {
        let written = mib(device.write_bytes);
        let label = "written to the device:";
        writeln!(
            out,
            "    {label:37}{percent:.1} % of {written:.2} MiB; the page cache has the rest"
        )?;
    }
    Ok(())
}

pub(super) fn additions(out: &mut impl Write, outcome: &LoadOutcome) -> io::Result<()> {
    writeln!(out, "Beyond sysbench:")?;
    match &outcome.work {
        Work::Server { workload, schema } => of_statements(out, outcome, workload, schema)?,
        Work::Files { fileio } => of_files(out, outcome, fileio)?,
    }
    if outcome.interrupted {
        writeln!(out, "    {:37}before its time", "interrupted:")?;
    }
    if outcome.events_warmup > 0 || outcome.schedule.warmup != Warmup::Seconds(0.0) {
        writeln!(out, "    {:37}{}", "events before the window:", outcome.events_warmup)?;
    }
    if outcome.events_late > 0 {
        writeln!(out, "    {:37}{}", "events ending after the window:", outcome.events_late)?;
    }
    if let Some(unfinished) = outcome.hidden_wait() {
        writeln!(
            out,
            "    {:37}{} ({:.1} %), the oldest for {:.0} ms: percentiles are too low",
            "waiting when the window ended:",
            unfinished.events,
            outcome.unfinished_percent(),
            unfinished.wait_ms_max
        )?;
    }
    if let Some(target) = outcome.rate_target {
        writeln!(
            out,
            "    {:37}{target:.2} / {:.2} per sec.",
            "rate asked / reached:", outcome.tps
        )?;
    }
    for (code, count) in &outcome.errors {
        writeln!(out, "    {:37}{count}", format!("ignored error {code}:"))?;
    }
    if let Some(cpu_s) = outcome.client_cpu_s {
        let per_query_us = cpu_s * 1e6 / outcome.queries.total().max(1) as f64;
        let one = outcome.work.word_of_one();
        writeln!(out, "    {:37}{cpu_s:.3} s, {per_query_us:.2} us per {one}", "client CPU:")?;
    }
    writeln!(out, "\nLatency by kind (ms):")?;
    writeln!(
        out,
        "    {:25} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "count", "mean", "p50", "p95", "p99", "p99.9", "max"
    )?;
    for kind in &outcome.latency {
        row(out, &kind.kind, &kind.service)?;
        if kind.response != kind.service {
            row(out, &format!("{} (response)", kind.kind), &kind.response)?;
        }
    }
    Ok(())
}

/// Prints the counts of sysbench 0.4: requests are all statements but `BEGIN` and `COMMIT`,
/// deadlocks all retries.
fn as_0_4(out: &mut impl Write, outcome: &LoadOutcome) -> io::Result<()> {
    let count = |kind| outcome.latency_of(kind).map_or(0, |times| times.service.count);
    let other = count("begin") + count("commit");
    let requests = outcome.queries.total().saturating_sub(other);
    for (label, number) in [
        ("deadlocks:", outcome.errors.values().sum()),
        ("read/write requests:", requests),
        ("other operations:", other),
    ] {
        let rate = if outcome.elapsed_s > 0.0 { number as f64 / outcome.elapsed_s } else { 0.0 };
        writeln!(out, "    {label:37}{number:<6} ({rate:.2} per sec.)")?;
    }
    Ok(())
}

fn row(out: &mut impl Write, name: &str, l: &LatencyStats) -> io::Result<()> {
    writeln!(
        out,
        "    {name:25} {:>10} {:>9.3} {:>9.3} {:>9.3} {:>9.3} {:>9.3} {:>9.3}",
        l.count,
        l.latency_ms_mean,
        l.latency_ms_p50,
        l.latency_ms_p95,
        l.latency_ms_p99,
        l.latency_ms_p999,
        l.latency_ms_max
    )
}

fn lower(name: impl std::fmt::Debug) -> String {
    format!("{name:?}").to_lowercase()
}

#[cfg(test)]
#[path = "print_tests.rs"]
mod tests;
