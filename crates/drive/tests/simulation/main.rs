//! Seeded simulation of the drive over media that lose what was not flushed.
//!
//! The production engine, one thread, every choice drawn from a seed: what the host does, when collection and
//! checkpoints happen, when power goes and what it leaves of each unflushed write. After each cut the drive must equal
//! a prefix of the host's commands. `ASSAY_SEEDS` sets how many seeds run (2 000), `ASSAY_SEED` the first.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../common/mod.rs"]
mod common;
mod script;

use std::sync::atomic::{AtomicU64, Ordering};

use common::setting;
use script::{Coverage, Sabotage};

#[test]
fn any_seed_keeps_the_prefix_contract() {
    let (first, seeds) = (setting("ASSAY_SEED", 0), setting("ASSAY_SEEDS", 2000));
    let next = AtomicU64::new(first);
    let coverage = std::thread::scope(|scope| {
        let worker = || {
            let mut coverage = Coverage::default();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= first + seeds {
                    return coverage;
                }
                match script::run(seed, Sabotage::default()) {
                    Ok(seen) => coverage.add(seen),
                    Err(problem) => panic!(
                        "seed {seed}: {problem}\nrepeat it with: ASSAY_SEED={seed} ASSAY_SEEDS=1 \
                         cargo test --release -p assay-drive --test simulation any_seed"
                    ),
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let mut coverage = Coverage::default();
        workers.into_iter().for_each(|worker| coverage.add(worker.join().unwrap()));
        coverage
    });
    println!("{seeds} seeds: {coverage:?}");
    if seeds >= 2000 {
        let Coverage { collections, checkpoints, stalls, refused, replayed, torn, rebuilt } =
            coverage;
        let all = [collections, checkpoints, stalls, refused, replayed, torn, rebuilt];
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
