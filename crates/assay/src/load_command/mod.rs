//! `assay load`: runs the load generator with sysbench's command line.
//!
//! Parses the arguments with [`assay_load::CommandLine`], runs the command, prints as sysbench
//! prints, and writes everything as JSON if asked. `assay load ycsb` does the same with YCSB's
//! command line, `assay load fileio` with files. The first Ctrl-C ends a run early with its
//! results; the second one kills.

pub(crate) mod capacity;
mod ending;
mod fileio;
mod hosts;
mod ycsb;

use parking_lot::Mutex;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Stdout, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use assay_hosts::load::HostOutcome;
use assay_load::sysbench::{SysbenchCommand, SysbenchLine, SysbenchPrinter, help};
use assay_load::{
    Endpoint, LoadObserver, LoadOutcome, LoadSpec, PrepareOptions, PrepareProgress, PrepareStage,
    Second, cleanup, preflight, prepare, prewarm, shortage,
};
use assay_ports::secrecy::hide_after;
use serde::Serialize;

use crate::print;
use assay_report::files;
use ending::{BrokenOff, Ending};

/// Runs `assay load` with the arguments after `load`.
pub(crate) fn run(args: &[OsString]) -> Result<ExitCode> {
    // If hiding fails, the user can still use `MYSQL_PWD`.
    let _ = hide_after(&["--mysql-password=", "--mysql_password=", "db.passwd=", "-pdb.passwd="]);
    let words: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let done = match assay_load::CommandLine::read(&words)? {
        assay_load::CommandLine::Ycsb(line) => ycsb::run(&line),
        assay_load::CommandLine::Files(line) => fileio::run(&line),
        assay_load::CommandLine::Sysbench(line) => of_sysbench(&line),
    };
    match done {
        Err(error) if is_closed_pipe(&error) => Ok(ExitCode::SUCCESS),
        done => done,
    }
}

fn of_sysbench(line: &SysbenchLine) -> Result<ExitCode> {
    for warning in &line.warnings {
        print::note(format_args!("{warning}"));
    }
    check_json(line.reporting.json.as_deref())?;
    carry_out(line)
}

fn carry_out(line: &SysbenchLine) -> Result<ExitCode> {
    match line.command {
        SysbenchCommand::Help => write!(stdout(), "{}", help())?,
        SysbenchCommand::Version => {
            writeln!(stdout(), "assay load {} (as sysbench 1.0.20)", env!("CARGO_PKG_VERSION"))?
        }
        SysbenchCommand::Prepare => fill(line)?,
        SysbenchCommand::Prewarm => prewarm(&line.load.endpoint, &line.load.schema)?,
        SysbenchCommand::Cleanup => cleanup(&line.load.endpoint, &line.load.schema)?,
        SysbenchCommand::Run if line.hosts.hosts.is_empty() => return load(line),
        SysbenchCommand::Run => return hosts::run(line),
        SysbenchCommand::Capacity => return capacity::run(line, &stop_on_signals()?),
    }
    Ok(ExitCode::SUCCESS)
}

/// A flag set by Ctrl-C or `SIGTERM`; if it is set already, they end the process.
fn stop_on_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("cannot catch signals")?;
    }
    Ok(stop)
}

fn fill(line: &SysbenchLine) -> Result<()> {
    let stop = stop_on_signals()?;
    let options = PrepareOptions {
        threads: line.load.schedule.threads,
        seed: line.load.schedule.seed,
        workload: line.load.workload.clone(),
    };
    let report = prepare(&line.load.endpoint, &line.load.schema, &options, &show_progress, &stop)?;
    writeln!(
        stdout(),
        "{} tables with {} rows: rows in {:.1} s ({:.0} rows/s), indexes in {:.1} s",
        report.tables,
        report.rows,
        report.rows_s,
        report.rows as f64 / report.rows_s.max(1e-9),
        report.index_s
    )?;
    line.reporting.json.as_deref().map_or(Ok(()), |path| write_json(path, &report))
}

fn show_progress(progress: &PrepareProgress) {
    let what = match progress.stage {
        PrepareStage::Rows => "rows inserted",
        PrepareStage::Index => "indexes built",
    };
    let left = progress.seconds_left.map_or(String::new(), |left| format!(", {left:.0} s left"));
    let (done, total) = (progress.done, progress.total);
    // A closed pipe stops the output but not the loading.
    let _ = writeln!(stdout(), "{done} of {total} {what}, {:.0}/s{left}", progress.per_second);
}

/// The content of the file of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    endpoint: String,
    outcome: &'a LoadOutcome,
    seconds: &'a [Second],
    /// Outcomes of several load hosts; empty for a load of this process.
    #[serde(skip_serializing_if = "<[HostOutcome]>::is_empty")]
    hosts: &'a [HostOutcome],
}

/// Exits as sysbench does: with 2 if events in flight were cut off.
fn load(line: &SysbenchLine) -> Result<ExitCode> {
    if line.preflight {
        check(&line.load)?;
    }
    let stop = stop_on_signals()?;
    let screen = Screen {
        printer: Mutex::new(SysbenchPrinter::new(stdout(), line)),
        seconds: Mutex::new(Vec::new()),
        broken_off: Mutex::new(None),
    };
    screen.with_printer(|printer| printer.header(line))?;
    let ended = assay_load::run(&line.load, None, &screen, &stop);
    let ending = Ending::of(ended, &screen.broken_off)?;
    let outcome = &ending.outcome;
    screen.with_printer(|printer| printer.outcome(outcome))?;
    let path = line.reporting.json.as_deref();
    write_report(path, &line.load.endpoint, outcome, &screen.seconds.lock(), &[])?;
    let is_forced = outcome.is_forced();
    ending.end()?;
    Ok(if is_forced { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Writes the JSON file if one was asked for.
fn write_report(
    path: Option<&Path>,
    endpoint: &Endpoint,
    outcome: &LoadOutcome,
    seconds: &[Second],
    hosts: &[HostOutcome],
) -> Result<()> {
    let (version, endpoint) = (env!("CARGO_PKG_VERSION"), endpoint.to_string());
    let report = Report { version, endpoint, outcome, seconds, hosts };
    path.map_or(Ok(()), |path| write_json(path, &report))
}

/// Checks the server's limits before a run, and prints a note if the rate exceeds what the
/// connections can carry.
fn check(load: &LoadSpec) -> Result<()> {
    preflight(load)?;
    if let Some(shortage) = shortage(load)? {
        print::note(format_args!("{shortage}"));
    }
    Ok(())
}

/// Prints each second as it ends, and keeps all for the JSON file.
struct Screen {
    printer: Mutex<SysbenchPrinter<Stdout>>,
    seconds: Mutex<Vec<Second>>,
    broken_off: BrokenOff,
}

impl Screen {
    fn with_printer<T>(&self, act: impl FnOnce(&mut SysbenchPrinter<Stdout>) -> T) -> T {
        act(&mut self.printer.lock())
    }
}

impl LoadObserver for Screen {
    fn second(&self, second: &Second) {
        // A closed pipe stops the output but not the run.
        let _ = self.with_printer(|printer| printer.second(second));
        self.seconds.lock().push(second.clone());
    }

    fn broken_off(&self, outcome: &LoadOutcome) {
        *self.broken_off.lock() = Some(outcome.clone());
    }
}

/// Checks before a run that the file can be written. Does not change an existing one.
fn check_json(path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let context = || cannot_write(path);
    if path.exists() {
        File::options().append(true).open(path).with_context(context)?;
    }
    if !is_written_in_place(path) {
        files::check(&target(path)).with_context(context)?;
    }
    Ok(())
}

/// Returns true for a device or a pipe, which no file can replace.
fn is_written_in_place(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

/// The target of a symbolic link, so that the link itself stays.
fn target(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}; give another file with --json", path.display())
}

/// Returns true if the reader is gone (`
/// head`), which ends a program quietly.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.root_cause().downcast_ref::<std::io::Error>();
    cause.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let context = || cannot_write(path);
    if is_written_in_place(path) {
        let mut out = BufWriter::new(File::create(path).with_context(context)?);
        serde_json::to_writer_pretty(&mut out, value).with_context(context)?;
        return out.flush().with_context(context);
    }
    let fill = |out: &mut dyn Write| Ok(serde_json::to_writer_pretty(out, value)?);
    files::replace(&target(path), fill)
}
