//! Skipping aloud: no test is left out without a line that says so.

use crate::scope::{Scope, scope};

/// Reports that the calling test is skipped because it needs `what`.
///
/// The test is named by its thread, which the test harness names after it.
///
/// # Panics
/// With `ASSAY_REQUIRE_ALL=1`: then a missing need is a failure.
pub fn skip(what: &str) {
    let required = std::env::var_os("ASSAY_REQUIRE_ALL").is_some_and(|value| value == "1");
    let is_wanted = scope() != Scope::Check;
    assert!(!(required && is_wanted), "{} needs {what}", own_name());
    eprintln!("SKIPPED: {} needs {what}", own_name());
}

/// The name of the test that this thread runs, without its modules.
pub fn own_name() -> String {
    let thread = std::thread::current();
    let path = thread.name().unwrap_or("a test");
    path.rsplit("::").next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_knows_its_own_name() {
        assert_eq!(own_name(), "a_test_knows_its_own_name");
    }
}
