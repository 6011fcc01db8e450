//! What tests of every crate share: skipping aloud, and free ports. Nothing but tests depends on it.

#![allow(clippy::panic, reason = "a test fails by panicking")]

mod port;

pub use port::free_port;

/// Says that the test `name` is skipped because it needs `what`; with `ASSAY_REQUIRE_ALL=1` that is a failure.
pub fn skip(name: &str, what: &str) {
    let required = std::env::var_os("ASSAY_REQUIRE_ALL").is_some_and(|value| value == "1");
    assert!(!required, "{name} needs {what}");
    eprintln!("SKIPPED: {name} needs {what}");
}
