//! sysbench's output of fileio, then values that it lacks; and the help.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use super::super::help::line_of;
use super::super::options::{FILES, OPTIONS, RANDOM, REPORT, RUN};
use super::super::parse::SysbenchReporting;
use super::super::percentile::percentile_ms;
use super::super::print::{Intervals, additions, fairness, histogram, latency, options, started};
use super::parse::FileioLine;
use crate::fileio::{ExtraFlag, Fileio, PrepareStep, PreparedFiles};
use crate::outcome::{LoadOutcome, Second};
use crate::record::Queries;
use crate::schedule::Schedule;

const MIB: f64 = (1 << 20) as f64;

/// Prints a run, or the creation of files, as it proceeds.
#[derive(Debug)]
pub struct FileioPrinter<W> {
    out: W,
    reporting: SysbenchReporting,
    /// Bytes of an operation.
    request_bytes: f64,
    intervals: Intervals,
}

impl<W: Write> FileioPrinter<W> {
    /// A printer for the command line `line`.
    pub fn new(out: W, line: &FileioLine) -> FileioPrinter<W> {
        FileioPrinter {
            out,
            reporting: line.reporting.clone(),
            request_bytes: line.fileio.request_bytes_mean(),
            intervals: Intervals::default(),
        }
    }

    fn is_silent(&self) -> bool {
        self.reporting.verbosity < 3
    }

    /// Prints the text before files are created.
    pub fn making(&mut self, fileio: &Fileio) -> io::Result<()> {
        if self.is_silent() {
            return Ok(());
        }
        let (each, all) = (fileio.file_bytes() >> 10, fileio.file_total_size.0 >> 20);
        writeln!(self.out, "{} files, {each}Kb each, {all}Mb total", fileio.file_num)?;
        writeln!(self.out, "Creating files for the test...\n{}", flags(fileio))
    }

    /// Prints the action on a file.
    pub fn step(&mut self, step: PrepareStep, path: &Path) -> io::Result<()> {
        if self.is_silent() {
            return Ok(());
        }
        let what = match step {
            PrepareStep::Creating => "Creating file",
            PrepareStep::Extending => "Extending existing file",
            PrepareStep::Reusing => "Reusing existing file",
        };
        writeln!(self.out, "{what} {}", path.display())
    }

    /// Prints the result of creating files.
    pub fn made(&mut self, made: PreparedFiles) -> io::Result<()> {
        let PreparedFiles { bytes, seconds } = made;
        match (self.is_silent(), bytes) {
            (true, _) => Ok(()),
            (false, 0) => writeln!(self.out, "No bytes written."),
            (false, _) => writeln!(
                self.out,
                "{bytes} bytes written in {seconds:.2} seconds ({:.2} MiB/sec).",
                bytes as f64 / MIB / seconds.max(1e-9)
            ),
        }
    }

    /// Prints the text before a run.
    pub fn header(&mut self, fileio: &Fileio, schedule: &Schedule) -> io::Result<()> {
        if self.is_silent() {
            return Ok(());
        }
        options(&mut self.out, schedule, &self.reporting)?;
        writeln!(self.out, "\n{}", described(fileio, schedule))?;
        started(&mut self.out)
    }

    /// Adds a second, and prints a line if the interval is over.
    pub fn second(&mut self, second: &Second) -> io::Result<()> {
        let ended = self.intervals.add(second, self.reporting.report_interval);
        let Some((elapsed, interval)) = ended.filter(|_| !self.is_silent()) else {
            return Ok(());
        };
        let per_second = |count: u64| count as f64 / interval.length_s;
        let mib_per_s = |count: u64| per_second(count) * self.request_bytes / MIB;
        let Queries { read, write, other } = interval.queries;
        let percentile = self.reporting.percentile;
        writeln!(
            self.out,
            "[ {elapsed}s ] reads: {:.2} MiB/s writes: {:.2} MiB/s fsyncs: {:.2}/s latency \
             (ms,{percentile}%): {:.3}",
            mib_per_s(read),
            mib_per_s(write),
            per_second(other),
            if percentile == 0 { 0.0 } else { percentile_ms(&interval.latency, percentile) },
        )?;
        self.out.flush()
    }

    /// Prints the final block, and values that sysbench lacks.
    pub fn outcome(&mut self, outcome: &LoadOutcome) -> io::Result<()> {
        if self.is_silent() {
            return Ok(());
        }
        let events =
            outcome.latency_of("transaction").map(|kind| kind.response.clone()).unwrap_or_default();
        if self.reporting.histogram {
            histogram(&mut self.out, &events)?;
        }
        statistics(&mut self.out, outcome, self.request_bytes)?;
        latency(&mut self.out, &events, outcome, self.reporting.percentile)?;
        fairness(&mut self.out, outcome)?;
        additions(&mut self.out, outcome)?;
        self.out.flush()
    }
}

fn statistics(out: &mut impl Write, outcome: &LoadOutcome, request_bytes: f64) -> io::Result<()> {
    let Queries { read, write, other } = outcome.queries;
    let per_second =
        |count: u64| if outcome.elapsed_s > 0.0 { count as f64 / outcome.elapsed_s } else { 0.0 };
    let mib_per_s = |count: u64| per_second(count) * request_bytes / MIB;
    writeln!(out, "\nFile operations:")?;
    for (label, count) in [("reads/s:", read), ("writes/s:", write), ("fsyncs/s:", other)] {
        writeln!(out, "    {label:30}{:.2}", per_second(count))?;
    }
    writeln!(out, "\nThroughput:")?;
    for (label, count) in [("read, MiB/s:", read), ("written, MiB/s:", write)] {
        writeln!(out, "    {label:30}{:.2}", mib_per_s(count))?;
    }
    writeln!(out, "\nGeneral statistics:")?;
    writeln!(out, "    {:37}{:.4}s", "total time:", outcome.elapsed_s)?;
    writeln!(out, "    {:37}{}", "total number of events:", outcome.events)
}

fn flags(fileio: &Fileio) -> String {
    let words = fileio.file_extra_flags.iter().map(|flag| match flag {
        ExtraFlag::Sync => "sync",
        ExtraFlag::Dsync => "dsync",
        ExtraFlag::Direct => "directio",
    });
    let words: Vec<&str> = words.collect();
    let words = if words.is_empty() { "(none)".to_owned() } else { words.join(" ") };
    format!("Extra file open flags: {words}")
}

/// The settings in sysbench's words.
fn described(fileio: &Fileio, schedule: &Schedule) -> String {
    let mut lines = vec![
        flags(fileio),
        format!("{} files, {} each", fileio.file_num, size(fileio.file_bytes())),
        format!("{} total file size", size(fileio.file_total_size.0)),
        format!("Block size {}", size(fileio.file_block_size.0)),
    ];
    if fileio.file_merged_requests > 0 {
        let most = fileio.file_block_size.0 * u64::from(fileio.file_merged_requests);
        lines.push(format!("Merging requests up to {} for sequential IO.", size(most)));
    }
    let mode = fileio.file_test_mode;
    if mode.is_some_and(|mode| mode.is_random()) {
        lines.push(format!("Number of IO requests: {}", schedule.events));
        let ratio = fileio.file_rw_ratio;
        lines.push(format!("Read/Write ratio for combined random IO test: {ratio:.2}"));
    }
    match (fileio.file_fsync_all, fileio.file_fsync_freq) {
        (true, _) => lines.push("Calling fsync() after each write operation.".into()),
        (false, 0) => {}
        (false, freq) => {
            lines.push(format!("Periodic FSYNC enabled, calling fsync() each {freq} requests."));
        }
    }
    if fileio.file_fsync_end && !fileio.file_fsync_all {
        lines.push("Calling fsync() at the end of test, Enabled.".into());
    }
    lines.push("Using synchronous I/O mode".into());
    lines.extend(mode.map(|mode| format!("Doing {} test", mode.words())));
    lines.join("\n")
}

/// A size in sysbench's form: in the largest possible unit, five digits at most.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let whole_digits = value.max(1.0).log10() as usize + 1;
    let text = format!("{value:.*}", 5_usize.saturating_sub(whole_digits));
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{}", units[unit])
}

/// The text that `assay load fileio help` prints.
#[must_use]
pub fn fileio_help() -> String {
    let mut text = String::from(
        "Loads files like sysbench 1.0.20's fileio, with the same command line, and needs no \
         server.\n\n\
         Usage: assay load fileio [--OPTION=VALUE…] prepare|run|cleanup|help, in the directory \
         that holds the files\n\n\
         Examples:\n  \
         assay load fileio --file-total-size=4G prepare\n  \
         assay load fileio --file-total-size=4G --file-test-mode=rndrw --file-extra-flags=direct \
         --threads=16 --time=60 --report-interval=1 run\n  \
         assay load fileio --file-total-size=4G --file-test-mode=rndwr --file-data-ratio=2 \
         --mode=strict --warmup-time=10 --json=result.json run\n  \
         assay load fileio cleanup\n\n\
         Plans take the same options, with underscores (docs/workloads.md).\n",
    );
    for group in [FILES, RUN, REPORT, RANDOM] {
        let _ = writeln!(text, "\n{group}:");
        let mut its =
            OPTIONS.iter().filter(|option| option.group == group && !option.help.is_empty());
        its.by_ref().filter(|option| !NOT_HERE.contains(&option.name)).for_each(|option| {
            let _ = writeln!(text, "  {}", line_of(option));
        });
    }
    text.push_str(
        "\n* not in sysbench 1.0.20\nAccepted without effect: file-async-backlog, \
                   options of servers\n",
    );
    text
}

/// Options without effect on files, in groups that the help lists: blocks are drawn evenly,
/// whatever `--rand-type` says, as in sysbench.
const NOT_HERE: [&str; 12] = [
    "test",
    "preflight",
    "forced_shutdown",
    "rand_type",
    "rand_scatter",
    "rand_spec_iter",
    "rand_spec_pct",
    "rand_spec_res",
    "rand_pareto_h",
    "rand_zipfian_exp",
    "rand_hot_fraction",
    "rand_hot_share",
];

#[cfg(test)]
mod tests {
    use super::super::parse_fileio;
    use super::*;
    use crate::outcome::{SecondPhase, Work};
    use crate::record::LatencyStats;

    fn line(text: &str) -> FileioLine {
        parse_fileio(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap()
    }

    fn printed(line: &FileioLine, act: impl FnOnce(&mut FileioPrinter<&mut Vec<u8>>)) -> String {
        let mut out = Vec::new();
        act(&mut FileioPrinter::new(&mut out, line));
        String::from_utf8(out).unwrap()
    }

    /// sysbench 1.0.20's output for such numbers, with its spaces.
    const FINAL_BLOCK: &str = "
File operations:
    reads/s:                      640.00
    writes/s:                     320.00
    fsyncs/s:                     16.00

Throughput:
    read, MiB/s:                  10.00
    written, MiB/s:               5.00

General statistics:
    total time:                          2.0000s
    total number of events:              1952

Latency (ms):
";

    /// sysbench 1.0.20's output for this line.
    #[test]
    fn the_header_is_sysbenchs() {
        let line = line(
            "fileio --file-num=4 --file-total-size=1M --file-test-mode=rndrw --events=50 \
             --file-fsync-freq=20 run",
        );
        let text = printed(&line, |printer| {
            printer.header(&line.fileio, &line.schedule).unwrap();
        });
        assert_eq!(
            text,
            "Running the test with following options:\nNumber of threads: 1\nInitializing random \
             number generator from \
             current time\n\n\nExtra file open flags: (none)\n4 files, 256KiB each\n1MiB total \
             file size\nBlock size \
             16KiB\nNumber of IO requests: 50\nRead/Write ratio for combined random IO test: \
             1.50\nPeriodic FSYNC enabled, \
             calling fsync() each 20 requests.\nCalling fsync() at the end of test, \
             Enabled.\nUsing synchronous I/O \
             mode\nDoing random r/w test\nInitializing worker threads...\n\nThreads started!\n\n"
        );
    }

    #[test]
    fn sizes_are_written_as_sysbench_writes_them() {
        let sizes =
            [(262_144, "256KiB"), (349_525, "341.33KiB"), (1_048_575, "1024KiB"), (1000, "1000B")];
        for (bytes, text) in sizes {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(size(2 << 30), "2GiB");
    }

    #[test]
    fn the_final_block_and_interval_lines_have_sysbenchs_labels_in_its_columns() {
        let line = line("fileio --file-test-mode=rndrw --report-interval=2 --percentile=99 run");
        let queries = Queries { read: 1280, write: 640, other: 32 };
        let latency =
            LatencyStats { count: 1, buckets_ns: vec![(1_142_000, 1)], ..LatencyStats::default() };
        let second = |end_s| Second {
            end_s,
            length_s: 1.0,
            phase: SecondPhase::Measure,
            threads: 1,
            events: 1,
            tps: 1.0,
            qps: 1.0,
            queries,
            latency: latency.clone(),
            errors: 0,
            reconnects: 0,
            queue_length: 0,
            concurrency: 0,
        };
        let lines = printed(&line, |printer| {
            [3.0, 4.0].map(second).iter().for_each(|second| printer.second(second).unwrap());
        });
        let expected = "[ 2s ] reads: 20.00 MiB/s writes: 10.00 MiB/s fsyncs: 32.00/s latency \
                        (ms,99%): 1.142\n";
        assert_eq!(lines, expected);
        let outcome = LoadOutcome {
            elapsed_s: 2.0,
            events: 1952,
            queries,
            work: Work::Files { fileio: line.fileio.clone() },
            ..LoadOutcome::default()
        };
        let text = printed(&line, |printer| printer.outcome(&outcome).unwrap());
        assert!(text.starts_with(FINAL_BLOCK), "{text}");
        assert!(
            text.contains("data written:                        zeroes, as sysbench writes"),
            "{text}"
        );
    }

    #[test]
    fn the_help_has_every_option_of_files_and_examples() {
        let help = fileio_help();
        let all = OPTIONS.iter().filter(|option| option.group == FILES);
        for option in all {
            assert!(help.contains(&option.name.replace('_', "-")), "{}", option.name);
        }
        assert!(help.contains("Examples:") && !help.contains("--mysql-user"));
    }
}
