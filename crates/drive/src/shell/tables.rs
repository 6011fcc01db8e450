//! What lies in a sealed segment, as its footer tells, or its chunks where the footer is damaged.

use crate::core::tables::{Footer, Hole, SegmentChunk, SegmentTables, Walked};
use crate::format::{
    CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, Location, RepeatedChunk, Stream, whole_blocks,
};
use crate::shell::drive::Drive;
use assay_disk::{BLOCK_BYTES, Result};

impl Drive {
    /// Everything that a sealed segment's footer tells, or its chunks where the footer is damaged.
    ///
    /// # Errors
    /// Those that stop the drive: what cannot be read is a result.
    pub(crate) fn segment_tables(&self, segment: u32, opened_seq: u64) -> Result<SegmentTables> {
        if let Some(footer) = self.read_footer(segment, opened_seq)? {
            let chunks = footer.chunks();
            return Ok(SegmentTables { chunks, is_complete: true, is_unreadable: false });
        }
        self.report(format!("the footer of segment {segment} is damaged; its chunks serve"));
        let walked = self.walk_chunks(segment, opened_seq, 0, 0..u64::MAX)?;
        let is_unreadable = walked.is_unreadable;
        // Whether there was one more chunk, only the footer knew.
        Ok(SegmentTables { chunks: walked.all(), is_complete: false, is_unreadable })
    }

    /// A segment's footer, if there is one for this filling of it. It may still be in memory.
    pub(crate) fn read_footer(&self, segment: u32, opened_seq: u64) -> Result<Option<Footer>> {
        Ok(self.any_footer(segment)?.filter(|footer| footer.header.opened_seq == opened_seq))
    }

    /// A segment's footer, of whichever filling.
    pub(crate) fn any_footer(&self, segment: u32) -> Result<Option<Footer>> {
        let segment_bytes = u64::from(self.identity.segment_bytes);
        let start = self.identity.segment_start(segment);
        let mut bytes = assay_disk::BlockBuffer::zeroed(BLOCK_BYTES as usize);
        if self.read_tolerant(start + segment_bytes - BLOCK_BYTES, bytes.as_mut())? {
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
        if self.read_tolerant(start + segment_bytes - length, bytes)? {
            self.note_unreadable(segment);
        }
        let (table, rest) = bytes.split_at(8 * header.table_words as usize);
        let tail = &rest[rest.len() - CHUNK_HEADER_BYTES..];
        Ok(ChunkHeader::fits(tail, table, checksum)
            .then(|| Footer { header, words: words_of(table) }))
    }

    /// The stream of the first chunk of a segment that can be read, and by which number the segment was opened.
    /// A segment that begins with zeroes was never used.
    pub(crate) fn first_header(&self, segment: u32) -> Result<Option<(Stream, u64)>> {
        let mut window = Window::new(self, segment);
        if crate::codec::is_zero(window.bytes(0, BLOCK_BYTES as usize)?) {
            return Ok(None);
        }
        for at in (0..self.identity.segment_bytes).step_by(BLOCK_BYTES as usize) {
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
        header.drive_id == self.identity.drive_id
            && header.segment == segment
            && header.opened_seq == opened_seq
            && header.seq > opened_seq
    }

    /// Follows the chunks of a segment from `offset` whose numbers are among `seqs`.
    pub(crate) fn walk_chunks(
        &self,
        segment: u32,
        opened_seq: u64,
        offset: u32,
        seqs: std::ops::Range<u64>,
    ) -> Result<Walked> {
        let mut walked = Walked::default();
        let mut window = Window::new(self, segment);
        let mut at = offset;
        let mut is_broken = false;
        // Where the next chunk should begin, and what lies before that.
        let (mut expected, mut before) = (offset, opened_seq);
        while at < self.identity.segment_bytes {
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

    /// What the chunk that lies here repeats, if it is whole and has this number.
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
            && u64::from(at) + length <= u64::from(self.identity.segment_bytes)
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
        // A root's table is no table of records.
        let words = if header.kind == ChunkKind::Root { Vec::new() } else { words_of(own) };
        Ok(Some((header, words, words_of(repeat))))
    }

    /// The words of a root's chunk at `place`, whose length is in blocks, and its header.
    pub(crate) fn root_chunk(&self, place: Location) -> Result<Option<(ChunkHeader, Vec<u64>)>> {
        let (segment, at) = (place.segment(), place.offset());
        let bytes = u64::from(place.length()) * BLOCK_BYTES;
        let is_inside = segment < self.identity.segments
            && (BLOCK_BYTES..=u64::from(crate::format::CHUNK_BYTES_MAX)).contains(&bytes)
            && u64::from(at) + bytes <= u64::from(self.identity.segment_bytes);
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
            && header.drive_id == self.identity.drive_id
            && (header.segment, header.offset) == (segment, at)
            && header.payload_bytes == 0
            && header.repeat_words == 0
            && header.chunk_bytes() == bytes.len() as u64;
        let table = bytes.get(CHUNK_HEADER_BYTES..)?;
        let table = table.get(..8 * header.table_words as usize).filter(|_| belongs)?;
        ChunkHeader::fits(bytes, table, checksum).then(|| (header, words_of(table)))
    }
}

impl Drive {
    /// The chunk of the map's stream that lay in this gap, if one bad block is all that hides it.
    fn restored_chunk(
        &self,
        segment: u32,
        opened_seq: u64,
        gap: std::ops::Range<u32>,
        seqs: std::ops::Range<u64>,
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

/// A chunk's header, its own table and what it repeats.
type FoundChunk = (ChunkHeader, Vec<u64>, Vec<u64>);

/// A part of a segment in memory, read ahead as it is walked through.
struct Window<'a> {
    drive: &'a Drive,
    segment: u32,
    start: u32,
    length: u32,
    /// Whether the media could not be read somewhere.
    is_unreadable: bool,
    buffer: assay_disk::BlockBuffer,
}

impl<'a> Window<'a> {
    const BYTES: u32 = 2 << 20;

    fn new(drive: &'a Drive, segment: u32) -> Window<'a> {
        Window {
            drive,
            segment,
            start: 0,
            length: 0,
            is_unreadable: false,
            buffer: assay_disk::BlockBuffer::default(),
        }
    }

    /// `length` bytes from `at`, both inside the segment; `at` on a block.
    fn bytes(&mut self, at: u32, length: usize) -> Result<&[u8]> {
        let inside = at >= self.start && at + length as u32 <= self.start + self.length;
        if !inside {
            let segment_bytes = self.drive.identity.segment_bytes;
            self.length =
                Window::BYTES.max(whole_blocks(length as u64) as u32).min(segment_bytes - at);
            self.start = at;
            let media = self.drive.identity.segment_start(self.segment) + u64::from(at);
            let buffer = self.buffer.first(self.length as usize);
            self.is_unreadable |= self.drive.read_tolerant(media, buffer)?;
        }
        let from = (at - self.start) as usize;
        Ok(&self.buffer.as_ref()[from..from + length])
    }
}

fn words_of(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
}
