//! The one place that writes to standard output, and to standard error.
//!
//! A reader that has seen enough (`assay models | head`) closes the pipe; that is success, not an error.

use std::fmt::Display;
use std::io::Write;

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
