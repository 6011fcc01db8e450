//! Messages on standard error: errors in one line, warnings immediately, and never a backtrace.
//!
//! `ASSAY_LOG=info` (or `debug`) shows more.

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

/// Set if standard error is a log; then the journal may receive copies.
static LOG: OnceLock<Option<File>> = OnceLock::new();

/// Makes standard error a log that is read later: each line has its time and level, and informative
/// lines are included. `journal`, if given, receives the same without the time.
pub fn become_log(journal: Option<File>) {
    log::set_max_level(log::max_level().max(LevelFilter::Info));
    // A second call can only come from a second server in this process.
    let _ = LOG.set(journal);
}

/// Writes a message to standard error.
fn say(level: Level, named: &str, words: &str) {
    let Some(journal) = LOG.get() else {
        return print::note(format_args!("assay: {named}{words}"));
    };
    let words = on_one_line(words);
    let (time, name) = (now_precisely(), level.as_str().to_lowercase());
    print::note(format_args!("{time} {name} {words}"));
    if let Some(mut journal) = journal.as_ref() {
        // Priorities have the format of sd-daemon(3). A message that cannot be written there is
        // still in the log.
        let _ = journal.write_all(format!("<{}>{words}\n", priority(level)).as_bytes());
    }
}

/// Numbers of `syslog(3)`.
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
            let named = format!("{}: ", record.level().as_str().to_lowercase());
            say(record.level(), &named, &record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Installs the logger and the panic hook.
pub fn set_up() {
    let level = std::env::var("ASSAY_LOG").ok().and_then(|level| level.parse().ok());
    log::set_max_level(level.unwrap_or(LevelFilter::Warn));
    // A second call can only come from a second main.
    let _ = log::set_logger(&StandardError);
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
        let said = panic.payload_as_str().unwrap_or("no reason given");
        let place = place.unwrap_or_default();
        let words =
            format!("internal error{place}: {said}; please report it with the command you gave");
        say(Level::Error, "", &words);
    }));
}

/// Number of characters shown of an error's start and of its end: a name in it may be as long as a
/// file.
const START_MAX: usize = 1200;
const END_MAX: usize = 600;

/// A readable error: a long one without its middle, because the end contains the remedy.
fn shortened(line: &str) -> String {
    let Some((start, _)) = line.char_indices().nth(START_MAX) else { return line.to_owned() };
    let Some((end, _)) = line.char_indices().rev().nth(END_MAX - 1) else { return line.to_owned() };
    if end <= start { line.to_owned() } else { format!("{} … {}", &line[..start], &line[end..]) }
}

/// Runs `work` and turns its result into an exit code. The only place that prints errors.
pub fn exit_code(work: impl FnOnce() -> Result<ExitCode> + UnwindSafe) -> ExitCode {
    let code = code_of(work);
    match print::failure() {
        None => code,
        Some(error) => {
            say(Level::Error, "", &format!("cannot write to standard output: {error}"));
            ExitCode::from(2)
        }
    }
}

fn code_of(work: impl FnOnce() -> Result<ExitCode> + UnwindSafe) -> ExitCode {
    match catch_unwind(work) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            say(Level::Error, "", &shortened(&on_one_line(&format!("{error:#}"))));
            ExitCode::from(2)
        }
        // The hook has printed the message; unwinding has taken down the rig.
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
