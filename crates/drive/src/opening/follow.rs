//! The streams behind a checkpoint, followed from footer to footer and handed out in order.
//!
//! A footer holds nothing that the chunks of its segment and the next segment do not hold too. If a
//! footer cannot be read, the stream is found again by the number that opened its next segment, for
//! which the first block of every segment is read. Otherwise everything behind a single damaged
//! footer would pass for a torn tail.

use std::collections::VecDeque;
use std::ops::Range;

use crate::core::tables::SegmentChunk;
use crate::format::{CHUNK_HEADER_BYTES, ChunkHeader, Cursor, Stream};
use crate::opening::preload::preload;
use crate::shell::parts::Shell;
use assay_disk::BlockBuffer;
use assay_disk::{BLOCK_BYTES, Result};

/// The contents of a stream behind the checkpoint, segment by segment.
pub(crate) struct Path {
    stream: Stream,
    /// Segments to be read, the next one last.
    segments: Vec<PathSegment>,
    queue: VecDeque<Step>,
    /// Number by which the segment of the queued steps was opened.
    opened_seq: u64,
    /// Highest durable number that any chunk claims.
    pub(crate) durable_seq: u64,
}

/// One segment of a path.
struct PathSegment {
    segment: u32,
    opened_seq: u64,
    offset: u32,
    /// The chunks, if there is no footer.
    walked: Option<Vec<SegmentChunk>>,
    next: Option<Next>,
}

impl PathSegment {
    /// The chunks from the path's beginning in this segment on.
    fn chunks(&self, shell: &Shell) -> Result<Vec<SegmentChunk>> {
        if let Some(chunks) = &self.walked {
            return Ok(chunks.clone());
        }
        let footer = shell.segments.read_footer(self.segment, self.opened_seq)?;
        let chunks = footer.map_or_else(Vec::new, |footer| footer.chunks());
        Ok(chunks.into_iter().filter(|chunk| chunk.offset >= self.offset).collect())
    }
}

/// The next segment of a stream.
#[derive(Clone, Copy)]
struct Next {
    /// Number of the footer, by which the next segment was opened.
    seq: u64,
    segment: u32,
    /// Whether the footer could not be read.
    is_lost: bool,
}

/// A chunk or footer to be replayed.
pub(crate) enum Step {
    Chunk { stream: Stream, segment: u32, chunk: SegmentChunk },
    Footer { stream: Stream, segment: u32, seq: u64, next_segment: u32, is_lost: bool },
}

impl Step {
    fn seq(&self) -> u64 {
        match self {
            Step::Chunk { chunk, .. } => chunk.seq,
            Step::Footer { seq, .. } => *seq,
        }
    }
}

/// Segments that were opened since the checkpoint, according to their first chunks.
pub(crate) struct Openings {
    seqs: Range<u64>,
    /// Stream, opening number, segment.
    all: Vec<(Stream, u64, u32)>,
    /// Highest durable number that these first chunks claim.
    pub(crate) durable_seq: u64,
}

impl Openings {
    /// Finds the segments that were opened with one of `seqs`.
    pub(crate) fn find(shell: &Shell, seqs: Range<u64>) -> Result<Openings> {
        let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
        let mut openings = Openings { seqs, all: Vec::new(), durable_seq: 0 };
        for segment in 0..shell.media.identity.segments {
            shell
                .media
                .read_tolerant(shell.media.identity.segment_start(segment), block.as_mut())?;
            let head = ChunkHeader::decode(&block.as_ref()[..CHUNK_HEADER_BYTES]);
            let opened_seq = head.map(|(header, _)| header.opened_seq);
            let opened_seq = opened_seq.filter(|seq| openings.seqs.contains(seq));
            let Some(opened_seq) = opened_seq else { continue };
            if let Some(header) = shell.segments.front_chunk(segment, opened_seq)? {
                openings.all.push((header.stream, opened_seq, segment));
                openings.durable_seq = openings.durable_seq.max(header.durable_seq);
            }
        }
        Ok(openings)
    }

    /// The first segment that a stream opened after `seq`.
    fn first_after(&self, stream: Stream, seq: u64) -> Option<Next> {
        let later = self.all.iter().filter(|(of, opened, _)| *of == stream && *opened > seq);
        let first = later.min_by_key(|(_, opened_seq, _)| *opened_seq);
        first.map(|&(_, seq, segment)| Next { seq, segment, is_lost: true })
    }
}

impl Path {
    /// Follows a stream from `cursor` to its end.
    pub(crate) fn follow(
        shell: &Shell,
        stream: Stream,
        cursor: &Cursor,
        openings: &Openings,
    ) -> Result<Path> {
        let mut path = Path {
            stream,
            segments: Vec::new(),
            queue: VecDeque::new(),
            opened_seq: 0,
            durable_seq: 0,
        };
        let (mut segment, mut offset) = (cursor.segment, cursor.offset);
        let mut opened_seq = shell.log.lock()?.space.get(segment).opened_seq;
        loop {
            let start = PathSegment { segment, opened_seq, offset, walked: None, next: None };
            let part = path.follow_segment(shell, start, openings)?;
            let next = part.next;
            path.segments.push(part);
            let Some(next) = next else { break };
            (opened_seq, segment, offset) = (next.seq, next.segment, 0);
        }
        path.segments.reverse();
        Ok(path)
    }

    /// Reads a segment's footer, or its chunks, and where the stream goes on.
    fn follow_segment(
        &mut self,
        shell: &Shell,
        part: PathSegment,
        openings: &Openings,
    ) -> Result<PathSegment> {
        let PathSegment { segment, opened_seq, offset, .. } = part;
        let footer = shell.segments.read_footer(segment, opened_seq)?.map(|footer| footer.header);
        let footer = footer.filter(|footer| {
            openings.seqs.contains(&footer.seq)
                && footer.next_segment < shell.media.identity.segments
        });
        if let Some(footer) = footer {
            self.durable_seq = self.durable_seq.max(footer.durable_seq);
            let next = Next { seq: footer.seq, segment: footer.next_segment, is_lost: false };
            return Ok(PathSegment { next: Some(next), ..part });
        }
        let walked =
            shell.segments.walk_chunks(segment, opened_seq, offset, openings.seqs.clone())?;
        self.durable_seq = self.durable_seq.max(walked.durable_seq);
        // Includes chunks behind a gap: the missing chunk may be repeated elsewhere.
        let all = walked.all();
        let last_seq = all.last().map_or(opened_seq, |chunk| chunk.seq);
        let next = openings.first_after(self.stream, last_seq);
        Ok(PathSegment { walked: Some(all), next, ..part })
    }

    /// Takes the chunk or footer with this sequence number, if it is the next of the stream.
    pub(crate) fn take(&mut self, shell: &Shell, seq: u64) -> Result<Option<Step>> {
        self.fill(shell)?;
        let is_next = self.queue.front().is_some_and(|step| step.seq() == seq);
        Ok(if is_next { self.queue.pop_front() } else { None })
    }

    /// The next chunk of the stream, with its segment and the number by which that was opened.
    pub(crate) fn next_chunk(&self, shell: &Shell) -> Result<Option<(u32, u64, SegmentChunk)>> {
        let queued = self.queue.iter().find_map(|step| match step {
            Step::Chunk { segment, chunk, .. } => Some((*segment, self.opened_seq, chunk.clone())),
            Step::Footer { .. } => None,
        });
        if queued.is_some() {
            return Ok(queued);
        }
        let Some(part) = self.segments.last() else { return Ok(None) };
        let first = part.chunks(shell)?.into_iter().next();
        Ok(first.map(|chunk| (part.segment, part.opened_seq, chunk)))
    }

    /// If the queue is empty, reads the next segment's tables, and the map's leaves that they
    /// change.
    fn fill(&mut self, shell: &Shell) -> Result<()> {
        while self.queue.is_empty() {
            let Some(part) = self.segments.pop() else { return Ok(()) };
            let (stream, segment) = (self.stream, part.segment);
            let chunks = part.chunks(shell)?;
            preload(shell, chunks.iter().map(|chunk| &chunk.words[..]))?;
            self.opened_seq = part.opened_seq;
            let step = |chunk| Step::Chunk { stream, segment, chunk };
            self.queue.extend(chunks.into_iter().map(step));
            if let Some(Next { seq, segment: next_segment, is_lost }) = part.next {
                self.queue.push_back(Step::Footer { stream, segment, seq, next_segment, is_lost });
            }
        }
        Ok(())
    }

    /// Takes all remaining chunks from `seq` on.
    pub(crate) fn chunks_from(&mut self, shell: &Shell, seq: u64) -> Result<Vec<SegmentChunk>> {
        let mut chunks = Vec::new();
        loop {
            self.fill(shell)?;
            match self.queue.pop_front() {
                None => return Ok(chunks),
                Some(Step::Chunk { chunk, .. }) if chunk.seq >= seq => chunks.push(chunk),
                Some(_) => {}
            }
        }
    }

    /// Number of known chunks from `seq` on.
    pub(crate) fn count_from(&self, seq: u64) -> u64 {
        let walked = self.segments.iter().filter_map(|part| part.walked.as_ref()).flatten();
        let queued = self.queue.iter().map(Step::seq);
        let all = walked.map(|chunk| chunk.seq).chain(queued);
        all.filter(|behind| *behind >= seq).count() as u64
    }
}
