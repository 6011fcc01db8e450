//! Bad blocks in the places that are read when a drive opens: the superblocks, and the first block
//! of every segment.

use std::ops::Range;

use assay_drive::BLOCK_BYTES;
use assay_testing::count;

use super::case::{Outcome, run};
use super::scarred::Scar;
use super::single::allowance;
use super::specimen::Specimen;

fn open_each(name: &str, blocks: impl Fn(&Specimen) -> Vec<u64>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for specimen in Specimen::all() {
        for (seed, block) in (0..).zip(blocks(specimen)) {
            for scar in [Scar::Unreadable, Scar::Dead] {
                let ran = run(specimen, &[(block, scar)], &allowance(specimen, block), seed);
                let ran = ran.unwrap_or_else(|problem| {
                    panic!("{}: {name} {seed}, {scar:?}: {problem}", specimen.name)
                });
                outcomes.push(ran.outcome);
            }
        }
    }
    outcomes
}

#[test]
fn either_superblock_may_be_unreadable() {
    let both = |specimen: &Specimen| vec![0, specimen.media_blocks() - 1];
    let outcomes = open_each("superblock", both);
    assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Told), "{outcomes:?}");
}

#[test]
fn the_first_block_of_any_segment_may_be_unreadable() {
    let stride = count(8, 1);
    let first = std::cell::Cell::new(0);
    let firsts = |specimen: &Specimen| {
        let segments: Range<u64> = 0..specimen.segments();
        // Other segments of each specimen.
        let some = segments.skip(first.replace(first.get() + 1) % stride).step_by(stride);
        some.map(|number| specimen.segment_start(number) / BLOCK_BYTES).collect()
    };
    let outcomes = open_each("segment", firsts);
    assert!(outcomes.contains(&Outcome::Unnoticed) && outcomes.contains(&Outcome::Told));
}
