//! What measures time, or looks at what else runs on this machine: apart from the other tests of the tool, so that they do
//! not disturb it.
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

/// For what measures with some patience: beside others of its kind.
fn shared() -> RwLockReadGuard<'static, ()> {
    MACHINE.read()
}

/// For what must have the machine to itself, as far as we can give it.
fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write()
}
