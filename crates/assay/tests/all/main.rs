//! Tests of the whole tool that run concurrently, in one program.
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
#[path = "../common/power.rs"]
mod power;
#[path = "../common/proxy.rs"]
mod proxy;
#[path = "../common/pty.rs"]
mod pty;
#[path = "../common/runs.rs"]
mod runs;
#[path = "../common/simulated.rs"]
mod simulated;

mod audit;
mod cache;
mod capacity;
mod claims;
mod data_profiles;
mod drive;
mod drive_atomic;
mod drive_behind;
mod drive_errors;
mod drive_guards;
mod drive_killed;
mod drive_operated;
mod drive_repair;
mod drive_rig;
mod drive_space;
mod effective;
mod encrypted;
mod errors;
mod estimate;
mod existing;
mod exposed;
mod fileio;
mod hostile;
mod hosts;
mod installed;
mod killed;
mod ledgers;
mod live;
mod load_cut;
mod load_server;
mod model_errors;
mod old_generators;
mod overlays;
mod phases;
mod pool;
mod powercut;
mod sandboxes;
mod sysbench_equivalence;
mod tls;
mod torn_pages;
mod turns;
mod write_path;
mod ycsb;
