//! Tests `kill -9` of the process that serves a drive, repeatedly, during writes: flushed data
//! survive, each write is atomic, and nothing newer survives without what is older.
//!
//! fio verifies synchronous writes; writers that keep a history of each command verify the rest.

mod bench;
mod blocks;
mod history;
pub mod job;
mod writers;

use bench::{Bench, Round, Verdict};

use crate::drive_killed::{Sabotage, rounds, seed};
use crate::drives::{MIB, has_fio};
use assay_testing::count;

/// Number of kills in `./assay test` and `--full`, and the largest in a negative control.
const ROUNDS_ONCE: u64 = 3;
const ROUNDS_FULL: u64 = 12;
const CONTROL_ROUNDS: u64 = 8;

fn survives(mut bench: Bench) {
    let rounds = rounds(count(ROUNDS_ONCE, ROUNDS_FULL));
    let mut killed_again = 0;
    for round in 1..=rounds {
        let done = bench.round().unwrap_or_else(|verdict| panic!("round {round}: {verdict:#?}"));
        let Round { commands, lost, fio_bytes, .. } = done;
        killed_again += u64::from(done.killed_again);
        println!(
            "round {round}: {commands} commands, {lost} of those not flushed lost, fio verified {} \
             MiB{}",
            fio_bytes / MIB,
            if done.killed_again { ", killed again while it was attached" } else { "" }
        );
        assert!(commands > 0);
    }
    let moved = bench.end();
    println!(
        "{rounds} rounds, {killed_again} with a second kill, {} MiB collected: all that was \
         flushed is there, nothing is torn",
        moved / MIB
    );
}

/// Findings of the judges in the first round that fails.
fn caught(mut bench: Bench) -> Verdict {
    (0..CONTROL_ROUNDS)
        .find_map(|_| bench.round().err())
        .expect("a drive that breaks its word is noticed")
}

#[test]
#[ignore = "in --full: kills by the dozen"]
fn a_drive_on_a_file_survives_kills_under_fio() {
    if has_fio() {
        survives(Bench::on_a_file(seed(), Sabotage::None));
    }
}

#[test]
fn a_drive_survives_kills_that_cost_its_media_what_was_not_flushed() {
    if has_fio() {
        survives(Bench::on_power(seed(), Sabotage::None));
    }
}

#[test]
#[ignore = "in --full: a second control of the same judge"]
fn a_drive_that_tears_is_caught() {
    if has_fio() {
        let verdict = caught(Bench::on_a_file(seed(), Sabotage::Tear));
        println!("{verdict:#?}");
        assert!(verdict.contract.unwrap().contains("Torn"));
    }
}

#[test]
fn a_flush_that_lies_is_caught_by_both_judges() {
    if has_fio() {
        let verdict = caught(Bench::on_power(seed(), Sabotage::LyingFlush));
        println!("{verdict:#?}");
        assert!(verdict.contract.unwrap().contains("Lost"));
        assert!(verdict.fio.is_some());
    }
}
