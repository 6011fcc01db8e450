//! Seeded interleavings: several hosts, the background, faults of the media and a power cut, with every lock a point
//! where the scheduler may let another thread go on. One seed repeats all of it.
//!
//! The same drive is broken on purpose, one rule after the other: the suite must notice each. `ASSAY_SEEDS` sets how many
//! seeds run, `ASSAY_SEED` the first.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

extern crate assay_drive_scheduled as assay_drive;

#[path = "../../../drive/tests/common/mod.rs"]
mod common;
mod life;
mod media;

use assay_drive::{RULES, Rule, break_rule};
use common::seeds;

/// Seeds within which a broken rule must be noticed.
const SEEDS_TO_NOTICE: u64 = 2000;

#[test]
fn any_interleaving_keeps_what_was_promised() {
    let seeds = seeds::wanted(1500);
    let began = std::time::Instant::now();
    let coverage = seeds::run_all(
        &seeds,
        "scheduled any_interleaving",
        |seed| life::run(seed, None),
        life::Coverage::add,
    );
    let seeds = seeds.end - seeds.start;
    println!("{seeds} seeds in {:.0} s: {coverage:?}", began.elapsed().as_secs_f64());
    if seeds >= 1500 {
        let rarest = coverage.all().into_iter().min();
        assert!(rarest >= Some(20), "the schedules missed what they are for: {coverage:?}");
    }
}

#[test]
fn every_broken_rule_is_noticed() {
    let first = std::env::var("ASSAY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let unnoticed: Vec<_> = std::thread::scope(|scope| {
        let notice = |rules: &'static [Rule]| {
            let missed = |rule: &&Rule| {
                let noticed = (first..first + SEEDS_TO_NOTICE).find_map(|seed| {
                    life::run(seed, Some(**rule)).err().map(|problem| (seed, problem))
                });
                match &noticed {
                    Some((seed, problem)) => println!("{rule:?}: seed {seed}: {problem:.200}"),
                    None => println!("{rule:?}: NOT NOTICED"),
                }
                noticed.is_none()
            };
            rules.iter().filter(missed).copied().collect::<Vec<_>>()
        };
        let (front, back) = RULES.split_at(RULES.len() / 2);
        let others = scope.spawn(move || notice(front));
        let mut all = notice(back);
        all.extend(others.join().unwrap());
        all
    });
    break_rule(None);
    assert!(unnoticed.is_empty(), "nothing noticed that these were broken: {unnoticed:?}");
}
