//! `assay load fileio`: sysbench's fileio on the files of the current directory, without a server.

use std::io::{Stdout, Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use assay_load::sysbench::{FileioCommand, FileioLine, FileioPrinter, fileio_help};
use assay_load::{LoadObserver, LoadOutcome, Second, fileio};
use parking_lot::Mutex;
use serde::Serialize;

use super::ending::{BrokenOff, Ending};
use super::{check_json, stop_on_signals, write_json};
use crate::print;

/// The directory of the files, as in sysbench.
const DIRECTORY: &str = ".";

/// Runs `assay load fileio`.
///
/// # Errors
/// Files are missing, or the system reports an error.
pub(super) fn run(line: &FileioLine) -> Result<ExitCode> {
    for warning in &line.warnings {
        print::note(format_args!("{warning}"));
    }
    check_json(line.reporting.json.as_deref())?;
    match line.command {
        FileioCommand::Help => write!(stdout(), "{}", fileio_help())?,
        FileioCommand::Prepare => make(line)?,
        FileioCommand::Run => load(line)?,
        FileioCommand::Cleanup => {
            writeln!(stdout(), "Removing test files...")?;
            fileio::cleanup(Path::new(DIRECTORY), &line.fileio)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn make(line: &FileioLine) -> Result<()> {
    let stop = stop_on_signals()?;
    let mut printer = FileioPrinter::new(stdout(), line);
    printer.making(&line.fileio)?;
    let mut shown = Ok(());
    let made = fileio::prepare(
        Path::new(DIRECTORY),
        &line.fileio,
        &mut |step, path| {
            let name = path.file_name().map_or(path, Path::new);
            let told = printer.step(step, name);
            if shown.is_ok() {
                shown = told;
            }
        },
        &stop,
    )?;
    shown?;
    printer.made(made)?;
    line.reporting.json.as_deref().map_or(Ok(()), |path| write_json(path, &made))
}

/// The content of the file of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    directory: String,
    outcome: &'a LoadOutcome,
    seconds: &'a [Second],
}

fn load(line: &FileioLine) -> Result<()> {
    let directory = Path::new(DIRECTORY);
    fileio::check(directory, &line.fileio)?;
    let stop = stop_on_signals()?;
    let screen = Screen {
        printer: Mutex::new(FileioPrinter::new(stdout(), line)),
        seconds: Mutex::new(Vec::new()),
        broken_off: Mutex::new(None),
    };
    screen.printer.lock().header(&line.fileio, &line.schedule)?;
    let ended = fileio::run(directory, &line.fileio, &line.schedule, None, &screen, &stop);
    let ending = Ending::of(ended, &screen.broken_off)?;
    screen.printer.lock().outcome(&ending.outcome)?;
    write_report(line, &ending.outcome, &screen.seconds.lock())?;
    ending.end()
}

fn write_report(line: &FileioLine, outcome: &LoadOutcome, seconds: &[Second]) -> Result<()> {
    let Some(path) = line.reporting.json.as_deref() else { return Ok(()) };
    let here = std::env::current_dir().context("cannot tell the current directory")?;
    write_json(
        path,
        &Report {
            version: env!("CARGO_PKG_VERSION"),
            directory: here.display().to_string(),
            outcome,
            seconds,
        },
    )
}

/// Prints each second as it ends, and keeps all for the JSON file.
struct Screen {
    printer: Mutex<FileioPrinter<Stdout>>,
    seconds: Mutex<Vec<Second>>,
    broken_off: BrokenOff,
}

impl LoadObserver for Screen {
    fn second(&self, second: &Second) {
        // A closed pipe stops the output but not the run.
        drop(self.printer.lock().second(second));
        self.seconds.lock().push(second.clone());
    }

    fn broken_off(&self, outcome: &LoadOutcome) {
        *self.broken_off.lock() = Some(outcome.clone());
    }
}
