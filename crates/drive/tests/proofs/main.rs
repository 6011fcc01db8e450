//! Proofs of the drive's guarantees, on media that fail, lie and lose what was not flushed.
//!
//! One executable, because each would link the drive once more. `fuzz` is another one: it measures
//! the address space of its process.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../common/mod.rs"]
mod common;
mod concurrency;
mod exhaustive;
mod faults;
mod full;
mod golden;
mod interleavings;
mod simulation;
mod sizes;
mod sweep;
