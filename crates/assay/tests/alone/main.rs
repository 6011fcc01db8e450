//! Tests that measure time or look at other processes of this machine; they run apart from the
//! other tests, which would disturb them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/drives.rs"]
mod drives;
#[path = "../common/runs.rs"]
mod runs;

mod fileio;
mod judged;
mod model_faults;
mod model_judged;
mod model_watched;
mod models;
mod others;
mod replay;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

static MACHINE: RwLock<()> = RwLock::new(());

/// For tests with tolerant measurements: runs concurrently with others of this kind.
fn shared() -> RwLockReadGuard<'static, ()> {
    MACHINE.read()
}

/// For tests that need the machine to themselves.
fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write()
}
