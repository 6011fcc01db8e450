//! Recorded answers of the programs that tests compare with.
//!
//! The answers are data in `crates/*/judge/`. With `--full` the program itself runs too and is
//! compared with both. `crates/*/judge/record` records the answers again.

use std::path::Path;

/// Returns true if tests write the answers of other programs instead of comparing with them:
/// `ASSAY_RECORD=1`.
pub fn is_recording() -> bool {
    std::env::var_os("ASSAY_RECORD").is_some_and(|value| value == "1")
}

/// Writes a JSON object of named answers, each already serialised, one line per answer: a new
/// recording then differs only in the lines of the cases that changed.
///
/// # Panics
/// If the file cannot be written.
pub fn record(file: &Path, answers: &[(String, String)]) {
    let lines: Vec<String> =
        answers.iter().map(|(name, answer)| format!("{name:?}: {answer}")).collect();
    let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
    if let Err(error) = std::fs::write(file, text) {
        panic!("{}: {error}", file.display());
    }
}
