//! A few lines at the bottom of the terminal that are painted again and again, below the lines that stay.
//!
//! The cursor rests at the first of them. Whatever is printed meanwhile goes there, after everything below was erased, and
//! the lines are painted again below it: the terminal itself keeps what scrolls away, and nothing need be known of where
//! on the screen it is. A terminal that breaks its lines anew when it gets another size moves the cursor along with its
//! line, so what is below it is still all there is to erase.
//!
//! Escapes are those of ECMA-48 that every terminal since the VT100 knows: ED, EL, CUU.

use parking_lot::Mutex;
use std::fmt::Write as _;
use std::io::Write;

use assay_ports::terminal::{ERASE_BELOW, TerminalSize, size};

static PAINTED: Mutex<Option<Painted>> = Mutex::new(None);

/// What is there, and the size that the terminal had.
struct Painted {
    text: String,
    size: TerminalSize,
}

/// Paints `lines` in place of those before, which must be narrower than `size` has columns and fewer than it has rows
/// or as many.
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
    // After another size the lines before may be broken into more.
    if painted.as_ref().is_some_and(|painted| painted.size != size) {
        to_stderr(ERASE_BELOW);
    }
    to_stderr(text.as_bytes());
    *painted = Some(Painted { text, size });
}

/// Takes the lines away; what is printed from now on is all there is.
pub fn end() {
    if PAINTED.lock().take().is_some() {
        to_stderr(ERASE_BELOW);
    }
}

/// As [`end`], for a screen that shows somebody else's lines by now.
pub fn forget() {
    PAINTED.lock().take();
}

/// Has `print` write whole lines to the terminal, above what is painted.
///
/// It must not come back here: a panic in it would be told by printing.
pub fn above<T>(print: impl FnOnce() -> T) -> T {
    let painted = PAINTED.lock();
    if painted.is_some() {
        to_stderr(ERASE_BELOW);
    }
    let printed = print();
    // Of another size by now, it is painted anew by who paints.
    if let Some(painted) = painted.as_ref().filter(|painted| painted.size == size()) {
        to_stderr(painted.text.as_bytes());
    }
    printed
}

/// Nobody watches a terminal that cannot be written.
fn to_stderr(bytes: &[u8]) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(bytes);
    let _ = out.flush();
}
