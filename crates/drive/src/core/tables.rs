//! The contents of a segment's tables: chunks, records and their places. Nothing is read here, and
//! any words give a value.

use assay_disk::BLOCK_BYTES;

use crate::format::{
    CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, Entry, FooterChunk, Location, Op, RepeatedChunk,
    SEGMENT_BYTES_MAX, Stream, Words, chunk_bytes,
};

/// One record of a segment, or one run of zeroes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentRecord {
    pub(crate) entry: Entry,
    /// Place of the record; none for zeroes.
    pub(crate) place: Location,
    /// Sequence number of the chunk that first held it.
    pub(crate) origin_seq: u64,
}

/// One chunk, according to its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentChunk {
    pub(crate) kind: ChunkKind,
    pub(crate) seq: u64,
    pub(crate) offset: u32,
    /// Length in bytes.
    pub(crate) bytes: u32,
    /// The durable number in its header; zero if only a footer or the next chunk lists it.
    pub(crate) durable_seq: u64,
    pub(crate) words: Vec<u64>,
}

/// All known contents of a segment.
#[derive(Debug)]
pub(crate) struct SegmentTables {
    pub(crate) chunks: Vec<SegmentChunk>,
    /// Whether every chunk is listed.
    pub(crate) is_complete: bool,
    /// Whether a place of the segment could not be read.
    pub(crate) is_unreadable: bool,
}

impl SegmentTables {
    /// The records, in order.
    pub(crate) fn records(&self, segment: u32) -> impl Iterator<Item = SegmentRecord> {
        self.chunks.iter().flat_map(move |chunk| records_of(segment, chunk))
    }
}

/// A segment's footer.
#[derive(Debug, Clone)]
pub(crate) struct Footer {
    pub(crate) header: ChunkHeader,
    pub(crate) words: Vec<u64>,
}

impl Footer {
    /// The chunks that it repeats, as far as their places are possible.
    pub(crate) fn chunks(&self) -> Vec<SegmentChunk> {
        chunks_of(self.header.stream, &self.words, self.header.offset)
    }
}

/// The chunks that a footer's words repeat, as far as they can lie before `end`.
pub(crate) fn chunks_of(stream: Stream, words: &[u64], end: u32) -> Vec<SegmentChunk> {
    let mut chunks: Vec<SegmentChunk> = Vec::new();
    for (chunk, words) in FooterChunk::split(words) {
        if chunk.offset >= end || !u64::from(chunk.offset).is_multiple_of(BLOCK_BYTES) {
            continue;
        }
        // Chunks are adjacent: each ends where the next begins.
        if let Some(before) = chunks.last_mut() {
            before.bytes = chunk.offset.saturating_sub(before.offset);
        }
        let bytes = chunk_bytes(stream, payload_bytes(words), words.len() + REPEATED_WORDS_MOST);
        let bytes = bytes.min(u64::from(end - chunk.offset));
        chunks.push(SegmentChunk {
            kind: ChunkKind::Log,
            seq: chunk.seq,
            offset: chunk.offset,
            bytes: bytes as u32,
            durable_seq: 0,
            words: words.to_vec(),
        });
    }
    chunks
}

/// Most words that a chunk may repeat of another.
const REPEATED_WORDS_MOST: usize = RepeatedChunk::WORDS + 4096;

/// Payload bytes of a table's records.
fn payload_bytes(words: &[u64]) -> usize {
    Words::new(words).map(|entry| entry.payload_bytes() as usize).sum()
}

/// The records of a chunk's table with their places.
pub(crate) fn records_of(segment: u32, chunk: &SegmentChunk) -> Vec<SegmentRecord> {
    let mut offset = chunk.offset.saturating_add(CHUNK_HEADER_BYTES as u32);
    let mut records = Vec::new();
    for entry in Words::new(&chunk.words) {
        let bytes = entry.payload_bytes();
        let end = offset.saturating_add(bytes);
        if end > SEGMENT_BYTES_MAX {
            // No drive wrote such a table.
            break;
        }
        let place = match bytes {
            0 => Location::NONE,
            _ => Location::new(segment, offset, bytes, entry.op.is_unit()),
        };
        offset = end;
        let origin_seq = match entry.op {
            Op::Move { origin_seq, .. } | Op::MoveUnit { origin_seq, .. } => origin_seq,
            _ => chunk.seq,
        };
        records.push(SegmentRecord { entry, place, origin_seq });
    }
    records
}

/// A gap between chunks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hole {
    /// Offset of the gap in the segment.
    pub(crate) offset: u32,
    /// Sequence numbers of the chunks on both sides; before the first chunk, the number by which
    /// the segment was opened.
    pub(crate) before: u64,
    pub(crate) after: u64,
}

/// The result of following a segment's chunks.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Chunks without a gap between them.
    pub(crate) chunks: Vec<SegmentChunk>,
    /// Highest durable number of any chunk, including those behind a gap.
    pub(crate) durable_seq: u64,
    /// Valid chunks behind a gap.
    pub(crate) behind: Vec<SegmentChunk>,
    /// Gaps with a chunk behind them.
    pub(crate) holes: Vec<Hole>,
    /// Whether a place of the segment could not be read.
    pub(crate) is_unreadable: bool,
}

impl Walked {
    pub(crate) fn push(&mut self, chunk: SegmentChunk, is_behind: bool) {
        if is_behind {
            self.behind.push(chunk);
        } else {
            self.chunks.push(chunk);
        }
    }

    /// Every valid chunk, in spite of gaps.
    pub(crate) fn all(mut self) -> Vec<SegmentChunk> {
        self.chunks.append(&mut self.behind);
        self.chunks
    }
}
