//! `kill -9` of the process that serves a drive, again and again: under fio and our own writers, and under MySQL.
//!
//! A killed process does not lose what the kernel has. So each test has a second form, in which the drive's media is served by
//! the test and loses at a kill what was not flushed, or parts of it.
//!
//! `ASSAY_ROUNDS` sets how many kills there are, `ASSAY_SEED` what is drawn; when things happen is the kernel's, so a
//! seed does not repeat a run.

pub mod fio;
mod large;
pub mod mysql;

use std::time::{SystemTime, UNIX_EPOCH};

/// What goes wrong, to show that it is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// Nothing.
    None,
    /// The drive writes commands in parts.
    Tear,
    /// The media answers flushes and does nothing.
    LyingFlush,
}

/// How many kills there are: as many as were asked for, else `usual`.
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
