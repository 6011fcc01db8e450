//! Host writes and discards: encode, ask whether there is room, take a place, tell the map.

use std::ops::Range;

use crate::apply::apply;
use crate::codec::is_zero;
use crate::disk::{BLOCK_BYTES, DiskError, Result};
use crate::engine::Drive;
use crate::group::{Group, Record, ZERO_BLOCKS_MAX};
use crate::layout::{Location, Op, Stream, UNIT_BLOCKS};
use crate::log::Log;
use crate::map::{Map, Missing};
use crate::space::{Space, Weight};
use crate::status::Counters;
use crate::worker::Worker;

impl Drive {
    /// Writes up to 64 blocks as one group.
    pub(crate) fn write_blocks(&self, first: u64, data: &[u8]) -> Result<()> {
        if self.options.tear {
            return self.write_torn(first, data);
        }
        self.workers.with(|worker| {
            self.encode(first, data, worker);
            self.append_host(worker)
        })
    }

    /// Each block by itself, and every second one in a chunk of its own.
    fn write_torn(&self, first: u64, data: &[u8]) -> Result<()> {
        for (block, bytes) in (first..).zip(data.chunks(BLOCK_BYTES as usize)) {
            self.workers.with(|worker| {
                self.encode(block, bytes, worker);
                self.append_host(worker)
            })?;
            if block % 2 == 1 {
                self.log()?.seal(Stream::Host, &self.counters);
                self.write_sealed()?;
            }
        }
        Ok(())
    }

    /// Discards blocks, in runs that one entry can name.
    pub(crate) fn discard_blocks(&self, first: u64, blocks: u64) -> Result<()> {
        let run = u64::from(ZERO_BLOCKS_MAX);
        for start in (first..first + blocks).step_by(run as usize) {
            let end = (start + run).min(first + blocks);
            if self.map()?.is_hole(start..end) {
                continue;
            }
            self.workers.with(|worker| {
                worker.group.clear();
                worker.group.push_zeroes(start, (end - start) as u32);
                self.append_host(worker)
            })?;
        }
        Ok(())
    }

    fn encode(&self, first: u64, data: &[u8], worker: &mut Worker) {
        let Worker { coder, group, .. } = worker;
        group.clear();
        let dictionary = self.dictionary_in_use();
        let dictionary = dictionary.as_deref();
        let block_bytes = BLOCK_BYTES as usize;
        let mut rest = data;
        let mut block = first;
        while !rest.is_empty() {
            let unit_bytes = block_bytes * UNIT_BLOCKS as usize;
            let is_unit = self.identity.units
                && block.is_multiple_of(UNIT_BLOCKS)
                && rest.len() >= unit_bytes
                && !is_zero(&rest[..unit_bytes]);
            let (op, length) =
                if is_unit { (Op::Unit, unit_bytes) } else { (Op::Data, block_bytes) };
            let (bytes, behind) = rest.split_at(length);
            if is_zero(bytes) {
                group.push_zeroes(block, 1);
                Counters::add(&self.counters.write_bytes_zero, length as u64);
            } else {
                group.push(op, block, |out| coder.encode(bytes, dictionary, out));
            }
            rest = behind;
            block += length as u64 / BLOCK_BYTES;
        }
        let raw =
            group.records.iter().filter(|record| record.has_payload() && record.codec_id == 0);
        let raw_blocks: u64 = raw.map(Record::blocks).sum();
        Counters::add(&self.counters.write_bytes_raw, raw_blocks * BLOCK_BYTES);
    }

    /// Puts the worker's group into the log and into the map, as one.
    fn append_host(&self, worker: &mut Worker) -> Result<()> {
        let Worker { group, places, .. } = worker;
        let (Some(front), Some(back)) = (group.records.first(), group.records.last()) else {
            return Ok(());
        };
        let blocks = front.key..back.key + back.blocks();
        loop {
            self.begin_incarnation()?;
            self.load_nodes(blocks.clone())?;
            self.keep_pace()?;
            match self.try_append_host(group, blocks.clone(), places)? {
                Outcome::Done => return self.write_sealed(),
                Outcome::Missing | Outcome::Closed => {}
                Outcome::NoSegment => {
                    Counters::add(&self.counters.collection_stalls, 1);
                    self.make_space()?;
                }
            }
        }
    }

    fn try_append_host(
        &self,
        group: &Group,
        blocks: Range<u64>,
        places: &mut Vec<Location>,
    ) -> Result<Outcome> {
        let mut log = self.log()?;
        if !self.has_begun() {
            return Ok(Outcome::Closed);
        }
        {
            let map = self.map()?;
            if map.missing(blocks.clone()).is_some() {
                return Ok(Outcome::Missing);
            }
            log.space.reserve_for_checkpoint(map.dirty_leaf_count());
            let grown = grown_by(group);
            let more = if grown.records > 0 { map.media_bytes_more(blocks.clone()) } else { 0 };
            let map_bytes = map.media_bytes() + more;
            if !log.space.admits(grown, Weight::default(), map_bytes, true)
                && !shrunk_by(&map, blocks.clone()).is_ok_and(|shrunk| {
                    let fresh =
                        blocks.into_iter().any(|block| map.get(block) == Ok(Location::NONE));
                    log.space.admits(grown, shrunk, map_bytes, fresh)
                })
            {
                Counters::add(&self.counters.refused_writes, 1);
                return Err(DiskError::Full);
            }
        }
        if self.identity.units && self.overwrites_open_chunk(&log, group)? {
            log.seal(Stream::Host, &self.counters);
        }
        let (payload, words) = (group.payload_bytes(), group.words_at_most());
        if log.make_room(Stream::Host, payload, words, &self.chunks, &self.counters).is_err() {
            return Ok(Outcome::NoSegment);
        }
        log.place(Stream::Host, group, |_| true, places);
        let mut map = self.map_mut()?;
        apply_all(&mut map, &mut log.space, group, places)
            .map_err(|_| self.stop("the map lost a node while it was locked".into()))?;
        Ok(Outcome::Done)
    }
}

impl Drive {
    /// Whether a block of the group was last written to the chunk that is still open. A rebuild could not tell which
    /// of the two is newer once the older, in a unit, has moved.
    fn overwrites_open_chunk(&self, log: &Log, group: &Group) -> Result<bool> {
        let (segment, offset) = log.open_place(Stream::Host);
        let map = self.map()?;
        let blocks =
            group.records.iter().flat_map(|record| record.key..record.key + record.blocks());
        Ok(blocks.into_iter().any(|block| {
            map.get(block).is_ok_and(|place| {
                !place.is_none() && place.segment() == segment && place.offset() >= offset
            })
        }))
    }
}

enum Outcome {
    Done,
    /// A node must be loaded first.
    Missing,
    /// The drive was closed meanwhile: the log must begin again first.
    Closed,
    NoSegment,
}

/// Applies a group's records, which lie at `places`.
pub(crate) fn apply_all(
    map: &mut Map,
    space: &mut Space,
    group: &Group,
    places: &[Location],
) -> std::result::Result<(), Missing> {
    for (record, place) in group.records.iter().zip(places) {
        if !(place.is_none() && record.has_payload()) {
            apply(map, space, &record.entry(false), *place)?;
        }
    }
    Ok(())
}

fn grown_by(group: &Group) -> Weight {
    let stored = group.records.iter().filter(|record| record.has_payload());
    stored.fold(Weight::default(), |sum, record| Weight {
        bytes: sum.bytes + u64::from(record.length),
        records: sum.records + 1,
    })
}

/// What surely dies when `blocks` are overwritten.
fn shrunk_by(map: &Map, blocks: Range<u64>) -> std::result::Result<Weight, Missing> {
    let mut weight = Weight::default();
    for block in blocks.clone() {
        let former = map.get(block)?;
        if !former.is_none() && dies_with(map, block, former, &blocks)? {
            weight.add(former);
        }
    }
    Ok(weight)
}

/// Whether a record dies when `blocks` are overwritten and `block` is the first of them that is in it.
fn dies_with(
    map: &Map,
    block: u64,
    former: Location,
    blocks: &Range<u64>,
) -> std::result::Result<bool, Missing> {
    if !former.is_unit() {
        return Ok(true);
    }
    let first = block - former.index().min(block);
    for index in 0..UNIT_BLOCKS {
        let other = first + index;
        let survives_or_counted = !blocks.contains(&other) || other < block;
        if survives_or_counted && map.get(other)? == former.at_index(index) {
            return Ok(false);
        }
    }
    Ok(true)
}
