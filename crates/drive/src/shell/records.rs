//! Records: read from memory or media, checked against their place and key, and decoded with their
//! dictionary.
//!
//! A read returns the written bytes or an error: the checksum covers the stored bytes, the contents
//! of the dictionary, the place, the key and the number by which the segment was opened.

use std::ops::Range;
use std::sync::Arc;

use assay_disk::{BLOCK_BYTES, BlockBuffer, DiskError, Result};

use crate::codec::{Coder, Dictionary, Encoding};
use crate::core::tables::{SegmentChunk, chunks_of, records_of};
use crate::format::{Location, Op, RECORD_HEADER_BYTES, RecordContext, Stream, plain_checksum};
use crate::shell::dictionaries::Dictionaries;
use crate::shell::log::SharedLog;
use crate::shell::media::Media;
use crate::shell::segments::Segments;
use crate::shell::span::{part_of, span};
use crate::shell::worker::Worker;
use crate::status::Counters;

/// Bytes of a block, as an index.
const BLOCK: usize = BLOCK_BYTES as usize;

/// The message for a wrong checksum.
const WRONG_CHECKSUM: &str = "its checksum does not fit";

/// Reads and checks the records of a drive.
pub(crate) struct Records {
    media: Arc<Media>,
    log: Arc<SharedLog>,
    segments: Arc<Segments>,
    pub(crate) dictionaries: Dictionaries,
}

impl Records {
    pub(crate) fn new(
        media: Arc<Media>,
        log: Arc<SharedLog>,
        segments: Arc<Segments>,
        dictionaries: Dictionaries,
    ) -> Records {
        Records { media, log, segments, dictionaries }
    }

    pub(crate) fn damaged(&self, offset: u64, what: &str) -> DiskError {
        Counters::add(&self.media.counters.damaged_records, 1);
        self.media.health.report(format!("the data at byte {offset} is damaged: {what}"));
        DiskError::Corrupt { offset, what: what.into() }
    }

    /// Checks a record against its place and its key, and decodes it.
    pub(crate) fn decode(
        &self,
        record: &[u8],
        place: Location,
        key: u64,
        out: &mut [u8],
        coder: &mut Coder,
    ) -> std::result::Result<(), String> {
        let (codec_id, payload) = self.check(record, place, key)?;
        coder
            .decode(codec_id, payload, &|version| self.dictionaries.get(version), out)
            .map_err(|error| error.to_string())
    }

    /// Checks a record against its place and key; returns codec id and payload.
    pub(crate) fn check<'a>(
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
            drive_id: self.media.identity.drive_id,
            segment_opened_seq: self.log.chunks.opened_seq(place.segment()),
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

    /// Whether a record needs a dictionary that is not in memory.
    pub(crate) fn needs_lost_dictionary(&self, record: &[u8]) -> bool {
        let payload = record.get(RECORD_HEADER_BYTES..).unwrap_or_default();
        self.media.identity.dictionary
            && record.first() == Some(&Encoding::ZstdDictionary.id())
            && self.dictionary_of(Encoding::ZstdDictionary.id(), payload).is_none()
    }

    /// The dictionary that a record needs, if it needs one and it is in memory.
    pub(crate) fn dictionary_of(&self, codec_id: u8, payload: &[u8]) -> Option<Arc<Dictionary>> {
        let needs_one = codec_id == Encoding::ZstdDictionary.id();
        payload.first().filter(|_| needs_one).and_then(|version| self.dictionaries.get(*version))
    }

    /// Reads and decodes one record, from memory or media. The offset of the error is that of the
    /// record on media.
    pub(crate) fn read(
        &self,
        place: Location,
        key: u64,
        out: &mut [u8],
        worker: &mut Worker,
    ) -> Result<()> {
        let start = self.media.identity.segment_start(place.segment()) + u64::from(place.offset());
        let corrupt = |what| DiskError::Corrupt { offset: start, what };
        if let Some(chunk) = self.log.chunks.find(place) {
            let bytes = chunk.bytes();
            let record = part_of(bytes.as_ref(), chunk.offset, place);
            return self.decode(record, place, key, out, &mut worker.coder).map_err(corrupt);
        }
        let span = span(place, place);
        let bytes = self.media.read_span(place.segment(), &span, &mut worker.media)?;
        let record = part_of(bytes, span.start, place);
        self.decode(record, place, key, out, &mut worker.coder).map_err(corrupt)
    }

    /// A record of the map's stream, restored from the rest of its chunk if necessary; `None` if
    /// more than one block of the chunk is bad.
    pub(crate) fn restored(&self, place: Location, key: u64) -> Result<Option<Vec<u8>>> {
        let Some(around) = self.chunk_around(place)? else { return Ok(None) };
        let mut chunk = self.segments.read_chunk(place.segment(), around.clone())?;
        let first = (place.offset() - around.start) as usize;
        let record = first..first + place.length() as usize;
        let fits = |bytes: &[u8]| {
            bytes.get(record.clone()).is_some_and(|stored| self.check(stored, place, key).is_ok())
        };
        if fits(&chunk.bytes) {
            // The bytes on media are right: they were damaged in memory or on the way.
            return Ok(Some(chunk.bytes[record].to_vec()));
        }
        let blocks = record.start / BLOCK..record.end.div_ceil(BLOCK);
        let restored = chunk.restore(blocks, fits);
        if restored.is_some() {
            Counters::add(&self.media.counters.restored_records, 1);
            let at = self.media.identity.segment_start(place.segment()) + u64::from(place.offset());
            self.media.health.report(format!(
                "a part of the map at byte {at} of the media was damaged \
                 and restored from its parity"
            ));
        }
        Ok(restored.map(|bytes| bytes[record].to_vec()))
    }

    /// The bounds of the chunk of the map's stream in which a record lies.
    fn chunk_around(&self, place: Location) -> Result<Option<Range<u32>>> {
        let (segment, offset) = (place.segment(), place.offset());
        let (opened_seq, open) = {
            let log = self.log.lock()?;
            let cursor = log.cursor(Stream::Map);
            let is_open = cursor.segment == segment;
            (log.space.get(segment).opened_seq, is_open.then_some(cursor))
        };
        let chunks: Vec<SegmentChunk> = match open {
            Some(cursor) => chunks_of(Stream::Map, &cursor.words, cursor.offset)
                .into_iter()
                .map(|chunk| SegmentChunk { bytes: chunk.bytes, ..chunk })
                .collect(),
            None => match self.segments.read_footer(segment, opened_seq)? {
                Some(footer) => footer.chunks(),
                None => self.segments.walk_chunks(segment, opened_seq, 0, 0..u64::MAX)?.all(),
            },
        };
        // Without a footer, the chunk that is missing between two others may be the one with the
        // bad block.
        let mut start = 0;
        for chunk in chunks {
            if offset < chunk.offset {
                return Ok(Some(start..chunk.offset));
            }
            if offset < chunk.offset + chunk.bytes {
                return Ok(Some(chunk.offset..chunk.offset + chunk.bytes));
            }
            start = chunk.offset + chunk.bytes;
        }
        Ok(None)
    }

    /// Whether every record of a chunk has its checksum. A record whose dictionary is lost can
    /// neither be checked nor read, so it says nothing about the others.
    pub(crate) fn is_chunk_whole(&self, segment: u32, chunk: &SegmentChunk) -> Result<bool> {
        let mut buffer = BlockBuffer::default();
        let bytes = buffer.first(chunk.bytes as usize);
        self.media.read_tolerant(
            self.media.identity.segment_start(segment) + u64::from(chunk.offset),
            bytes,
        )?;
        Ok(records_of(segment, chunk).iter().filter(|record| !record.place.is_none()).all(
            |record| {
                let start = (record.place.offset() - chunk.offset) as usize;
                let stored = bytes.get(start..start + record.place.length() as usize);
                let key = record.entry.op.context_key(record.entry.key);
                stored.is_some_and(|stored| {
                    self.needs_lost_dictionary(stored)
                        || self.check(stored, record.place, key).is_ok()
                })
            },
        ))
    }

    /// Reads a dictionary's record; `None` if it is damaged.
    pub(crate) fn read_dictionary(
        &self,
        version: u8,
        place: Location,
        worker: &mut Worker,
    ) -> Result<Option<Dictionary>> {
        if !self.media.identity.can_hold(place) || place.is_none() {
            return Ok(None);
        }
        let bytes = (place.length() as usize).saturating_sub(crate::format::RECORD_HEADER_BYTES);
        let mut data = vec![0; bytes];
        let key = Op::Dictionary.context_key(u64::from(version));
        match self.read(place, key, &mut data, worker) {
            Ok(()) => Ok(Dictionary::from_bytes(version, &data).ok()),
            Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => {
                let restored = self.restored(place, key)?;
                let payload = restored.as_deref().and_then(|record| {
                    self.check(record, place, key).ok().map(|(_, payload)| payload)
                });
                Ok(payload.and_then(|payload| Dictionary::from_bytes(version, payload).ok()))
            }
            Err(other) => Err(other),
        }
    }
}
