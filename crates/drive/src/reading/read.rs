//! Host reads: ask the map once for the whole range, then fetch what lies together together.

use std::ops::Range;
use std::sync::Arc;

use crate::codec::{Coder, Dictionary, Encoding};
use crate::core::map::{Missing, NODE_ENTRIES, Node, blocks_of};
use crate::format::{
    Location, NodeId, Op, RECORD_HEADER_BYTES, RecordContext, UNIT_BLOCKS, plain_checksum,
};
use crate::rules::{Rule, holds};
use crate::shell::commit::chain;
use crate::shell::drive::Drive;
use crate::shell::span::{Reach, part_of, span, together};
use crate::shell::worker::Worker;
use crate::status::Counters;
use assay_disk::BlockBuffer;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// How far one read of media for the host goes.
const REACH: Reach = Reach { gap_bytes: 8 << 10, bytes_max: 512 << 10 };

/// What is wrong with a record.
const WRONG_CHECKSUM: &str = "its checksum does not fit";

impl Drive {
    /// Reads up to 64 blocks as they were at one moment.
    pub(crate) fn read_blocks(&self, first: u64, data: &mut [u8]) -> Result<()> {
        self.read_blocks_with(&|| self.keep_memory(), first, data)
    }

    /// The same for maintenance, which cannot wait for the checkpoint that it would have to make itself: for as long as it
    /// reads, the map may take more memory.
    pub(crate) fn read_blocks_in_maintenance(&self, first: u64, data: &mut [u8]) -> Result<()> {
        self.read_blocks_with(&|| self.evict_map(), first, data)
    }

    fn read_blocks_with(
        &self,
        keep_memory: &dyn Fn() -> Result<()>,
        first: u64,
        data: &mut [u8],
    ) -> Result<()> {
        let blocks = first..first + data.len() as u64 / BLOCK_BYTES;
        self.workers.with(|worker| {
            self.locate(blocks, keep_memory, worker)?;
            // A read that panics must not keep its segments for ever.
            let pins = Pins { drive: self, places: std::mem::take(&mut worker.pinned) };
            let result = self.fetch_all(first, data, worker);
            worker.pinned = pins.release();
            result
        })
    }

    /// Where each block lies, at one moment; the segments are pinned.
    fn locate(
        &self,
        blocks: Range<u64>,
        keep_memory: &dyn Fn() -> Result<()>,
        worker: &mut Worker,
    ) -> Result<()> {
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
                    keep_memory()?;
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
                return Err(self.damaged(block * BLOCK_BYTES, "its part of the map was lost"));
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

    pub(crate) fn read_media(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        Counters::add(&self.counters.reads_media, 1);
        Counters::add(&self.counters.read_bytes_media, bytes.len() as u64);
        self.media.read(offset, bytes)
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

    fn damaged(&self, offset: u64, what: &str) -> DiskError {
        Counters::add(&self.counters.damaged_records, 1);
        self.report(format!("the data at byte {offset} is damaged: {what}"));
        DiskError::Corrupt { offset, what: what.into() }
    }

    /// Checks a record against its place and its key, and decodes it.
    pub(crate) fn decode_record(
        &self,
        record: &[u8],
        place: Location,
        key: u64,
        out: &mut [u8],
        coder: &mut Coder,
    ) -> std::result::Result<(), String> {
        let (codec_id, payload) = self.check_record(record, place, key)?;
        coder
            .decode(codec_id, payload, &|version| self.dictionary(version), out)
            .map_err(|error| error.to_string())
    }

    /// Checks a record against its place and its key; gives codec id and payload.
    pub(crate) fn check_record<'a>(
        &self,
        record: &'a [u8],
        place: Location,
        key: u64,
    ) -> std::result::Result<(u8, &'a [u8]), String> {
        let (Some(header), Some(payload)) =
            (record.first_chunk::<RECORD_HEADER_BYTES>(), record.get(RECORD_HEADER_BYTES..))
        else {
            return Err("it is too short for a record".into());
        };
        let [codec_id, checksum @ ..] = *header;
        let context = RecordContext {
            drive_id: self.identity.drive_id,
            segment_opened_seq: self.chunks.opened_seq(place.segment()),
            location: place,
            key,
        };
        let dictionary = self.dictionary_of(codec_id, payload);
        if self.needs_lost_dictionary(record) {
            return Err("the dictionary that it needs is lost".into());
        }
        let dictionary = dictionary.as_deref().map(Dictionary::checksum);
        let expected = context.bind(plain_checksum(codec_id, payload, dictionary));
        if u32::from_le_bytes(checksum) == expected {
            Ok((codec_id, payload))
        } else {
            Err(WRONG_CHECKSUM.into())
        }
    }

    /// Whether a record needs a dictionary that is not there.
    pub(crate) fn needs_lost_dictionary(&self, record: &[u8]) -> bool {
        let payload = record.get(RECORD_HEADER_BYTES..).unwrap_or_default();
        record.first() == Some(&Encoding::ZstdDictionary.id())
            && self.dictionary_of(Encoding::ZstdDictionary.id(), payload).is_none()
    }

    /// The dictionary that a record needs, if it needs one and that is there.
    pub(crate) fn dictionary_of(&self, codec_id: u8, payload: &[u8]) -> Option<Arc<Dictionary>> {
        let needs_one = codec_id == Encoding::ZstdDictionary.id();
        payload.first().filter(|_| needs_one).and_then(|version| self.dictionary(*version))
    }

    /// Loads what is missing of the map for `blocks`.
    ///
    /// # Errors
    /// [`DiskError::Corrupt`] where a node cannot be read, which changes nothing.
    pub(crate) fn load_nodes(&self, blocks: Range<u64>) -> Result<()> {
        loop {
            let missing = self.map()?.missing(blocks.clone());
            match missing {
                Some(Missing(node)) => self.load_node(node)?,
                None => return Ok(()),
            }
        }
    }

    /// The same for what is about to change: a node that cannot be read is given up, so that its blocks can be written.
    pub(crate) fn load_nodes_to_change(&self, blocks: Range<u64>) -> Result<()> {
        loop {
            let missing = self.map()?.missing(blocks.clone());
            match missing {
                Some(Missing(node)) => self.load_or_lose(node)?,
                None => return Ok(()),
            }
        }
    }

    /// Reads a node of the map that was stored, and the directory above it if need be.
    pub(crate) fn load_node(&self, node: NodeId) -> Result<()> {
        self.try_load_node(node).map_err(|failure| failure.error)
    }

    /// The same, but gives up what cannot be read.
    pub(crate) fn load_or_lose(&self, node: NodeId) -> Result<()> {
        match self.try_load_node(node) {
            Err(Failure { at: Some((node, place)), error }) => {
                if matches!(error, DiskError::Io(_)) {
                    self.media_lives()?;
                }
                self.lose_node(node, place, &error.to_string())
            }
            Err(Failure { error, .. }) => Err(error),
            Ok(()) => Ok(()),
        }
    }

    fn try_load_node(&self, node: NodeId) -> Result<(), Failure> {
        let stored = {
            let map = self.map()?;
            let stored = map.stored(node);
            if let Ok(place) = stored
                && place.is_record()
            {
                self.pin(place);
            }
            stored
        };
        let place = match stored {
            Ok(place) if !place.is_record() => return Ok(()),
            Ok(place) => place,
            Err(Missing(directory)) => return self.try_load_node(directory),
        };
        let words = self.workers.with(|worker| self.read_node(node, place, worker));
        self.unpin(place);
        match words {
            Ok(words) => {
                self.map_mut()?.load(node, place, words);
                Ok(())
            }
            Err(error @ (DiskError::Corrupt { .. } | DiskError::Io(_))) => {
                Err(Failure { at: Some((node, place)), error })
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn read_node(
        &self,
        node: NodeId,
        place: Location,
        worker: &mut Worker,
    ) -> Result<Box<Node>> {
        let mut bytes = vec![0; BLOCK_BYTES as usize];
        let key = Op::Node { complete_seq: 0 }.context_key(node.word());
        match self.read_record(place, key, &mut bytes, worker) {
            Ok(()) => {}
            Err(DiskError::Io(_)) if self.read_record(place, key, &mut bytes, worker).is_ok() => {}
            Err(error @ (DiskError::Corrupt { .. } | DiskError::Io(_))) => {
                let Some(record) = self.restored_record(place, key)? else {
                    return Err(self.unreadable_node(node, error));
                };
                self.decode_record(&record, place, key, &mut bytes, &mut worker.coder)
                    .map_err(|what| DiskError::Corrupt { offset: 0, what })?;
            }
            Err(other) => return Err(other),
        }
        let mut words = Box::new([0; NODE_ENTRIES as usize]);
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let is_leaf = matches!(node, NodeId::Leaf(_));
        let fits = |(index, word): (u64, &u64)| {
            let place = Location::from_word(*word);
            if place == Location::LOST {
                return true;
            }
            let in_its_unit = !place.is_unit() || (is_leaf && place.index() == index % UNIT_BLOCKS);
            self.is_possible(place) && in_its_unit
        };
        if (0..).zip(words.iter()).all(fits) {
            Ok(words)
        } else {
            let what = "it points outside the drive".into();
            Err(self.unreadable_node(node, DiskError::Corrupt { offset: 0, what }))
        }
    }

    /// What is said of a node that cannot be read, by the first byte that it is for.
    fn unreadable_node(&self, node: NodeId, error: DiskError) -> DiskError {
        let DiskError::Corrupt { what, .. } = error else { return error };
        let offset = blocks_of(node).start * BLOCK_BYTES;
        self.damaged(offset, &format!("the map's node for it: {what}"))
    }

    /// Reads and decodes one record, from memory or media; the error's offset is where it lies on media.
    pub(crate) fn read_record(
        &self,
        place: Location,
        key: u64,
        out: &mut [u8],
        worker: &mut Worker,
    ) -> Result<()> {
        let start = self.identity.segment_start(place.segment()) + u64::from(place.offset());
        let corrupt = |what| DiskError::Corrupt { offset: start, what };
        if let Some(chunk) = self.chunks.find(place) {
            let bytes = chunk.bytes();
            let record = part_of(bytes.as_ref(), chunk.offset, place);
            return self.decode_record(record, place, key, out, &mut worker.coder).map_err(corrupt);
        }
        let span = span(place, place);
        let bytes = self.read_span(place.segment(), &span, &mut worker.media)?;
        let record = part_of(bytes, span.start, place);
        self.decode_record(record, place, key, out, &mut worker.coder).map_err(corrupt)
    }

    /// Whether a record could lie there.
    pub(crate) fn is_possible(&self, place: Location) -> bool {
        place.is_none()
            || (place.segment() < self.identity.segments
                && place.offset() + place.length() <= self.identity.segment_bytes
                && place.length() as usize > RECORD_HEADER_BYTES)
    }
}

/// Why a node is not loaded: where it lies, if it is that which cannot be read.
struct Failure {
    at: Option<(NodeId, Location)>,
    error: DiskError,
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Failure {
        Failure { at: None, error }
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
