//! How much of a test runs.
//!
//! `ASSAY_TESTS` sets it, and the launcher sets that variable: `check` for the inner loop (no
//! server, no browser, nothing that needs root), `full` for everything, `printed` for as many
//! simulations as the figures of the documentation come from, absent for everything once.
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
    /// `benches/judging`: simulations in the number that the documentation's figures come from.
    Printed,
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
        Ok("printed") => Scope::Printed,
        Ok(other) => panic!("ASSAY_TESTS is `check`, `once`, `full` or `printed`, not `{other}`"),
    }
}

/// Returns true for `./assay test --full`.
pub fn is_full() -> bool {
    matches!(scope(), Scope::Full | Scope::Printed)
}

/// Number of seeds, cases or rounds of a test: `full` in the full scope, else `once`.
pub fn count<N>(once: N, full: N) -> N {
    if is_full() { full } else { once }
}

/// Number of simulations of a test whose tolerance follows from it: `printed` where figures
/// are printed for the documentation, a fifth of that in the full scope, else `once`.
pub fn simulations(once: u32, printed: u32) -> u32 {
    match scope() {
        Scope::Printed => printed,
        Scope::Full => once.max(printed / 5),
        Scope::Once | Scope::Check => once,
    }
}
