//! Applies entries to the map and to space, in operation and in replay.

use crate::core::map::{Map, Missing};
use crate::core::nodes::{NODE_ENTRIES, leaf_of};
use crate::core::space::Space;
use crate::format::{Entry, Location, Op, UNIT_BLOCKS};
use crate::rules::{Rule, holds};

/// Blocks that an entry changes; empty for nodes and dictionaries.
pub(crate) fn blocks_of(entry: &Entry) -> std::ops::Range<u64> {
    let count = match entry.op {
        Op::Zero => u64::from(entry.length),
        Op::Unit | Op::MoveUnit { .. } => UNIT_BLOCKS,
        Op::Data | Op::Move { .. } => 1,
        Op::Node { .. } | Op::Dictionary => 0,
    };
    entry.key..entry.key + count
}

/// Applies an entry of a block, unit or run of zeroes, whose record lies at `location`.
///
/// # Errors
/// [`Missing`], with nothing changed, if a node must be loaded first.
pub(crate) fn apply(
    map: &mut Map,
    space: &mut Space,
    entry: &Entry,
    location: Location,
) -> Result<(), Missing> {
    let blocks = blocks_of(entry);
    if blocks.is_empty() {
        return Ok(());
    }
    if entry.op == Op::Data {
        // By far the most frequent operation: one walk through the tree, which also finds a missing
        // node.
        put(map, space, entry.key, location)?;
        space.add(location);
        return Ok(());
    }
    if let Some(missing) = map.missing(blocks.clone()) {
        return Err(missing);
    }
    match entry.op {
        Op::Zero => put_zeroes(map, space, blocks),
        Op::Data => Ok(()),
        Op::Unit => {
            space.add(location);
            put_all(map, space, entry.key, location, |_, _| true)
        }
        Op::Move { from, .. } | Op::MoveUnit { from, .. } => {
            if is_wanted(map, entry.key, from, location.is_unit())? {
                space.add(location);
            }
            put_all(map, space, entry.key, location, |index, present| {
                present == moved_from(from, index, location.is_unit()) || !holds(Rule::MoveGivesWay)
            })
        }
        Op::Node { .. } | Op::Dictionary => Ok(()),
    }
}

/// Whether any block of a record that moves from `from` is still there: the host may have written
/// in between.
pub(crate) fn is_wanted(
    map: &Map,
    block: u64,
    from: Location,
    unit: bool,
) -> Result<bool, Missing> {
    if !holds(Rule::MoveGivesWay) {
        return Ok(true);
    }
    for index in 0..blocks_in(unit) {
        if map.get(block + index)? == moved_from(from, index, unit) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The former place of block `index` of a record that moves; a single block may come out of a unit.
fn moved_from(from: Location, index: u64, unit: bool) -> Location {
    if unit { from.at_index(index) } else { from }
}

fn blocks_in(unit: bool) -> u64 {
    if unit { UNIT_BLOCKS } else { 1 }
}

fn put_all(
    map: &mut Map,
    space: &mut Space,
    first: u64,
    location: Location,
    wanted: impl Fn(u64, Location) -> bool,
) -> Result<(), Missing> {
    for index in 0..blocks_in(location.is_unit()) {
        let block = first + index;
        if wanted(index, map.get(block)?) {
            put(map, space, block, location.at_index(index))?;
        }
    }
    Ok(())
}

/// Unmaps a run of blocks. A lost leaf is unmapped without being created, because there may be no
/// room for it.
fn put_zeroes(
    map: &mut Map,
    space: &mut Space,
    blocks: std::ops::Range<u64>,
) -> Result<(), Missing> {
    let mut block = blocks.start;
    while block < blocks.end {
        let next = ((leaf_of(block) + 1) * NODE_ENTRIES).min(blocks.end);
        if !map.forget_lost(leaf_of(block), &blocks) {
            (block..next).try_for_each(|block| put(map, space, block, Location::NONE))?;
        }
        block = next;
    }
    Ok(())
}

/// Maps a block to `location` and gives up its former record, if no other block is in it.
pub(crate) fn put(
    map: &mut Map,
    space: &mut Space,
    block: u64,
    location: Location,
) -> Result<(), Missing> {
    let former = map.set(block, location)?;
    if former.is_record() && former != location && is_last_of_its_record(map, block, former)? {
        space.remove(former);
    }
    Ok(())
}

/// Whether no other block is in the record: a unit lives as long as one of its blocks.
fn is_last_of_its_record(map: &Map, block: u64, former: Location) -> Result<bool, Missing> {
    if !former.is_unit() {
        return Ok(true);
    }
    let first = block - former.index().min(block);
    for index in 0..UNIT_BLOCKS {
        if first + index != block && map.get(first + index)? == former.at_index(index) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec;
    use crate::format::{Identity, Stream};

    fn start() -> (Map, Space) {
        let identity = Identity {
            drive_id: 1,
            media_bytes: 64 << 20,
            segment_bytes: 1 << 20,
            segments: 60,
            codec: Codec::None,
            units: true,
            dictionary: false,
            logical_bytes: 1 << 30,
        };
        let mut space = Space::fresh(&identity);
        for number in 0..3 {
            space.open_this(number, Stream::Host, 1);
        }
        (Map::new(1 << 18), space)
    }

    fn entry(op: Op, key: u64, length: u32) -> Entry {
        Entry { op, key, length, last: true }
    }

    fn live(space: &Space, segment: u32) -> (u32, u32) {
        (space.get(segment).live_bytes, space.get(segment).live_records)
    }

    #[test]
    fn a_unit_lives_as_long_as_one_of_its_blocks() {
        let (mut map, mut space) = start();
        let unit = Location::new(0, 64, 1000, true);
        apply(&mut map, &mut space, &entry(Op::Unit, 8, 1000), unit).unwrap();
        assert_eq!(map.get(10), Ok(unit.at_index(2)));
        let single = Location::new(1, 64, 500, false);
        for block in [8, 9, 11] {
            apply(&mut map, &mut space, &entry(Op::Data, block, 500), single).unwrap();
        }
        assert_eq!((live(&space, 0), live(&space, 1)), ((1000, 1), (1500, 3)));
        apply(&mut map, &mut space, &entry(Op::Zero, 10, 1), Location::NONE).unwrap();
        assert_eq!(live(&space, 0), (0, 0));
    }

    #[test]
    fn a_move_gives_way_to_what_the_host_wrote() {
        let (mut map, mut space) = start();
        let (old, host, cold) = (
            Location::new(0, 64, 100, false),
            Location::new(1, 64, 200, false),
            Location::new(2, 64, 100, false),
        );
        apply(&mut map, &mut space, &entry(Op::Data, 5, 100), old).unwrap();
        apply(&mut map, &mut space, &entry(Op::Data, 5, 200), host).unwrap();
        let late = Op::Move { from: old, origin_seq: 1 };
        apply(&mut map, &mut space, &entry(late, 5, 100), cold).unwrap();
        assert_eq!((map.get(5), live(&space, 2)), (Ok(host), (0, 0)));
        let timely = Op::Move { from: host, origin_seq: 1 };
        apply(&mut map, &mut space, &entry(timely, 5, 100), cold).unwrap();
        assert_eq!((map.get(5), live(&space, 1), live(&space, 2)), (Ok(cold), (0, 0), (100, 1)));
    }

    #[test]
    fn a_unit_moves_with_the_blocks_that_are_still_in_it() {
        let (mut map, mut space) = start();
        let unit = Location::new(0, 64, 1000, true);
        apply(&mut map, &mut space, &entry(Op::Unit, 8, 1000), unit).unwrap();
        let host = Location::new(1, 64, 500, false);
        apply(&mut map, &mut space, &entry(Op::Data, 9, 500), host).unwrap();
        let moved = Location::new(2, 64, 1000, true);
        let op = Op::MoveUnit { from: unit, origin_seq: 1 };
        apply(&mut map, &mut space, &entry(op, 8, 1000), moved).unwrap();
        assert_eq!((map.get(8), map.get(9)), (Ok(moved), Ok(host)));
        assert_eq!((live(&space, 0), live(&space, 2)), ((0, 0), (1000, 1)));
    }

    #[test]
    fn applying_twice_is_applying_once() {
        let (mut map, mut space) = start();
        let place = Location::new(0, 64, 100, false);
        apply(&mut map, &mut space, &entry(Op::Zero, 0, 600), Location::NONE).unwrap();
        apply(&mut map, &mut space, &entry(Op::Data, 5, 100), place).unwrap();
        assert_eq!((map.mapped_blocks(), live(&space, 0)), (1, (100, 1)));
    }
}
