//! Seeded interleavings: several hosts, the background, faults of the media and a power cut, with every lock a point
//! where the scheduler may let another thread go on. One seed repeats all of it.
//!
//! The same drive is broken on purpose, one rule after the other: the suite must notice each. `ASSAY_SEEDS` sets how many
//! seeds run, `ASSAY_SEED` the first; `ASSAY_RULE` breaks one rule alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

extern crate assay_drive_scheduled as assay_drive;

#[path = "../../../drive/tests/common/mod.rs"]
mod common;
mod coverage;
mod life;
mod media;
mod places;
mod scheduler;
mod shape;
mod world;

use std::sync::atomic::{AtomicUsize, Ordering};

use assay_drive::{RULES, Rule, break_rule};
use common::seeds;

/// Seeds that run where nobody says how many.
const SEEDS_USUAL: u64 = 3000;

/// Seeds within which a broken rule must be noticed.
const SEEDS_TO_NOTICE: u64 = 2000;

#[test]
fn any_interleaving_keeps_what_was_promised() {
    let seeds = seeds::wanted(SEEDS_USUAL);
    let began = std::time::Instant::now();
    let coverage = seeds::run_all(
        &seeds,
        "scheduled any_interleaving",
        |seed| life::run(seed, None),
        coverage::Coverage::add,
    );
    let seeds = seeds.end - seeds.start;
    println!("{seeds} seeds in {:.0} s: {coverage:?}", began.elapsed().as_secs_f64());
    if seeds >= 400 {
        assert!(coverage.least() >= 4, "the schedules missed what they are for: {coverage:?}");
    }
}

/// The first seed that notices a broken rule, with what it noticed; none within those that it may take.
fn notice(rule: Rule, first: u64) -> Option<(u64, String)> {
    (first..first + SEEDS_TO_NOTICE)
        .find_map(|seed| life::run(seed, Some(rule)).err().map(|problem| (seed, problem)))
}

#[test]
fn every_broken_rule_is_noticed() {
    let first = std::env::var("ASSAY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let wanted = std::env::var("ASSAY_RULE").ok();
    let is_wanted = |rule: &&Rule| wanted.as_ref().is_none_or(|name| *name == format!("{rule:?}"));
    let rules: Vec<Rule> = RULES.iter().filter(is_wanted).copied().collect();
    let next = AtomicUsize::new(0);
    let look = || {
        let mut unnoticed = Vec::new();
        while let Some(rule) = rules.get(next.fetch_add(1, Ordering::Relaxed)) {
            match notice(*rule, first) {
                Some((seed, problem)) => println!("{rule:?}: seed {seed}: {problem:.200}"),
                None => unnoticed.push(*rule),
            }
        }
        unnoticed
    };
    let unnoticed: Vec<_> = std::thread::scope(|scope| {
        let other = scope.spawn(look);
        let mut all = look();
        all.extend(other.join().unwrap());
        all
    });
    break_rule(None);
    assert!(unnoticed.is_empty(), "nothing noticed that these were broken: {unnoticed:?}");
}
