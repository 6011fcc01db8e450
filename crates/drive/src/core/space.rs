//! Space: the live records of each segment, the free segments, and the room for more.
//!
//! A segment is free, open for one stream, sealed, or damaged. Live bytes fall as blocks are
//! overwritten. A sealed segment without live records can be filled again when nothing needs it:
//! neither the log since the last checkpoint, nor a reader, nor an entry that is not yet on stable
//! media.

use std::collections::BTreeSet;

use assay_disk::BLOCK_BYTES;

use crate::core::budget::Budget;
use crate::core::nodes::NODE_ENTRIES;
use crate::core::nodes::Nodes;
use crate::format::{
    Identity, Location, MAX_WORDS_PER_ENTRY, RECORD_HEADER_BYTES, SegmentRow, Stream,
    table_words_most,
};
use crate::rules::{Rule, holds};

/// Table bytes of a record: in its chunk, repeated in the next, and in the footer.
pub(crate) const RECORD_TABLE_BYTES: u64 = 3 * 8;

/// Table bytes of a record that collection moved, the most that a record may cost.
const MOVED_RECORD_TABLE_BYTES: u64 = RECORD_TABLE_BYTES * MAX_WORDS_PER_ENTRY as u64;

/// Bytes that admission counts for a record in addition to its payload.
const RECORD_BYTES_BESIDE: u64 = RECORD_HEADER_BYTES as u64 + MOVED_RECORD_TABLE_BYTES;

/// Divisor of the room for live data that is reserved for overwriting. Data that compress about as
/// well as those that they replace are sometimes a few bytes longer, and a full drive must accept
/// them.
const OVERWRITE_PART: u64 = 128;

/// Least reserve for overwriting, in bytes, and its upper limit as a divisor of the room: a file
/// system on a full drive writes some MiB to fresh blocks when it replays its log and when it
/// deletes.
const RESCUE_BYTES: u64 = 8 << 20;
const RESCUE_PART_MOST: u64 = 24;

/// Divisor of the reserve that stays for overwriting when the rest is opened.
const RESCUE_KEPT_PART: u64 = 8;

/// Free segments, in addition to those for checkpoints, that the host leaves to collection: the
/// records of one victim may need two, because moves have two streams.
const FREE_FOR_MOVES: u64 = 2;

/// Free segments that host writes leave to discards, which give a full drive room again.
const FREE_FOR_DISCARDS: u64 = 2;

/// Segments that the host's stream and the two streams of moves fill.
const OPEN_SEGMENTS: u64 = 3;

/// Divisor of all segments, and least number, that hold no live data, so that collection always
/// finds something to gain.
const GARBAGE_PART: u64 = 80;
const GARBAGE_LEAST: u64 = 2;

/// The priority of a request for a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Urgency {
    /// As everything.
    #[default]
    Ordinary,
    /// A request that makes room, such as a discard.
    MakesRoom,
}

/// The state of a segment.
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
    /// Bytes of log when the segment was sealed, the origin of its age.
    pub(crate) sealed_at_bytes: u64,
}

/// All segments.
#[derive(Debug)]
pub(crate) struct Space {
    segments: Vec<Segment>,
    free: BTreeSet<u32>,
    live_bytes: u64,
    live_records: u64,
    geometry: Geometry,
    /// Used bytes above which the smallest refused write would still be refused; `None` if none was
    /// refused.
    refused_above: Option<u64>,
    /// Whether fresh data may use most of the reserve for overwriting.
    is_rescue: bool,
    /// Sealed segments without live records.
    empty: BTreeSet<u32>,
    /// Number of segments of the map's stream.
    map_segments: u64,
    damaged_segments: u64,
    budget: Budget,
    /// Number of nodes of the map.
    nodes: Nodes,
    is_in_checkpoint: bool,
}

impl Space {
    /// The segments of a fresh drive.
    pub(crate) fn fresh(identity: &Identity) -> Space {
        Space::from_rows(identity, &vec![SegmentRow::default(); identity.segments as usize])
    }

    /// The segments of a root.
    pub(crate) fn from_rows(identity: &Identity, rows: &[SegmentRow]) -> Space {
        let segments: Vec<_> = rows.iter().map(Segment::from_row).collect();
        let free = (0..).zip(&segments).filter(|(_, segment)| segment.state == State::Free);
        Space {
            free: free.map(|(number, _)| number).collect(),
            live_bytes: segments.iter().map(|segment| u64::from(segment.live_bytes)).sum(),
            live_records: segments.iter().map(|segment| u64::from(segment.live_records)).sum(),
            geometry: Geometry::new(identity),
            refused_above: None,
            is_rescue: false,
            empty: (0..)
                .zip(&segments)
                .filter(|(_, each)| each.is_empty())
                .map(|(number, _)| number)
                .collect(),
            map_segments: segments.iter().filter(|segment| segment.is_of_map()).count() as u64,
            damaged_segments: count(&segments, State::Damaged),
            budget: Budget::new(identity),
            nodes: Nodes::default(),
            is_in_checkpoint: false,
            segments,
        }
    }

    pub(crate) fn rows(&self) -> Vec<SegmentRow> {
        self.segments.iter().map(Segment::row).collect()
    }

    pub(crate) fn get(&self, number: u32) -> &Segment {
        &self.segments[number as usize]
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &Segment)> {
        self.segments.iter().enumerate().map(|(number, segment)| (number as u32, segment))
    }

    pub(crate) fn free_segments(&self) -> usize {
        self.free.len()
    }

    /// Sealed segments without live records.
    pub(crate) fn empty_segments(&self) -> impl Iterator<Item = u32> {
        self.empty.iter().copied()
    }

    /// Number of segments of the map's stream.
    pub(crate) fn map_segments(&self) -> u64 {
        self.map_segments
    }

    /// Sealed segments of the map's stream, with the number of live records in each.
    pub(crate) fn sealed_of_map(&self) -> impl Iterator<Item = (u32, u64)> {
        let is_sealed = |segment: &Segment| segment.is_of_map() && segment.state == State::Sealed;
        let sealed = self.iter().filter(move |(_, segment)| is_sealed(segment));
        sealed.map(|(number, segment)| (number, u64::from(segment.live_records)))
    }

    /// Most segments that this number of nodes fills.
    pub(crate) fn node_segments(&self, nodes: u64) -> u64 {
        self.budget.node_segments(nodes)
    }

    /// Most segments for a root and this number of directories.
    pub(crate) fn segments_for(&self, directories: u64) -> u64 {
        let nodes = Nodes { directories, slots: self.nodes.slots, leaves: 0 };
        self.budget.checkpoint_segments(nodes)
    }

    /// Notes the number of nodes, for which checkpoints need room.
    pub(crate) fn note_nodes(&mut self, nodes: Nodes) {
        self.nodes = nodes;
    }

    /// Number of nodes of the map.
    pub(crate) fn nodes(&self) -> Nodes {
        self.nodes
    }

    /// Most segments that a checkpoint takes.
    pub(crate) fn checkpoint_segments(&self) -> u64 {
        self.budget.checkpoint_segments(self.nodes)
    }

    fn kept_for_map(&self) -> u64 {
        if !holds(Rule::BudgetBeforeSegment) {
            return 0;
        }
        self.budget.kept_free(self.nodes, self.map_segments)
    }

    /// Whether there is room for a checkpoint and one after it, whatever changes in between.
    pub(crate) fn fits(&self) -> bool {
        let (free, whole) = (self.free.len() as u64, self.checkpoint_segments());
        free + self.map_segments >= 2 * whole && (self.is_in_checkpoint || free >= whole)
    }

    /// Whether enough segments are free for a checkpoint.
    pub(crate) fn has_room_for_checkpoint(&self) -> bool {
        self.free.len() as u64 >= self.checkpoint_segments()
    }

    /// Notes that a checkpoint begins, or has given back the emptied segments; in between it uses
    /// its reserve.
    pub(crate) fn note_checkpoint(&mut self, is_in_checkpoint: bool) {
        self.is_in_checkpoint = is_in_checkpoint;
    }

    /// Segments that are kept free for checkpoints.
    pub(crate) fn kept_free(&self) -> u64 {
        self.kept_for_map()
    }

    /// Whether the host may take a segment, and the map may grow by `more`.
    pub(crate) fn is_ready_for(&self, more: Nodes, urgency: Urgency) -> bool {
        self.free.len() as u64 > self.mark(urgency) && self.fits_nodes(self.nodes.and(more))
    }

    /// Whether there is room for a map of these nodes.
    pub(crate) fn fits_nodes(&self, nodes: Nodes) -> bool {
        let kept = self.budget.kept_free(nodes, self.map_segments);
        nodes == self.nodes
            || !holds(Rule::BudgetBeforeLeaf)
            || self.free.len() as u64 >= kept + FREE_FOR_MOVES
                && self.budget.has_tellable_checkpoint(nodes)
    }

    /// Number of free segments below which collection should begin.
    pub(crate) fn low_mark(&self) -> u64 {
        self.mark(Urgency::Ordinary) + 2
    }

    /// Number of free segments above which the host may take one.
    pub(crate) fn mark(&self, urgency: Urgency) -> u64 {
        let for_discards = if urgency == Urgency::MakesRoom { 0 } else { FREE_FOR_DISCARDS };
        self.kept_for_map() + FREE_FOR_MOVES + for_discards
    }

    /// Takes a free segment for a stream, if the stream may have one.
    pub(crate) fn open(
        &mut self,
        stream: Stream,
        opened_seq: u64,
        urgency: Urgency,
    ) -> Option<u32> {
        let kept = match stream {
            Stream::Host => self.mark(urgency),
            Stream::Cold | Stream::Frozen => self.kept_for_map(),
            Stream::Map => 0,
        };
        let is_enough = self.free.len() as u64 > kept;
        let number = is_enough.then(|| self.free.first().copied()).flatten()?;
        self.open_this(number, stream, opened_seq);
        Some(number)
    }

    /// Opens a segment that the log names.
    pub(crate) fn open_this(&mut self, number: u32, stream: Stream, opened_seq: u64) {
        self.forget(number);
        self.free.remove(&number);
        self.map_segments += u64::from(stream == Stream::Map);
        let segment = &mut self.segments[number as usize];
        *segment =
            Segment { opened_seq, state: State::Open, stream: Some(stream), ..Segment::FREE };
    }

    pub(crate) fn seal(&mut self, number: u32, sealed_seq: u64, log_bytes: u64) {
        let segment = &mut self.segments[number as usize];
        segment.state = State::Sealed;
        segment.sealed_seq = sealed_seq;
        segment.sealed_at_bytes = log_bytes;
        if segment.live_records == 0 {
            self.empty.insert(number);
        }
    }

    /// Gives a segment back.
    pub(crate) fn release(&mut self, number: u32) {
        self.forget(number);
        let segment = &mut self.segments[number as usize];
        (segment.state, segment.stream) = (State::Free, None);
        self.free.insert(number);
    }

    /// Keeps a segment with an unreadable place from being filled again.
    pub(crate) fn quarantine(&mut self, number: u32) {
        let segment = &mut self.segments[number as usize];
        if segment.state != State::Damaged {
            self.map_segments -= u64::from(segment.is_of_map());
            segment.state = State::Damaged;
            self.damaged_segments += 1;
            self.free.remove(&number);
            self.empty.remove(&number);
        }
    }

    /// Counts no record of a segment as live: the map leads to none.
    pub(crate) fn settle(&mut self, number: u32) {
        let segment = &mut self.segments[number as usize];
        self.live_bytes -= u64::from(segment.live_bytes);
        self.live_records -= u64::from(segment.live_records);
        (segment.live_bytes, segment.live_records) = (0, 0);
        if segment.state == State::Sealed {
            self.empty.insert(number);
        }
    }

    fn forget(&mut self, number: u32) {
        self.empty.remove(&number);
        let segment = &mut self.segments[number as usize];
        self.map_segments -= u64::from(segment.is_of_map());
        self.damaged_segments -= u64::from(segment.state == State::Damaged);
        self.live_bytes -= u64::from(segment.live_bytes);
        self.live_records -= u64::from(segment.live_records);
        (segment.live_bytes, segment.live_records) = (0, 0);
    }

    /// Counts a record that became live.
    pub(crate) fn add(&mut self, location: Location) {
        let number = location.segment();
        let segment = &mut self.segments[number as usize];
        if segment.live_records == 0 {
            self.empty.remove(&number);
        }
        segment.live_bytes += location.length();
        segment.live_records += 1;
        self.live_bytes += u64::from(location.length());
        self.live_records += 1;
    }

    /// Counts a record that died.
    pub(crate) fn remove(&mut self, location: Location) {
        let number = location.segment();
        let segment = &mut self.segments[number as usize];
        // Inconsistent counts come from a damaged root. The check reports them; arithmetic must not
        // fail.
        let bytes = location.length().min(segment.live_bytes);
        let records = segment.live_records.min(1);
        segment.live_bytes -= bytes;
        segment.live_records -= records;
        if segment.is_empty() {
            self.empty.insert(number);
        }
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

    /// Remembers that a write was refused for lack of a segment, until a record dies.
    pub(crate) fn refuse_as_it_is(&mut self, map_bytes: u64) {
        let above = self.taken_bytes(map_bytes).saturating_sub(1);
        self.refused_above = self.refused_above.max(Some(above));
    }

    /// Whether the smallest refused write would be refused now.
    pub(crate) fn refuses(&self, map_bytes: u64) -> bool {
        self.refused_above.is_some_and(|above| self.taken_bytes(map_bytes) > above)
    }

    /// Forgets refusals if there is room for the smallest.
    pub(crate) fn forget_refusals_with_room(&mut self, map_bytes: u64) {
        if !self.refuses(map_bytes) {
            self.refused_above = None;
        }
    }

    /// Most live bytes with tables.
    fn limit_bytes(&self) -> u64 {
        self.geometry.limit_bytes(self.damaged_segments)
    }

    /// Bytes of this limit that the map's nodes take.
    pub(crate) fn map_bytes(&self, nodes: Nodes) -> u64 {
        self.budget.map_bytes(nodes, self.geometry.room)
    }

    fn limit_of(&self, need: Need) -> u64 {
        if need.fresh { self.fresh_limit_bytes() } else { self.limit_bytes() }
    }

    /// Live records, as admission counts them, and the map's nodes, in bytes.
    pub(crate) fn taken_bytes(&self, map_bytes: u64) -> u64 {
        let live = Weight { bytes: self.live_bytes, records: self.live_records };
        live.bytes_when_moved() + map_bytes
    }

    /// Most live bytes after a write of fresh data.
    pub(crate) fn fresh_limit_bytes(&self) -> u64 {
        let reserve = reserve_bytes(self.limit_bytes());
        self.limit_bytes() - if self.is_rescue { reserve / RESCUE_KEPT_PART } else { reserve }
    }

    /// Opens most of the reserve for overwriting to fresh data.
    pub(crate) fn open_reserve(&mut self) {
        self.is_rescue = true;
    }

    /// Whether there is room for a map of these nodes.
    pub(crate) fn admits_map(&self, nodes: Nodes) -> bool {
        self.taken_bytes(self.map_bytes(nodes)) <= self.limit_bytes() && self.fits_nodes(nodes)
    }

    /// Live records with their tables, in bytes.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.live_bytes + RECORD_TABLE_BYTES * self.live_records
    }

    /// Room for fresh incompressible data, in bytes of whole blocks, if `taken` bytes are in use.
    /// Each `unit_blocks` blocks are a record; every 512 need a new leaf.
    pub(crate) fn free_bytes(&self, taken: u64, unit_blocks: u64) -> u64 {
        let room = self.fresh_limit_bytes().saturating_sub(taken);
        let records = NODE_ENTRIES / unit_blocks;
        let record = unit_blocks * BLOCK_BYTES + RECORD_BYTES_BESIDE;
        let leaf = records * record + self.budget.bytes_per_node(self.geometry.room);
        let bytes = u128::from(room) * u128::from(NODE_ENTRIES * BLOCK_BYTES) / u128::from(leaf);
        bytes as u64 / BLOCK_BYTES * BLOCK_BYTES
    }

    /// Whether a single fresh incompressible block would be refused.
    pub(crate) fn is_full(&self, map_bytes: u64) -> bool {
        let room = self.fresh_limit_bytes().saturating_sub(self.taken_bytes(map_bytes));
        room < BLOCK_BYTES + RECORD_BYTES_BESIDE || self.refuses(map_bytes)
    }

    /// Share of a segment that its live records would fill after a move.
    pub(crate) fn live_share(&self, segment: &Segment) -> f64 {
        let live = Weight {
            bytes: u64::from(segment.live_bytes),
            records: u64::from(segment.live_records),
        };
        (live.bytes_when_moved() as f64 / self.geometry.room as f64).min(1.0)
    }
}

/// The growth and shrinkage of live data by a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    pub(crate) grown: Weight,
    /// Bytes of the map's new nodes.
    pub(crate) map_bytes_more: u64,
    pub(crate) shrunk: Weight,
    /// Whether any of its blocks was unmapped.
    pub(crate) fresh: bool,
}

impl Need {
    /// Bytes of growth.
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
        if location.is_record() {
            self.bytes += u64::from(location.length());
            self.records += 1;
        }
    }

    fn bytes_when_moved(self) -> u64 {
        self.bytes + MOVED_RECORD_TABLE_BYTES * self.records
    }
}

/// The room of a drive for live data.
#[derive(Debug, Clone, Copy)]
struct Geometry {
    segments: u64,
    /// Segments that hold no live data.
    reserve: u64,
    /// Least bytes of live records with their tables that collection packs into a segment.
    room: u64,
}

impl Geometry {
    /// Deducts from each segment the losses of chunks to headers and padding, the unused end behind
    /// the last record, the last chunk's room for repeating another, the footer's header, and, once
    /// for each victim, one chunk of each stream of moves that is closed before it is full.
    fn new(identity: &Identity) -> Geometry {
        let (segments, segment) = (u64::from(identity.segments), u64::from(identity.segment_bytes));
        let fixed = Budget::new(identity).fixed_segments();
        let free = FREE_FOR_MOVES + FREE_FOR_DISCARDS + 1;
        let garbage = (segments / GARBAGE_PART).max(GARBAGE_LEAST);
        let reserve = (fixed + free + OPEN_SEGMENTS + garbage).min(segments);
        let repeated = 8 * table_words_most(identity.segment_bytes) as u64;
        Geometry { segments, reserve, room: segment - segment / 128 - repeated - (32 << 10) }
    }

    fn limit_bytes(&self, damaged_segments: u64) -> u64 {
        self.segments.saturating_sub(self.reserve + damaged_segments) * self.room
    }
}

/// Most live bytes of such a drive.
pub(crate) fn most_live_bytes(identity: &Identity) -> u64 {
    Geometry::new(identity).limit_bytes(0)
}

/// Bytes of this limit that are reserved for overwriting.
fn reserve_bytes(limit_bytes: u64) -> u64 {
    let least = limit_bytes / RESCUE_PART_MOST;
    (limit_bytes / OVERWRITE_PART).max(least.min(RESCUE_BYTES))
}

/// Number of incompressible blocks that such a drive takes, with their map.
pub(crate) fn incompressible_blocks(identity: &Identity) -> u64 {
    let limit = most_live_bytes(identity);
    let node = Budget::new(identity).bytes_per_node(Geometry::new(identity).room);
    let leaf = NODE_ENTRIES * (BLOCK_BYTES + RECORD_BYTES_BESIDE) + node;
    let blocks = u128::from(limit - reserve_bytes(limit)) * u128::from(NODE_ENTRIES);
    (blocks / u128::from(leaf)) as u64
}

fn count(segments: &[Segment], state: State) -> u64 {
    segments.iter().filter(|segment| segment.state == state).count() as u64
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

    /// Whether it is sealed and has no live records.
    fn is_empty(&self) -> bool {
        self.state == State::Sealed && self.live_records == 0
    }

    /// Whether neither replay from this checkpoint nor the map's stream needs the segment.
    pub(crate) fn is_behind(&self, checkpoint_seq: u64) -> bool {
        self.stream == Some(Stream::Map)
            || self.sealed_seq <= checkpoint_seq
            || !holds(Rule::CheckpointBeforeRelease)
    }

    fn is_of_map(&self) -> bool {
        self.stream == Some(Stream::Map) && matches!(self.state, State::Open | State::Sealed)
    }

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
