//! Records: read from memory or media, checked against their place and key, decoded with the dictionary that they name.
//!
//! What is given back is what was written there, or an error: the checksum covers the stored bytes, the dictionary's
//! contents, the place, the key and when the segment was opened.

use std::sync::Arc;

use assay_disk::{DiskError, Result};

use crate::codec::{Coder, Dictionary, Encoding};
use crate::format::{Location, Op, RECORD_HEADER_BYTES, RecordContext, plain_checksum};
use crate::shell::drive::Drive;
use crate::shell::span::{part_of, span};
use crate::shell::worker::Worker;
use crate::status::Counters;
use crate::sync::whole;

/// What is wrong with a record.
const WRONG_CHECKSUM: &str = "its checksum does not fit";

impl Drive {
    pub(crate) fn damaged(&self, offset: u64, what: &str) -> DiskError {
        Counters::add(&self.counters.damaged_records, 1);
        self.report(format!("the data at byte {offset} is damaged: {what}"));
        DiskError::Corrupt { offset, what: what.into() }
    }

    pub(crate) fn read_media(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        Counters::add(&self.counters.reads_media, 1);
        Counters::add(&self.counters.read_bytes_media, bytes.len() as u64);
        self.media.read(offset, bytes)
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
        self.identity.dictionary
            && record.first() == Some(&Encoding::ZstdDictionary.id())
            && self.dictionary_of(Encoding::ZstdDictionary.id(), payload).is_none()
    }

    /// The dictionary that a record needs, if it needs one and that is there.
    pub(crate) fn dictionary_of(&self, codec_id: u8, payload: &[u8]) -> Option<Arc<Dictionary>> {
        let needs_one = codec_id == Encoding::ZstdDictionary.id();
        payload.first().filter(|_| needs_one).and_then(|version| self.dictionary(*version))
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

    /// The dictionary that new records use.
    pub(crate) fn dictionary_in_use(&self) -> Option<Arc<Dictionary>> {
        let dictionaries = whole(self.dictionaries.read());
        dictionaries.last().map(|(_, _, dictionary)| Arc::clone(dictionary))
    }

    /// A dictionary by its version.
    pub(crate) fn dictionary(&self, version: u8) -> Option<Arc<Dictionary>> {
        let dictionaries = whole(self.dictionaries.read());
        let found = dictionaries.iter().find(|(number, _, _)| *number == version);
        found.map(|(_, _, dictionary)| Arc::clone(dictionary))
    }

    pub(crate) fn dictionary_places(&self) -> Vec<(u8, Location)> {
        let dictionaries = whole(self.dictionaries.read());
        dictionaries.iter().map(|(version, place, _)| (*version, *place)).collect()
    }

    /// Reads a dictionary's record; none if it is damaged.
    pub(crate) fn read_dictionary(
        &self,
        version: u8,
        place: Location,
        worker: &mut Worker,
    ) -> Result<Option<Dictionary>> {
        if !self.is_possible(place) || place.is_none() {
            return Ok(None);
        }
        let bytes = (place.length() as usize).saturating_sub(crate::format::RECORD_HEADER_BYTES);
        let mut data = vec![0; bytes];
        let key = Op::Dictionary.context_key(u64::from(version));
        match self.read_record(place, key, &mut data, worker) {
            Ok(()) => Ok(Dictionary::from_bytes(version, &data).ok()),
            Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => {
                let restored = self.restored_record(place, key)?;
                let payload = restored.as_deref().and_then(|record| {
                    self.check_record(record, place, key).ok().map(|(_, payload)| payload)
                });
                Ok(payload.and_then(|payload| Dictionary::from_bytes(version, payload).ok()))
            }
            Err(other) => Err(other),
        }
    }
}
