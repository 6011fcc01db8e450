//! The end of one stream: its open segment, its open chunk, and the footer so far.

use std::sync::Arc;

use crate::core::chunks::{ChunkBuffer, Chunks};
use crate::core::group::Group;
use crate::format::{
    CHUNK_BYTES_MAX, CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, Cursor, FOOTER_PART, FooterChunk,
    Location, RECORD_HEADER_BYTES, RecordContext, RepeatedChunk, Stream, chunk_bytes, footer_bytes,
    map_footer_words_most, table_words_most,
};

/// The end of one stream.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(super) stream: Stream,
    pub(crate) segment: u32,
    pub(crate) opened_seq: u64,
    /// Offset of the next chunk.
    pub(crate) offset: u32,
    /// The footer so far.
    pub(crate) words: Vec<u64>,
    pub(super) chunk: Option<OpenChunk>,
}

/// Limits of chunks and segments, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) segment_bytes: u32,
    /// A larger chunk is sealed; the first group always fits.
    pub(crate) chunk_bytes: u32,
}

/// A chunk that is being filled.
#[derive(Debug)]
pub(super) struct OpenChunk {
    pub(super) chunk: Arc<ChunkBuffer>,
    pub(super) payload: usize,
    pub(super) words: Vec<u64>,
}

impl Tail {
    /// An end at `cursor`, in a segment that was opened by `opened_seq`.
    pub(super) fn new(stream: Stream, cursor: Cursor, opened_seq: u64) -> Tail {
        let Cursor { segment, offset, words } = cursor;
        Tail { stream, segment, opened_seq, offset, words, chunk: None }
    }

    /// Adds a chunk of `bytes` with this table to the footer.
    pub(super) fn add_chunk(&mut self, seq: u64, table: &[u64], bytes: usize) {
        FooterChunk { seq, offset: self.offset, table_words: table.len() as u32 }
            .push(&mut self.words);
        self.words.extend(table);
        self.offset += bytes as u32;
    }

    /// Continues at the beginning of another segment.
    pub(super) fn go_on_in(&mut self, segment: u32, opened_seq: u64) {
        (self.segment, self.opened_seq, self.offset) = (segment, opened_seq, 0);
        self.words.clear();
    }

    /// The header of a chunk at this place. The caller fills in drive, lengths and next segment.
    pub(super) fn header(&self, kind: ChunkKind, stream: Stream, seq: u64) -> ChunkHeader {
        ChunkHeader {
            kind,
            stream,
            drive_id: 0,
            segment: self.segment,
            offset: self.offset,
            opened_seq: self.opened_seq,
            seq,
            durable_seq: 0,
            payload_bytes: 0,
            table_words: 0,
            repeat_words: 0,
            next_segment: ChunkHeader::NO_SEGMENT,
        }
    }

    /// Puts the wanted records of a group into the open chunk; the others get no place.
    pub(super) fn place(
        &mut self,
        drive_id: u64,
        group: &Group,
        wanted: impl Fn(usize) -> bool,
        places: &mut Vec<Location>,
    ) {
        let last = (0..group.records.len()).rev().find(|&index| wanted(index));
        let Some(open) = &mut self.chunk else { return };
        let mut bytes = open.chunk.bytes_mut();
        for (index, record) in group.records.iter().enumerate() {
            if !wanted(index) {
                places.push(Location::NONE);
                continue;
            }
            record.entry(Some(index) == last).push(&mut open.words);
            if !record.has_payload() {
                places.push(Location::NONE);
                continue;
            }
            let at = CHUNK_HEADER_BYTES + open.payload;
            let offset = self.offset + at as u32;
            let location = Location::new(self.segment, offset, record.length, record.op.is_unit());
            let context = RecordContext {
                drive_id,
                segment_opened_seq: self.opened_seq,
                location,
                key: record.op.context_key(record.key),
            };
            let out = &mut bytes.as_mut()[at..at + record.length as usize];
            out[0] = record.codec_id;
            out[1..RECORD_HEADER_BYTES].copy_from_slice(&context.bind(record.plain).to_le_bytes());
            out[RECORD_HEADER_BYTES..].copy_from_slice(record.payload(group));
            open.payload += record.length as usize;
            places.push(location);
        }
    }

    /// Whether the segment is empty.
    pub(super) fn is_at_the_beginning(&self) -> bool {
        self.offset == 0 && self.chunk.is_none()
    }

    /// Words of the open chunk.
    pub(super) fn open_words(&self) -> usize {
        self.chunk.as_ref().map_or(0, |open| open.words.len())
    }

    /// Whether a group fits the open chunk, or a new one that repeats up to `repeat` words, with
    /// room for the segment's footer behind it.
    pub(super) fn has_room(
        &self,
        payload: usize,
        words: usize,
        repeat: usize,
        limits: Limits,
    ) -> bool {
        let open_payload = self.chunk.as_ref().map_or(0, |open| open.payload);
        let open_words = self.open_words();
        let chunk_max = if open_words == 0 { CHUNK_BYTES_MAX } else { limits.chunk_bytes };
        let words = open_words + words;
        let chunk = chunk_bytes(self.stream, open_payload + payload, words + repeat);
        chunk <= u64::from(chunk_max)
            && words <= table_words_most(limits.segment_bytes)
            && self.fits_behind(0, chunk, FooterChunk::WORDS + words, limits)
    }

    /// Whether the open chunk, if there is one, has room to repeat this number of words.
    pub(super) fn can_repeat(&self, repeat: usize, limits: Limits) -> bool {
        self.chunk.as_ref().is_none_or(|open| {
            let words = open.words.len();
            let chunk = chunk_bytes(self.stream, open.payload, words + repeat);
            chunk <= u64::from(CHUNK_BYTES_MAX)
                && self.fits_behind(0, chunk, FooterChunk::WORDS + words, limits)
        })
    }

    /// Whether a part of a root fits a chunk of its own. The footer does not repeat its words.
    pub(super) fn has_root_room(&self, words: usize, limits: Limits) -> bool {
        let is_clear = self.chunk.as_ref().is_none_or(|open| open.words.is_empty());
        is_clear
            && chunk_bytes(self.stream, 0, words) <= u64::from(CHUNK_BYTES_MAX)
            && self.fits_behind(0, chunk_bytes(self.stream, 0, words), FooterChunk::WORDS, limits)
    }

    /// Whether a group fits a new chunk behind the open one, if each repeats up to `repeat` words.
    pub(super) fn has_room_in_next_chunk(
        &self,
        payload: usize,
        words: usize,
        repeat: usize,
        limits: Limits,
    ) -> bool {
        let Some(open) = &self.chunk else { return false };
        let chunk = chunk_bytes(self.stream, open.payload, open.words.len() + repeat);
        let open_words = FooterChunk::WORDS + open.words.len();
        let repeat = match self.stream {
            Stream::Map => 0,
            _ => repeat.max(RepeatedChunk::WORDS + open.words.len()),
        };
        let next = chunk_bytes(self.stream, payload, words + repeat);
        next <= u64::from(CHUNK_BYTES_MAX)
            && words <= table_words_most(limits.segment_bytes)
            && self.fits_behind(chunk, next, open_words + FooterChunk::WORDS + words, limits)
    }

    /// Whether a chunk fits `behind` bytes further on, if the footer then has `words` more words.
    fn fits_behind(&self, behind: u64, chunk: u64, words: usize, limits: Limits) -> bool {
        let footer = footer_bytes(self.words.len() + words);
        u64::from(self.offset) + behind + chunk + u64::from(footer)
            <= u64::from(limits.segment_bytes)
            && (footer <= self.footer_most(limits) || self.words.is_empty())
    }

    /// Longest footer of the segment, in bytes, so that a root can repeat it while the segment is
    /// open.
    fn footer_most(&self, limits: Limits) -> u32 {
        match self.stream {
            Stream::Map => footer_bytes(map_footer_words_most(limits.segment_bytes)),
            _ => limits.segment_bytes / FOOTER_PART,
        }
    }

    pub(super) fn open_chunk(&mut self, chunks: &Chunks) {
        let chunk = chunks.open(self.segment, self.offset);
        self.chunk = Some(OpenChunk { chunk, payload: 0, words: Vec::new() });
    }
}
