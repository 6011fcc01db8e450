//! Host writes and discards: encode, ask whether there is room, take a place, tell the map.

use std::ops::Range;

use crate::core::apply::apply;
use crate::codec::is_zero;
use assay_disk::{BLOCK_BYTES, DiskError, Result};
use crate::shell::drive::Drive;
use crate::core::group::{Group, Record, ZERO_BLOCKS_MAX};
use crate::format::{Location, Op, Stream, UNIT_BLOCKS};
use crate::core::log::Log;
use crate::core::map::{Map, Missing};
use crate::core::space::{Need, Space, Weight};
use crate::inspect::status::Counters;
use crate::shell::worker::Worker;

impl Drive {
    /// Writes up to 64 blocks as one group.
    pub(crate) fn write_blocks(&self, first: u64, data: &[u8]) -> Result<()> {
        self.workers.with(|worker| {
            self.encode(first, data, worker);
            self.append_host(worker)
        })
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
                && !self.leaves_out(&rest[..unit_bytes]);
            let (op, length) =
                if is_unit { (Op::Unit, unit_bytes) } else { (Op::Data, block_bytes) };
            let (bytes, behind) = rest.split_at(length);
            if self.leaves_out(bytes) {
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
        if let Some(observer) = &self.emulation.observer {
            for record in &group.records {
                let payload = if record.has_payload() { record.payload(group).len() } else { 0 };
                observer.stored(record.blocks(), payload as u64);
            }
        }
    }

    /// Whether data are zeroes, of which the map alone need know.
    fn leaves_out(&self, data: &[u8]) -> bool {
        !self.emulation.stores_zeroes && is_zero(data)
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
                    let made = self.make_space().inspect_err(|error| self.note_refusal(error));
                    made.or_else(|error| self.tell_whether_media_failed(error))?;
                }
            }
        }
    }

    /// What could not be read while room was made may be one place or all of the media; a flush tells which, and stops
    /// the drive in the latter case.
    fn tell_whether_media_failed(&self, error: DiskError) -> Result<()> {
        if matches!(error, DiskError::Io(_)) {
            self.sync_media()?;
        }
        Err(error)
    }

    /// Counts a write that was refused because no segment could be gained.
    fn note_refusal(&self, error: &DiskError) {
        if matches!(error, DiskError::Full) {
            Counters::add(&self.counters.refused_writes, 1);
            let mut log = self.log_at_any_time();
            let map_bytes = self.map_at_any_time().media_bytes();
            log.space.refuse_as_it_is(map_bytes);
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
            let map_bytes = map.media_bytes();
            log.space.reserve_for_checkpoint(map.unstored_leaves());
            log.space.forget_refusals_with_room(map_bytes);
            // What dies is counted only where it decides.
            let grown = grown_by(group);
            let map_bytes_more =
                if grown.records > 0 { map.media_bytes_more(blocks.clone()) } else { 0 };
            let most = Need { grown, map_bytes_more, shrunk: Weight::default(), fresh: true };
            if !log.space.admits(most, map_bytes) {
                let need = need_of(most, &map, blocks).unwrap_or(most);
                if !log.space.admits(need, map_bytes) {
                    Counters::add(&self.counters.refused_writes, 1);
                    log.space.refuse(need);
                    return Err(DiskError::Full);
                }
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

/// What a write to `blocks` asks for that, at most, asks for `most`.
fn need_of(most: Need, map: &Map, blocks: Range<u64>) -> std::result::Result<Need, Missing> {
    let shrunk = shrunk_by(map, blocks.clone())?;
    let fresh = blocks.into_iter().any(|block| map.get(block) == Ok(Location::NONE));
    Ok(Need { shrunk, fresh, ..most })
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
