//! The search for the highest rate within an objective on our own device models, in virtual time:
//! nobody waits, and no machine is too slow for it. Each check is shown to fail on a search that
//! must not pass it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it found"
)]

mod device;
mod flash;
mod volume;
