//! Ceph pools: a private cluster of real monitors, managers and stores, which the tests start, kill in parts and judge by
//! what MySQL and fio find afterwards.
//!
//! Apart from the tool's other tests: a cluster takes memory and CPUs. `ASSAY_ROUNDS` sets how often a serving process is
//! killed.
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
#[path = "../all/drive_killed/fio/job.rs"]
mod job;
#[path = "../all/drive_killed/mysql/ledger.rs"]
mod ledger;
#[path = "../common/runs.rs"]
mod runs;
#[path = "../all/drive_killed/mysql/server.rs"]
#[allow(dead_code, reason = "this test program uses a part of it")]
mod server;
#[path = "../common/simulated.rs"]
mod simulated;

mod cluster;
mod errors;
mod images;
mod left;
mod served;
mod stores;
mod studies;
