//! The one place that writes to standard output, and to standard error.
//!
//! A reader that has seen enough (`assay models | head`) closes the pipe; that is success, not an error. Whatever else keeps a line from
//! being written (a full disk) is remembered, and ends the command with an error. What a terminal would obey is
//! shown in place of being done (see [`plain`]), whoever wrote it.

mod plain;
pub mod screen;

use parking_lot::Mutex;
use std::fmt::Display;
use std::io::{IsTerminal, Write};

/// Writes a line to standard error. That nobody reads it changes nothing about the work in hand.
pub fn note(text: impl Display) {
    let text = plain::plain(&format!("{text}\n"));
    let _ = screen::above(|| std::io::stderr().lock().write_all(text.as_bytes()));
}

/// Writes the beginning of a line to standard error, which somebody at the terminal is to go on with.
pub fn part(text: impl Display) {
    let _ = std::io::stderr().lock().write_all(plain::plain(&text.to_string()).as_bytes());
}

/// Prints a line; ends the process quietly if nobody reads any more.
pub fn line(text: impl Display) {
    drawn(plain::plain(&text.to_string()));
}

/// Prints a line with the escapes that we put there ourselves.
pub fn drawn(text: impl Display) {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => drop(UNWRITTEN.lock().get_or_insert(error)),
    }
}

/// Why the first line that could not be printed was not.
static UNWRITTEN: Mutex<Option<std::io::Error>> = Mutex::new(None);

/// That something could not be printed, once.
pub fn failure() -> Option<std::io::Error> {
    UNWRITTEN.lock().take()
}

/// Standard error with a last line that the next one replaces, for work that a person waits for.
#[derive(Debug)]
pub struct Living {
    is_terminal: bool,
    has_living_line: Mutex<bool>,
}

impl Living {
    /// Without such a line so far.
    pub fn new() -> Living {
        // A terminal that obeys nothing says so by this name (terminfo(5)).
        let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        let is_terminal = std::io::stderr().is_terminal() && !is_dumb;
        Living { is_terminal, has_living_line: Mutex::new(false) }
    }

    /// A line that stays.
    pub fn say(&self, text: impl Display) {
        self.write(text, false);
    }

    /// A line that the next one replaces; without a terminal it is not written at all.
    pub fn live(&self, text: impl Display) {
        if self.is_terminal {
            self.write(text, true);
        }
    }

    /// A line that tells what is being done: the next one replaces it; without a terminal it stays.
    pub fn step(&self, text: impl Display) {
        self.write(text, self.is_terminal);
    }

    /// Takes the living line away.
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
        // Nobody reads progress that cannot be written.
        let _ = write!(out, "{before}{text}{after}");
        let _ = out.flush();
    }
}
