//! Seeded simulation of the drive over media that lose what was not flushed.
//!
//! The production engine, one thread, every choice drawn from a seed: what the host does, when collection and
//! checkpoints happen, when power goes and what it leaves of each unflushed write. After each cut the drive must equal
//! a prefix of the host's commands. `ASSAY_SEEDS` sets how many seeds run (2 000), `ASSAY_SEED` the first.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../common/mod.rs"]
mod common;
mod script;

use common::seeds;
use script::{Coverage, Sabotage};

#[test]
fn any_seed_keeps_the_prefix_contract() {
    let seeds = seeds::wanted(2000);
    let run = |seed| script::run(seed, Sabotage::default());
    let coverage = seeds::run_all(&seeds, "simulation any_seed", run, Coverage::add);
    let seeds = seeds.end - seeds.start;
    println!("{seeds} seeds: {coverage:?}");
    if seeds >= 2000 {
        let Coverage {
            gc_segments,
            checkpoints,
            stalls,
            refused,
            replayed,
            torn,
            rebuilt,
            damaged,
        } = coverage;
        let all = [gc_segments, checkpoints, stalls, refused, replayed, torn, rebuilt, damaged];
        let rarest = all.into_iter().min();
        assert!(rarest >= Some(40), "the simulation missed what it is for: {coverage:?}");
    }
}

/// Seeds of the first hundred that the checker finds fault with.
fn faults_found(sabotage: Sabotage) -> usize {
    (0..100).filter(|seed| script::run(*seed, sabotage).is_err()).count()
}

#[test]
fn a_drive_that_tears_its_groups_is_caught() {
    let found = faults_found(Sabotage { tear: true, ..Sabotage::default() });
    assert!(found >= 5, "{found} of 100 seeds noticed torn groups");
}

#[test]
fn a_flush_that_lies_is_caught() {
    let found = faults_found(Sabotage { lying_flush: true, ..Sabotage::default() });
    assert!(found >= 20, "{found} of 100 seeds noticed lost data");
}
