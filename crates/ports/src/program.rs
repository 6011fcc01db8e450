//! Runs a system program to its end and returns its output, or its failure.
//!
//! Programs of the system (`losetup`, `mount`, `mkfs.*`) are called rather than imitated: they
//! match their kernel.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use thiserror::Error;

/// Why a program failed.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// There is no such program.
    #[error("`{name}` is not installed; install the package that holds it")]
    Missing {
        /// The program's name.
        name: String,
    },
    /// The program was not run, because of its arguments.
    #[error("{0}")]
    Refused(String),
    /// The program could not be started.
    #[error("`{name}` could not be started: {reason}")]
    Start {
        /// The program's name.
        name: String,
        /// The system's error.
        reason: std::io::Error,
    },
    /// The program ran and failed.
    #[error("`{command}` failed: {reason}")]
    Failed {
        /// The command line.
        command: String,
        /// Its error output in one line, or how it ended.
        reason: String,
    },
}

/// Runs `name` with `arguments` and returns its standard output without the final line break.
///
/// # Errors
/// [`ProgramError`], with the program's own words.
pub fn run<S: AsRef<OsStr>>(
    name: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Result<String, ProgramError> {
    let mut command = Command::new(name);
    // /usr/sbin is missing in some users' PATH, but contains the file-system tools.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"));
    command.env("LC_ALL", "C").args(arguments).stdin(Stdio::null());
    let line = written_out(&command);
    let output = crate::child::output(command).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => ProgramError::Missing { name: name.into() },
        _ => ProgramError::Start { name: name.into(), reason: source },
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = first_lines(&said).unwrap_or_else(|| crate::child::describe(output.status));
    Err(ProgramError::Failed { command: line, reason })
}

/// Number of lines quoted from a program: of hundreds of files that could not be copied, a few are
/// enough.
const LINES_MAX: usize = 2;

/// The first lines of a program's output as one line; `None` for empty output.
#[must_use]
pub fn first_lines(said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (first, rest) = lines.split_at(lines.len().min(LINES_MAX));
    let more = (!rest.is_empty()).then(|| format!("and {} lines more", rest.len()));
    let parts: Vec<&str> = first.iter().copied().chain(more.as_deref()).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn written_out(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_reason_and_absence_are_told_apart() {
        assert_eq!(run("echo", ["hello"]).unwrap(), "hello");
        let failed = run("ls", ["/nonexistent"]).unwrap_err().to_string();
        assert!(
            failed.starts_with("`ls /nonexistent` failed: ") && failed.contains("No such file")
        );
        let many = run("ls", (0..50).map(|number| format!("/nonexistent/{number}")));
        let many = many.unwrap_err();
        assert!(many.to_string().ends_with("; and 48 lines more"), "{many}");
        assert!(matches!(run("no-such-program", ["x"]), Err(ProgramError::Missing { .. })));
    }
}
