//! Chunks: the unit in which the log is written, and the footer that repeats the tables of a full
//! segment.
//!
//! ```text
//! chunk:   header (72 B) | payload | table | previous chunk's table | zeroes to a block | parity
//! footer:  tables of all chunks | zeroes | header, in the last 72 B of the segment
//! ```
//!
//! Chunks and footers of the log are numbered by one count without gaps, those of the map's stream
//! by another. A chunk is valid as a whole or not at all: its checksum covers header and tables,
//! and the records have their own.
//!
//! One bad block costs no table: the next chunk of the log, in whichever stream, repeats the table
//! of the previous one, and so does the footer once the segment is full. In the map's stream a last
//! block, the exclusive-or of the others, restores any one of them.

use super::{Reader, whole_blocks};
use assay_disk::BLOCK_BYTES;

/// Bytes of a chunk's header.
pub(crate) const CHUNK_HEADER_BYTES: usize = 72;

/// The lowest sequence number of the map's stream; lower numbers are the log's.
pub(crate) const MAP_SEQS: u64 = 1 << 63;

const MAGIC: u32 = u32::from_le_bytes(*b"aChk");
const VERSION: u8 = 2;

/// The source of data: data that are written together die together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stream {
    /// Host writes.
    #[default]
    Host = 0,
    /// Data that collection moves for the first time.
    Cold = 1,
    /// Data that collection moves again: they have lived through two collections and will live
    /// long.
    Frozen = 2,
    /// Nodes of the map, and roots.
    Map = 3,
}

/// Number of streams.
pub(crate) const STREAMS: usize = 4;

impl Stream {
    pub(crate) const ALL: [Stream; STREAMS] =
        [Stream::Host, Stream::Cold, Stream::Frozen, Stream::Map];

    /// The stream to which collection moves the live records of this one.
    pub(crate) fn when_moved(self) -> Stream {
        if self == Stream::Host { Stream::Cold } else { Stream::Frozen }
    }

    pub(crate) fn from_code(code: u8) -> Option<Stream> {
        Stream::ALL.get(usize::from(code)).copied()
    }
}

/// The kind of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    /// Records and their table.
    Log = 0,
    /// The end of a segment; its table repeats those of the segment's chunks.
    Footer = 1,
    /// A part of a checkpoint's root, in the table.
    Root = 2,
}

/// Header of a chunk or footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub(crate) kind: ChunkKind,
    pub(crate) stream: Stream,
    pub(crate) drive_id: u64,
    pub(crate) segment: u32,
    /// First byte in the segment; in a footer, the first byte of its table.
    pub(crate) offset: u32,
    /// Sequence number by which the segment was opened.
    pub(crate) opened_seq: u64,
    pub(crate) seq: u64,
    /// Highest sequence number that was on stable media, with all before it, when this was built.
    pub(crate) durable_seq: u64,
    pub(crate) payload_bytes: u32,
    pub(crate) table_words: u32,
    /// Words that repeat the previous chunk: its number, place and table.
    pub(crate) repeat_words: u32,
    /// The segment in which the stream goes on; only in a footer.
    pub(crate) next_segment: u32,
}

impl ChunkHeader {
    /// `next_segment` of chunks other than footers.
    pub(crate) const NO_SEGMENT: u32 = u32::MAX;

    /// Bytes of the whole chunk on media.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        chunk_bytes(self.stream, self.payload_bytes as usize, self.all_words())
    }

    /// Words of its own table and of the repeated one.
    pub(crate) fn all_words(&self) -> usize {
        self.table_words as usize + self.repeat_words as usize
    }

    /// Writes header and checksum; `table` is the table's bytes.
    pub(crate) fn encode(&self, table: &[u8], out: &mut [u8]) {
        let mut bytes = Vec::with_capacity(CHUNK_HEADER_BYTES);
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend([VERSION, self.kind as u8, self.stream as u8, 0]);
        bytes.extend(self.drive_id.to_le_bytes());
        bytes.extend(self.segment.to_le_bytes());
        bytes.extend(self.offset.to_le_bytes());
        bytes.extend(self.opened_seq.to_le_bytes());
        bytes.extend(self.seq.to_le_bytes());
        bytes.extend(self.durable_seq.to_le_bytes());
        bytes.extend(self.payload_bytes.to_le_bytes());
        bytes.extend(self.table_words.to_le_bytes());
        bytes.extend(self.next_segment.to_le_bytes());
        bytes.extend(self.repeat_words.to_le_bytes());
        bytes.extend([0; 4]);
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes), table);
        bytes.extend(checksum.to_le_bytes());
        out[..CHUNK_HEADER_BYTES].copy_from_slice(&bytes);
    }

    /// Decodes a header and the checksum that it claims for itself and its table; `None` for other
    /// bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(ChunkHeader, u32)> {
        let mut reader = Reader(bytes.get(..CHUNK_HEADER_BYTES)?);
        if reader.u32()? != MAGIC || reader.u8()? != VERSION {
            return None;
        }
        let kind = match reader.u8()? {
            0 => ChunkKind::Log,
            1 => ChunkKind::Footer,
            2 => ChunkKind::Root,
            _ => return None,
        };
        let stream = Stream::from_code(reader.u8()?)?;
        reader.u8()?;
        let header = ChunkHeader {
            kind,
            stream,
            drive_id: reader.u64()?,
            segment: reader.u32()?,
            offset: reader.u32()?,
            opened_seq: reader.u64()?,
            seq: reader.u64()?,
            durable_seq: reader.u64()?,
            payload_bytes: reader.u32()?,
            table_words: reader.u32()?,
            next_segment: reader.u32()?,
            repeat_words: reader.u32()?,
        };
        reader.u32()?;
        Some((header, reader.u32()?))
    }

    /// Whether header and table have the `checksum`; `bytes` begins with the header.
    pub(crate) fn fits(bytes: &[u8], table: &[u8], checksum: u32) -> bool {
        let Some(header) = bytes.get(..CHUNK_HEADER_BYTES - 4) else { return false };
        crc32c::crc32c_append(crc32c::crc32c(header), table) == checksum
    }
}

/// Bytes on media of a chunk with this payload and this number of words.
pub(crate) fn chunk_bytes(stream: Stream, payload: usize, words: usize) -> u64 {
    let parity = if stream == Stream::Map { BLOCK_BYTES } else { 0 };
    whole_blocks((CHUNK_HEADER_BYTES + payload + 8 * words) as u64) + parity
}

/// The exclusive-or of whole blocks, with which a chunk of the map's stream ends.
pub(crate) fn parity_of(blocks: &[u8], parity: &mut [u8]) {
    parity.fill(0);
    for block in blocks.chunks_exact(BLOCK_BYTES as usize) {
        parity.iter_mut().zip(block).for_each(|(sum, byte)| *sum ^= byte);
    }
}

/// A footer's description of one chunk: two words before the chunk's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FooterChunk {
    pub(crate) seq: u64,
    pub(crate) offset: u32,
    pub(crate) table_words: u32,
}

impl FooterChunk {
    /// Words of one description.
    pub(crate) const WORDS: usize = 2;

    pub(crate) fn push(self, words: &mut Vec<u64>) {
        words.extend([self.seq, u64::from(self.offset) << 32 | u64::from(self.table_words)]);
    }

    /// Splits a footer's words into chunks with their tables; stops early at invalid words.
    pub(crate) fn split(mut words: &[u64]) -> Vec<(FooterChunk, &[u64])> {
        let mut chunks = Vec::new();
        while let [seq, place, rest @ ..] = words {
            let chunk =
                FooterChunk { seq: *seq, offset: (place >> 32) as u32, table_words: *place as u32 };
            let Some((table, rest)) = rest.split_at_checked(chunk.table_words as usize) else {
                break;
            };
            chunks.push((chunk, table));
            words = rest;
        }
        chunks
    }
}

/// The previous chunk of the log, as a chunk repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepeatedChunk {
    pub(crate) seq: u64,
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    /// Bytes of the chunk on media.
    pub(crate) bytes: u32,
    pub(crate) words: Vec<u64>,
}

impl RepeatedChunk {
    /// Words in addition to the table: number and place.
    pub(crate) const WORDS: usize = 2;

    /// Encodes the chunk's number, a word for its place, and its table. The second word has the
    /// segment in bits 0–19, the offset in blocks in 20–33, the chunk's length in blocks in 34–43
    /// and the length of its table in words in 44–63.
    pub(crate) fn encode(&self) -> Vec<u64> {
        let blocks = |bytes: u32| u64::from(bytes) / BLOCK_BYTES;
        let place = u64::from(self.segment)
            | blocks(self.offset) << 20
            | blocks(self.bytes) << 34
            | (self.words.len() as u64) << 44;
        let mut words = Vec::with_capacity(RepeatedChunk::WORDS + self.words.len());
        words.extend([self.seq, place]);
        words.extend(&self.words);
        words
    }

    /// Decodes a repeated chunk; `None` for other words.
    pub(crate) fn decode(words: &[u64]) -> Option<RepeatedChunk> {
        let [seq, place, table @ ..] = words else { return None };
        let bytes = |blocks: u64| (blocks * BLOCK_BYTES) as u32;
        let chunk = RepeatedChunk {
            seq: *seq,
            segment: (place & 0xF_FFFF) as u32,
            offset: bytes(place >> 20 & 0x3FFF),
            bytes: bytes(place >> 34 & 0x3FF),
            words: table.to_vec(),
        };
        (place >> 44 == table.len() as u64).then_some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> ChunkHeader {
        ChunkHeader {
            kind: ChunkKind::Footer,
            stream: Stream::Cold,
            drive_id: 1,
            segment: 2,
            offset: 3,
            opened_seq: 4,
            seq: 5,
            durable_seq: 6,
            payload_bytes: 7,
            table_words: 1,
            repeat_words: 9,
            next_segment: 8,
        }
    }

    #[test]
    fn a_header_comes_back_and_any_flipped_bit_is_noticed() {
        let table = 77_u64.to_le_bytes();
        let mut bytes = [0; CHUNK_HEADER_BYTES];
        header().encode(&table, &mut bytes);
        let (decoded, checksum) = ChunkHeader::decode(&bytes).unwrap();
        assert_eq!(decoded, header());
        assert!(ChunkHeader::fits(&bytes, &table, checksum));
        for bit in 0..CHUNK_HEADER_BYTES * 8 {
            let mut broken = bytes;
            broken[bit / 8] ^= 1 << (bit % 8);
            let fits = ChunkHeader::decode(&broken)
                .is_some_and(|(_, checksum)| ChunkHeader::fits(&broken, &table, checksum));
            assert!(!fits, "bit {bit}");
        }
        assert!(!ChunkHeader::fits(&bytes, &78_u64.to_le_bytes(), checksum));
    }

    #[test]
    fn what_is_repeated_comes_back() {
        let chunk = RepeatedChunk {
            seq: 7,
            segment: 0xF_FFFE,
            offset: (64 << 20) - 4096,
            bytes: 1 << 20,
            words: vec![1, 2, 3],
        };
        let words = chunk.encode();
        assert_eq!(RepeatedChunk::decode(&words), Some(chunk));
        assert_eq!(RepeatedChunk::decode(&words[..4]), None);
        assert_eq!(RepeatedChunk::decode(&[]), None);
    }

    #[test]
    fn a_footer_splits_into_its_chunks() {
        let mut words = Vec::new();
        for (seq, table) in [(4, &[10, 11][..]), (6, &[]), (9, &[12])] {
            let chunk = FooterChunk { seq, offset: 4096, table_words: table.len() as u32 };
            chunk.push(&mut words);
            words.extend(table);
        }
        let tables: Vec<_> =
            FooterChunk::split(&words).iter().map(|(_, table)| table.len()).collect();
        assert_eq!(tables, [2, 0, 1]);
        words.pop();
        assert_eq!(FooterChunk::split(&words).len(), 2);
    }
}
