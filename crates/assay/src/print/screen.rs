//! Paints a few lines at the bottom of the terminal, below the lines that stay.
//!
//! The cursor rests at the first painted line. Other output goes there, after everything below was
//! erased; then the lines are painted again below it. The terminal keeps lines that scroll away,
//! and the cursor's position on the screen need not be known. A terminal that reflows its lines at
//! a new size moves the cursor along with its line, so everything below it can still be erased.
//!
//! Escape sequences are those of ECMA-48 that every terminal since the VT100 supports: ED, EL, CUU.

use parking_lot::Mutex;
use std::fmt::Write as _;
use std::io::Write;

use assay_ports::terminal::{ERASE_BELOW, TerminalSize, size};

static PAINTED: Mutex<Option<Painted>> = Mutex::new(None);

/// The painted text, and the terminal's size at that time.
struct Painted {
    text: String,
    size: TerminalSize,
}

/// Paints `lines` in place of the painted ones. Lines must be narrower than `size` has columns, and
/// there may be at most as many as it has rows.
pub(crate) fn paint(lines: &[String], size: TerminalSize) {
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
    // At another size the terminal may have broken the painted lines into more.
    if painted.as_ref().is_some_and(|painted| painted.size != size) {
        to_stderr(ERASE_BELOW);
    }
    to_stderr(text.as_bytes());
    *painted = Some(Painted { text, size });
}

/// Erases the painted lines.
pub(crate) fn end() {
    if PAINTED.lock().take().is_some() {
        to_stderr(ERASE_BELOW);
    }
}

/// Forgets the painted lines without erasing them, when the screen shows another process's lines.
pub(crate) fn forget() {
    PAINTED.lock().take();
}

/// Calls `print`, which writes whole lines to the terminal above the painted ones.
///
/// `print` must not panic: the hook that prints a panic would wait for the same lock.
pub(crate) fn above<T>(print: impl FnOnce() -> T) -> T {
    let painted = PAINTED.lock();
    if painted.is_some() {
        to_stderr(ERASE_BELOW);
    }
    let printed = print();
    // After a change of size, the live view paints anew by itself.
    if let Some(painted) = painted.as_ref().filter(|painted| painted.size == size()) {
        to_stderr(painted.text.as_bytes());
    }
    printed
}

/// Writes to the terminal; failures are ignored, since nobody sees it then.
fn to_stderr(bytes: &[u8]) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(bytes);
    let _ = out.flush();
}
