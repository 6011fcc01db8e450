//! Tests `kill -9` of the process that serves a drive, repeatedly: under fio and our own writers,
//! and under MySQL.
//!
//! The kernel keeps the writes of a killed process. So each test has a second form, in which the
//! test serves the drive's media and drops all or some unflushed writes at a kill.
//!
//! `ASSAY_ROUNDS` sets the number of kills, `ASSAY_SEED` the random choices; timing is the
//! kernel's, so a seed does not repeat a run.

pub mod fio;
mod large;
pub mod mysql;

use std::time::{SystemTime, UNIX_EPOCH};

/// A fault, for negative controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    None,
    /// The drive splits commands.
    Tear,
    /// The media acknowledge flushes without flushing.
    LyingFlush,
}

/// Number of kills: `ASSAY_ROUNDS`, else `usual`.
fn rounds(usual: u64) -> u64 {
    setting("ASSAY_ROUNDS").unwrap_or(usual)
}

fn seed() -> u64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = setting("ASSAY_SEED").unwrap_or_else(now);
    println!("ASSAY_SEED={seed}");
    seed
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}
