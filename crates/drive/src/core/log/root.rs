//! Roots in the log, and what the map's stream takes while a checkpoint is made: a root tells all of it but itself.

use super::{Job, Log, NoSegment};
use crate::core::chunks::Chunks;
use crate::format::{
    CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, Cursor, FooterChunk, Location, SegmentRow, Stream,
    whole_blocks,
};
use crate::inspect::status::Counters;

/// What the map's stream took since a checkpoint began.
#[derive(Debug, Default)]
pub(super) struct MapTrail {
    /// Runs of sequence numbers: first and last.
    seqs: Vec<(u64, u64)>,
    segments: Vec<u32>,
}

impl MapTrail {
    fn begin(segment: u32) -> MapTrail {
        MapTrail { seqs: Vec::new(), segments: vec![segment] }
    }

    pub(super) fn add_seq(&mut self, seq: u64) {
        push_seq(&mut self.seqs, seq);
    }

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
        self.make_room(Stream::Map, 0, words, chunks, counters)
    }

    /// Queues a part of a root, for which there is room, and gives its place.
    pub(crate) fn append_root(&mut self, words: &[u64], counters: &Counters) -> Location {
        let seq = self.next_seq;
        let stream = Stream::Map;
        let tail = &mut self.tails[stream as usize];
        let place = Location::new(tail.segment, tail.offset, 0, false);
        let Some(open) = tail.chunk.take() else { return place };
        let header = ChunkHeader {
            drive_id: self.identity.drive_id,
            durable_seq: self.durable_seq,
            table_words: words.len() as u32,
            ..tail.header(ChunkKind::Root, stream, seq)
        };
        let bytes = open.chunk.finish(&header, words);
        FooterChunk { seq, offset: tail.offset, table_words: 0 }.push(&mut tail.words);
        tail.offset += bytes as u32;
        counters.log_written(stream, 0, bytes);
        self.queue(Job { seq, chunk: open.chunk, bytes }, stream);
        place
    }

    /// Where the map's stream goes on behind a last part of a root with so many words.
    pub(crate) fn cursor_behind_root(&self, words: usize) -> Cursor {
        let mut cursor = self.cursor(Stream::Map);
        let chunk = FooterChunk { seq: self.next_seq, offset: cursor.offset, table_words: 0 };
        chunk.push(&mut cursor.words);
        cursor.offset += whole_blocks((CHUNK_HEADER_BYTES + 8 * words) as u64) as u32;
        cursor
    }

    /// From here on notes what the map's stream takes.
    pub(crate) fn begin_checkpoint(&mut self) {
        self.map_trail = MapTrail::begin(self.tail(Stream::Map).segment);
    }

    /// Sequence numbers that the map's stream took since the checkpoint began, in runs; with the next one.
    pub(crate) fn checkpoint_seqs(&self) -> Vec<(u64, u64)> {
        let mut seqs = self.map_trail.seqs.clone();
        push_seq(&mut seqs, self.next_seq);
        seqs
    }

    /// Whether nothing came since a checkpoint began after `seq` but the checkpoint itself.
    pub(crate) fn ends_with_checkpoint(&self, seq: u64) -> bool {
        let is_open = Stream::ALL.into_iter().any(|stream| self.has_open(stream));
        !is_open && self.checkpoint_seqs() == [(seq + 1, self.next_seq)]
    }

    /// Segments that the map's stream took since the checkpoint began, as they are now.
    pub(crate) fn checkpoint_segments(&self) -> Vec<(u32, SegmentRow)> {
        let rows = self.map_trail.segments.iter();
        rows.map(|number| (*number, self.space.get(*number).row())).collect()
    }

    /// Words that the root's end may come to.
    pub(crate) fn map_words_at_most(&self) -> usize {
        2 * self.map_trail.seqs.len()
            + 6 * (self.map_trail.segments.len() + 1)
            + self.tail(Stream::Map).words.len()
    }
}

/// Adds a number to runs of numbers.
fn push_seq(runs: &mut Vec<(u64, u64)>, seq: u64) {
    match runs.last_mut() {
        Some((_, last)) if *last + 1 == seq => *last = seq,
        _ => runs.push((seq, seq)),
    }
}
