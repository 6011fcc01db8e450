//! Lives of drives whose shapes are drawn: any size, any spread, any codec, with much memory and
//! with little.

use assay_testing::count;

use crate::common::life::{Plan, Seen, live};
use crate::common::seeds;

const PLAN: Plan = Plan { bytes: 16 << 20, rounds: 3, commands: 150, is_hard: false };

#[test]
fn any_seed_draws_a_drive_that_lives() {
    let seeds = seeds::wanted(20, 150);
    let run = |seed| live(seed, PLAN);
    let seen = seeds::run_all(&seeds, "proofs sizes::geometries::any_seed_draws", run, Seen::add);
    println!("{seen:?}");
    if seeds.end - seeds.start >= 20 {
        // Few seeds come to a full drive, or to collection.
        let rarest = match seeds.end - seeds.start >= 150 {
            true => seen.refused.min(seen.full).min(seen.gc_segments).min(seen.checkpoints),
            false => seen.refused.min(seen.checkpoints),
        };
        assert!(rarest >= 20, "what these are for was hardly reached: {seen:?}");
    }
}

/// A short soak: the same with bad places and other sizes.
#[test]
fn any_seed_soaks() {
    let seeds = seeds::wanted(8, 25);
    let plan = Plan { bytes: 16 << 20, rounds: 3, commands: 200, is_hard: true };
    let seen = seeds::run_all(
        &seeds,
        "proofs sizes::geometries::any_seed_soaks",
        |seed| live(seed, plan),
        Seen::add,
    );
    println!("{seen:?}");
    if seeds.end - seeds.start >= 8 {
        let least = if seeds.end - seeds.start >= 25 { 5 } else { 1 };
        let rarest = seen.bad_places.min(seen.resizes).min(seen.reopenings);
        assert!(rarest >= least, "what this is for was hardly reached: {seen:?}");
    }
}

const SOAKED: [u64; 2] = [1_882_684_938_780_800, 1_882_684_682_650_406];

/// Lives that a soak found to end badly: one checkpoint wrote directories twice, where each leaf
/// had a directory of its own, and found no room; a drive could not be made smaller because of a
/// bad place.
#[test]
fn lives_that_ended_badly_once_do_not_again() {
    for seed in count(&SOAKED[..1], &SOAKED[..]) {
        let seen = live(*seed, Plan::SOAK).unwrap_or_else(|problem| panic!("{seed}: {problem}"));
        assert!(seen.bad_places > 0 && seen.checkpoints > 10, "{seed}: {seen:?}");
    }
}
