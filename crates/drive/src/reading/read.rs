//! Host reads: one look-up in the map for the whole range, then one read of media for all records
//! that lie close together.

use std::ops::Range;
use std::sync::Arc;

use crate::codec::Coder;
use crate::core::map::Missing;
use crate::format::{Location, Op, UNIT_BLOCKS};
use crate::reading::readahead::ReadAhead;
use crate::rules::{Rule, holds};
use crate::shell::log::SharedLog;
use crate::shell::map::SharedMap;
use crate::shell::media::{Media, chain};
use crate::shell::parts::Shell;
use crate::shell::pins::Pins;
use crate::shell::records::Records;
use crate::shell::segments::Segments;
use crate::shell::span::{Reach, part_of, span, together};
use crate::shell::worker::{Worker, Workers};
use assay_disk::BlockBuffer;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// Limits of one read of media for the host.
const REACH: Reach = Reach { gap_bytes: 8 << 10, bytes_max: 512 << 10 };

/// Reads blocks for the host.
pub(crate) struct Reader {
    media: Arc<Media>,
    log: Arc<SharedLog>,
    pins: Arc<Pins>,
    segments: Arc<Segments>,
    records: Arc<Records>,
    map: Arc<SharedMap>,
    workers: Arc<Workers>,
    read_ahead: ReadAhead,
}

impl Reader {
    pub(crate) fn new(shell: &Shell, read_ahead_bytes: u32) -> Reader {
        Reader {
            media: Arc::clone(&shell.media),
            log: Arc::clone(&shell.log),
            pins: Arc::clone(&shell.pins),
            segments: Arc::clone(&shell.segments),
            records: Arc::clone(&shell.records),
            map: Arc::clone(&shell.map),
            workers: Arc::clone(&shell.workers),
            read_ahead: ReadAhead::new(read_ahead_bytes),
        }
    }

    /// Reads up to 64 blocks as they were at one moment.
    pub(crate) fn read_blocks(&self, first: u64, data: &mut [u8]) -> Result<()> {
        let blocks = first..first + data.len() as u64 / BLOCK_BYTES;
        self.workers.with(|worker| {
            self.locate(blocks, worker)?;
            // The places live in a guard, because a panic must not leave segments pinned.
            let pins = Pinned { pins: &self.pins, places: std::mem::take(&mut worker.pinned) };
            let result = self.fetch_all(first, data, worker);
            worker.pinned = pins.release();
            result
        })
    }

    /// Whether these blocks can be read.
    pub(crate) fn reads_well(&self, blocks: Range<u64>) -> Result<bool> {
        let mut data = vec![0; ((blocks.end - blocks.start) * BLOCK_BYTES) as usize];
        match self.read_blocks(blocks.start, &mut data) {
            Ok(()) => Ok(true),
            Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Looks up the places of all blocks at one moment and pins their segments.
    fn locate(&self, blocks: Range<u64>, worker: &mut Worker) -> Result<()> {
        let mut has_loaded = false;
        loop {
            let missing = {
                let map = self.map.read()?;
                worker.places.clear();
                let mut missing = map.missing(blocks.clone());
                if missing.is_none() {
                    for block in blocks.clone() {
                        match map.get(block) {
                            Ok(place) => worker.places.push(place),
                            Err(node) => missing = Some(node),
                        }
                    }
                }
                if missing.is_none() {
                    self.pin_all(worker);
                    return Ok(());
                }
                missing
            };
            if let Some(Missing(node)) = missing {
                // The nodes of one command stay together: those of earlier commands are dropped
                // first.
                if !has_loaded {
                    self.map.evict()?;
                    has_loaded = true;
                }
                self.map.load_node(node)?;
            }
        }
    }

    /// Pins each segment in which the worker's places lie, once.
    fn pin_all(&self, worker: &mut Worker) {
        worker.pinned.clear();
        for place in worker.places.iter().filter(|place| place.is_record()) {
            if worker.pinned.last().is_none_or(|last| last.segment() != place.segment())
                && holds(Rule::PinBeforeRead)
            {
                self.pins.pin(*place);
                worker.pinned.push(*place);
            }
        }
    }

    fn fetch_all(&self, first: u64, data: &mut [u8], worker: &mut Worker) -> Result<()> {
        let block_bytes = BLOCK_BYTES as usize;
        worker.fetch.clear();
        for index in 0..worker.places.len() {
            let place = worker.places[index];
            let out = &mut data[index * block_bytes..][..block_bytes];
            let block = first + index as u64;
            if place.is_none() {
                out.fill(0);
            } else if place == Location::LOST {
                return Err(self
                    .records
                    .damaged(block * BLOCK_BYTES, "it is lost until it is written or discarded"));
            } else if !self.copy_from_memory(place, block, out, worker)? {
                worker.fetch.push((place, block));
            }
        }
        worker
            .fetch
            .sort_unstable_by_key(|(place, block)| (place.segment(), place.offset(), *block));
        let mut next = 0;
        while next < worker.fetch.len() {
            let end = next + together(worker.fetch[next..].iter().map(|(place, _)| *place), REACH);
            self.fetch_run(next..end, first, data, worker)?;
            next = end;
        }
        Ok(())
    }

    /// Decodes a block from a chunk in memory; returns false if the chunk is not there.
    fn copy_from_memory(
        &self,
        place: Location,
        block: u64,
        out: &mut [u8],
        worker: &mut Worker,
    ) -> Result<bool> {
        let Some(chunk) = self.log.chunks.find(place) else { return Ok(false) };
        let bytes = chunk.bytes();
        let record = part_of(bytes.as_ref(), chunk.offset, place);
        self.decode_block(record, place, block, out, &mut worker.coder, &mut worker.unit)
            .map_err(|what| self.records.damaged(block * BLOCK_BYTES, &what))?;
        Ok(true)
    }

    /// Reads records that lie close together in one go, and decodes them.
    fn fetch_run(
        &self,
        run: Range<usize>,
        first: u64,
        data: &mut [u8],
        worker: &mut Worker,
    ) -> Result<()> {
        let Worker { fetch, media, coder, unit, .. } = worker;
        let fetch = &fetch[run];
        let (Some((front, _)), Some((back, _))) = (fetch.first(), fetch.last()) else {
            return Ok(());
        };
        let segment = front.segment();
        let place = span(*front, *back);
        let start = place.start;
        let mut decode =
            |bytes: &[u8]| self.decode_run(bytes, start, fetch, first, data, coder, unit);
        if let Some(window) = self.read_ahead.find(segment, &place)
            && decode(window.bytes(&place)).is_ok()
        {
            return Ok(());
        }
        let ahead =
            self.read_ahead.end(&place, self.media.identity.segment_bytes).and_then(|end| {
                let longer = start..end;
                let read = |buffer: &mut BlockBuffer| {
                    self.media.read_span(segment, &longer, buffer).map(drop)
                };
                // The bytes behind the records are a surplus, so an error there does not count.
                self.read_ahead.fill(segment, &longer, read).ok()
            });
        let decoded = match ahead {
            Some(window) => decode(window.bytes(&place)),
            None => match self.media.read_span(segment, &place, media) {
                Ok(bytes) => decode(bytes),
                Err(DiskError::Io(_)) => {
                    let fetch = fetch.to_vec();
                    return self.fetch_apart(&fetch, first, data, worker);
                }
                Err(other) => return Err(other),
            },
        };
        decoded.map_err(|(block, what)| self.records.damaged(block * BLOCK_BYTES, &what))
    }

    /// Reads records one by one after a joint read has failed: the bad place may lie between them,
    /// or the next read may succeed.
    fn fetch_apart(
        &self,
        fetch: &[(Location, u64)],
        first: u64,
        data: &mut [u8],
        worker: &mut Worker,
    ) -> Result<()> {
        for one in fetch {
            let place = span(one.0, one.0);
            let Worker { media, coder, unit, .. } = worker;
            let bytes = self.media.read_span_stubbornly(one.0.segment(), &place, media);
            let bytes = bytes.inspect_err(|error| {
                if matches!(error, DiskError::Io(_)) {
                    self.segments.note_unreadable(one.0.segment());
                }
                let (offset, error) = (one.1 * BLOCK_BYTES, chain(error));
                self.media
                    .health
                    .report(format!("the data at byte {offset} cannot be read: {error}"));
            })?;
            let one = std::slice::from_ref(one);
            self.decode_run(bytes, place.start, one, first, data, coder, unit)
                .map_err(|(block, what)| self.records.damaged(block * BLOCK_BYTES, &what))?;
        }
        Ok(())
    }

    /// Decodes records from `bytes`, which begin at the offset `start` of their segment. Fails with
    /// the number of the damaged block and the reason.
    #[expect(clippy::too_many_arguments, reason = "one worker's parts, borrowed apart")]
    fn decode_run(
        &self,
        bytes: &[u8],
        start: u32,
        fetch: &[(Location, u64)],
        first: u64,
        data: &mut [u8],
        coder: &mut Coder,
        unit: &mut Vec<u8>,
    ) -> std::result::Result<(), (u64, String)> {
        let mut in_unit = Location::NONE;
        for (place, block) in fetch {
            let record = part_of(bytes, start, *place);
            let out = &mut data[((block - first) * BLOCK_BYTES) as usize..][..BLOCK_BYTES as usize];
            if place.is_unit() && place.record() == in_unit {
                copy_of_unit(unit, *place, out);
                continue;
            }
            self.decode_block(record, *place, *block, out, coder, unit)
                .map_err(|what| (*block, what))?;
            in_unit = place.record();
        }
        Ok(())
    }

    /// Decodes the block of a record; leaves a unit whole in `unit`.
    fn decode_block(
        &self,
        record: &[u8],
        place: Location,
        block: u64,
        out: &mut [u8],
        coder: &mut Coder,
        unit: &mut Vec<u8>,
    ) -> std::result::Result<(), String> {
        if place.is_unit() {
            unit.resize((UNIT_BLOCKS * BLOCK_BYTES) as usize, 0);
            let first = block - place.index().min(block);
            self.records
                .decode(record, place, Op::Unit.context_key(first), unit, coder)
                .map(|()| copy_of_unit(unit, place, out))
        } else {
            self.records.decode(record, place, Op::Data.context_key(block), out, coder)
        }
    }
}

/// Places whose segments are pinned until this is dropped.
struct Pinned<'a> {
    pins: &'a Pins,
    places: Vec<Location>,
}

impl Pinned<'_> {
    /// Unpins the segments and returns the list's memory.
    fn release(mut self) -> Vec<Location> {
        self.let_go();
        std::mem::take(&mut self.places)
    }

    fn let_go(&mut self) {
        self.places.iter().for_each(|place| self.pins.unpin(*place));
        self.places.clear();
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        self.let_go();
    }
}

fn copy_of_unit(unit: &[u8], place: Location, out: &mut [u8]) {
    let start = (place.index() * BLOCK_BYTES) as usize;
    out.copy_from_slice(&unit[start..start + BLOCK_BYTES as usize]);
}
