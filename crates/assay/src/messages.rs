//! Writes errors and warnings to standard error, each in one line, and turns panics into such a
//! line.
//!
//! `ASSAY_LOG=info` or `debug` prints more.

use std::fs::File;
use std::io::Write;
use std::panic::{UnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::Result;
use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::print;
use assay_base::clock::now_precisely;
use assay_base::text::on_one_line;

struct StandardError;

/// Set in servers, whose standard error is a log file; holds the journal, if there is one.
static LOG: OnceLock<Option<File>> = OnceLock::new();

/// Switches to the format of a log file: each line has its time and level, and level `info` is
/// included. `journal` receives the same lines without the time.
pub(crate) fn become_log(journal: Option<File>) {
    log::set_max_level(log::max_level().max(LevelFilter::Info));
    // A second call comes from a second server in this process, in tests.
    let _ = LOG.set(journal);
}

/// Writes a line to standard error, or to the log and the journal.
fn write(level: Level, prefix: &str, text: &str) {
    let Some(journal) = LOG.get() else {
        return print::note(format_args!("assay: {prefix}{text}"));
    };
    let text = on_one_line(text);
    let (time, name) = (now_precisely(), level.as_str().to_lowercase());
    print::note(format_args!("{time} {name} {text}"));
    if let Some(mut journal) = journal.as_ref() {
        // Priorities as in sd-daemon(3). If the journal fails, the log still has the line.
        let _ = journal.write_all(format!("<{}>{text}\n", priority(level)).as_bytes());
    }
}

/// Priority as in `syslog(3)`.
fn priority(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let prefix = format!("{}: ", record.level().as_str().to_lowercase());
            write(record.level(), &prefix, &record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Sets the logger, its level, and the hook that prints a panic.
pub(crate) fn set_up() {
    let level = std::env::var("ASSAY_LOG").ok().and_then(|level| level.parse().ok());
    log::set_max_level(level.unwrap_or(LevelFilter::Warn));
    // A second call comes from a second `main`, in tests.
    let _ = log::set_logger(&StandardError);
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
        let reason = panic.payload_as_str().unwrap_or("no reason given");
        let place = place.unwrap_or_default();
        let text =
            format!("internal error{place}: {reason}; please report it with the command you gave");
        write(Level::Error, "", &text);
    }));
}

/// Longest beginning and end of an error that are printed, in characters: an error may quote a name
/// as long as a file.
const START_MAX: usize = 1200;
const END_MAX: usize = 600;

/// Cuts the middle out of a long error. Its end is kept because it says what to do.
fn shortened(line: &str) -> String {
    let Some((start, _)) = line.char_indices().nth(START_MAX) else { return line.to_owned() };
    let Some((end, _)) = line.char_indices().rev().nth(END_MAX - 1) else { return line.to_owned() };
    if end <= start { line.to_owned() } else { format!("{} … {}", &line[..start], &line[end..]) }
}

/// Runs `work` and returns its exit code; prints its error, if any.
pub(crate) fn exit_code(work: impl FnOnce() -> Result<ExitCode> + UnwindSafe) -> ExitCode {
    let code = code_of(work);
    match print::failure() {
        None => code,
        Some(error) => {
            write(Level::Error, "", &format!("cannot write to standard output: {error}"));
            ExitCode::from(2)
        }
    }
}

fn code_of(work: impl FnOnce() -> Result<ExitCode> + UnwindSafe) -> ExitCode {
    match catch_unwind(work) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            write(Level::Error, "", &shortened(&on_one_line(&format!("{error:#}"))));
            ExitCode::from(2)
        }
        // The hook has printed the panic, and unwinding has torn the rig down.
        Err(_) => ExitCode::from(2),
    }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_long_error_keeps_its_start_and_its_end() {
        let short = format!("{}; do that", "é".repeat(1700));
        assert_eq!(shortened(&short), short);
        let long = shortened(&format!("plan.toml: `{}`; do that", "é".repeat(100_000)));
        assert!(long.starts_with("plan.toml: `éé") && long.ends_with("é`; do that"), "{long}");
        assert!(long.chars().count() < 1900);
    }
}
