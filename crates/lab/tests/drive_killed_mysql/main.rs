//! MySQL with its doublewrite buffer off on a drive, killed together with the drive in mid-load, again and again: it
//! recovers, no committed transaction is lost, every table and every page is whole.
//!
//! `ASSAY_ROUNDS` sets how many kills there are, `ASSAY_SEED` what is drawn; when things happen is the kernel's, so a
//! seed does not repeat a run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod bench;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/drives.rs"]
mod drives;
mod ledger;
#[path = "../common/power.rs"]
mod power;
mod server;
#[path = "../common/simulated.rs"]
mod simulated;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bench::{Bench, FileSystem, Round};
use common::has_server;
use common::testing::skip;
use drives::has_drives;

/// Kills in a run of all tests.
const ROUNDS: u64 = 2;

/// Kills in a negative control, at most.
const CONTROL_ROUNDS: u64 = 12;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn seed() -> u64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = setting("ASSAY_SEED").unwrap_or_else(now);
    println!("ASSAY_SEED={seed}");
    seed
}

/// The arrangement that `make` builds; nothing, said aloud, where that cannot be.
fn bench(test: &str, make: impl FnOnce(u64) -> Option<Bench>) -> Option<Bench> {
    if !has_drives(test) || !has_server(test) {
        return None;
    }
    if !Path::new("/usr/sbin/mkfs.xfs").exists() {
        skip(test, "mkfs.xfs");
        return None;
    }
    let bench = make(seed());
    if bench.is_none() {
        skip(test, "MySQL or Percona Server");
    }
    bench
}

fn survives(mut bench: Bench) {
    let rounds = setting("ASSAY_ROUNDS").unwrap_or(ROUNDS);
    let mut all = 0;
    for round in 1..=rounds {
        let done = bench.round().unwrap_or_else(|problem| panic!("round {round}: {problem}"));
        let Round { committed, unanswered, tables, files } = done;
        println!(
            "round {round}: {committed} transactions committed and there, {unanswered} more; \
             {tables} tables and {files} tablespaces are clean"
        );
        all += committed;
    }
    bench.end();
    println!("{rounds} rounds: all of {all} committed transactions are there");
}

#[test]
fn mysql_on_a_drive_on_a_file_survives_kills() {
    let make = |seed| Bench::on_a_file(seed, FileSystem::Ext4);
    if let Some(bench) = bench("mysql_on_a_drive_on_a_file_survives_kills", make) {
        survives(bench);
    }
}

#[test]
fn mysql_survives_kills_that_cost_the_drives_media_what_was_not_flushed() {
    let make = |seed| Bench::on_power(seed, FileSystem::Xfs);
    let name = "mysql_survives_kills_that_cost_the_drives_media_what_was_not_flushed";
    if let Some(bench) = bench(name, make) {
        survives(bench);
    }
}

#[test]
fn a_flush_that_lies_costs_committed_transactions() {
    let make = |seed| Bench::on_power(seed, FileSystem::Ext4);
    if let Some(mut bench) = bench("a_flush_that_lies_costs_committed_transactions", make) {
        bench.lie();
        let problem = bench.round().unwrap_err();
        println!("{problem}");
        assert!(problem.contains("committed") || problem.contains("missing"), "{problem}");
    }
}

#[test]
#[ignore = "takes minutes until a cut falls within a page; `a_flush_that_lies` is the control of every run"]
fn torn_pages_are_noticed() {
    let make = |seed| Bench::on_power(seed, FileSystem::Ext4);
    if let Some(mut bench) = bench("torn_pages_are_noticed", make) {
        bench.tear();
        // The first attach was as it should be.
        let problem = (0..CONTROL_ROUNDS).find_map(|_| bench.round().err());
        let problem = problem.expect("a drive that tears pages is noticed");
        println!("{problem}");
        assert!(problem.contains("corrupt") || problem.contains("checksum"), "{problem}");
    }
}
