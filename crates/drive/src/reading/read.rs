//! Host reads: ask the map once for the whole range, then fetch what lies together together.

use std::ops::Range;

use crate::codec::Coder;
use crate::core::map::Missing;
use crate::format::{Location, Op, UNIT_BLOCKS};
use crate::rules::{Rule, holds};
use crate::shell::commit::chain;
use crate::shell::drive::Drive;
use crate::shell::span::{Reach, part_of, span, together};
use crate::shell::worker::Worker;
use assay_disk::BlockBuffer;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// How far one read of media for the host goes.
const REACH: Reach = Reach { gap_bytes: 8 << 10, bytes_max: 512 << 10 };

impl Drive {
    /// Reads up to 64 blocks as they were at one moment.
    pub(crate) fn read_blocks(&self, first: u64, data: &mut [u8]) -> Result<()> {
        let blocks = first..first + data.len() as u64 / BLOCK_BYTES;
        self.workers.with(|worker| {
            self.locate(blocks, worker)?;
            // A read that panics must not keep its segments for ever.
            let pins = Pins { drive: self, places: std::mem::take(&mut worker.pinned) };
            let result = self.fetch_all(first, data, worker);
            worker.pinned = pins.release();
            result
        })
    }

    /// Where each block lies, at one moment; the segments are pinned.
    fn locate(&self, blocks: Range<u64>, worker: &mut Worker) -> Result<()> {
        let mut has_loaded = false;
        loop {
            let missing = {
                let map = self.map()?;
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
                // Nodes of one command stay together; what others have asked for makes way for them.
                if !has_loaded {
                    self.evict_map()?;
                    has_loaded = true;
                }
                self.load_node(node)?;
            }
        }
    }

    /// Pins each segment that the worker's places lie in, once.
    fn pin_all(&self, worker: &mut Worker) {
        worker.pinned.clear();
        for place in worker.places.iter().filter(|place| place.is_record()) {
            if worker.pinned.last().is_none_or(|last| last.segment() != place.segment())
                && holds(Rule::PinBeforeRead)
            {
                self.pin(*place);
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

    /// Decodes a block from a chunk that is still in memory; false if it is not.
    fn copy_from_memory(
        &self,
        place: Location,
        block: u64,
        out: &mut [u8],
        worker: &mut Worker,
    ) -> Result<bool> {
        let Some(chunk) = self.chunks.find(place) else { return Ok(false) };
        let bytes = chunk.bytes();
        let record = part_of(bytes.as_ref(), chunk.offset, place);
        self.decode_block(record, place, block, out, &mut worker.coder, &mut worker.unit)
            .map_err(|what| self.damaged(block * BLOCK_BYTES, &what))?;
        Ok(true)
    }

    /// Reads records that lie together in one go and decodes them.
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
        let ahead = self.read_ahead.end(&place, self.identity.segment_bytes).and_then(|end| {
            let longer = start..end;
            let read =
                |buffer: &mut BlockBuffer| self.read_span(segment, &longer, buffer).map(drop);
            // What lies behind may be unreadable, and nobody asked for it.
            self.read_ahead.fill(segment, &longer, read).ok()
        });
        let decoded = match ahead {
            Some(window) => decode(window.bytes(&place)),
            None => match self.read_span(segment, &place, media) {
                Ok(bytes) => decode(bytes),
                Err(DiskError::Io(_)) => {
                    let fetch = fetch.to_vec();
                    return self.fetch_apart(&fetch, first, data, worker);
                }
                Err(other) => return Err(other),
            },
        };
        decoded.map_err(|(block, what)| self.damaged(block * BLOCK_BYTES, &what))
    }

    /// Reads records one by one, where one place among them cannot be read: perhaps none of them lies there, or it can be
    /// read the next time.
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
            let bytes = self.read_span_stubbornly(one.0.segment(), &place, media);
            let bytes = bytes.inspect_err(|error| {
                if matches!(error, DiskError::Io(_)) {
                    self.note_unreadable(one.0.segment());
                }
                let (offset, error) = (one.1 * BLOCK_BYTES, chain(error));
                self.report(format!("the data at byte {offset} cannot be read: {error}"));
            })?;
            let one = std::slice::from_ref(one);
            self.decode_run(bytes, place.start, one, first, data, coder, unit)
                .map_err(|(block, what)| self.damaged(block * BLOCK_BYTES, &what))?;
        }
        Ok(())
    }

    /// Decodes records that lie in `bytes`, which begin at the offset `start` of their segment; else says which block
    /// is damaged, and how.
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

    /// Decodes the block of a record that lies at `place`; a unit is left whole in `unit`.
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
            self.decode_record(record, place, Op::Unit.context_key(first), unit, coder)
                .map(|()| copy_of_unit(unit, place, out))
        } else {
            self.decode_record(record, place, Op::Data.context_key(block), out, coder)
        }
    }
}

/// The readers of segments, until they are let go.
struct Pins<'a> {
    drive: &'a Drive,
    places: Vec<Location>,
}

impl Pins<'_> {
    /// Lets go, and gives the memory back.
    fn release(mut self) -> Vec<Location> {
        self.let_go();
        std::mem::take(&mut self.places)
    }

    fn let_go(&mut self) {
        self.places.iter().for_each(|place| self.drive.unpin(*place));
        self.places.clear();
    }
}

impl Drop for Pins<'_> {
    fn drop(&mut self) {
        self.let_go();
    }
}

fn copy_of_unit(unit: &[u8], place: Location, out: &mut [u8]) {
    let start = (place.index() * BLOCK_BYTES) as usize;
    out.copy_from_slice(&unit[start..start + BLOCK_BYTES as usize]);
}
