//! The log: gives records their places, in one order for all.
//!
//! Each stream fills chunks in its own open segment. A chunk gets its sequence number when it is
//! sealed. From then on it does not change, and the sealing thread writes it outside the lock.
//! Sequence numbers have no gaps, so that after a crash the longest run without a gap is the log. A
//! segment ends with a footer that repeats its tables and names the stream's next segment.
//!
//! The map's stream has its own count: replay does not need it, so the segments that an unfinished
//! checkpoint took are free again after a crash.
//!
//! Everything here happens under the log's lock and copies memory, without input or output.

mod root;
mod tail;

use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use self::root::MapTrail;
pub(crate) use self::root::root_weight;
pub(crate) use self::tail::{Limits, Tail};
use crate::core::chunks::{ChunkBuffer, Chunks};
use crate::core::group::Group;
use crate::core::space::{Space, Urgency};
use crate::format::{
    CHUNK_BYTES_MAX, ChunkHeader, ChunkKind, Cursor, Identity, Location, MAP_SEQS, RepeatedChunk,
    STREAMS, Stream, footer_bytes,
};
use crate::status::Counters;
use assay_disk::BlockBuffer;

/// No free segment for this stream now: collection must gain one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoSegment;

/// A sealed chunk that must be written.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) seq: u64,
    pub(crate) chunk: Arc<ChunkBuffer>,
    pub(crate) bytes: usize,
}

/// Sequence numbers reached in both counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) log: u64,
    pub(crate) map: u64,
}

/// The state of the log.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) identity: Identity,
    pub(crate) limits: Limits,
    pub(crate) space: Space,
    pub(crate) next_seq: u64,
    /// The next sequence number of the map's stream.
    next_map_seq: u64,
    /// Everything of the log up to here is on stable media.
    pub(crate) durable_seq: u64,
    durable_map_seq: u64,
    /// The highest `durable_seq` in any chunk.
    pub(crate) told_durable_seq: u64,
    pub(crate) last_host_seq: u64,
    /// Bytes that the log wrote in the drive's life: the clock of segments' ages.
    pub(crate) log_bytes: u64,
    /// Cost of a replay of everything since the drive was opened, in blocks
    /// ([`Group::replay_blocks`]).
    pub(crate) replay_blocks: u64,
    tails: [Tail; STREAMS],
    jobs: VecDeque<Job>,
    unwritten: BTreeSet<u64>,
    /// The table that the next chunk repeats; empty before the first.
    last_chunk: Vec<u64>,
    map_trail: MapTrail,
}

impl Log {
    /// A log that continues at `cursors`, whose segments count as open in `space`.
    pub(crate) fn new(
        identity: Identity,
        space: Space,
        cursors: [Cursor; STREAMS],
        next_seq: u64,
    ) -> Log {
        let mut streams = Stream::ALL.into_iter();
        let tails = cursors.map(|cursor| {
            let opened_seq = space.get(cursor.segment).opened_seq;
            Tail::new(streams.next().unwrap_or_default(), cursor, opened_seq)
        });
        let limits = Limits { segment_bytes: identity.segment_bytes, chunk_bytes: CHUNK_BYTES_MAX };
        Log {
            identity,
            limits,
            space,
            next_seq,
            next_map_seq: MAP_SEQS | next_seq,
            durable_seq: next_seq - 1,
            durable_map_seq: (MAP_SEQS | next_seq) - 1,
            told_durable_seq: next_seq - 1,
            last_host_seq: next_seq - 1,
            log_bytes: 0,
            replay_blocks: 0,
            tails,
            jobs: VecDeque::new(),
            unwritten: BTreeSet::new(),
            last_chunk: Vec::new(),
            map_trail: MapTrail::default(),
        }
    }

    /// Continues with sequence numbers from `first`; no chunk may be open.
    pub(crate) fn resume(&mut self, first: u64) {
        (self.next_seq, self.next_map_seq) = (first, MAP_SEQS | first);
        (self.durable_seq, self.told_durable_seq) = (first - 1, first - 1);
        self.durable_map_seq = self.next_map_seq - 1;
        self.last_host_seq = first - 1;
        self.last_chunk.clear();
    }

    /// Sets the end of a stream to that of a replay.
    pub(crate) fn set_cursor(&mut self, stream: Stream, cursor: Cursor) {
        let opened_seq = self.space.get(cursor.segment).opened_seq;
        self.tails[stream as usize] = Tail::new(stream, cursor, opened_seq);
    }

    pub(crate) fn tail(&self, stream: Stream) -> &Tail {
        &self.tails[stream as usize]
    }

    /// The place of a stream's open chunk, or of its next one.
    pub(crate) fn open_place(&self, stream: Stream) -> (u32, u32) {
        let tail = self.tail(stream);
        (tail.segment, tail.offset)
    }

    /// The place of a stream's next chunk, if no chunk is open.
    pub(crate) fn cursor(&self, stream: Stream) -> Cursor {
        let tail = self.tail(stream);
        Cursor { segment: tail.segment, offset: tail.offset, words: tail.words.clone() }
    }

    /// Makes room in an open chunk of `stream`, and seals chunks and segments for it.
    ///
    /// # Errors
    /// [`NoSegment`], with nothing lost, if the stream may not have another segment.
    pub(crate) fn make_room(
        &mut self,
        stream: Stream,
        payload: usize,
        words: usize,
        urgency: Urgency,
        chunks: &Chunks,
        counters: &Counters,
    ) -> Result<(), NoSegment> {
        let has_room = |tail: &Tail, repeat, limits| tail.has_room(payload, words, repeat, limits);
        self.make_room_until(stream, has_room, urgency, chunks, counters)?;
        self.let_others_repeat(stream, self.tail(stream).open_words() + words, counters);
        Ok(())
    }

    /// Words that the next chunk of a stream may have to repeat: those of the last chunk, or of one
    /// that is sealed before it.
    fn repeat_words(&self, stream: Stream) -> usize {
        if stream == Stream::Map {
            return 0;
        }
        let open = self.others(stream).map(|other| self.tail(other).open_words()).max();
        self.last_chunk.len().max(RepeatedChunk::WORDS + open.unwrap_or(0))
    }

    /// The other streams with an open chunk, except the map's.
    fn others(&self, stream: Stream) -> impl Iterator<Item = Stream> {
        let is_other = move |other: &Stream| {
            *other != stream && *other != Stream::Map && self.tail(*other).chunk.is_some()
        };
        Stream::ALL.into_iter().filter(is_other)
    }

    /// Seals other streams' chunks without room to repeat `words` of this stream. They repeat the
    /// previous chunk, for which they have room.
    fn let_others_repeat(&mut self, stream: Stream, words: usize, counters: &Counters) {
        if stream == Stream::Map {
            return;
        }
        let repeat = RepeatedChunk::WORDS + words;
        let cannot = |other: &Stream| !self.tail(*other).can_repeat(repeat, self.limits);
        let full: Vec<Stream> = self.others(stream).filter(cannot).collect();
        full.into_iter().for_each(|other| self.seal_even_if_empty(other, counters));
    }

    /// Seals chunks and segments of a stream until there is room in an open chunk.
    fn make_room_until(
        &mut self,
        stream: Stream,
        has_room: impl Fn(&Tail, usize, Limits) -> bool,
        urgency: Urgency,
        chunks: &Chunks,
        counters: &Counters,
    ) -> Result<(), NoSegment> {
        loop {
            let repeat = self.repeat_words(stream);
            let tail = &mut self.tails[stream as usize];
            if has_room(tail, repeat, self.limits) {
                if tail.chunk.is_none() {
                    tail.open_chunk(chunks);
                }
                return Ok(());
            }
            if tail.chunk.is_some() {
                // An empty one too: it was opened for a smaller group or for moves that the host
                // has overtaken, and is in the way.
                self.seal_even_if_empty(stream, counters);
            } else if tail.is_at_the_beginning() {
                // The group fits no segment, so the next ones would be taken in vain.
                return Err(NoSegment);
            } else {
                self.close_segment(stream, urgency, chunks, counters)?;
            }
        }
    }

    /// Gives the wanted records of a group their places in the open chunk, which has room for them.
    pub(crate) fn place(
        &mut self,
        stream: Stream,
        group: &Group,
        wanted: impl Fn(usize) -> bool,
        places: &mut Vec<Location>,
    ) {
        places.clear();
        if stream != Stream::Map {
            self.replay_blocks += group.replay_blocks(&wanted);
        }
        self.tails[stream as usize].place(self.identity.drive_id, group, wanted, places);
    }

    /// Whether a group fits the rest of a stream's segment.
    pub(crate) fn fits_segment(&self, stream: Stream, payload: usize, words: usize) -> bool {
        let (tail, repeat) = (self.tail(stream), self.repeat_words(stream));
        tail.has_room(payload, words, repeat, self.limits)
            || tail.has_room_in_next_chunk(payload, words, repeat, self.limits)
    }

    /// Whether a stream has records that are not sealed.
    pub(crate) fn has_open(&self, stream: Stream) -> bool {
        self.tail(stream).chunk.as_ref().is_some_and(|open| !open.words.is_empty())
    }

    /// Seals the open chunk of a stream, if it has records, and queues it for writing.
    pub(crate) fn seal(&mut self, stream: Stream, counters: &Counters) {
        if self.has_open(stream) {
            self.seal_even_if_empty(stream, counters);
        }
    }

    fn seal_even_if_empty(&mut self, stream: Stream, counters: &Counters) {
        let seq = self.seq_of(stream);
        let tail = &mut self.tails[stream as usize];
        let Some(open) = tail.chunk.take() else { return };
        let repeat = if stream == Stream::Map { &[][..] } else { &self.last_chunk };
        let header = ChunkHeader {
            drive_id: self.identity.drive_id,
            durable_seq: self.durable_seq,
            payload_bytes: open.payload as u32,
            table_words: open.words.len() as u32,
            repeat_words: repeat.len() as u32,
            ..tail.header(ChunkKind::Log, stream, seq)
        };
        let bytes = open.chunk.finish(&header, &open.words, repeat);
        if stream != Stream::Map {
            let (segment, offset) = (tail.segment, tail.offset);
            let chunk = RepeatedChunk {
                seq,
                segment,
                offset,
                bytes: bytes as u32,
                words: open.words.clone(),
            };
            self.last_chunk = chunk.encode();
        }
        tail.add_chunk(seq, &open.words, bytes);
        counters.log_written(stream, open.payload, bytes);
        self.queue(Job { seq, chunk: open.chunk, bytes }, stream);
    }

    /// The number of the stream's next chunk.
    fn seq_of(&self, stream: Stream) -> u64 {
        if stream == Stream::Map { self.next_map_seq } else { self.next_seq }
    }

    /// Queues a chunk without records, which only carries the durable number.
    pub(crate) fn mark(&mut self, chunks: &Chunks, counters: &Counters) -> Result<(), NoSegment> {
        self.make_room(Stream::Host, 0, 0, Urgency::Ordinary, chunks, counters)?;
        self.seal_even_if_empty(Stream::Host, counters);
        Ok(())
    }

    /// Moves the stream that fills this segment to another one, if there is one.
    pub(crate) fn leave_segment(&mut self, segment: u32, chunks: &Chunks, counters: &Counters) {
        for stream in Stream::ALL {
            if self.tail(stream).segment == segment {
                self.seal_even_if_empty(stream, counters);
                // Without another segment, the stream stays.
                let _ = self.close_segment(stream, Urgency::MakesRoom, chunks, counters);
            }
        }
    }

    /// Ends a stream's segment with a footer and opens its next.
    fn close_segment(
        &mut self,
        stream: Stream,
        urgency: Urgency,
        chunks: &Chunks,
        counters: &Counters,
    ) -> Result<(), NoSegment> {
        let seq = self.seq_of(stream);
        let next_segment = self.space.open(stream, seq, urgency).ok_or(NoSegment)?;
        chunks.opened(next_segment, seq);
        if stream == Stream::Map {
            self.map_trail.add_segment(next_segment);
        }
        let tail = &mut self.tails[stream as usize];
        let length = footer_bytes(tail.words.len());
        let offset = self.identity.segment_bytes - length;
        let header = ChunkHeader {
            drive_id: self.identity.drive_id,
            offset,
            durable_seq: self.durable_seq,
            table_words: tail.words.len() as u32,
            next_segment,
            ..tail.header(ChunkKind::Footer, stream, seq)
        };
        let chunk =
            Arc::new(ChunkBuffer::new(tail.segment, offset, BlockBuffer::zeroed(length as usize)));
        chunk.finish_footer(&header, &tail.words);
        let sealed = tail.segment;
        tail.go_on_in(next_segment, seq);
        counters.log_written(stream, 0, length as usize);
        self.queue(Job { seq, chunk, bytes: length as usize }, stream);
        self.space.seal(sealed, seq, self.log_bytes);
        Ok(())
    }

    fn queue(&mut self, job: Job, stream: Stream) {
        self.told_durable_seq = self.durable_seq;
        match stream {
            Stream::Host => self.last_host_seq = job.seq,
            Stream::Cold | Stream::Frozen | Stream::Map => {}
        }
        match stream {
            Stream::Map => self.next_map_seq = job.seq + 1,
            _ => self.next_seq = job.seq + 1,
        }
        self.log_bytes += job.bytes as u64;
        self.unwritten.insert(job.seq);
        self.jobs.push_back(job);
    }

    /// Takes the next chunk to be written.
    pub(crate) fn take_job(&mut self) -> Option<Job> {
        self.jobs.pop_front()
    }

    /// Takes the only chunk that is not on stable media, if no other is queued or being written.
    pub(crate) fn take_only_job(&mut self) -> Option<Job> {
        let durable = self.durable_to();
        let is_alone =
            self.jobs.len() == 1 && self.sealed_to() == Reached { log: durable.log + 1, ..durable };
        if is_alone { self.jobs.pop_front() } else { None }
    }

    /// Whether chunks are queued for writing.
    pub(crate) fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Notes that a chunk was written.
    pub(crate) fn note_written(&mut self, seq: u64) {
        self.unwritten.remove(&seq);
    }

    /// The numbers up to which everything was written, though possibly not to stable media.
    pub(crate) fn written_to(&self) -> Reached {
        let first = |range: (Bound<u64>, Bound<u64>)| self.unwritten.range(range).next().copied();
        let log = first((Bound::Unbounded, Bound::Excluded(MAP_SEQS))).unwrap_or(self.next_seq);
        let map = first((Bound::Included(MAP_SEQS), Bound::Unbounded));
        Reached { log: log - 1, map: map.unwrap_or(self.next_map_seq) - 1 }
    }

    /// The numbers of the last sealed chunks.
    pub(crate) fn sealed_to(&self) -> Reached {
        Reached { log: self.next_seq - 1, map: self.next_map_seq - 1 }
    }

    /// Notes that everything up to here is on stable media.
    pub(crate) fn note_durable(&mut self, reached: Reached) {
        self.durable_seq = self.durable_seq.max(reached.log);
        self.durable_map_seq = self.durable_map_seq.max(reached.map);
    }

    /// The numbers up to which everything is on stable media.
    pub(crate) fn durable_to(&self) -> Reached {
        Reached { log: self.durable_seq, map: self.durable_map_seq }
    }

    /// Number of sealed chunks that are not written yet.
    pub(crate) fn unwritten_chunks(&self) -> usize {
        self.unwritten.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::table_words_most;
    use crate::{BLOCK_BYTES, Codec, Drive, DriveOptions, Format, MemoryDisk};

    /// A fresh drive with small segments.
    fn small_drive(codec: Codec) -> Drive {
        let media = Arc::new(MemoryDisk::new(64 << 20).unwrap());
        let format = Format {
            drive_id: 7,
            logical_bytes: 16 << 20,
            codec,
            units: false,
            dictionary: false,
            segment_bytes: Some(512 << 10),
        };
        Drive::format(media.clone(), &format).unwrap();
        Drive::open(media, DriveOptions::default()).unwrap()
    }

    /// Collection opens a chunk for moves that the host may overtake; the next group must not wait
    /// until it is full.
    #[test]
    fn an_empty_chunk_at_the_end_of_a_segment_makes_way() {
        let drive = small_drive(Codec::None);
        let mut log = drive.shell.log.lock().unwrap();
        let segment = log.tail(Stream::Cold).segment;
        log.tails[Stream::Cold as usize].offset = (512 << 10) - 3 * BLOCK_BYTES as u32;
        log.make_room(
            Stream::Cold,
            0,
            0,
            Urgency::Ordinary,
            &drive.shell.log.chunks,
            &drive.shell.media.counters,
        )
        .unwrap();
        assert!(log.tail(Stream::Cold).chunk.is_some() && !log.has_open(Stream::Cold));
        log.make_room(
            Stream::Cold,
            64 << 10,
            16,
            Urgency::Ordinary,
            &drive.shell.log.chunks,
            &drive.shell.media.counters,
        )
        .unwrap();
        assert_ne!(log.tail(Stream::Cold).segment, segment);
        assert!(log.tail(Stream::Cold).has_room(64 << 10, 16, 0, log.limits));
    }

    /// The next chunk repeats the table in any place: with a longer table, it would reach beyond
    /// its segment.
    #[test]
    fn no_table_is_longer_than_the_next_chunk_has_room_for() {
        let drive = small_drive(Codec::Lz4);
        let mut log = drive.shell.log.lock().unwrap();
        let most = table_words_most(512 << 10);
        for stream in [Stream::Host, Stream::Cold] {
            assert!(log.fits_segment(stream, 30_000, most));
            assert!(!log.fits_segment(stream, 30_000, most + 1));
            log.make_room(
                stream,
                0,
                0,
                Urgency::Ordinary,
                &drive.shell.log.chunks,
                &drive.shell.media.counters,
            )
            .unwrap();
            assert!(log.fits_segment(stream, 30_000, most));
            assert!(!log.fits_segment(stream, 30_000, most + 1));
        }
    }
}
