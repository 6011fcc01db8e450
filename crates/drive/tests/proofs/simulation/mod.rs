//! Seeded simulation of the drive over media that lose what was not flushed.
//!
//! The production engine, one thread, every choice drawn from a seed: what the host does, when
//! collection and checkpoints happen, when power goes and what it leaves of each unflushed write.
//! After each cut the drive must equal a prefix of the host's commands. `ASSAY_SEEDS` sets how many
//! seeds run (2 000 in the full scope), `ASSAY_SEED` the first.

mod script;

use assay_testing::count;

use crate::common::seeds;
use script::{Coverage, Sabotage};

const SEEDS_ONCE: u64 = 80;
const SEEDS_FULL: u64 = 2000;

#[test]
fn any_seed_keeps_the_prefix_contract() {
    let seeds = seeds::wanted(SEEDS_ONCE, SEEDS_FULL);
    let run = |seed| script::run(seed, Sabotage::default());
    let coverage = seeds::run_all(&seeds, "proofs simulation::any_seed", run, Coverage::add);
    let seeds = seeds.end - seeds.start;
    println!("{seeds} seeds: {coverage:?}");
    if seeds >= SEEDS_ONCE {
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
        let all = [gc_segments, checkpoints, refused, replayed, torn, rebuilt, damaged];
        let rarest = all.into_iter().min();
        // Few seeds come to a host that waits for collection.
        let (least, stalls_least) = if seeds >= SEEDS_FULL { (40, 40) } else { (1, 0) };
        assert!(
            rarest >= Some(least) && stalls >= stalls_least,
            "the simulation missed what it is for: {coverage:?}"
        );
    }
}

/// Number of the first `seeds` seeds that the checker finds fault with.
fn faults_found(seeds: u64, sabotage: Sabotage) -> usize {
    (0..seeds).filter(|seed| script::run(*seed, sabotage).is_err()).count()
}

#[test]
#[ignore = "in --full: once, `exhaustive` is the control of the model"]
fn a_drive_that_tears_its_groups_is_caught() {
    let found = faults_found(100, Sabotage { tear: true, ..Sabotage::default() });
    assert!(found >= 5, "{found} of 100 seeds noticed torn groups");
}

#[test]
fn a_flush_that_lies_is_caught() {
    let (seeds, least) = count((20, 4), (100, 20));
    let found = faults_found(seeds, Sabotage { lying_flush: true, ..Sabotage::default() });
    assert!(found >= least, "{found} of {seeds} seeds noticed lost data");
}
