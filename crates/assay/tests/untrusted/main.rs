//! Untrusted files: studies, traces and plans that are malicious or damaged.
//!
//! Guarantees: each is answered in one clear line, or by a correct report if it is merely unusual,
//! within 10 s and 256 MB; nothing is left behind, and nothing outside the file's own directory is
//! touched.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "../common/mod.rs"]
mod common;

mod answer;
mod fuzz;
mod plans;
mod small;
mod studies;
mod traces;
