//! Nodes of the map that were lost, and the account of what lies where.

use std::collections::BTreeMap;

use assay_drive::{BLOCK_BYTES, Codec, Disk, DriveOptions};

use super::host::{DIRECTORY, Host, LEAF, format, node, not_zero, rot, segment_of};
use crate::common::anatomy::{Part, Piece, pieces};
use crate::common::media::SimulatedMedia;

const LEAVES: u64 = 400;

/// Blocks whose newest record lies in a segment, the first blocks of leaves of which that is so,
/// and whether the map's stream has left the segment.
fn living_in(media: &SimulatedMedia, segment: u64) -> (Vec<u64>, bool) {
    let mut newest = BTreeMap::new();
    let mut is_left = false;
    let in_segments = |piece: &Piece| !matches!(piece.part, Part::Superblock(_));
    for piece in pieces(&media.image()).into_iter().filter(in_segments) {
        let here = segment_of(piece.range.start);
        is_left |= here == segment && matches!(piece.part, Part::Footer(_));
        let block = match piece.part {
            Part::Record(_) => piece.key & ((1 << 40) - 1),
            Part::Node if piece.key >> 39 & 1 == 0 => (piece.key & ((1 << 39) - 1)) * LEAF,
            _ => continue,
        };
        let is_node = piece.part == Part::Node;
        let slot = newest.entry((is_node, block)).or_insert((piece.seq, here));
        *slot = (*slot).max((piece.seq, here));
    }
    let living = newest.into_iter().filter(|(_, (_, at))| *at == segment);
    (living.map(|((_, block), _)| block).collect(), is_left)
}

/// A leaf that cleaning finds rotten dies with its segment. Were its place counted as dying a
/// second time, a segment that was used again would pass for empty while something lives in it.
#[test]
fn the_place_of_a_lost_leaf_dies_once() {
    let lost = 201;
    let options = DriveOptions { checkpoint_bytes: Some(64 << 10), ..DriveOptions::default() };
    let mut host = Host::new(30, &format(Codec::None, 4 << 30), options);
    (0..LEAVES).for_each(|leaf| host.write(leaf * LEAF, 1));
    host.drive.close().unwrap();
    let segment = segment_of(node(&host.media, lost, false).0.range.start);
    rot(&host.media, lost, false);
    host.truth.remove(&(lost * LEAF));
    host.reopen();
    let mut survivor = None;
    for round in 0..60 {
        for leaf in (0..LEAVES).step_by(2) {
            if (leaf / 2 + round) % 3 == 0 && survivor != Some(leaf * LEAF) {
                host.write(leaf * LEAF, 1);
            }
        }
        host.rest();
        // Long enough that cleaning came by.
        let (living, is_left) = living_in(&host.media, segment);
        if round >= 7 && survivor.is_none() && is_left && living.len() > 1 {
            survivor = Some(living[0]);
            living[1..].iter().for_each(|block| host.write(*block, 1));
            host.reopen();
        }
    }
    host.reopen();
    assert!(survivor.is_some(), "the scene did not come about");
    host.assert_right();
}

/// A lost directory is so many lost leaves, of which a full drive has room for none. Discards of
/// whole leaves need none; those of a part change nothing sooner than that a checkpoint finds no
/// room.
#[test]
fn discards_in_lost_directories_never_take_the_room_of_a_checkpoint() {
    for is_part in [true, false] {
        let mut host = Host::new(64, &format(Codec::None, 8 << 30), DriveOptions::default());
        (1..=3).for_each(|directory| host.write(directory * DIRECTORY, 1));
        let end = host.fill();
        host.drive.close().unwrap();
        for directory in 1..=3 {
            rot(&host.media, directory, true);
            host.truth.remove(&(directory * DIRECTORY));
        }
        host.reopen();
        for leaf in LEAF..4 * LEAF {
            host.discard(leaf * LEAF, if is_part { 1 } else { LEAF }).unwrap();
        }
        let still_lost = not_zero(&host.drive, (LEAF..4 * LEAF).map(|leaf| leaf * LEAF));
        assert_eq!(!still_lost.is_empty(), is_part, "{} are lost", still_lost.len());
        for _ in 0..500 {
            let block = host.random.below(end);
            host.write(block, 1);
        }
        host.rest();
        host.reopen();
        host.assert_right();
        let damages = host.drive.check(&mut |_, _| {}).unwrap().damages;
        assert_eq!(damages.iter().any(|damage| damage.offset.is_some()), is_part, "{damages:?}");
        host.drive.discard(0, 8 << 30).unwrap();
        host.drive.write(0, &[1; BLOCK_BYTES as usize], true).unwrap();
    }
}
