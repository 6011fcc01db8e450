//! The log: where records get their place, in one order for all.
//!
//! Each stream fills chunks in its own open segment. A chunk gets its sequence number when it is sealed; from then
//! on it does not change and is written by whoever sealed it, outside the lock. Sequence numbers have no gaps, so that
//! after a crash the longest run without one is the log. A segment ends with a footer that repeats its tables and names
//! the segment where the stream goes on.
//!
//! Everything here happens under the log's lock and takes memory copies, no input or output.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::buffer::BlockBuffer;
use crate::chunks::{ChunkBuffer, Chunks};
use crate::group::Group;
use crate::layout::{
    CHUNK_BYTES_MAX, CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, Cursor, FooterChunk, Identity,
    Location, RECORD_HEADER_BYTES, RecordContext, STREAMS, SegmentRow, Stream, whole_blocks,
};
use crate::space::Space;
use crate::status::Counters;

/// No free segment for this stream now: collection must make room first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoSegment;

/// Something sealed that must be written.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) seq: u64,
    pub(crate) chunk: Arc<ChunkBuffer>,
    pub(crate) bytes: usize,
}

/// The end of one stream.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) segment: u32,
    pub(crate) opened_seq: u64,
    /// Where the next chunk goes.
    pub(crate) offset: u32,
    /// The footer so far.
    pub(crate) words: Vec<u64>,
    chunk: Option<OpenChunk>,
}

#[derive(Debug)]
struct OpenChunk {
    chunk: Arc<ChunkBuffer>,
    payload: usize,
    words: Vec<u64>,
}

/// The log's state.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) identity: Identity,
    pub(crate) space: Space,
    pub(crate) next_seq: u64,
    /// Everything up to here is on stable media.
    pub(crate) durable_seq: u64,
    /// The highest `durable_seq` that any chunk tells.
    pub(crate) told_durable_seq: u64,
    pub(crate) last_host_seq: u64,
    /// Bytes that the log wrote in the drive's life: the clock of ages.
    pub(crate) log_bytes: u64,
    tails: [Tail; STREAMS],
    jobs: VecDeque<Job>,
    unwritten: BTreeSet<u64>,
    map_seqs: Vec<(u64, u64)>,
    map_segments: Vec<u32>,
}

impl Log {
    /// A log that goes on at `cursors`, whose segments `space` already counts as open.
    pub(crate) fn new(
        identity: Identity,
        space: Space,
        cursors: [Cursor; STREAMS],
        next_seq: u64,
    ) -> Log {
        let tails = cursors.map(|cursor| Tail {
            segment: cursor.segment,
            opened_seq: space.get(cursor.segment).opened_seq,
            offset: cursor.offset,
            words: cursor.words,
            chunk: None,
        });
        Log {
            identity,
            space,
            next_seq,
            durable_seq: next_seq - 1,
            told_durable_seq: next_seq - 1,
            last_host_seq: next_seq - 1,
            log_bytes: 0,
            tails,
            jobs: VecDeque::new(),
            unwritten: BTreeSet::new(),
            map_seqs: Vec::new(),
            map_segments: Vec::new(),
        }
    }

    /// Goes on with sequence numbers from `first`; nothing may be open.
    pub(crate) fn resume(&mut self, first: u64) {
        self.next_seq = first;
        (self.durable_seq, self.told_durable_seq) = (first - 1, first - 1);
        self.last_host_seq = first - 1;
    }

    /// Puts the end of a stream where replay found it.
    pub(crate) fn set_cursor(&mut self, stream: Stream, cursor: Cursor) {
        let opened_seq = self.space.get(cursor.segment).opened_seq;
        let tail = &mut self.tails[stream as usize];
        (tail.segment, tail.offset) = (cursor.segment, cursor.offset);
        (tail.opened_seq, tail.words) = (opened_seq, cursor.words);
    }

    pub(crate) fn tail(&self, stream: Stream) -> &Tail {
        &self.tails[stream as usize]
    }

    /// Where a stream's open chunk begins, or its next one will.
    pub(crate) fn open_place(&self, stream: Stream) -> (u32, u32) {
        let tail = self.tail(stream);
        (tail.segment, tail.offset)
    }

    /// Where each stream's next chunk goes, when nothing is open.
    pub(crate) fn cursor(&self, stream: Stream) -> Cursor {
        let tail = self.tail(stream);
        Cursor { segment: tail.segment, offset: tail.offset, words: tail.words.clone() }
    }

    /// Makes room in an open chunk of `stream`; seals chunks and segments on the way.
    ///
    /// # Errors
    /// [`NoSegment`], with nothing lost, when the stream may not have another segment.
    pub(crate) fn make_room(
        &mut self,
        stream: Stream,
        payload: usize,
        words: usize,
        chunks: &Chunks,
        counters: &Counters,
    ) -> Result<(), NoSegment> {
        loop {
            let segment_bytes = self.identity.segment_bytes;
            let tail = &mut self.tails[stream as usize];
            if tail.has_room(payload, words, segment_bytes) {
                if tail.chunk.is_none() {
                    tail.open_chunk(chunks);
                }
                return Ok(());
            }
            if tail.chunk.is_some() {
                self.seal(stream, counters);
            } else {
                self.close_segment(stream, chunks, counters)?;
            }
        }
    }

    /// Gives the group's records their places, in an open chunk that has room for them.
    pub(crate) fn place(
        &mut self,
        stream: Stream,
        group: &Group,
        wanted: impl Fn(usize) -> bool,
        places: &mut Vec<Location>,
    ) {
        places.clear();
        let drive_id = self.identity.drive_id;
        let last = (0..group.records.len()).rev().find(|&index| wanted(index));
        let tail = &mut self.tails[stream as usize];
        let Some(open) = &mut tail.chunk else { return };
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
            let offset = tail.offset + at as u32;
            let location = Location::new(tail.segment, offset, record.length, record.op.is_unit());
            let context = RecordContext {
                drive_id,
                segment_opened_seq: tail.opened_seq,
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

    /// Whether a group fits what is left of a stream's segment.
    pub(crate) fn fits_segment(&self, stream: Stream, payload: usize, words: usize) -> bool {
        let tail = self.tail(stream);
        let segment_bytes = self.identity.segment_bytes;
        tail.has_room(payload, words, segment_bytes)
            || (tail.chunk.is_some() && tail.has_room_in_next_chunk(payload, words, segment_bytes))
    }

    /// Whether a stream has records that are not sealed.
    pub(crate) fn has_open(&self, stream: Stream) -> bool {
        self.tail(stream).chunk.as_ref().is_some_and(|open| !open.words.is_empty())
    }

    /// Closes the open chunk of a stream, if it holds anything, and queues it for writing.
    pub(crate) fn seal(&mut self, stream: Stream, counters: &Counters) {
        if self.has_open(stream) {
            self.seal_even_if_empty(stream, counters);
        }
    }

    fn seal_even_if_empty(&mut self, stream: Stream, counters: &Counters) {
        let seq = self.next_seq;
        let tail = &mut self.tails[stream as usize];
        let Some(open) = tail.chunk.take() else { return };
        let header = ChunkHeader {
            kind: ChunkKind::Log,
            stream,
            drive_id: self.identity.drive_id,
            segment: tail.segment,
            offset: tail.offset,
            opened_seq: tail.opened_seq,
            seq,
            durable_seq: self.durable_seq,
            payload_bytes: open.payload as u32,
            table_words: open.words.len() as u32,
            next_segment: ChunkHeader::NO_SEGMENT,
        };
        let bytes = open.chunk.finish(&header, &open.words);
        FooterChunk { seq, offset: tail.offset, table_words: open.words.len() as u32 }
            .push(&mut tail.words);
        tail.words.extend(&open.words);
        tail.offset += bytes as u32;
        counters.log_written(stream, open.payload, bytes);
        self.queue(Job { seq, chunk: open.chunk, bytes }, stream);
    }

    /// Queues a chunk without records, which only tells what is durable.
    pub(crate) fn mark(&mut self, chunks: &Chunks, counters: &Counters) -> Result<(), NoSegment> {
        self.make_room(Stream::Host, 0, 0, chunks, counters)?;
        self.seal_even_if_empty(Stream::Host, counters);
        Ok(())
    }

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
            kind: ChunkKind::Root,
            stream,
            drive_id: self.identity.drive_id,
            segment: tail.segment,
            offset: tail.offset,
            opened_seq: tail.opened_seq,
            seq,
            durable_seq: self.durable_seq,
            payload_bytes: 0,
            table_words: words.len() as u32,
            next_segment: ChunkHeader::NO_SEGMENT,
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
        self.map_seqs.clear();
        self.map_segments = vec![self.tail(Stream::Map).segment];
    }

    /// Sequence numbers that the map's stream took since the checkpoint began, in runs; with the next one.
    pub(crate) fn checkpoint_seqs(&self) -> Vec<(u64, u64)> {
        let mut seqs = self.map_seqs.clone();
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
        let rows = self.map_segments.iter();
        rows.map(|number| (*number, self.space.get(*number).row())).collect()
    }

    /// Words that the root's end may come to.
    pub(crate) fn map_words_at_most(&self) -> usize {
        2 * self.map_seqs.len()
            + 6 * (self.map_segments.len() + 1)
            + self.tail(Stream::Map).words.len()
    }

    /// Ends a stream's segment with a footer and opens its next.
    fn close_segment(
        &mut self,
        stream: Stream,
        chunks: &Chunks,
        counters: &Counters,
    ) -> Result<(), NoSegment> {
        let seq = self.next_seq;
        let next_segment = self.space.open(stream, seq).ok_or(NoSegment)?;
        chunks.opened(next_segment, seq);
        if stream == Stream::Map {
            self.map_segments.push(next_segment);
        }
        let tail = &mut self.tails[stream as usize];
        let length = footer_bytes(tail.words.len());
        let offset = self.identity.segment_bytes - length;
        let header = ChunkHeader {
            kind: ChunkKind::Footer,
            stream,
            drive_id: self.identity.drive_id,
            segment: tail.segment,
            offset,
            opened_seq: tail.opened_seq,
            seq,
            durable_seq: self.durable_seq,
            payload_bytes: 0,
            table_words: tail.words.len() as u32,
            next_segment,
        };
        let chunk =
            Arc::new(ChunkBuffer::new(tail.segment, offset, BlockBuffer::zeroed(length as usize)));
        chunk.finish_footer(&header, &tail.words);
        let sealed = tail.segment;
        tail.segment = next_segment;
        tail.opened_seq = seq;
        tail.offset = 0;
        tail.words.clear();
        counters.log_written(stream, 0, length as usize);
        self.queue(Job { seq, chunk, bytes: length as usize }, stream);
        self.space.seal(sealed, seq, self.log_bytes);
        Ok(())
    }

    fn queue(&mut self, job: Job, stream: Stream) {
        self.told_durable_seq = self.durable_seq;
        match stream {
            Stream::Host => self.last_host_seq = job.seq,
            Stream::Cold | Stream::Frozen => {}
            Stream::Map => push_seq(&mut self.map_seqs, job.seq),
        }
        self.log_bytes += job.bytes as u64;
        self.next_seq = job.seq + 1;
        self.unwritten.insert(job.seq);
        self.jobs.push_back(job);
    }

    /// The next chunk that waits to be written.
    pub(crate) fn take_job(&mut self) -> Option<Job> {
        self.jobs.pop_front()
    }

    /// A chunk was written.
    pub(crate) fn written(&mut self, seq: u64) {
        self.unwritten.remove(&seq);
    }

    /// Everything up to here was written, though it may not be on stable media.
    pub(crate) fn written_seq(&self) -> u64 {
        self.unwritten.first().map_or(self.next_seq, |first| *first) - 1
    }

    /// Chunks that are sealed and not written yet.
    pub(crate) fn unwritten_chunks(&self) -> usize {
        self.unwritten.len()
    }
}

impl Tail {
    /// Whether a group fits the open chunk, or a new one, with the segment's footer still behind it.
    fn has_room(&self, payload: usize, words: usize, segment_bytes: u32) -> bool {
        let (open_payload, open_words) =
            self.chunk.as_ref().map_or((0, 0), |open| (open.payload, open.words.len()));
        let words = open_words + words;
        let chunk = whole_blocks((CHUNK_HEADER_BYTES + open_payload + payload + 8 * words) as u64);
        let footer = footer_bytes(self.words.len() + FooterChunk::WORDS + words);
        chunk <= u64::from(CHUNK_BYTES_MAX)
            && u64::from(self.offset) + chunk + u64::from(footer) <= u64::from(segment_bytes)
    }

    /// Whether a group fits a new chunk behind the open one.
    fn has_room_in_next_chunk(&self, payload: usize, words: usize, segment_bytes: u32) -> bool {
        let Some(open) = &self.chunk else { return false };
        let header = CHUNK_HEADER_BYTES;
        let chunk = whole_blocks((header + open.payload + 8 * open.words.len()) as u64);
        let next = whole_blocks((header + payload + 8 * words) as u64);
        let footer =
            footer_bytes(self.words.len() + 2 * FooterChunk::WORDS + open.words.len() + words);
        next <= u64::from(CHUNK_BYTES_MAX)
            && u64::from(self.offset) + chunk + next + u64::from(footer) <= u64::from(segment_bytes)
    }

    fn open_chunk(&mut self, chunks: &Chunks) {
        let chunk = chunks.open(self.segment, self.offset);
        self.chunk = Some(OpenChunk { chunk, payload: 0, words: Vec::new() });
    }
}

/// Adds a number to runs of numbers.
fn push_seq(runs: &mut Vec<(u64, u64)>, seq: u64) {
    match runs.last_mut() {
        Some((_, last)) if *last + 1 == seq => *last = seq,
        _ => runs.push((seq, seq)),
    }
}

/// Bytes of a footer with so many words.
pub(crate) fn footer_bytes(words: usize) -> u32 {
    whole_blocks((CHUNK_HEADER_BYTES + 8 * words) as u64) as u32
}
