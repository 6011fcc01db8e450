//! Tests MySQL without its doublewrite buffer on a drive that is killed together with it under
//! load, repeatedly: it recovers, no committed transaction is lost, every table and page is whole.

mod bench;
pub mod ledger;
pub mod server;

use std::path::Path;

use bench::{Bench, FileSystem, Round};

use crate::common::has_server;
use crate::drive_killed::{rounds, seed};
use crate::drives::has_drives;
use assay_testing::{count, skip};

/// Number of kills in `./assay test` and in `--full`.
const ROUNDS_ONCE: u64 = 1;
const ROUNDS_FULL: u64 = 4;

/// Largest number of kills in a negative control.
const CONTROL_ROUNDS: u64 = 12;

/// The arrangement that `make` builds; `None`, with a SKIPPED line, if the machine cannot.
fn bench(make: impl FnOnce(u64) -> Option<Bench>) -> Option<Bench> {
    if !has_drives() || !has_server() {
        return None;
    }
    if !Path::new("/usr/sbin/mkfs.xfs").exists() {
        skip("mkfs.xfs");
        return None;
    }
    let bench = make(seed());
    if bench.is_none() {
        skip("a downloaded MySQL");
    }
    bench
}

fn survives(mut bench: Bench) {
    let rounds = rounds(count(ROUNDS_ONCE, ROUNDS_FULL));
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
#[ignore = "in --full: kills by the dozen"]
fn mysql_on_a_drive_on_a_file_survives_kills() {
    let make = |seed| Bench::on_a_file(seed, FileSystem::Ext4);
    if let Some(bench) = bench(make) {
        survives(bench);
    }
}

#[test]
fn mysql_survives_kills_that_cost_the_drives_media_what_was_not_flushed() {
    let make = |seed| Bench::on_power(seed, FileSystem::Xfs);
    if let Some(bench) = bench(make) {
        survives(bench);
    }
}

#[test]
#[ignore = "in --full: a flush that lies is caught by fio's judge in `./assay test`"]
fn a_flush_that_lies_costs_committed_transactions() {
    let make = |seed| Bench::on_power(seed, FileSystem::Ext4);
    if let Some(mut bench) = bench(make) {
        bench.lie();
        let problem = bench.round().unwrap_err();
        println!("{problem}");
        assert!(problem.contains("committed") || problem.contains("missing"), "{problem}");
    }
}

#[test]
#[ignore = "in --full: takes minutes until a cut falls within a page"]
fn torn_pages_are_noticed() {
    let make = |seed| Bench::on_power(seed, FileSystem::Ext4);
    if let Some(mut bench) = bench(make) {
        bench.tear();
        // The first attach is without the fault.
        let found = (0..CONTROL_ROUNDS).find_map(|round| Some((round, bench.round().err()?)));
        let (rounds, problem) = found.expect("a drive that tears pages is noticed");
        println!("after {rounds} rounds in which no cut fell within a page: {problem}");
        assert!(problem.contains("corrupt") || problem.contains("checksum"), "{problem}");
    }
}
