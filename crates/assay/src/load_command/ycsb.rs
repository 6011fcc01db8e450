//! `assay load ycsb`: runs a load with YCSB's command line, property files and closing lines.

use std::fs::File;
use std::io::{Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use assay_load::ycsb_client::{
    MeasurementType, YcsbCommand, YcsbLine, beyond, closing, help, status,
};
use assay_load::{LoadObserver, LoadOutcome, PrepareOptions, Second, TimedEvent, cleanup, prepare};
use parking_lot::Mutex;

use super::ending::{BrokenOff, Ending};
use super::{check, check_json, stop_on_signals, write_report};
use crate::print;

/// Error number of an existing table (`ER_TABLE_EXISTS_ERROR`).
const TABLE_EXISTS: u16 = 1050;

/// Runs `assay load ycsb`.
///
/// # Errors
/// The server refuses, or a file cannot be written.
pub(super) fn run(line: &YcsbLine) -> Result<ExitCode> {
    for note in &line.notes {
        print::note(format_args!("{note}"));
    }
    check_json(line.reporting.json.as_deref())?;
    check_json(line.reporting.export_file.as_deref())?;
    check_json(line.reporting.raw_file.as_deref())?;
    match line.command {
        YcsbCommand::Help => write!(stdout(), "{}", help())?,
        YcsbCommand::Cleanup => cleanup(&line.load.endpoint, &line.load.schema)?,
        YcsbCommand::Load => {
            create_table(line)?;
            load(line)?;
        }
        YcsbCommand::Run => load(line)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Creates the table unless it exists. YCSB itself requires an existing table.
fn create_table(line: &YcsbLine) -> Result<()> {
    let options = PrepareOptions {
        threads: 1,
        seed: line.load.schedule.seed,
        workload: line.load.workload.clone(),
    };
    match prepare(&line.load.endpoint, &line.load.schema, &options, &|_| {}, &false.into()) {
        Err(assay_load::Error::Server { code: TABLE_EXISTS, .. }) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn load(line: &YcsbLine) -> Result<()> {
    if line.preflight {
        check(&line.load)?;
    }
    let stop = stop_on_signals()?;
    let screen = Screen {
        line,
        state: Mutex::new(State::default()),
        each: Mutex::new(Vec::new()),
        broken_off: Mutex::new(None),
    };
    let ended = assay_load::run(&line.load, None, &screen, &stop);
    let ending = Ending::of(ended, &screen.broken_off)?;
    let outcome = &ending.outcome;
    let closing = closing(outcome, line, &screen.each.lock());
    write_raw(&closing.raw, line.reporting.raw_file.as_deref())?;
    export(&closing.lines, line.reporting.export_file.as_deref())?;
    write!(stdout(), "{}", beyond(outcome, line))?;
    let seconds = &screen.state.lock().seconds;
    write_report(line.reporting.json.as_deref(), &line.load.endpoint, outcome, seconds, &[])?;
    ending.end()
}

/// Writes YCSB's closing lines to standard output, or to the file that `exportfile` names.
fn export(closing: &str, file: Option<&Path>) -> Result<()> {
    match file {
        Some(file) => std::fs::write(file, closing)
            .with_context(|| format!("cannot write exportfile {}", file.display())),
        None => Ok(write!(stdout(), "{closing}")?),
    }
}

/// Appends raw data to the file that `measurement.raw.output_file` names, as YCSB does, or writes
/// them to standard output.
fn write_raw(raw: &str, file: Option<&Path>) -> Result<()> {
    let Some(file) = file else { return Ok(write!(stdout(), "{raw}")?) };
    let context = || format!("cannot write measurement.raw.output_file {}", file.display());
    let mut open = File::options().create(true).append(true).open(file).with_context(context)?;
    open.write_all(raw.as_bytes()).with_context(context)
}

/// Prints YCSB's status line to standard error, as YCSB does.
struct Screen<'a> {
    line: &'a YcsbLine,
    state: Mutex<State>,
    /// Every operation, if the measurement type needs each.
    each: Mutex<Vec<TimedEvent>>,
    broken_off: BrokenOff,
}

#[derive(Default)]
struct State {
    seconds: Vec<Second>,
    elapsed_s: f64,
    done: u64,
    /// Time since the last line, in s.
    interval_s: f64,
    of_interval: u64,
}

impl LoadObserver for Screen<'_> {
    fn second(&self, second: &Second) {
        let mut state = self.state.lock();
        state.seconds.push(second.clone());
        state.elapsed_s += second.length_s;
        state.interval_s += second.length_s;
        state.done += second.events;
        state.of_interval += second.events;
        let every = self.line.reporting.status_interval;
        if every == 0 || state.interval_s + 1e-6 < every as f64 {
            return;
        }
        let total = self.line.load.schedule.events;
        let line =
            status(state.elapsed_s, state.done, state.of_interval, state.interval_s, second, total);
        (state.interval_s, state.of_interval) = (0.0, 0);
        // A closed pipe stops the output but not the run.
        let _ = writeln!(stderr(), "{line}");
        if self.line.reporting.measurement == MeasurementType::TimeSeries {
            let _ = writeln!(stdout(), "{line}");
        }
    }

    fn wants_each(&self) -> bool {
        self.line.reporting.measurement.takes_each()
    }

    fn each(&self, all: Vec<TimedEvent>) {
        *self.each.lock() = all;
    }

    fn broken_off(&self, outcome: &LoadOutcome) {
        *self.broken_off.lock() = Some(outcome.clone());
    }
}
