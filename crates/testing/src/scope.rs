//! How much of a test runs.
//!
//! `ASSAY_TESTS` sets it, and the launcher sets that variable: `check` for the inner loop (no
//! server, no browser, nothing that needs root), `full` for everything, absent for everything once.
//! A test that does not run at all in `./assay test` is marked `#[ignore = "…"]`; `--full` includes
//! those.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// `./assay check`: tests that need neither a server nor a browser nor root.
    Check,
    /// `./assay test`, and plain `cargo test`: each guarantee once.
    Once,
    /// `./assay test --full`: all seeds and every sweep.
    Full,
}

/// The scope of this process, from `ASSAY_TESTS`.
///
/// # Panics
/// If the variable holds any other word.
pub fn scope() -> Scope {
    match std::env::var("ASSAY_TESTS").as_deref() {
        Err(_) | Ok("once") => Scope::Once,
        Ok("check") => Scope::Check,
        Ok("full") => Scope::Full,
        Ok(other) => panic!("ASSAY_TESTS is `check`, `once` or `full`, not `{other}`"),
    }
}

/// Returns true for `./assay test --full`.
pub fn is_full() -> bool {
    scope() == Scope::Full
}

/// Number of seeds, cases or rounds of a test: `full` in the full scope, else `once`.
pub fn count<N>(once: N, full: N) -> N {
    if is_full() { full } else { once }
}
