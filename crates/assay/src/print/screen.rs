//! Repaints a few lines at the bottom of the terminal, below the permanent lines.
//!
//! The cursor stays at the first of them. Other output goes there, after everything below was
//! erased, and the lines are painted again below it: the terminal itself keeps scrolled lines, and
//! the position on the screen does not matter. A terminal that wraps lines anew after resizing
//! moves the cursor with its line, so the lines to erase are still below it.
//!
//! Control sequences are those of ECMA-48 that every terminal since the VT100 supports: ED, EL,
//! CUU.

use parking_lot::Mutex;
use std::fmt::Write as _;
use std::io::Write;

use assay_ports::terminal::{ERASE_BELOW, TerminalSize, size};

static PAINTED: Mutex<Option<Painted>> = Mutex::new(None);

/// The painted lines, and the terminal's size at that time.
struct Painted {
    text: String,
    size: TerminalSize,
}

/// Replaces the painted lines. They must be narrower than `size` has columns, and at most as many
/// as it has rows.
pub fn paint(lines: &[String], size: TerminalSize) {
    let mut text = String::new();
    for (place, line) in lines.iter().enumerate() {
        let before = if place == 0 { "\r" } else { "\r\n" };
        let _ = write!(text, "{before}{line}\x1b[K");
    }
    let _ = write!(text, "\x1b[J\r");
    if lines.len() > 1 {
        let _ = write!(text, "\x1b[{}A", lines.len() - 1);
    }
    let mut painted = PAINTED.lock();
    // After resizing, the old lines may be wrapped.
    if painted.as_ref().is_some_and(|painted| painted.size != size) {
        to_stderr(ERASE_BELOW);
    }
    to_stderr(text.as_bytes());
    *painted = Some(Painted { text, size });
}

/// Removes the lines; later output is plain.
pub fn end() {
    if PAINTED.lock().take().is_some() {
        to_stderr(ERASE_BELOW);
    }
}

/// Like [`end`], for a screen that by now shows another program's lines.
pub fn forget() {
    PAINTED.lock().take();
}

/// Lets `print` write whole lines to the terminal, above the painted ones.
///
/// `print` must not call this module: a panic in it would print.
pub fn above<T>(print: impl FnOnce() -> T) -> T {
    let painted = PAINTED.lock();
    if painted.is_some() {
        to_stderr(ERASE_BELOW);
    }
    let printed = print();
    // After resizing, the painter repaints.
    if let Some(painted) = painted.as_ref().filter(|painted| painted.size == size()) {
        to_stderr(painted.text.as_bytes());
    }
    printed
}

/// A failure to write to the terminal is ignored.
fn to_stderr(bytes: &[u8]) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(bytes);
    let _ = out.flush();
}
