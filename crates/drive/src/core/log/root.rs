//! Roots in the log, and the segments that the map's stream takes during a checkpoint, which the
//! root lists.

use assay_disk::BLOCK_BYTES;

use super::{Job, Log, NoSegment, Tail};
use crate::core::chunks::Chunks;
use crate::core::space::Urgency;
use crate::format::{
    ChunkHeader, ChunkKind, Cursor, FooterChunk, Location, SegmentRow, Stream, chunk_bytes,
};
use crate::status::Counters;

/// Segments that the map's stream took since a checkpoint began.
#[derive(Debug, Default)]
pub(super) struct MapTrail {
    segments: Vec<u32>,
}

impl MapTrail {
    pub(super) fn add_segment(&mut self, segment: u32) {
        self.segments.push(segment);
    }
}

impl Log {
    /// Makes room for a part of a root in a chunk of its own.
    pub(crate) fn make_root_room(
        &mut self,
        words: usize,
        chunks: &Chunks,
        counters: &Counters,
    ) -> Result<(), NoSegment> {
        let has_room = |tail: &Tail, _, limits| tail.has_root_room(words, limits);
        self.make_room_until(Stream::Map, has_room, Urgency::Ordinary, chunks, counters)
    }

    /// Queues a part of a root, for which there is room; returns its place, with its length in
    /// blocks.
    pub(crate) fn append_root(&mut self, words: &[u64], counters: &Counters) -> Location {
        let stream = Stream::Map;
        let seq = self.seq_of(stream);
        let tail = &mut self.tails[stream as usize];
        let Some(open) = tail.chunk.take() else { return Location::NONE };
        let header = ChunkHeader {
            drive_id: self.identity.drive_id,
            durable_seq: self.durable_seq,
            table_words: words.len() as u32,
            ..tail.header(ChunkKind::Root, stream, seq)
        };
        let bytes = open.chunk.finish(&header, words, &[]);
        let blocks = (bytes as u64 / BLOCK_BYTES) as u32;
        let place = Location::new(tail.segment, tail.offset, blocks, false);
        tail.add_chunk(seq, &[], bytes);
        counters.log_written(stream, 0, bytes);
        self.queue(Job { seq, chunk: open.chunk, bytes }, stream);
        place
    }

    /// The end of the map's stream behind a last part of a root with `words` words.
    pub(crate) fn cursor_behind_root(&self, words: usize) -> Cursor {
        let mut cursor = self.cursor(Stream::Map);
        let seq = self.seq_of(Stream::Map);
        FooterChunk { seq, offset: cursor.offset, table_words: 0 }.push(&mut cursor.words);
        cursor.offset += chunk_bytes(Stream::Map, 0, words) as u32;
        cursor
    }

    /// Begins to note the segments that the map's stream takes.
    pub(crate) fn begin_checkpoint(&mut self) {
        self.space.note_checkpoint(true);
        self.map_trail = MapTrail { segments: vec![self.tail(Stream::Map).segment] };
    }

    /// Whether `seq` is the last number of the log, and no chunk is open.
    pub(crate) fn ends_with(&self, seq: u64) -> bool {
        let is_open = Stream::ALL.into_iter().any(|stream| self.has_open(stream));
        !is_open && self.next_seq == seq + 1
    }

    /// The next number of the map's stream.
    pub(crate) fn next_map_seq(&self) -> u64 {
        self.seq_of(Stream::Map)
    }

    /// Segments that the map's stream took since the checkpoint began, with their present rows.
    pub(crate) fn checkpoint_segments(&self) -> Vec<(u32, SegmentRow)> {
        let rows = self.map_trail.segments.iter();
        rows.map(|number| (*number, self.space.get(*number).row())).collect()
    }

    /// Most words of the root's end.
    pub(crate) fn map_words_at_most(&self) -> usize {
        6 * (self.map_trail.segments.len() + 1) + self.tail(Stream::Map).words.len()
    }
}

/// A part of the root as a live record, which keeps its segment from being filled again.
pub(crate) fn root_weight(part: Location) -> Location {
    Location::new(part.segment(), part.offset(), 1, false)
}
