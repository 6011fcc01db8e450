//! Host writes and discards: encode, check the room, take a place, update the map.

use std::ops::Range;
use std::sync::Arc;

use crate::codec::is_zero;
use crate::core::apply::apply;
use crate::core::group::{Group, Record, ZERO_BLOCKS_MAX};
use crate::core::log::Log;
use crate::core::map::{Map, Missing};
use crate::core::nodes::{NODE_ENTRIES, Nodes};
use crate::core::space::{Need, Space, Urgency, Weight};
use crate::format::{Location, Op, Stream, UNIT_BLOCKS};
use crate::options::Emulation;
use crate::reading::read::Reader;
use crate::rules::{Rule, holds};
use crate::shell::log::SharedLog;
use crate::shell::map::SharedMap;
use crate::shell::media::Media;
use crate::shell::parts::Shell;
use crate::shell::records::Records;
use crate::shell::worker::{Worker, Workers};
use crate::status::Counters;
use crate::upkeep::maintain::Upkeep;
use crate::writing::units::Neighbours;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// Writes and discards blocks for the host.
pub(crate) struct Writer {
    pub(super) media: Arc<Media>,
    pub(super) log: Arc<SharedLog>,
    records: Arc<Records>,
    pub(super) map: Arc<SharedMap>,
    workers: Arc<Workers>,
    pub(super) reader: Arc<Reader>,
    pub(super) upkeep: Arc<Upkeep>,
    emulation: Emulation,
}

impl Writer {
    pub(crate) fn new(shell: &Shell, reader: &Arc<Reader>, upkeep: &Arc<Upkeep>) -> Writer {
        Writer {
            media: Arc::clone(&shell.media),
            log: Arc::clone(&shell.log),
            records: Arc::clone(&shell.records),
            map: Arc::clone(&shell.map),
            workers: Arc::clone(&shell.workers),
            reader: Arc::clone(reader),
            upkeep: Arc::clone(upkeep),
            emulation: Emulation::default(),
        }
    }

    /// Makes the writer that of a device's model.
    pub(crate) fn set_emulation(&mut self, emulation: Emulation) {
        self.emulation = emulation;
    }

    pub(crate) fn emulation(&self) -> &Emulation {
        &self.emulation
    }

    /// Writes up to 64 blocks as one group.
    pub(crate) fn write_blocks(&self, first: u64, data: &[u8]) -> Result<()> {
        let written = self.write_group(first, data, None).map(drop);
        let written = match written {
            Err(DiskError::Full) if self.media.identity.units => {
                self.write_whole_units(first, data)
            }
            written => written,
        };
        let written = match written {
            // The neighbours cannot be read: the part alone may use the reserve for overwriting.
            Err(DiskError::Full) if self.media.identity.units => {
                self.write_group(first, data, Some(&Neighbours::default())).map(drop)
            }
            written => written,
        };
        written.inspect_err(|error| self.count_refusal(error))
    }

    /// Like [`Writer::write_blocks`], but does not count a refusal. Writes nothing and returns
    /// false if a block of `neighbours` no longer lies where it did.
    pub(crate) fn write_group(
        &self,
        first: u64,
        data: &[u8],
        neighbours: Option<&Neighbours>,
    ) -> Result<bool> {
        self.workers.with(|worker| {
            self.encode(first, data, worker);
            if !holds(Rule::GroupInOneChunk) && worker.group.records.len() > 1 {
                return self.append_in_two(worker);
            }
            // Zeroes alone free space, as a discard does.
            let stores = worker.group.payload_bytes() > 0;
            let urgency = if stores { Urgency::Ordinary } else { Urgency::MakesRoom };
            let is_written = self.append_host(worker, urgency, neighbours)?;
            if is_written {
                self.count_kinds(&worker.group);
            }
            Ok(is_written)
        })
    }

    /// Counts blocks that were stored raw, and zeroes, which only the map knows.
    fn count_kinds(&self, group: &Group) {
        let blocks_of = |is_kind: &dyn Fn(&Record) -> bool| {
            group.records.iter().filter(|record| is_kind(record)).map(Record::blocks).sum::<u64>()
        };
        let raw = blocks_of(&|record| record.has_payload() && record.codec_id == 0);
        let zeroes = blocks_of(&|record| !record.has_payload());
        Counters::add(&self.media.counters.write_bytes_raw, raw * BLOCK_BYTES);
        Counters::add(&self.media.counters.write_bytes_zero, zeroes * BLOCK_BYTES);
    }

    fn count_refusal(&self, error: &DiskError) {
        if matches!(error, DiskError::Full) {
            Counters::add(&self.media.counters.refused_writes, 1);
        }
    }

    /// Discards blocks, in runs that fit one entry and end with a leaf of the map.
    pub(crate) fn discard_blocks(&self, first: u64, blocks: u64) -> Result<()> {
        let last = first + blocks;
        let mut next = first;
        while next < last {
            let run = (next + u64::from(ZERO_BLOCKS_MAX)) / NODE_ENTRIES * NODE_ENTRIES;
            let run = next..run.min(last);
            next = run.end;
            if !self.map.read()?.is_hole(run.clone()) {
                self.discard_run(run).inspect_err(|error| self.count_refusal(error))?;
            }
        }
        Ok(())
    }

    /// Discards one run. Parts of lost leaves stay lost if there is no room for a leaf that tells
    /// them from the rest: a full drive gets room by discards, so they are not refused for that.
    fn discard_run(&self, run: Range<u64>) -> Result<()> {
        match self.append_discard(run.clone()) {
            Err(DiskError::Full) => {
                let rest = self.map.read()?.without_lost_ends(run.clone());
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
        self.upkeep.keep_memory()?;
        self.map.load_to_change(run.clone())?;
        if !self.map.read()?.holds_any(run.clone()) {
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
        let dictionary = self.records.dictionaries.in_use();
        let dictionary = dictionary.as_deref();
        let block_bytes = BLOCK_BYTES as usize;
        let mut rest = data;
        let mut block = first;
        while !rest.is_empty() {
            let unit_bytes = block_bytes * UNIT_BLOCKS as usize;
            let is_unit = self.media.identity.units
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

    /// Whether data are zeroes that need no record.
    fn leaves_out(&self, data: &[u8]) -> bool {
        !self.emulation.stores_zeroes && is_zero(data)
    }

    /// Appends half of a group to one chunk and half to the next. Breaks [`Rule::GroupInOneChunk`];
    /// only tests reach it.
    fn append_in_two(&self, worker: &mut Worker) -> Result<bool> {
        let behind = worker.group.records.split_off(worker.group.records.len() / 2);
        self.append_host(worker, Urgency::Ordinary, None)?;
        self.log.lock()?.seal(Stream::Host, &self.media.counters);
        self.log.write_sealed()?;
        worker.group.records = behind;
        self.append_host(worker, Urgency::Ordinary, None)
    }

    /// Puts the worker's group into the log and into the map, as one. Does nothing and returns
    /// false if a neighbour no longer lies where it did.
    fn append_host(
        &self,
        worker: &mut Worker,
        urgency: Urgency,
        neighbours: Option<&Neighbours>,
    ) -> Result<bool> {
        let Worker { group, places, .. } = worker;
        let (Some(front), Some(back)) = (group.records.first(), group.records.last()) else {
            return Ok(true);
        };
        let blocks = front.key..back.key + back.blocks();
        self.upkeep.keep_memory()?;
        let mut may_drop_leaves = true;
        loop {
            self.upkeep.begin_incarnation()?;
            match self.try_append_host(group, blocks.clone(), places, urgency, neighbours)? {
                Outcome::Done { is_sealed: false } => return Ok(true),
                Outcome::Done { is_sealed: true } => return self.log.keep_pace().map(|()| true),
                Outcome::Overtaken => return Ok(false),
                Outcome::Missing => {
                    // Before the nodes are loaded, so that they are still there when they are
                    // needed.
                    self.upkeep.keep_memory()?;
                    self.map.load_to_change(blocks.clone())?;
                }
                Outcome::Closed => {}
                Outcome::Refused { empty_leaves } if empty_leaves > 0 && may_drop_leaves => {
                    may_drop_leaves = false;
                    self.upkeep.drop_empty_leaves()?;
                }
                Outcome::Refused { .. } => return Err(DiskError::Full),
                Outcome::NoRoom(more) => {
                    Counters::add(&self.media.counters.gc_stalls, 1);
                    let is_met = |space: &Space| space.is_ready_for(more, urgency);
                    let made = self
                        .upkeep
                        .make_space(&is_met)
                        .inspect_err(|error| self.note_refusal(error));
                    made.or_else(|error| self.tell_whether_media_failed(error))?;
                }
            }
        }
    }

    /// Tells a bad place from media that are gone, after making room has failed: a flush stops the
    /// drive in the latter case.
    fn tell_whether_media_failed(&self, error: DiskError) -> Result<()> {
        if matches!(error, DiskError::Io(_)) {
            self.media.sync()?;
        }
        Err(error)
    }

    /// Remembers a write that was refused because no segment could be gained.
    fn note_refusal(&self, error: &DiskError) {
        if matches!(error, DiskError::Full) {
            let mut log = self.log.lock_unchecked();
            let map_bytes = log.space.map_bytes(self.map.read_unchecked().nodes());
            log.space.refuse_as_it_is(map_bytes);
        }
    }

    fn try_append_host(
        &self,
        group: &Group,
        blocks: Range<u64>,
        places: &mut Vec<Location>,
        urgency: Urgency,
        neighbours: Option<&Neighbours>,
    ) -> Result<Outcome> {
        let mut log = self.log.lock()?;
        if !self.log.has_begun() {
            return Ok(Outcome::Closed);
        }
        let nodes = {
            let map = self.map.read()?;
            if map.missing(blocks.clone()).is_some() {
                return Ok(Outcome::Missing);
            }
            if neighbours.is_some_and(|neighbours| !neighbours.are_unmoved(&map, &log.space)) {
                return Ok(Outcome::Overtaken);
            }
            log.space.note_nodes(map.nodes());
            let grown = grown_by(group);
            let nodes = match grown.records {
                0 => map.nodes_with_discarded(blocks.clone()),
                _ => map.nodes_with(blocks.clone()),
            };
            let spares = neighbours.is_none() && self.leaves_parts(&blocks);
            if !admits(&mut log.space, &map, grown, nodes, blocks.clone(), spares) {
                return Ok(Outcome::Refused { empty_leaves: map.empty_leaves() });
            }
            nodes
        };
        let more = nodes.without(log.space.nodes());
        if !log.space.fits_nodes(nodes) || (urgency == Urgency::Ordinary && !log.space.fits()) {
            return Ok(Outcome::NoRoom(more));
        }
        if self.media.identity.units && self.overwrites_open_chunk(&log, group)? {
            log.seal(Stream::Host, &self.media.counters);
        }
        let (payload, words) = (group.payload_bytes(), group.words());
        let (chunks, counters) = (&self.log.chunks, &self.media.counters);
        if log.make_room(Stream::Host, payload, words, urgency, chunks, counters).is_err() {
            return Ok(Outcome::NoRoom(more));
        }
        log.place(Stream::Host, group, |_| true, places);
        let mut map = self.map.write()?;
        apply_all(&mut map, &mut log.space, group, places).map_err(|_| {
            self.media.health.stop("the map lost a node while it was locked".into())
        })?;
        log.space.note_nodes(map.nodes());
        self.log.check_room(&log.space);
        Ok(Outcome::Done { is_sealed: log.has_jobs() })
    }

    /// Whether a write of these blocks leaves parts of units where they were, which a write of the
    /// whole units would not.
    fn leaves_parts(&self, blocks: &Range<u64>) -> bool {
        let is_end = blocks.end.is_multiple_of(UNIT_BLOCKS) || blocks.end == self.map.blocks();
        self.media.identity.units && !(blocks.start.is_multiple_of(UNIT_BLOCKS) && is_end)
    }
}

/// Whether there is room for a group with these records; remembers a refusal.
///
/// A write that `spares` the reserve for overwriting is repeated with whole units if it is refused.
/// Otherwise parts of units that stay where they were would fill the reserve, and overwriting would
/// end.
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
    // The weight of dying records is only computed if it decides.
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

impl Writer {
    /// Whether a block of the group was last written to the chunk that is still open. A rebuild
    /// could not tell which of the two is newer once the older one, in a unit, has moved.
    fn overwrites_open_chunk(&self, log: &Log, group: &Group) -> Result<bool> {
        let (segment, offset) = log.open_place(Stream::Host);
        let map = self.map.read()?;
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
    /// `is_sealed`: chunks are queued for writing.
    Done { is_sealed: bool },
    /// A node must be loaded first.
    Missing,
    /// The drive was closed meanwhile: the log must begin again first.
    Closed,
    /// A neighbour moved or was written.
    Overtaken,
    /// There is no room. Empty leaves may take some.
    Refused { empty_leaves: u64 },
    /// Segments must be gained first, for this many more nodes.
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

/// The need of a write to `blocks`, of which `most` is the upper bound.
fn need_of(most: Need, map: &Map, blocks: Range<u64>) -> std::result::Result<Need, Missing> {
    let shrunk = shrunk_by(map, blocks.clone())?;
    let fresh = blocks.into_iter().any(|block| map.get(block) == Ok(Location::NONE));
    Ok(Need { shrunk, fresh, ..most })
}

/// The records that surely die when `blocks` are overwritten.
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

/// Whether a record dies when `blocks` are overwritten and `block` is the first of them in it.
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
