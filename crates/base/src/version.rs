//! The version of the program, with the commit that it was built from.

use std::sync::OnceLock;

/// Set by the program at its start, so that a new commit rebuilds the program's crate only.
static BUILT: OnceLock<&'static str> = OnceLock::new();

/// Sets the text that [`version`] returns. The first call wins.
pub fn set(built: &'static str) {
    let _ = BUILT.set(built);
}

/// The version, e.g. `0.1.0 (1a2b3c4d)`, with `, changed` if the sources differed from that commit.
/// `0.1.0 (unknown commit)` if the program was built outside git; without a commit in tests of
/// single crates.
#[must_use]
pub fn version() -> &'static str {
    BUILT.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}
