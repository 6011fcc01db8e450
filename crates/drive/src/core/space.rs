//! Space: what each segment holds, which are free, and how much fits.
//!
//! A segment is free, open for one stream, sealed, or damaged. Live bytes fall as blocks are overwritten; a sealed
//! segment without live records can be used again once nothing needs it: not the log since the last checkpoint, not
//! a reader, not an entry that is not yet on stable media.

use std::collections::BTreeSet;

use assay_disk::BLOCK_BYTES;
use crate::format::{
    CHUNK_HEADER_BYTES, Identity, Location, MAX_WORDS_PER_ENTRY, RECORD_HEADER_BYTES, SegmentRow,
    Stream, whole_blocks,
};
use crate::core::map::NODE_ENTRIES;

/// Table words that every record has, in its chunk and again in the footer, in bytes.
pub(crate) const RECORD_TABLE_BYTES: u64 = 16;

/// The same for a record that collection moved: what a record may come to cost.
const MOVED_RECORD_TABLE_BYTES: u64 = 2 * 8 * MAX_WORDS_PER_ENTRY as u64;

/// What admission counts for a record beside its payload.
const RECORD_BYTES_BESIDE: u64 = RECORD_HEADER_BYTES as u64 + MOVED_RECORD_TABLE_BYTES;

/// What admission counts for a leaf of the map: what [`crate::core::map::Map::media_bytes`] keeps, and a record.
const MAP_BYTES_OF_LEAF: u64 = 3 * BLOCK_BYTES + RECORD_BYTES_BESIDE;

/// A leaf with its share of its directory and of tables, stored raw.
const NODE_BYTES_AT_MOST: u64 = 4096 + 128;

/// One part in so many of what may be live is for overwriting alone: data that compress about as well as what they
/// replace are now and then some bytes longer, and a full drive must go on taking them.
const OVERWRITE_PART: u64 = 128;

/// It is at least this, in bytes, unless that were more than one part in so many: a file system whose drive is full
/// writes some MiB to blocks that it never wrote before, when it replays its log and when it deletes.
const RESCUE_BYTES: u64 = 8 << 20;
const RESCUE_PART_MOST: u64 = 24;

/// One part in so many of it stays for overwriting when the rest is opened.
const RESCUE_KEPT_PART: u64 = 8;

/// Segments that only collection and checkpoints may take.
const SEGMENTS_FOR_COLLECTION: usize = 3;

/// Segments that only checkpoints may take.
const SEGMENTS_FOR_CHECKPOINT: usize = 1;

/// What a segment is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Free,
    Open,
    Sealed,
    Damaged,
}

/// One segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) state: State,
    /// The stream that fills or filled it.
    pub(crate) stream: Option<Stream>,
    pub(crate) opened_seq: u64,
    pub(crate) sealed_seq: u64,
    pub(crate) live_bytes: u32,
    pub(crate) live_records: u32,
    /// What the log had written when the segment was sealed: its age counts from there.
    pub(crate) sealed_at_bytes: u64,
}

/// All segments.
#[derive(Debug)]
pub(crate) struct Space {
    segments: Vec<Segment>,
    free: BTreeSet<u32>,
    live_bytes: u64,
    live_records: u64,
    /// Live bytes and tables that may be accepted.
    limit_bytes: u64,
    /// Bytes in use above which the least of the writes that were refused would be refused again; none: none was.
    refused_above: Option<u64>,
    /// Whether fresh data may have most of what is kept for overwriting.
    is_rescue: bool,
    segment_bytes: u32,
    /// Segments that the next checkpoint may need.
    checkpoint_segments: usize,
}

impl Space {
    /// The segments of a fresh drive.
    pub(crate) fn fresh(identity: &Identity) -> Space {
        Space::from_rows(identity, &vec![SegmentRow::default(); identity.segments as usize])
    }

    /// The segments as a root describes them.
    pub(crate) fn from_rows(identity: &Identity, rows: &[SegmentRow]) -> Space {
        let segments: Vec<_> = rows.iter().map(Segment::from_row).collect();
        let free = (0..).zip(&segments).filter(|(_, segment)| segment.state == State::Free);
        Space {
            free: free.map(|(number, _)| number).collect(),
            live_bytes: segments.iter().map(|segment| u64::from(segment.live_bytes)).sum(),
            live_records: segments.iter().map(|segment| u64::from(segment.live_records)).sum(),
            limit_bytes: limit_bytes(identity),
            refused_above: None,
            is_rescue: false,
            segment_bytes: identity.segment_bytes,
            checkpoint_segments: 0,
            segments,
        }
    }

    pub(crate) fn rows(&self) -> Vec<SegmentRow> {
        self.segments.iter().map(Segment::row).collect()
    }

    pub(crate) fn get(&self, number: u32) -> &Segment {
        &self.segments[number as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Segment)> {
        (0..).zip(&self.segments)
    }

    pub(crate) fn free_segments(&self) -> usize {
        self.free.len()
    }

    /// Keeps room for a checkpoint of so many leaves, and of what names them: neither the host nor collection may take it.
    /// It is never nothing: the next write changes a leaf, and until it has come the host must not take what is kept for it.
    pub(crate) fn reserve_for_checkpoint(&mut self, unstored_leaves: usize) {
        let bytes = (unstored_leaves as u64 + 1) * NODE_BYTES_AT_MOST;
        self.checkpoint_segments = bytes.div_ceil(u64::from(self.segment_bytes)) as usize;
    }

    /// Free segments below which collection should begin.
    pub(crate) fn low_mark(&self) -> usize {
        SEGMENTS_FOR_COLLECTION + self.checkpoint_segments + 2
    }

    /// Free segments that a host write needs to find more than.
    pub(crate) fn host_mark(&self) -> usize {
        SEGMENTS_FOR_COLLECTION + self.checkpoint_segments
    }

    /// Takes a free segment for a stream, if the stream may have one.
    pub(crate) fn open(&mut self, stream: Stream, opened_seq: u64) -> Option<u32> {
        let kept = match stream {
            Stream::Host => self.host_mark(),
            Stream::Cold | Stream::Frozen => SEGMENTS_FOR_CHECKPOINT + self.checkpoint_segments,
            Stream::Map => 0,
        };
        let number = (self.free.len() > kept).then(|| self.free.first().copied()).flatten()?;
        self.open_this(number, stream, opened_seq);
        Some(number)
    }

    /// Opens a segment that the log names.
    pub(crate) fn open_this(&mut self, number: u32, stream: Stream, opened_seq: u64) {
        self.forget(number);
        self.free.remove(&number);
        let segment = &mut self.segments[number as usize];
        *segment =
            Segment { opened_seq, state: State::Open, stream: Some(stream), ..Segment::FREE };
    }

    pub(crate) fn seal(&mut self, number: u32, sealed_seq: u64, log_bytes: u64) {
        let segment = &mut self.segments[number as usize];
        segment.state = State::Sealed;
        segment.sealed_seq = sealed_seq;
        segment.sealed_at_bytes = log_bytes;
    }

    /// Gives a segment back.
    pub(crate) fn release(&mut self, number: u32) {
        self.forget(number);
        self.segments[number as usize].state = State::Free;
        self.free.insert(number);
    }

    /// Keeps a segment with unreadable records from being used again.
    pub(crate) fn quarantine(&mut self, number: u32) {
        self.segments[number as usize].state = State::Damaged;
    }

    fn forget(&mut self, number: u32) {
        let segment = &mut self.segments[number as usize];
        self.live_bytes -= u64::from(segment.live_bytes);
        self.live_records -= u64::from(segment.live_records);
        (segment.live_bytes, segment.live_records) = (0, 0);
    }

    /// A record became live.
    pub(crate) fn add(&mut self, location: Location) {
        let segment = &mut self.segments[location.segment() as usize];
        segment.live_bytes += location.length();
        segment.live_records += 1;
        self.live_bytes += u64::from(location.length());
        self.live_records += 1;
    }

    /// A record died: no block is in it any more.
    pub(crate) fn remove(&mut self, location: Location) {
        let segment = &mut self.segments[location.segment() as usize];
        // Counts that do not fit are a damaged root's; the check command finds them, arithmetic must not fail.
        let bytes = location.length().min(segment.live_bytes);
        let records = segment.live_records.min(1);
        segment.live_bytes -= bytes;
        segment.live_records -= records;
        self.live_bytes -= u64::from(bytes);
        self.live_records -= u64::from(records);
    }

    /// Whether there is room for `need`, with `map_bytes` for the map's own nodes.
    pub(crate) fn admits(&self, need: Need, map_bytes: u64) -> bool {
        let (grown, shrunk) = (need.grown_bytes(), need.shrunk.bytes_when_moved());
        grown <= shrunk || self.taken_bytes(map_bytes) + grown <= self.limit_of(need) + shrunk
    }

    /// Remembers that `need` was refused.
    pub(crate) fn refuse(&mut self, need: Need) {
        let most = self.limit_of(need) + need.shrunk.bytes_when_moved();
        let above = most.saturating_sub(need.grown_bytes());
        self.refused_above = self.refused_above.max(Some(above));
    }

    /// Remembers that a write was refused for want of a segment: until something dies.
    pub(crate) fn refuse_as_it_is(&mut self, map_bytes: u64) {
        let above = self.taken_bytes(map_bytes).saturating_sub(1);
        self.refused_above = self.refused_above.max(Some(above));
    }

    /// Whether the least of the writes that were refused would be refused now.
    pub(crate) fn refuses(&self, map_bytes: u64) -> bool {
        self.refused_above.is_some_and(|above| self.taken_bytes(map_bytes) > above)
    }

    /// Forgets refusals once there is room for the least of them.
    pub(crate) fn forget_refusals_with_room(&mut self, map_bytes: u64) {
        if !self.refuses(map_bytes) {
            self.refused_above = None;
        }
    }

    fn limit_of(&self, need: Need) -> u64 {
        if need.fresh { self.fresh_limit_bytes() } else { self.limit_bytes }
    }

    /// Live records, counted as admission counts them, and the map's nodes.
    pub(crate) fn taken_bytes(&self, map_bytes: u64) -> u64 {
        let live = Weight { bytes: self.live_bytes, records: self.live_records };
        live.bytes_when_moved() + map_bytes
    }

    /// What may be live after a write of fresh data, in bytes.
    pub(crate) fn fresh_limit_bytes(&self) -> u64 {
        let reserve = reserve_bytes(self.limit_bytes);
        self.limit_bytes - if self.is_rescue { reserve / RESCUE_KEPT_PART } else { reserve }
    }

    /// Lets fresh data have most of what is kept for overwriting.
    pub(crate) fn open_reserve(&mut self) {
        self.is_rescue = true;
    }

    /// Whether there is room for a map of so many bytes.
    pub(crate) fn admits_map(&self, map_bytes: u64) -> bool {
        self.taken_bytes(map_bytes) <= self.limit_bytes
    }

    /// Live records with their tables, in bytes.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.live_bytes + RECORD_TABLE_BYTES * self.live_records
    }

    /// Bytes of fresh data that do not compress for which there is room, in whole blocks, when a `taken` part of what is
    /// admitted is in use. Each `unit_blocks` of them are a record; a leaf of the map is new for every 512.
    pub(crate) fn free_bytes(&self, taken: u64, unit_blocks: u64) -> u64 {
        let room = self.fresh_limit_bytes().saturating_sub(taken);
        let records = NODE_ENTRIES / unit_blocks;
        let record = unit_blocks * BLOCK_BYTES + RECORD_BYTES_BESIDE;
        let leaf = records * record + MAP_BYTES_OF_LEAF;
        let bytes = u128::from(room) * u128::from(NODE_ENTRIES * BLOCK_BYTES) / u128::from(leaf);
        bytes as u64 / BLOCK_BYTES * BLOCK_BYTES
    }

    /// Whether a single block that does not compress and held nothing would be refused.
    pub(crate) fn is_full(&self, map_bytes: u64) -> bool {
        let room = self.fresh_limit_bytes().saturating_sub(self.taken_bytes(map_bytes));
        room < BLOCK_BYTES + RECORD_BYTES_BESIDE || self.refuses(map_bytes)
    }

    /// Share of a segment that is live.
    pub(crate) fn live_share(&self, segment: &Segment) -> f64 {
        let bytes =
            u64::from(segment.live_bytes) + RECORD_TABLE_BYTES * u64::from(segment.live_records);
        (bytes as f64 / f64::from(self.segment_bytes)).min(1.0)
    }
}

/// What a write asks for: live data grow by so much and shrink by so much.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    pub(crate) grown: Weight,
    /// What the map's new nodes take.
    pub(crate) map_bytes_more: u64,
    pub(crate) shrunk: Weight,
    /// Whether any of its blocks held nothing.
    pub(crate) fresh: bool,
}

impl Need {
    /// What it takes, in bytes.
    fn grown_bytes(&self) -> u64 {
        self.grown.bytes_when_moved() + self.map_bytes_more
    }
}

/// Bytes and number of records.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weight {
    pub(crate) bytes: u64,
    pub(crate) records: u64,
}

impl Weight {
    pub(crate) fn add(&mut self, location: Location) {
        if !location.is_none() {
            self.bytes += u64::from(location.length());
            self.records += 1;
        }
    }

    fn bytes_when_moved(self) -> u64 {
        self.bytes + MOVED_RECORD_TABLE_BYTES * self.records
    }
}

/// What may be live: everything but a reserve of 1.5 % (at least eleven segments: four open ones, those kept for
/// collection and checkpoints, and some to work with), and in each segment the space that chunks lose to headers,
/// padding and the last group that does not fit.
fn limit_bytes(identity: &Identity) -> u64 {
    let segments = u64::from(identity.segments);
    let reserve = (segments * 3).div_ceil(200).max(11);
    let segment = u64::from(identity.segment_bytes);
    let lost = segment / 64 + whole_blocks(CHUNK_HEADER_BYTES as u64) + (20 << 10);
    segments.saturating_sub(reserve) * (segment - lost)
}

/// What may be live on such a drive, in bytes.
pub(crate) fn most_live_bytes(identity: &Identity) -> u64 {
    limit_bytes(identity)
}

/// Part of what may be live that is kept for overwriting.
fn reserve_bytes(limit_bytes: u64) -> u64 {
    let least = limit_bytes / RESCUE_PART_MOST;
    (limit_bytes / OVERWRITE_PART).max(least.min(RESCUE_BYTES))
}

/// How many blocks that do not compress such a drive takes, with what the map takes for them.
pub(crate) fn incompressible_blocks(identity: &Identity) -> u64 {
    let limit = limit_bytes(identity);
    let leaf = NODE_ENTRIES * (BLOCK_BYTES + RECORD_BYTES_BESIDE) + MAP_BYTES_OF_LEAF;
    let blocks = u128::from(limit - reserve_bytes(limit)) * u128::from(NODE_ENTRIES);
    (blocks / u128::from(leaf)) as u64
}

impl Segment {
    const FREE: Segment = Segment {
        state: State::Free,
        stream: None,
        opened_seq: 0,
        sealed_seq: 0,
        live_bytes: 0,
        live_records: 0,
        sealed_at_bytes: 0,
    };

    fn from_row(row: &SegmentRow) -> Segment {
        let state = match row {
            SegmentRow { open: true, .. } => State::Open,
            SegmentRow { damaged: true, .. } => State::Damaged,
            SegmentRow { sealed_seq: 1.., .. } => State::Sealed,
            _ => State::Free,
        };
        Segment {
            state,
            stream: row.stream,
            opened_seq: row.opened_seq,
            sealed_seq: row.sealed_seq,
            live_bytes: row.live_bytes,
            live_records: row.live_records,
            sealed_at_bytes: row.sealed_at_bytes,
        }
    }

    pub(crate) fn row(&self) -> SegmentRow {
        let is_free = self.state == State::Free;
        SegmentRow {
            opened_seq: self.opened_seq,
            sealed_seq: if is_free { 0 } else { self.sealed_seq },
            live_bytes: self.live_bytes,
            live_records: self.live_records,
            stream: self.stream.filter(|_| !is_free),
            open: self.state == State::Open,
            damaged: self.state == State::Damaged,
            sealed_at_bytes: self.sealed_at_bytes,
        }
    }
}
