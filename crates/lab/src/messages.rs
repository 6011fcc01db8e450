//! What is said on standard error: errors in one line, warnings as they come, and never a panic's trace.
//!
//! `ASSAY_LOG=info` (or `debug`) says more.

use std::panic::{UnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::Result;
use log::{LevelFilter, Log, Metadata, Record};

use crate::print;

struct StandardError;

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            print::note(format_args!(
                "assay: {}: {}",
                record.level().as_str().to_lowercase(),
                record.args()
            ));
        }
    }

    fn flush(&self) {}
}

/// Sets up logging and the last words of a panic.
pub fn set_up() {
    let level = std::env::var("ASSAY_LOG").ok().and_then(|level| level.parse().ok());
    log::set_max_level(level.unwrap_or(LevelFilter::Warn));
    // A second call can only come from a second main.
    let _ = log::set_logger(&StandardError);
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
        let said = panic.payload_as_str().unwrap_or("no reason given");
        let place = place.unwrap_or_default();
        print::note(format_args!(
            "assay: internal error{place}: {said}; please report it with the command you gave"
        ));
    }));
}

/// Does the work and turns its end into an exit code; errors are printed here and nowhere else.
pub fn exit_code(work: impl FnOnce() -> Result<ExitCode> + UnwindSafe) -> ExitCode {
    match catch_unwind(work) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            print::note(format_args!("assay: {}", one_line(&format!("{error:#}"))));
            ExitCode::from(2)
        }
        // The hook has said it; unwinding has taken the rig down.
        Err(_) => ExitCode::from(2),
    }
}

/// Errors of libraries and servers may have several lines; a user's line stays one.
#[must_use]
pub fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.fold(String::new(), |joined, line| match joined.chars().last() {
        None => line.to_owned(),
        Some(':') => joined + " " + line,
        Some(_) => joined + "; " + line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_become_one() {
        assert_eq!(one_line("a\n  b\n\nc"), "a; b; c");
        assert_eq!(one_line("its log ends:\n  b\nc"), "its log ends: b; c");
    }
}
