//! The one place that writes to standard output, and to standard error.
//!
//! A reader that has seen enough (`assay models | head`) closes the pipe; that is success, not an error.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Writes a line to standard error. That nobody reads it changes nothing about the work in hand.
pub fn note(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints a line; ends the process quietly if nobody reads any more.
pub fn line(text: impl Display) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = writeln!(out, "{text}").and_then(|()| out.flush())
        && error.kind() == std::io::ErrorKind::BrokenPipe
    {
        std::process::exit(0);
    }
}

/// Standard error with one living line, which the next one replaces. Without a terminal it is not written at all.
#[derive(Debug)]
pub struct LiveLine {
    is_terminal: bool,
    is_shown: bool,
}

impl LiveLine {
    /// None yet.
    #[must_use]
    pub fn new() -> LiveLine {
        LiveLine { is_terminal: std::io::stderr().is_terminal(), is_shown: false }
    }

    /// Whether somebody may be watching.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// A line that stays.
    pub fn say(&mut self, text: impl Display) {
        self.write(text, "\n");
        self.is_shown = false;
    }

    /// A line that the next one replaces.
    pub fn live(&mut self, text: impl Display) {
        if self.is_terminal {
            self.write(text, "");
            self.is_shown = true;
        }
    }

    /// Takes the living line away.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            self.write("\r\x1b[K", "");
        }
    }

    /// Nobody reads progress that cannot be written.
    fn write(&self, text: impl Display, end: &str) {
        let mut out = std::io::stderr().lock();
        let start = if self.is_shown { "\r\x1b[K" } else { "" };
        let _ = write!(out, "{start}{text}{end}");
        let _ = out.flush();
    }
}

/// A time span in words, rounded down: `59s`, `2m05s`, `2h01m`.
#[must_use]
pub fn time(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds).unwrap_or_default().as_secs();
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, _) => format!("{h}h{m:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short_and_rounded_down() {
        assert_eq!(
            [time(0.4), time(59.9), time(125.0), time(7_265.0)],
            ["0s", "59s", "2m05s", "2h01m"]
        );
    }
}
