//! The version of this program, with the commit that it was built from.

use std::sync::OnceLock;

/// Set by the program, so that a commit does not rebuild what it does not change.
static BUILT: OnceLock<&'static str> = OnceLock::new();

/// Sets what [`version`] returns from now on; of several calls the first counts.
pub fn set(built: &'static str) {
    let _ = BUILT.set(built);
}

/// E.g. `0.1.0 (1a2b3c4d)`, with `, changed` where the sources differed from that commit; without a commit where the program was
/// built outside git, and in tests of single crates.
#[must_use]
pub fn version() -> &'static str {
    BUILT.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}
