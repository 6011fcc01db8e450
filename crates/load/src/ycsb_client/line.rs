//! Parses the command line of YCSB's launcher.

use std::path::{Path, PathBuf};

use super::assemble::assemble;
use super::export::Exporter;
use super::properties::Properties;
use super::published;
use crate::error::{Error, Result};
use crate::spec::LoadSpec;
use assay_base::text_file;

/// The command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YcsbCommand {
    /// Insert the records.
    Load,
    /// Do operations on them.
    Run,
    /// Drop the table.
    Cleanup,
    /// Explain.
    Help,
}

/// The start of the latencies in YCSB's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasurementInterval {
    /// The sending of the operation.
    Op,
    /// Its planned start.
    Intended,
    /// Both, each with lines of its own.
    Both,
}

/// The form of YCSB's latencies, its property `measurementtype`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MeasurementType {
    /// `hdrhistogram`.
    #[default]
    Hdr,
    /// `histogram`: buckets of a millisecond.
    Histogram,
    /// `hdrhistogram+histogram`.
    HdrAndHistogram,
    /// `timeseries`: mean latencies of time spans.
    TimeSeries,
    /// `raw`: every operation.
    Raw,
    /// `hdrhistogram+raw`.
    HdrAndRaw,
}

impl MeasurementType {
    /// Returns true if the measurement needs every operation with its time.
    #[must_use]
    pub fn takes_each(self) -> bool {
        matches!(
            self,
            MeasurementType::TimeSeries | MeasurementType::Raw | MeasurementType::HdrAndRaw
        )
    }
}

/// The options of output.
#[derive(Debug, Clone, PartialEq)]
pub struct YcsbReporting {
    /// Seconds between status lines; 0 for none.
    pub status_interval: u64,
    /// The start of the latencies.
    pub interval: MeasurementInterval,
    pub percentiles: Vec<f64>,
    pub measurement: MeasurementType,
    /// Buckets of the histogram of milliseconds; longer latencies are counted together.
    pub histogram_buckets: u64,
    /// Length of a time series' spans, in ms.
    pub granularity_ms: u64,
    /// The file for raw data; `None` for standard output.
    pub raw_file: Option<PathBuf>,
    /// True for raw data without a summary.
    pub has_no_summary: bool,
    /// True to print all buckets.
    pub is_verbose: bool,
    /// True to print the times of each failed status separately.
    pub each_error: bool,
    /// Statuses printed separately otherwise.
    pub tracked_errors: Vec<String>,
    /// The format of the closing lines.
    pub exporter: Exporter,
    /// The file for the closing lines; `None` for standard output.
    pub export_file: Option<PathBuf>,
    /// The file for all results.
    pub json: Option<PathBuf>,
}

/// A parsed command line of YCSB.
#[derive(Debug, Clone, PartialEq)]
pub struct YcsbLine {
    pub command: YcsbCommand,
    /// The load that the command makes.
    pub load: LoadSpec,
    pub reporting: YcsbReporting,
    /// True to check the server's limits and the table before a run.
    pub preflight: bool,
    /// Notes to print before anything is done.
    pub notes: Vec<String>,
}

/// Parses the arguments after `ycsb`.
///
/// # Errors
/// [`Error::Config`] for unknown or invalid arguments, in one line.
pub fn parse(words: &[String]) -> Result<YcsbLine> {
    let mut given = Given::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = |what: &str| {
            let next = words.next().cloned();
            next.ok_or_else(|| Error::Config(format!("`{word}` needs {what}")))
        };
        match word.as_str() {
            "-P" => given.read(&value("a property file")?)?,
            "-p" => given.set(&value("a property: -p key=value")?)?,
            "-threads" | "--threads" => given.properties.set("threadcount", &value("a number")?),
            "-target" | "--target" => {
                given.properties.set("target", &value("operations per second")?);
            }
            "-s" => given.has_status = true,
            "-db" => given.properties.set("db", &value("a class")?),
            "-cp" | "-jvm-args" | "-l" | "-label" => drop(value("a value")?),
            // YCSB's launcher accepts its own two options in this form too.
            _ if ["-cp=", "-jvm-args="].iter().any(|option| word.starts_with(option)) => {}
            "-t" => given.command(YcsbCommand::Run)?,
            "-load" => given.command(YcsbCommand::Load)?,
            "-h" | "--help" | "-help" => given.command = Some(YcsbCommand::Help),
            _ if word.starts_with('-') => {
                return Err(Error::Config(format!(
                    "unknown option `{word}`; known are -P, -p, -threads, -target, -s; see `assay \
                     load ycsb help`"
                )));
            }
            _ => given.word(word)?,
        }
    }
    let no_command =
        || Error::Config("no command is given; known are load, run, cleanup, help".into());
    let command = given.command.ok_or_else(no_command)?;
    if command != YcsbCommand::Help {
        given.properties.check()?;
    }
    let mut line = assemble(command, &given.properties, given.has_status)?;
    line.notes.append(&mut given.notes);
    Ok(line)
}

/// The options given so far.
#[derive(Default)]
struct Given {
    command: Option<YcsbCommand>,
    has_database: bool,
    properties: Properties,
    has_status: bool,
    notes: Vec<String>,
}

/// The bindings of YCSB's launcher; this one uses MySQL alone.
const BINDINGS: [&str; 2] = ["jdbc", "mysql"];

impl Given {
    fn command(&mut self, command: YcsbCommand) -> Result<()> {
        if self.command.is_some_and(|given| given != command) {
            return Err(Error::Config("give one command: load, run, cleanup or help".into()));
        }
        self.command = Some(command);
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<()> {
        match word {
            "load" => self.command(YcsbCommand::Load),
            "run" => self.command(YcsbCommand::Run),
            "cleanup" => self.command(YcsbCommand::Cleanup),
            "help" => self.command(YcsbCommand::Help),
            _ if BINDINGS.contains(&word) && !self.has_database => {
                self.has_database = true;
                Ok(())
            }
            _ => Err(Error::Config(format!(
                "unexpected word `{word}`; write `assay load ycsb load|run|cleanup [jdbc] -P FILE \
                 -p KEY=VALUE`"
            ))),
        }
    }

    fn set(&mut self, property: &str) -> Result<()> {
        let bad = || Error::Config(format!("`-p {property}` has no `=`; write -p key=value"));
        let (key, value) = property.split_once('=').ok_or_else(bad)?;
        self.properties.set(key.trim(), value.trim());
        Ok(())
    }

    /// Reads a property file, or a published workload if there is no file of that name.
    fn read(&mut self, path: &str) -> Result<()> {
        let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let (false, Some(text)) = (Path::new(path).exists(), published::of(name)) {
            self.notes.push(format!("there is no file {path}: the published {name} is used"));
            return self.properties.read(&text);
        }
        let text = text_file::read(Path::new(path), "properties")
            .map_err(|error| Error::Config(format!("{error:#}")))?;
        self.properties.read(&text)
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
