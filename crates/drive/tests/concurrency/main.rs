//! The drive under real threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../common/mod.rs"]
mod common;
mod failure;
mod history;
mod isolation;
mod upkeep;
