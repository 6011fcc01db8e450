//! What tests of every kind share: skipping aloud.
//!
//! Tests of the whole tool include this file by its path, for a program has no library they could ask.

/// Says that the test `name` is skipped because it needs `what`; with `ASSAY_REQUIRE_ALL=1` that is a failure.
pub(crate) fn skip(name: &str, what: &str) {
    let required = std::env::var_os("ASSAY_REQUIRE_ALL").is_some_and(|value| value == "1");
    assert!(!required, "{name} needs {what}");
    eprintln!("SKIPPED: {name} needs {what}");
}
