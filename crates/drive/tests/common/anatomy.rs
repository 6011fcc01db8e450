//! The meaning of each byte of a drive's media, from `docs/on-media.md` and without the drive's own
//! code.
//!
//! Used to damage one structure on purpose, and to make its checksum match again.

use std::ops::Range;

const BLOCK: usize = 4096;
const SEGMENTS_START: u64 = 1 << 20;
const HEADER: usize = 72;
/// Offset of its checksum.
const SUM: usize = 68;

/// The stream that wrote a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    Host,
    Moved,
    MovedAgain,
    Map,
}

/// The kind of a piece of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The first or the second.
    Superblock(usize),
    Header(Stream),
    Record(Stream),
    Node,
    Dictionary,
    Table(Stream),
    Padding(Stream),
    /// The last block of a chunk of the map's stream.
    Parity,
    /// With its header.
    Root,
    /// With its header, at the segment's end.
    Footer(Stream),
}

/// A piece of media.
#[derive(Debug, Clone)]
pub struct Piece {
    pub part: Part,
    /// Bytes from the media's beginning.
    pub range: Range<u64>,
    /// First byte of the chunk, footer or superblock that it is part of.
    pub owner: u64,
    /// Number of the chunk or footer.
    pub seq: u64,
    /// Opening number of the segment.
    pub opened_seq: u64,
    /// Location of a record, without its block of a unit; what its checksum calls its key.
    pub location: u64,
    pub key: u64,
}

/// The geometry that a superblock tells.
#[derive(Debug, Clone, Copy)]
pub struct Geometry {
    pub drive_id: u64,
    pub media_bytes: u64,
    pub segment_bytes: u64,
    pub segments: u64,
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

pub fn geometry(image: &[u8]) -> Geometry {
    Geometry {
        drive_id: u64_at(image, 12),
        media_bytes: u64_at(image, 20),
        segment_bytes: u64::from(u32_at(image, 28)),
        segments: u64::from(u32_at(image, 32)),
    }
}

impl Geometry {
    pub fn segment_start(&self, segment: u64) -> u64 {
        SEGMENTS_START + segment * self.segment_bytes
    }
}

/// Every structure of a drive that lies on its media, also those that are superseded.
pub fn pieces(image: &[u8]) -> Vec<Piece> {
    let geometry = geometry(image);
    let second = geometry.media_bytes - BLOCK as u64;
    let superblock = |(number, at): (usize, u64)| Piece {
        part: Part::Superblock(number),
        range: at..at + BLOCK as u64,
        owner: at,
        seq: 0,
        opened_seq: 0,
        location: 0,
        key: 0,
    };
    let mut pieces: Vec<_> = [(0, 0), (1, second)].map(superblock).into();
    for segment in 0..geometry.segments {
        segment_pieces(image, &geometry, segment, &mut pieces);
    }
    pieces
}

/// A chunk's header, as far as it is needed here.
struct Header {
    kind: u8,
    stream: Stream,
    opened_seq: u64,
    seq: u64,
    payload: usize,
    words: usize,
    /// Words that repeat the chunk before.
    repeat: usize,
}

fn header_at(image: &[u8], geometry: &Geometry, segment: u64, at: usize) -> Option<Header> {
    let bytes = image.get(at..at + HEADER)?;
    let stream = [Stream::Host, Stream::Moved, Stream::MovedAgain, Stream::Map];
    let belongs = bytes.starts_with(b"aChk")
        && u64_at(bytes, 8) == geometry.drive_id
        && u64::from(u32_at(bytes, 16)) == segment;
    belongs.then(|| Header {
        kind: bytes[5],
        stream: stream[usize::from(bytes[6])],
        opened_seq: u64_at(bytes, 24),
        seq: u64_at(bytes, 32),
        payload: u32_at(bytes, 48) as usize,
        words: u32_at(bytes, 52) as usize,
        repeat: u32_at(bytes, 60) as usize,
    })
}

fn segment_pieces(image: &[u8], geometry: &Geometry, segment: u64, pieces: &mut Vec<Piece>) {
    let start = geometry.segment_start(segment) as usize;
    let end = start + geometry.segment_bytes as usize;
    let Some(first) = header_at(image, geometry, segment, start) else { return };
    let mut at = start;
    while at < end {
        let header = header_at(image, geometry, segment, at);
        let header = header.filter(|header| {
            let table = at + HEADER + header.payload;
            let words = header.words + header.repeat;
            let is_whole = image[..end].get(table..table + 8 * words).is_some_and(|table| {
                let sum = crc32c::crc32c_append(crc32c::crc32c(&image[at..at + SUM]), table);
                sum == u32_at(image, at + SUM)
            });
            header.kind != 1 && header.opened_seq == first.opened_seq && is_whole
        });
        let Some(header) = header else {
            at += BLOCK;
            continue;
        };
        at = chunk_pieces(image, segment, start, at, &header, pieces);
    }
    let tail = header_at(image, geometry, segment, end - HEADER);
    if let Some(footer) = tail.filter(|tail| tail.kind == 1 && tail.opened_seq == first.opened_seq)
    {
        let length = (HEADER + 8 * footer.words).next_multiple_of(BLOCK);
        let place = (end - length) as u64;
        let part = Part::Footer(footer.stream);
        pieces.push(whole(part, place..end as u64, place, &footer));
    }
}

fn whole(part: Part, range: Range<u64>, owner: u64, header: &Header) -> Piece {
    let (seq, opened_seq) = (header.seq, header.opened_seq);
    Piece { part, range, owner, seq, opened_seq, location: 0, key: 0 }
}

/// The parts of a chunk; gives where the next one begins.
fn chunk_pieces(
    image: &[u8],
    segment: u64,
    segment_start: usize,
    at: usize,
    header: &Header,
    pieces: &mut Vec<Piece>,
) -> usize {
    let owner = at as u64;
    let table = at + HEADER + header.payload;
    let own_end = table + 8 * header.words;
    let table_end = own_end + 8 * header.repeat;
    let parity = if header.stream == Stream::Map { BLOCK } else { 0 };
    let padding_end = at + (table_end - at).next_multiple_of(BLOCK);
    let end = padding_end + parity;
    let range = |start: usize, end: usize| start as u64..end as u64;
    if header.kind == 2 {
        pieces.push(whole(Part::Root, range(at, table_end), owner, header));
        return end;
    }
    pieces.push(whole(Part::Header(header.stream), range(at, at + HEADER), owner, header));
    if parity > 0 {
        pieces.push(whole(Part::Parity, range(padding_end, end), owner, header));
    }
    if header.words + header.repeat > 0 {
        pieces.push(whole(Part::Table(header.stream), range(table, table_end), owner, header));
    }
    if table_end < padding_end {
        let range = range(table_end, padding_end);
        pieces.push(whole(Part::Padding(header.stream), range, owner, header));
    }
    let mut record = at + HEADER;
    for entry in entries(&image[table..own_end]) {
        if entry.op == 2 {
            continue;
        }
        let offset = (record - segment_start) as u64;
        let unit = u64::from(entry.op == 1 || entry.op == 4);
        let part = match entry.op {
            5 => Part::Node,
            6 => Part::Dictionary,
            _ => Part::Record(header.stream),
        };
        let key = match entry.op {
            5 => entry.key | 1 << 62,
            6 => entry.key | 1 << 61,
            _ => entry.key,
        };
        let location = segment | offset << 20 | (entry.length as u64) << 46 | unit << 63;
        let piece = whole(part, range(record, record + entry.length), owner, header);
        pieces.push(Piece { location, key, ..piece });
        record += entry.length;
    }
    end
}

/// One entry of a table.
pub struct Entry {
    pub op: u64,
    pub key: u64,
    pub length: usize,
}

/// The entries of a table's bytes.
pub fn entries(table: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut at = 0;
    while at + 8 <= table.len() {
        let word = u64_at(table, at);
        let op = word >> 55 & 7;
        entries.push(Entry {
            op,
            key: word & ((1 << 40) - 1),
            length: (word >> 40 & 0x7FFF) as usize,
        });
        at += 8 * match op {
            3 | 4 => 3,
            5 => 2,
            _ => 1,
        };
    }
    entries
}

/// Makes the checksum of a superblock, chunk, footer or record fit what it holds now.
pub fn reseal(image: &mut [u8], piece: &Piece, drive_id: u64) {
    let owner = piece.owner as usize;
    match piece.part {
        Part::Superblock(_) => {
            let sum = crc32c::crc32c(&image[owner..owner + BLOCK - 4]);
            image[owner + BLOCK - 4..owner + BLOCK].copy_from_slice(&sum.to_le_bytes());
        }
        Part::Footer(_) => reseal_footer(&mut image[owner..piece.range.end as usize]),
        Part::Record(_) | Part::Node | Part::Dictionary => {
            let record = &mut image[piece.range.start as usize..piece.range.end as usize];
            let plain = crc32c::crc32c_append(crc32c::crc32c(&record[..1]), &record[5..]);
            let sum = plain ^ binding(drive_id, piece);
            record[1..5].copy_from_slice(&sum.to_le_bytes());
        }
        _ => reseal_chunk(&mut image[owner..]),
    }
}

fn reseal_chunk(bytes: &mut [u8]) {
    let table = HEADER.saturating_add(u32_at(bytes, 48) as usize);
    let words = 8 * (u32_at(bytes, 52) as usize).saturating_add(u32_at(bytes, 60) as usize);
    let header = crc32c::crc32c(&bytes[..SUM]);
    // A length that points anywhere cannot be made to fit, and need not.
    let Some(table) = bytes.get(table..table.saturating_add(words)) else { return };
    let sum = crc32c::crc32c_append(header, table);
    bytes[SUM..HEADER].copy_from_slice(&sum.to_le_bytes());
}

fn reseal_footer(bytes: &mut [u8]) {
    let header = bytes.len() - HEADER;
    let words = 8 * u32_at(bytes, header + 52) as usize;
    let Some(table) = bytes.get(..words) else { return };
    let sum = crc32c::crc32c_append(crc32c::crc32c(&bytes[header..header + SUM]), table);
    bytes[header + SUM..].copy_from_slice(&sum.to_le_bytes());
}

/// The part of a record's checksum for its place and key.
fn binding(drive_id: u64, piece: &Piece) -> u32 {
    const SALT: u64 = 0x6173_7361_7964_7276;
    let place = mix(drive_id ^ mix(piece.opened_seq));
    let mixed = mix(place ^ mix(piece.location).wrapping_add(mix(piece.key ^ SALT)));
    (mixed >> 32) as u32
}

const fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}
