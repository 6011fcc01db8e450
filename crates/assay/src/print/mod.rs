//! The one place that writes to standard output and standard error.
//!
//! A reader that has seen enough (`assay models | head`) closes the pipe, which is success. Any
//! other failure to write (a full disk) is remembered, and ends the command with an error. Control
//! characters are shown instead of being sent to the terminal (see [`plain`]).

mod plain;
pub mod screen;

use parking_lot::Mutex;
use std::fmt::Display;
use std::io::{IsTerminal, Write};

/// Writes a line to standard error. A failure does not affect the command.
pub fn note(text: impl Display) {
    let text = plain::plain(&format!("{text}\n"));
    let _ = screen::above(|| std::io::stderr().lock().write_all(text.as_bytes()));
}

/// Writes the beginning of a line to standard error, which the user's input continues.
pub fn part(text: impl Display) {
    let _ = std::io::stderr().lock().write_all(plain::plain(&text.to_string()).as_bytes());
}

/// Prints a line; ends the process quietly if the reader has gone.
pub fn line(text: impl Display) {
    drawn(plain::plain(&text.to_string()));
}

/// Prints a line that contains escape sequences of this program.
pub fn drawn(text: impl Display) {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => drop(UNWRITTEN.lock().get_or_insert(error)),
    }
}

/// The first error in printing.
static UNWRITTEN: Mutex<Option<std::io::Error>> = Mutex::new(None);

/// Takes the first error in printing.
pub fn failure() -> Option<std::io::Error> {
    UNWRITTEN.lock().take()
}

/// Standard error with a transient last line, for work that a person waits for.
#[derive(Debug)]
pub struct Living {
    is_terminal: bool,
    has_living_line: Mutex<bool>,
}

impl Living {
    pub fn new() -> Living {
        // A terminal without control sequences has this name (terminfo(5)).
        let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        let is_terminal = std::io::stderr().is_terminal() && !is_dumb;
        Living { is_terminal, has_living_line: Mutex::new(false) }
    }

    /// Writes a permanent line.
    pub fn say(&self, text: impl Display) {
        self.write(text, false);
    }

    /// Writes a transient line; nothing without a terminal.
    pub fn live(&self, text: impl Display) {
        if self.is_terminal {
            self.write(text, true);
        }
    }

    /// Writes a line about the present step: transient on a terminal, permanent elsewhere.
    pub fn step(&self, text: impl Display) {
        self.write(text, self.is_terminal);
    }

    /// Removes the transient line.
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
        // Progress that cannot be written is dropped.
        let _ = write!(out, "{before}{text}{after}");
        let _ = out.flush();
    }
}
