//! The contents of segments: read from the footer, or from the chunks if the footer is damaged.

use std::ops::Range;
use std::sync::Arc;

use crate::core::tables::{Footer, Hole, SegmentChunk, SegmentTables, Walked};
use crate::format::{
    CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, Location, RepeatedChunk, Stream, whole_blocks,
};
use crate::shell::bad_places::{ReadChunk, Unreadable};
use crate::shell::log::SharedLog;
use crate::shell::media::Media;
use assay_disk::{BLOCK_BYTES, BlockBuffer, Result};

/// Bytes of a block, as an index.
const BLOCK: usize = BLOCK_BYTES as usize;

/// The segments on media.
pub(crate) struct Segments {
    media: Arc<Media>,
    log: Arc<SharedLog>,
    unreadable: Unreadable,
}

impl Segments {
    pub(crate) fn new(media: Arc<Media>, log: Arc<SharedLog>, unreadable: Unreadable) -> Segments {
        Segments { media, log, unreadable }
    }

    /// Segments with a bad place, to be passed on when the drive is put together anew.
    pub(crate) fn unreadable(&self) -> &Unreadable {
        &self.unreadable
    }

    /// Reads a chunk, block by block if the whole cannot be read.
    pub(crate) fn read_chunk(&self, segment: u32, place: Range<u32>) -> Result<ReadChunk> {
        let start = self.media.identity.segment_start(segment) + u64::from(place.start);
        let mut buffer = BlockBuffer::default();
        let length = (place.end - place.start) as usize;
        let mut unreadable = Vec::new();
        let whole = buffer.first(length);
        if !self.media.try_read(start, whole)? {
            for (number, block) in whole.chunks_mut(BLOCK).enumerate() {
                let at = start + (number * BLOCK) as u64;
                if !self.media.try_read(at, block)? && !self.media.try_read(at, block)? {
                    block.fill(0);
                    unreadable.push(number);
                }
            }
        }
        if !unreadable.is_empty() {
            self.note_unreadable(segment);
        }
        Ok(ReadChunk { bytes: whole.to_vec(), unreadable })
    }

    /// Notes that a segment has a place that cannot be read: data written there later might not
    /// come back either.
    pub(crate) fn note_unreadable(&self, segment: u32) {
        self.unreadable.note(segment, self.log.chunks.opened_seq(segment));
    }

    /// Whether a place of a segment could not be read since the segment was opened.
    pub(crate) fn is_unreadable(&self, segment: u32) -> bool {
        self.unreadable.has(segment, self.log.chunks.opened_seq(segment))
    }

    /// The tables of a sealed segment, from its footer, or from its chunks if the footer is
    /// damaged.
    ///
    /// # Errors
    /// Those that stop the drive; unreadable places are a result.
    pub(crate) fn tables(&self, segment: u32, opened_seq: u64) -> Result<SegmentTables> {
        if let Some(footer) = self.read_footer(segment, opened_seq)? {
            let chunks = footer.chunks();
            return Ok(SegmentTables { chunks, is_complete: true, is_unreadable: false });
        }
        self.media
            .health
            .report(format!("the footer of segment {segment} is damaged; its chunks serve"));
        let walked = self.walk_chunks(segment, opened_seq, 0, 0..u64::MAX)?;
        let is_unreadable = walked.is_unreadable;
        // Only the footer knew whether there was one more chunk.
        Ok(SegmentTables { chunks: walked.all(), is_complete: false, is_unreadable })
    }

    /// The footer of a segment, if it belongs to this filling. The segment may still be open.
    pub(crate) fn read_footer(&self, segment: u32, opened_seq: u64) -> Result<Option<Footer>> {
        Ok(self.any_footer(segment)?.filter(|footer| footer.header.opened_seq == opened_seq))
    }

    /// The footer of a segment, of any filling.
    pub(crate) fn any_footer(&self, segment: u32) -> Result<Option<Footer>> {
        let segment_bytes = u64::from(self.media.identity.segment_bytes);
        let start = self.media.identity.segment_start(segment);
        let mut bytes = BlockBuffer::zeroed(BLOCK_BYTES as usize);
        if self.media.read_tolerant(start + segment_bytes - BLOCK_BYTES, bytes.as_mut())? {
            self.note_unreadable(segment);
        }
        let tail = &bytes.as_ref()[BLOCK_BYTES as usize - CHUNK_HEADER_BYTES..];
        let Some((header, checksum)) = ChunkHeader::decode(tail) else { return Ok(None) };
        let length = whole_blocks(CHUNK_HEADER_BYTES as u64 + 8 * u64::from(header.table_words));
        let belongs = header.kind == ChunkKind::Footer
            && self.is_of(&header, segment, header.opened_seq)
            && u64::from(header.offset) + length == segment_bytes;
        if !belongs {
            return Ok(None);
        }
        let bytes = bytes.first(length as usize);
        if self.media.read_tolerant(start + segment_bytes - length, bytes)? {
            self.note_unreadable(segment);
        }
        let (table, rest) = bytes.split_at(8 * header.table_words as usize);
        let tail = &rest[rest.len() - CHUNK_HEADER_BYTES..];
        Ok(ChunkHeader::fits(tail, table, checksum)
            .then(|| Footer { header, words: words_of(table) }))
    }

    /// The stream of the first readable chunk of a segment, and the number by which the segment was
    /// opened. A segment that begins with zeroes was never used.
    pub(crate) fn first_header(&self, segment: u32) -> Result<Option<(Stream, u64)>> {
        let mut window = Window::new(self, segment);
        if crate::codec::is_zero(window.bytes(0, BLOCK_BYTES as usize)?) {
            return Ok(None);
        }
        for at in (0..self.media.identity.segment_bytes).step_by(BLOCK_BYTES as usize) {
            let head = ChunkHeader::decode(window.bytes(at, CHUNK_HEADER_BYTES)?);
            let Some((header, _)) = head else { continue };
            let opened_seq = header.opened_seq;
            if let Some((header, _, _)) = self.chunk_at(&mut window, segment, opened_seq, at)? {
                return Ok(Some((header.stream, opened_seq)));
            }
        }
        Ok(None)
    }

    fn is_of(&self, header: &ChunkHeader, segment: u32, opened_seq: u64) -> bool {
        header.drive_id == self.media.identity.drive_id
            && header.segment == segment
            && header.opened_seq == opened_seq
            && header.seq > opened_seq
    }

    /// Follows the chunks of a segment from `offset` whose sequence numbers are in `seqs`.
    pub(crate) fn walk_chunks(
        &self,
        segment: u32,
        opened_seq: u64,
        offset: u32,
        seqs: Range<u64>,
    ) -> Result<Walked> {
        let mut walked = Walked::default();
        let mut window = Window::new(self, segment);
        let mut at = offset;
        let mut is_broken = false;
        // The offset at which the next chunk should begin, and the number of the chunk before it.
        let (mut expected, mut before) = (offset, opened_seq);
        while at < self.media.identity.segment_bytes {
            let found = self.chunk_at(&mut window, segment, opened_seq, at)?;
            let last = walked.behind.last().or(walked.chunks.last());
            let least = last.map_or(seqs.start, |chunk| chunk.seq + 1);
            let found = found.filter(|(header, _, _)| (least..seqs.end).contains(&header.seq));
            let Some((header, words, _)) = found else {
                is_broken = true;
                at += BLOCK_BYTES as u32;
                continue;
            };
            let length = header.chunk_bytes() as u32;
            walked.durable_seq = walked.durable_seq.max(header.durable_seq);
            let ChunkHeader { kind, seq, durable_seq, .. } = header;
            if at > expected {
                let (gap, seqs) = (expected..at, before..seq);
                let is_map = header.stream == Stream::Map;
                let restored = match is_map {
                    true => self.restored_chunk(segment, opened_seq, gap, seqs)?,
                    false => None,
                };
                match restored {
                    Some(chunk) => {
                        is_broken &= !walked.behind.is_empty();
                        walked.push(chunk, is_broken);
                    }
                    None => walked.holes.push(Hole { offset: expected, before, after: seq }),
                }
            }
            (expected, before) = (at + length, seq);
            let chunk = SegmentChunk { kind, seq, offset: at, bytes: length, durable_seq, words };
            walked.push(chunk, is_broken);
            at += length;
        }
        walked.is_unreadable = window.is_unreadable;
        if walked.is_unreadable {
            self.note_unreadable(segment);
        }
        Ok(walked)
    }

    /// The header of a segment's first chunk, if it belongs to this filling and is whole.
    pub(crate) fn front_chunk(&self, segment: u32, opened_seq: u64) -> Result<Option<ChunkHeader>> {
        let chunk = self.chunk_at(&mut Window::new(self, segment), segment, opened_seq, 0)?;
        Ok(chunk.map(|(header, _, _)| header))
    }

    /// The chunk that a chunk repeats, if the latter is whole and has the expected number.
    pub(crate) fn repeated_by(
        &self,
        segment: u32,
        opened_seq: u64,
        chunk: &SegmentChunk,
    ) -> Result<Option<RepeatedChunk>> {
        let mut window = Window::new(self, segment);
        let found = self.chunk_at(&mut window, segment, opened_seq, chunk.offset)?;
        let found = found.filter(|(header, _, _)| header.seq == chunk.seq);
        Ok(found.and_then(|(_, _, repeat)| RepeatedChunk::decode(&repeat)))
    }

    fn chunk_at(
        &self,
        window: &mut Window<'_>,
        segment: u32,
        opened_seq: u64,
        at: u32,
    ) -> Result<Option<FoundChunk>> {
        let Some((header, checksum)) = ChunkHeader::decode(window.bytes(at, CHUNK_HEADER_BYTES)?)
        else {
            return Ok(None);
        };
        let length = header.chunk_bytes();
        let belongs = header.kind != ChunkKind::Footer
            && self.is_of(&header, segment, opened_seq)
            && header.offset == at
            && u64::from(at) + length <= u64::from(self.media.identity.segment_bytes)
            && length <= u64::from(crate::format::CHUNK_BYTES_MAX);
        if !belongs {
            return Ok(None);
        }
        let bytes = window.bytes(at, length as usize)?;
        let table_at = CHUNK_HEADER_BYTES + header.payload_bytes as usize;
        let table = &bytes[table_at..table_at + 8 * header.all_words()];
        if !ChunkHeader::fits(bytes, table, checksum) {
            return Ok(None);
        }
        let (own, repeat) = table.split_at(8 * header.table_words as usize);
        // The table of a root lists no records.
        let words = if header.kind == ChunkKind::Root { Vec::new() } else { words_of(own) };
        Ok(Some((header, words, words_of(repeat))))
    }

    /// The header and words of a root's chunk at `place`, whose length is in blocks.
    pub(crate) fn root_chunk(&self, place: Location) -> Result<Option<(ChunkHeader, Vec<u64>)>> {
        let (segment, at) = (place.segment(), place.offset());
        let bytes = u64::from(place.length()) * BLOCK_BYTES;
        let is_inside = segment < self.media.identity.segments
            && (BLOCK_BYTES..=u64::from(crate::format::CHUNK_BYTES_MAX)).contains(&bytes)
            && u64::from(at) + bytes <= u64::from(self.media.identity.segment_bytes);
        if !is_inside {
            return Ok(None);
        }
        let mut chunk = self.read_chunk(segment, at..at + bytes as u32)?;
        let decode = |bytes: &[u8]| self.decode_root(bytes, segment, at);
        if let Some(found) = decode(&chunk.bytes) {
            return Ok(Some(found));
        }
        let all = 0..chunk.blocks();
        Ok(chunk.restore(all, |bytes| decode(bytes).is_some()).and_then(|bytes| decode(&bytes)))
    }

    fn decode_root(&self, bytes: &[u8], segment: u32, at: u32) -> Option<(ChunkHeader, Vec<u64>)> {
        let (header, checksum) = ChunkHeader::decode(bytes)?;
        let belongs = header.kind == ChunkKind::Root
            && header.drive_id == self.media.identity.drive_id
            && (header.segment, header.offset) == (segment, at)
            && header.payload_bytes == 0
            && header.repeat_words == 0
            && header.chunk_bytes() == bytes.len() as u64;
        let table = bytes.get(CHUNK_HEADER_BYTES..)?;
        let table = table.get(..8 * header.table_words as usize).filter(|_| belongs)?;
        ChunkHeader::fits(bytes, table, checksum).then(|| (header, words_of(table)))
    }
}

impl Segments {
    /// The chunk of the map's stream in a gap, if a single bad block hides it.
    fn restored_chunk(
        &self,
        segment: u32,
        opened_seq: u64,
        gap: Range<u32>,
        seqs: Range<u64>,
    ) -> Result<Option<SegmentChunk>> {
        if gap.end - gap.start > crate::format::CHUNK_BYTES_MAX {
            return Ok(None);
        }
        let mut chunk = self.read_chunk(segment, gap.clone())?;
        let decode = |bytes: &[u8]| {
            let (header, checksum) = ChunkHeader::decode(bytes)?;
            let belongs = header.kind != ChunkKind::Footer
                && self.is_of(&header, segment, opened_seq)
                && header.offset == gap.start
                && header.seq > seqs.start
                && header.seq < seqs.end
                && header.chunk_bytes() == u64::from(gap.end - gap.start);
            let table_at = CHUNK_HEADER_BYTES + header.payload_bytes as usize;
            let table =
                bytes.get(table_at..table_at + 8 * header.all_words()).filter(|_| belongs)?;
            ChunkHeader::fits(bytes, table, checksum).then(|| (header, words_of(table)))
        };
        let all = 0..chunk.blocks();
        let restored = chunk.restore(all, |bytes| decode(bytes).is_some());
        Ok(restored.and_then(|bytes| decode(&bytes)).map(|(header, words)| SegmentChunk {
            kind: header.kind,
            seq: header.seq,
            offset: gap.start,
            bytes: gap.end - gap.start,
            durable_seq: header.durable_seq,
            words: if header.kind == ChunkKind::Root { Vec::new() } else { words },
        }))
    }
}

/// A chunk's header, its own table, and the repeated table.
type FoundChunk = (ChunkHeader, Vec<u64>, Vec<u64>);

/// A part of a segment in memory, read ahead of the walk.
struct Window<'a> {
    segments: &'a Segments,
    segment: u32,
    start: u32,
    length: u32,
    /// Whether a place of the media could not be read.
    is_unreadable: bool,
    buffer: BlockBuffer,
}

impl<'a> Window<'a> {
    const BYTES: u32 = 2 << 20;

    fn new(segments: &'a Segments, segment: u32) -> Window<'a> {
        Window {
            segments,
            segment,
            start: 0,
            length: 0,
            is_unreadable: false,
            buffer: BlockBuffer::default(),
        }
    }

    /// The `length` bytes from `at`, which is a multiple of a block; both lie inside the segment.
    fn bytes(&mut self, at: u32, length: usize) -> Result<&[u8]> {
        let inside = at >= self.start && at + length as u32 <= self.start + self.length;
        if !inside {
            let segment_bytes = self.segments.media.identity.segment_bytes;
            self.length =
                Window::BYTES.max(whole_blocks(length as u64) as u32).min(segment_bytes - at);
            self.start = at;
            let media = self.segments.media.identity.segment_start(self.segment) + u64::from(at);
            let buffer = self.buffer.first(self.length as usize);
            self.is_unreadable |= self.segments.media.read_tolerant(media, buffer)?;
        }
        let from = (at - self.start) as usize;
        Ok(&self.buffer.as_ref()[from..from + length])
    }
}

fn words_of(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
}
