//! Damage to several structures at once, one of which makes a rebuild of the map necessary.
//!
//! The law is the same as for one: what was flushed is there, or cannot be read and says so, or the
//! drive is read-only.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_drive::Drive;
use assay_testing::count;

use super::flips::chosen;
use super::specimen::{Ending, Specimen, options};
use super::verdict::{Outcome, judge};
use crate::common::anatomy::{Part, Piece, pieces};
use crate::common::random::Random;

/// Flips a bit in each piece and judges what is left.
fn flip_all(specimen: &Specimen, damaged: &[&Piece], seed: u64) -> Result<Outcome, String> {
    let mut random = Random::new(seed);
    let media = specimen.media.copy();
    for piece in damaged {
        let bits = 8 * (piece.range.end - piece.range.start);
        media.flip(8 * piece.range.start + random.below(bits));
    }
    let judged = judge(Arc::new(media), &specimen.model);
    judged.map(|(outcome, _)| outcome).map_err(|problem| {
        let what: Vec<_> =
            damaged.iter().map(|piece| (piece.part, piece.seq, piece.owner)).collect();
        format!("{}, seed {seed}: {what:?}: {problem:.400}", specimen.name)
    })
}

/// The chunks of the root that counts: those of the newest checkpoint.
fn newest_root(pieces: &[Piece]) -> Vec<Piece> {
    let roots = pieces.iter().filter(|piece| piece.part == Part::Root);
    let newest = roots.clone().map(|root| root.seq).max().unwrap();
    roots.filter(|root| root.seq + 1 >= newest).cloned().collect()
}

/// Nodes that the newest checkpoint wrote.
fn newest_nodes(pieces: &[Piece]) -> Vec<Piece> {
    let root = newest_root(pieces)[0].seq;
    let nodes = pieces.iter().filter(|piece| piece.part == Part::Node && piece.seq < root);
    let newest = nodes.clone().map(|node| node.seq).max().unwrap();
    nodes.filter(|node| node.seq == newest).cloned().collect()
}

/// Flips, for each specimen, a bit in each of some pieces of every kind and in one of `others` of
/// its pieces; prints what it came to. What is the same for all flips of a specimen is found once:
/// reading all of its media takes longer than a flip.
fn with_each(others: fn(&[Piece]) -> Vec<Piece>) {
    let mut seen = BTreeMap::<(Part, Outcome), u64>::new();
    let mut problems = Vec::new();
    std::thread::scope(|scope| {
        let run = move |(number, specimen): (usize, &'static Specimen)| {
            let others = others(&pieces(&specimen.media.image()));
            let flip = |(seed, piece): (u64, Piece)| {
                let other = &others[seed as usize % others.len()];
                (piece.part, flip_all(specimen, &[other, &piece], seed))
            };
            // Half of them once, the other half of the next specimen.
            let stride = count(2, 1);
            let some = (0..).zip(chosen(specimen)).skip(number % stride).step_by(stride);
            some.map(flip).collect::<Vec<_>>()
        };
        let runs: Vec<_> =
            Specimen::all().iter().enumerate().map(|each| scope.spawn(move || run(each))).collect();
        for (part, judged) in runs.into_iter().flat_map(|run| run.join().unwrap()) {
            match judged {
                Ok(outcome) => *seen.entry((part, outcome)).or_default() += 1,
                Err(problem) => problems.push(problem),
            }
        }
    });
    println!("{seen:?}");
    let few = &problems[..problems.len().min(9)];
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), few.join("\n"));
}

#[test]
fn without_its_root_a_drive_bears_damage_to_anything_else() {
    with_each(newest_root);
}

#[test]
fn without_a_node_a_drive_bears_damage_to_anything_else() {
    with_each(newest_nodes);
}

#[test]
fn several_damaged_nodes_cost_nothing_that_was_written() {
    for specimen in Specimen::all() {
        let pieces = pieces(&specimen.media.image());
        let nodes = newest_nodes(&pieces);
        for seed in 0..count(4, 20) {
            let mut random = Random::new(seed);
            let some: Vec<_> = nodes.iter().filter(|_| random.chance(50)).collect();
            let outcome =
                flip_all(specimen, &some, seed).unwrap_or_else(|problem| panic!("{problem}"));
            assert!(outcome <= Outcome::Corrupt, "{}: {outcome:?}", specimen.name);
        }
    }
}

/// The checkpoint's own chunks lie behind it and before what was flushed since: none of them ends
/// the log.
#[test]
fn a_damaged_node_does_not_end_the_log() {
    let mut rebuilt = 0;
    for specimen in Specimen::all().iter().filter(|specimen| specimen.ending == Ending::Flushed) {
        let pieces = pieces(&specimen.media.image());
        let newest = newest_nodes(&pieces);
        let leaves = newest.iter().filter(|node| node.key >> 39 & 1 == 0);
        for (node, at) in leaves.flat_map(|node| [0, 4, 5, 300].map(|at| (node, at))) {
            let media = specimen.media.copy();
            media.flip(8 * (node.range.start + at));
            // Or parity would make it whole.
            let parity = |piece: &&Piece| piece.part == Part::Parity && piece.owner == node.owner;
            media.wipe(pieces.iter().find(parity).unwrap().range.start / 4096);
            let drive = Drive::open(Arc::new(media), options()).unwrap();
            if !drive.status().recovery.rebuilt {
                continue;
            }
            rebuilt += 1;
            // Each block that was written last, and not discarded, is there; discards are told of
            // its own leaf only.
            let leaf = node.key & ((1 << 39) - 1);
            let is_certain =
                |block: &u64| block / 512 != leaf || !specimen.model.was_discarded(*block);
            for block in specimen.model.touched().into_iter().filter(is_certain) {
                specimen.model.check_now(&drive, block..block + 1).unwrap();
            }
        }
    }
    assert!(rebuilt > 10, "hardly any node was needed: {rebuilt}");
}
