//! Skips a test with a line that reports it.

use std::fs::OpenOptions;
use std::io::Write;

use crate::scope::{Scope, scope};

/// Reports that the calling test is skipped because it needs `what`. In the scope of `./assay
/// check`, which leaves such tests to `./assay test`, nothing is reported.
///
/// The test's name is that of its thread, which the test harness sets.
///
/// # Panics
/// With `ASSAY_REQUIRE_ALL=1`: then a missing need is a failure.
pub fn skip(what: &str) {
    if scope() == Scope::Check {
        return;
    }
    let required = std::env::var_os("ASSAY_REQUIRE_ALL").is_some_and(|value| value == "1");
    assert!(!required, "{} needs {what}", own_name());
    note(&format!("SKIPPED: {} needs {what}", own_name()));
}

/// The name of the test that this thread runs, without its modules.
pub fn own_name() -> String {
    let thread = std::thread::current();
    let path = thread.name().unwrap_or("a test");
    path.rsplit("::").next().unwrap_or(path).to_owned()
}

/// Prints a line about a test to the process's standard error directly, since the harness captures
/// the output of tests that pass. Also appends it to the file in `ASSAY_TEST_NOTES`, where the
/// launcher collects such lines.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
    if let Some(path) = std::env::var_os("ASSAY_TEST_NOTES")
        && let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path)
    {
        let _ = writeln!(file, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_knows_its_own_name() {
        assert_eq!(own_name(), "a_test_knows_its_own_name");
    }
}
