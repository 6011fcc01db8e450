//! Writes to standard output and standard error; no other module does.
//!
//! Guarantees:
//! - A closed pipe (`assay models | head`) is success, not an error. Any other failure to write,
//!   such as a full disk, is remembered and ends the command with an error.
//! - Control characters in text are escaped (see [`plain`]), so that it cannot command the
//!   terminal.

mod plain;
pub(crate) mod screen;

use parking_lot::Mutex;
use std::fmt::Display;
use std::io::{IsTerminal, Write};

/// Writes a line to standard error. Failures are ignored: the command does not depend on it.
pub(crate) fn note(text: impl Display) {
    let text = plain::plain(&format!("{text}\n"));
    let _ = screen::above(|| std::io::stderr().lock().write_all(text.as_bytes()));
}

/// Writes text to standard error without ending the line, such as a question.
pub(crate) fn part(text: impl Display) {
    let _ = std::io::stderr().lock().write_all(plain::plain(&text.to_string()).as_bytes());
}

/// Prints a line; if the reader has closed the pipe, the process exits with code 0.
pub(crate) fn line(text: impl Display) {
    drawn(plain::plain(&text.to_string()));
}

/// Prints a line without escaping it, for text with escape sequences of our own.
pub(crate) fn drawn(text: impl Display) {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => drop(UNWRITTEN.lock().get_or_insert(error)),
    }
}

/// First error of a write to standard output.
static UNWRITTEN: Mutex<Option<std::io::Error>> = Mutex::new(None);

/// Takes the first error of a write to standard output.
pub(crate) fn failure() -> Option<std::io::Error> {
    UNWRITTEN.lock().take()
}

/// Standard error with a last line that is overwritten, for progress.
#[derive(Debug)]
pub(crate) struct Living {
    is_terminal: bool,
    has_living_line: Mutex<bool>,
}

impl Living {
    pub fn new() -> Living {
        // The name of a terminal that understands no escape sequences (terminfo(5)).
        let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        let is_terminal = std::io::stderr().is_terminal() && !is_dumb;
        Living { is_terminal, has_living_line: Mutex::new(false) }
    }

    /// Writes a line that stays.
    pub fn say(&self, text: impl Display) {
        self.write(text, false);
    }

    /// Writes a line that the next one overwrites; without a terminal, writes nothing.
    pub fn live(&self, text: impl Display) {
        if self.is_terminal {
            self.write(text, true);
        }
    }

    /// Writes the name of a step: the next line overwrites it; without a terminal it stays.
    pub fn step(&self, text: impl Display) {
        self.write(text, self.is_terminal);
    }

    /// Erases the line that would be overwritten.
    pub fn end(&self) {
        if std::mem::take(&mut *self.has_living_line.lock()) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }

    fn write(&self, text: impl Display, is_living: bool) {
        let mut has_living_line = self.has_living_line.lock();
        let mut out = std::io::stderr().lock();
        let before = if *has_living_line { "\r\x1b[K" } else { "" };
        let after = if is_living { "" } else { "\n" };
        *has_living_line = is_living;
        // If progress cannot be written, nobody reads it.
        let _ = write!(out, "{before}{text}{after}");
        let _ = out.flush();
    }
}
