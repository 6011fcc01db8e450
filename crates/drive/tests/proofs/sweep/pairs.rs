//! Two bad places at once, drawn by seed.
//!
//! What is allowed beyond one bad place by itself:
//!
//! - both superblocks: the drive does not open;
//! - two blocks of one chunk of the map's stream, of which parity restores one: nodes in them are
//!   lost, and said to be;
//! - two such blocks with a dictionary in one of them: records that need it are lost, and segments
//!   that hold any of them are not collected before they are overwritten: there may be no room for
//!   that;
//! - the tables of two chunks of the log that follow each other behind the checkpoint, or of one
//!   and of the footer that would have told of it: the drive is read-only, with a reason;
//! - the last two chunks of the log: nothing tells that they were durable, as with the last one by
//!   itself.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;

use super::case::{Allowance, Outcome, Ran, run};
use super::scarred::Scar;
use super::single::{is_of_log, told_durable};
use super::specimen::{Ending, Specimen, blocks_of};
use crate::common::anatomy::{Part, Piece, Stream};
use crate::common::random::Random;
use crate::common::seeds;

type Parts<'a> = BTreeMap<u64, Vec<&'a Piece>>;

/// Two blocks of media: the first of any kind, the second often near it.
fn draw(specimen: &Specimen, parts: &Parts<'_>, random: &mut Random) -> [u64; 2] {
    let mut kinds = BTreeMap::<Part, Vec<u64>>::new();
    for (block, pieces) in parts {
        pieces.iter().for_each(|piece| kinds.entry(piece.part).or_default().push(*block));
    }
    let kinds: Vec<_> = kinds.into_values().collect();
    let any = |random: &mut Random| {
        let kind = random.pick(&kinds).clone();
        *random.pick(&kind)
    };
    let first = any(random);
    let near: Vec<u64> = match random.below(4) {
        // In the same chunk.
        0 => {
            let owners: BTreeSet<_> = parts[&first].iter().map(|piece| piece.owner).collect();
            let of_chunk = specimen.pieces.iter().filter(|piece| owners.contains(&piece.owner));
            of_chunk.flat_map(|piece| blocks_of(&piece.range)).collect()
        }
        // In the chunk before or behind it in the log, or in the map's stream.
        1 => {
            let seqs: BTreeSet<_> = parts[&first].iter().map(|piece| piece.seq).collect();
            let is_next = |piece: &&Piece| {
                seqs.contains(&(piece.seq + 1)) || seqs.contains(&piece.seq.saturating_sub(1))
            };
            let of_next = specimen.pieces.iter().filter(is_next);
            of_next.flat_map(|piece| blocks_of(&piece.range)).collect()
        }
        // In the same segment.
        2 => {
            let opened: BTreeSet<_> = parts[&first].iter().map(|piece| piece.opened_seq).collect();
            let of_segment =
                specimen.pieces.iter().filter(|piece| opened.contains(&piece.opened_seq));
            of_segment.flat_map(|piece| blocks_of(&piece.range)).collect()
        }
        _ => Vec::new(),
    };
    let near: Vec<u64> = near.into_iter().filter(|block| *block != first).collect();
    let second = if near.is_empty() { any(random) } else { *random.pick(&near) };
    [first, second]
}

/// Numbers of the log's chunks and footers whose tables lie in one of these blocks, or whose header
/// does.
fn gone(parts: &Parts<'_>, block: u64) -> BTreeSet<u64> {
    let is_table = |piece: &&&Piece| match piece.part {
        Part::Header(stream) | Part::Table(stream) | Part::Footer(stream) => stream != Stream::Map,
        _ => false,
    };
    let here = parts.get(&block).map_or(&[][..], Vec::as_slice);
    here.iter().filter(is_table).map(|piece| piece.seq).collect()
}

fn allowance(specimen: &Specimen, parts: &Parts<'_>, bad: [u64; 2]) -> Allowance {
    let here = |block: u64| parts.get(&block).map_or(&[][..], Vec::as_slice);
    let [first, second] = bad.map(here);
    let is_superblock =
        |pieces: &[&Piece]| pieces.iter().any(|piece| matches!(piece.part, Part::Superblock(_)));
    let of_map: BTreeSet<u64> =
        first.iter().filter(|piece| is_of_map(piece)).map(|piece| piece.owner).collect();
    let both = second.iter().filter(|piece| is_of_map(piece) && of_map.contains(&piece.owner));
    let both: BTreeSet<u64> = both.map(|piece| piece.owner).collect();
    let nodes = first
        .iter()
        .chain(second)
        .filter(|piece| piece.part == Part::Node && both.contains(&piece.owner));
    let lost = nodes.map(|node| {
        let number = node.key & ((1 << 39) - 1);
        let each = if node.key >> 39 & 1 == 1 { 512 * 512 } else { 512 };
        number * each..(number + 1) * each
    });
    // Without its dictionary no record can be read that needs it.
    let is_dictionary =
        |piece: &&&Piece| piece.part == Part::Dictionary && both.contains(&piece.owner);
    let no_dictionary = first.iter().chain(second).any(|piece| is_dictionary(&piece));
    let told = told_durable(specimen, &bad);
    let is_crashed = specimen.ending != Ending::Closed;
    let is_last = is_crashed
        && first.iter().chain(second).any(|piece| is_of_log(piece.part) && piece.seq > told);
    let behind = |seq: &u64| *seq > specimen.checkpoint_seq();
    let (one, other) = (gone(parts, bad[0]), gone(parts, bad[1]));
    let follows = |seq: &u64| {
        let is_told_by = |other: &BTreeSet<u64>| other.contains(&(seq + 1));
        let footer = footer_of(specimen, *seq);
        (one.contains(seq)
            && (is_told_by(&other) || footer.is_some_and(|seq| other.contains(&seq))))
            || (other.contains(seq)
                && (is_told_by(&one) || footer.is_some_and(|seq| one.contains(&seq))))
    };
    let may_be_read_only = is_crashed && one.union(&other).filter(|seq| behind(seq)).any(follows);
    let homes = |block: &u64| specimen.homes.get(block).cloned().unwrap_or_default();
    Allowance {
        damaged: match no_dictionary {
            true => specimen.blocks.iter().copied().collect(),
            false => bad.iter().flat_map(homes).collect(),
        },
        lost: lost.collect(),
        shortest: if is_last { specimen.floors[0] } else { specimen.model.commands },
        damaged_when_shorter: bad.iter().flat_map(|block| specimen.ever_in(*block)).collect(),
        may_be_read_only,
        may_fill: no_dictionary,
        may_be_refused: is_superblock(first) && is_superblock(second),
    }
}

fn is_of_map(piece: &Piece) -> bool {
    match piece.part {
        Part::Node | Part::Dictionary | Part::Parity | Part::Root => true,
        Part::Header(stream) | Part::Table(stream) | Part::Padding(stream) => stream == Stream::Map,
        _ => false,
    }
}

/// The number of the footer of the segment that the chunk lies in.
fn footer_of(specimen: &Specimen, seq: u64) -> Option<u64> {
    let chunk = specimen.pieces.iter().find(|piece| piece.seq == seq)?;
    let is_it = |piece: &&Piece| {
        matches!(piece.part, Part::Footer(_)) && piece.opened_seq == chunk.opened_seq
    };
    specimen.pieces.iter().find(is_it).map(|piece| piece.seq)
}

fn judge(seed: u64) -> Result<BTreeMap<Outcome, u64>, String> {
    let mut random = Random::new(seed ^ 0x7A12);
    let specimen = random.pick(Specimen::all());
    let parts = specimen.parts();
    let bad = draw(specimen, &parts, &mut random);
    let scars = bad.map(|block| {
        let all = [Scar::Flipped(seed), Scar::Zeroed, Scar::Unreadable, Scar::Dead];
        (block, *random.pick(&all))
    });
    let allowance = allowance(specimen, &parts, bad);
    let work = || run(specimen, &scars, &allowance, seed);
    let ran = std::panic::catch_unwind(AssertUnwindSafe(work));
    let Ran { outcome, .. } =
        ran.unwrap_or_else(|_| Err("it panics".into())).map_err(|problem| {
            let what = bad.map(|block| {
                let pieces = parts.get(&block).map_or(&[][..], Vec::as_slice);
                pieces.iter().map(|piece| (piece.part, piece.seq, piece.owner)).collect::<Vec<_>>()
            });
            format!("{}: {scars:?}: {what:.600?}: {problem:.3000}", specimen.name)
        })?;
    Ok(BTreeMap::from([(outcome, 1)]))
}

#[test]
fn two_bad_places_cost_what_lay_in_them_or_are_told() {
    let add = |mut all: BTreeMap<Outcome, u64>, more: BTreeMap<Outcome, u64>| {
        more.into_iter().for_each(|(outcome, count)| *all.entry(outcome).or_default() += count);
        all
    };
    let seen = seeds::run_all(&seeds::wanted(80, 400), "proofs sweep::pairs", judge, add);
    println!("{seen:?}");
    let all = [Outcome::Unnoticed, Outcome::Told, Outcome::Damaged, Outcome::Lost];
    let is_usual = seen.values().sum::<u64>() > 300;
    assert!(!is_usual || all.iter().all(|outcome| seen.contains_key(outcome)), "{seen:?}");
}
