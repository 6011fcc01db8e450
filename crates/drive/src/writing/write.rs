//! Host writes and discards: encode, ask whether there is room, take a place, tell the map.

use std::ops::Range;

use crate::codec::is_zero;
use crate::core::apply::apply;
use crate::core::group::{Group, Record, ZERO_BLOCKS_MAX};
use crate::core::log::Log;
use crate::core::map::{Map, Missing};
use crate::core::nodes::{NODE_ENTRIES, Nodes};
use crate::core::space::{Need, Space, Urgency, Weight};
use crate::format::{Location, Op, Stream, UNIT_BLOCKS};
use crate::rules::{Rule, holds};
use crate::shell::drive::Drive;
use crate::shell::worker::Worker;
use crate::status::Counters;
use crate::writing::units::Beside;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

impl Drive {
    /// Writes up to 64 blocks as one group.
    pub(crate) fn write_blocks(&self, first: u64, data: &[u8]) -> Result<()> {
        let written = self.write_group(first, data, None).map(drop);
        let written = match written {
            Err(DiskError::Full) if self.identity.units => self.write_whole_units(first, data),
            written => written,
        };
        let written = match written {
            // What lies beside cannot be read: the part alone may have what is kept for overwriting.
            Err(DiskError::Full) if self.identity.units => {
                self.write_group(first, data, Some(&Beside::default())).map(drop)
            }
            written => written,
        };
        written.inspect_err(|error| self.count_refusal(error))
    }

    /// The same without counting a refusal; `beside`, blocks that must still lie where they did, or nothing is done and
    /// false given back.
    pub(crate) fn write_group(
        &self,
        first: u64,
        data: &[u8],
        beside: Option<&Beside>,
    ) -> Result<bool> {
        self.workers.with(|worker| {
            self.encode(first, data, worker);
            if !holds(Rule::GroupInOneChunk) && worker.group.records.len() > 1 {
                return self.append_in_two(worker);
            }
            // Zeroes alone are as good as a discard.
            let stores = worker.group.payload_bytes() > 0;
            let urgency = if stores { Urgency::Ordinary } else { Urgency::MakesRoom };
            let is_written = self.append_host(worker, urgency, beside)?;
            if is_written {
                self.count_kinds(&worker.group);
            }
            Ok(is_written)
        })
    }

    /// Counts what was written as it came, and what the map alone knows of.
    fn count_kinds(&self, group: &Group) {
        let blocks_of = |is_kind: &dyn Fn(&Record) -> bool| {
            group.records.iter().filter(|record| is_kind(record)).map(Record::blocks).sum::<u64>()
        };
        let raw = blocks_of(&|record| record.has_payload() && record.codec_id == 0);
        let zeroes = blocks_of(&|record| !record.has_payload());
        Counters::add(&self.counters.write_bytes_raw, raw * BLOCK_BYTES);
        Counters::add(&self.counters.write_bytes_zero, zeroes * BLOCK_BYTES);
    }

    fn count_refusal(&self, error: &DiskError) {
        if matches!(error, DiskError::Full) {
            Counters::add(&self.counters.refused_writes, 1);
        }
    }

    /// Discards blocks, in runs that one entry can name and that end with a leaf of the map.
    pub(crate) fn discard_blocks(&self, first: u64, blocks: u64) -> Result<()> {
        let last = first + blocks;
        let mut next = first;
        while next < last {
            let run = (next + u64::from(ZERO_BLOCKS_MAX)) / NODE_ENTRIES * NODE_ENTRIES;
            let run = next..run.min(last);
            next = run.end;
            if !self.map()?.is_hole(run.clone()) {
                self.discard_run(run).inspect_err(|error| self.count_refusal(error))?;
            }
        }
        Ok(())
    }

    /// The same for one run. Parts of leaves that were lost stay so where there is no room for what tells them from the rest:
    /// discards are how a full drive gets room, and are not refused for that.
    fn discard_run(&self, run: Range<u64>) -> Result<()> {
        match self.append_discard(run.clone()) {
            Err(DiskError::Full) => {
                let rest = self.map()?.without_lost_ends(run.clone());
                match rest == run {
                    true => Err(DiskError::Full),
                    false => self.append_discard(rest),
                }
            }
            done => done,
        }
    }

    fn append_discard(&self, run: Range<u64>) -> Result<()> {
        if run.is_empty() {
            return Ok(());
        }
        self.keep_memory()?;
        self.load_nodes_to_change(run.clone())?;
        if !self.map()?.holds_any(run.clone()) {
            return Ok(());
        }
        self.workers.with(|worker| {
            worker.group.clear();
            worker.group.push_zeroes(run.start, (run.end - run.start) as u32);
            self.append_host(worker, Urgency::MakesRoom, None).map(drop)
        })
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
            } else {
                group.push_with(dictionary, op, block, |out| coder.encode(bytes, dictionary, out));
            }
            rest = behind;
            block += length as u64 / BLOCK_BYTES;
        }
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

    /// What must never be done: half a group, and the other half in another chunk.
    fn append_in_two(&self, worker: &mut Worker) -> Result<bool> {
        let behind = worker.group.records.split_off(worker.group.records.len() / 2);
        self.append_host(worker, Urgency::Ordinary, None)?;
        self.log()?.seal(Stream::Host, &self.counters);
        self.write_sealed()?;
        worker.group.records = behind;
        self.append_host(worker, Urgency::Ordinary, None)
    }

    /// Puts the worker's group into the log and into the map, as one; false, and nothing done, where the blocks beside it lie
    /// elsewhere by now.
    fn append_host(
        &self,
        worker: &mut Worker,
        urgency: Urgency,
        beside: Option<&Beside>,
    ) -> Result<bool> {
        let Worker { group, places, .. } = worker;
        let (Some(front), Some(back)) = (group.records.first(), group.records.last()) else {
            return Ok(true);
        };
        let blocks = front.key..back.key + back.blocks();
        self.keep_memory()?;
        let mut may_drop_leaves = true;
        loop {
            self.begin_incarnation()?;
            match self.try_append_host(group, blocks.clone(), places, urgency, beside)? {
                Outcome::Done { is_sealed: false } => return Ok(true),
                Outcome::Done { is_sealed: true } => return self.keep_pace().map(|()| true),
                Outcome::Overtaken => return Ok(false),
                Outcome::Missing => {
                    // Before, so that what is loaded now is still there when it is asked for.
                    self.keep_memory()?;
                    self.load_nodes_to_change(blocks.clone())?;
                }
                Outcome::Closed => {}
                Outcome::Refused { empty_leaves } if empty_leaves > 0 && may_drop_leaves => {
                    may_drop_leaves = false;
                    self.drop_empty_leaves()?;
                }
                Outcome::Refused { .. } => return Err(DiskError::Full),
                Outcome::NoRoom(more) => {
                    Counters::add(&self.counters.gc_stalls, 1);
                    let is_met = |space: &Space| space.is_ready_for(more, urgency);
                    let made =
                        self.make_space(&is_met).inspect_err(|error| self.note_refusal(error));
                    made.or_else(|error| self.tell_whether_media_failed(error))?;
                }
            }
        }
    }

    /// Makes the checkpoint that drops leaves which hold nothing: as long as they are there, they take room.
    fn drop_empty_leaves(&self) -> Result<()> {
        let mut maintenance = self.maintenance();
        let is_due = self.has_begun() && self.map()?.empty_leaves() > 0;
        if is_due { self.checkpoint(&mut maintenance) } else { Ok(()) }
    }

    /// What could not be read while room was made may be one place or all of the media; a flush tells which, and stops
    /// the drive in the latter case.
    fn tell_whether_media_failed(&self, error: DiskError) -> Result<()> {
        if matches!(error, DiskError::Io(_)) {
            self.sync_media()?;
        }
        Err(error)
    }

    /// Remembers a write that was refused because no segment could be gained.
    fn note_refusal(&self, error: &DiskError) {
        if matches!(error, DiskError::Full) {
            let mut log = self.log_at_any_time();
            let map_bytes = log.space.map_bytes(self.map_at_any_time().nodes());
            log.space.refuse_as_it_is(map_bytes);
        }
    }

    fn try_append_host(
        &self,
        group: &Group,
        blocks: Range<u64>,
        places: &mut Vec<Location>,
        urgency: Urgency,
        beside: Option<&Beside>,
    ) -> Result<Outcome> {
        let mut log = self.log()?;
        if !self.has_begun() {
            return Ok(Outcome::Closed);
        }
        let nodes = {
            let map = self.map()?;
            if map.missing(blocks.clone()).is_some() {
                return Ok(Outcome::Missing);
            }
            if beside.is_some_and(|beside| !beside.is_unmoved(&map, &log.space)) {
                return Ok(Outcome::Overtaken);
            }
            log.space.note_nodes(map.nodes());
            let grown = grown_by(group);
            let nodes = match grown.records {
                0 => map.nodes_with_discarded(blocks.clone()),
                _ => map.nodes_with(blocks.clone()),
            };
            let spares = beside.is_none() && self.leaves_parts(&blocks);
            if !admits(&mut log.space, &map, grown, nodes, blocks.clone(), spares) {
                return Ok(Outcome::Refused { empty_leaves: map.empty_leaves() });
            }
            nodes
        };
        let more = nodes.beside(log.space.nodes());
        if !log.space.fits_nodes(nodes) || (urgency == Urgency::Ordinary && !log.space.fits()) {
            return Ok(Outcome::NoRoom(more));
        }
        if self.identity.units && self.overwrites_open_chunk(&log, group)? {
            log.seal(Stream::Host, &self.counters);
        }
        let (payload, words) = (group.payload_bytes(), group.words());
        let (chunks, counters) = (&self.chunks, &self.counters);
        if log.make_room(Stream::Host, payload, words, urgency, chunks, counters).is_err() {
            return Ok(Outcome::NoRoom(more));
        }
        log.place(Stream::Host, group, |_| true, places);
        let mut map = self.map_mut()?;
        apply_all(&mut map, &mut log.space, group, places)
            .map_err(|_| self.stop("the map lost a node while it was locked".into()))?;
        log.space.note_nodes(map.nodes());
        self.check_room(&log.space);
        Ok(Outcome::Done { is_sealed: log.has_jobs() })
    }

    /// Whether a write of these blocks leaves parts of units where they were, which writing all of those would not.
    fn leaves_parts(&self, blocks: &Range<u64>) -> bool {
        let is_end = blocks.end.is_multiple_of(UNIT_BLOCKS) || blocks.end == self.blocks();
        self.identity.units && !(blocks.start.is_multiple_of(UNIT_BLOCKS) && is_end)
    }
}

/// Whether there is room for a group that stores so much; remembers a refusal.
///
/// One that `spares` what is kept for overwriting can be had with less, which is tried then: parts of units that stay where they were
/// would fill it, and overwriting end.
fn admits(
    space: &mut Space,
    map: &Map,
    grown: Weight,
    nodes: Nodes,
    blocks: Range<u64>,
    spares: bool,
) -> bool {
    let map_bytes = space.map_bytes(map.nodes());
    space.forget_refusals_with_room(map_bytes);
    // What dies is counted only where it decides.
    let map_bytes_more = space.map_bytes(nodes) - map_bytes;
    let most = Need { grown, map_bytes_more, shrunk: Weight::default(), fresh: true };
    if space.admits(most, map_bytes) {
        return true;
    }
    let need = need_of(most, map, blocks).unwrap_or(most);
    let need = Need { fresh: need.fresh || spares, ..need };
    let is_admitted = space.admits(need, map_bytes);
    if !is_admitted && !spares {
        space.refuse(need);
    }
    is_admitted
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
    /// With whether chunks wait to be written.
    Done { is_sealed: bool },
    /// A node must be loaded first.
    Missing,
    /// The drive was closed meanwhile: the log must begin again first.
    Closed,
    /// Blocks beside it moved or were written.
    Overtaken,
    /// There is no room for it; leaves that hold nothing may take some.
    Refused { empty_leaves: u64 },
    /// Room must be made first, for so many nodes more.
    NoRoom(Nodes),
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
