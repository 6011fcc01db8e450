//! Following the streams behind a checkpoint, from footer to footer, and handing out what they hold in order.
//!
//! A footer holds nothing that its segment's chunks and the next segment do not tell as well. Where one cannot be read
//! the stream is found again by the number that its next segment was opened with; without that, everything behind a
//! single damaged footer would pass for a torn tail. It takes a look at the first block of every segment.

use std::collections::VecDeque;
use std::ops::Range;

use crate::core::tables::SegmentChunk;
use crate::format::{CHUNK_HEADER_BYTES, ChunkHeader, Cursor, Stream};
use crate::opening::preload::preload;
use crate::shell::parts::Shell;
use assay_disk::BlockBuffer;
use assay_disk::{BLOCK_BYTES, Result};

/// What a stream holds behind the checkpoint, segment by segment.
pub(crate) struct Path {
    stream: Stream,
    /// Not yet taken, the next one last.
    segments: Vec<PathSegment>,
    queue: VecDeque<Step>,
    /// By which number the segment was opened whose steps are in the queue.
    opened_seq: u64,
    /// Highest claim of durability that was seen.
    pub(crate) durable_seq: u64,
}

/// One segment of a path.
struct PathSegment {
    segment: u32,
    opened_seq: u64,
    offset: u32,
    /// What it holds where there is no footer to tell it.
    walked: Option<Vec<SegmentChunk>>,
    next: Option<Next>,
}

impl PathSegment {
    /// Its chunks, from where the path begins in it.
    fn chunks(&self, shell: &Shell) -> Result<Vec<SegmentChunk>> {
        if let Some(chunks) = &self.walked {
            return Ok(chunks.clone());
        }
        let footer = shell.segments.read_footer(self.segment, self.opened_seq)?;
        let chunks = footer.map_or_else(Vec::new, |footer| footer.chunks());
        Ok(chunks.into_iter().filter(|chunk| chunk.offset >= self.offset).collect())
    }
}

/// Where a stream goes on.
#[derive(Clone, Copy)]
struct Next {
    /// Of the footer, by which the next segment was opened.
    seq: u64,
    segment: u32,
    /// Whether the footer could not be read.
    is_lost: bool,
}

/// What is applied at once.
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

/// Segments that were opened since the checkpoint, as their first chunks tell.
pub(crate) struct Openings {
    seqs: Range<u64>,
    /// Stream, by which number it was opened, segment.
    all: Vec<(Stream, u64, u32)>,
    /// Highest claim of durability among these first chunks.
    pub(crate) durable_seq: u64,
}

impl Openings {
    /// Segments that were opened with one of `seqs`.
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
    /// Everything that a stream may hold behind `cursor`.
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

    /// What a segment holds, by its footer or by its chunks, and where the stream goes on.
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
        // Also those behind a gap: the chunk that belongs there may be told of elsewhere.
        let all = walked.all();
        let last_seq = all.last().map_or(opened_seq, |chunk| chunk.seq);
        let next = openings.first_after(self.stream, last_seq);
        Ok(PathSegment { walked: Some(all), next, ..part })
    }

    /// The chunk or footer with this sequence number, if the stream has come to it.
    pub(crate) fn take(&mut self, shell: &Shell, seq: u64) -> Result<Option<Step>> {
        self.fill(shell)?;
        let is_next = self.queue.front().is_some_and(|step| step.seq() == seq);
        Ok(if is_next { self.queue.pop_front() } else { None })
    }

    /// The chunk that the stream has next, with its segment and by which number that was opened.
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

    /// Reads the next segment's tables when the queue is empty, and what of the map they are for.
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

    /// Every chunk that is left from `seq` on.
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

    /// Chunks that were seen from `seq` on.
    pub(crate) fn count_from(&self, seq: u64) -> u64 {
        let walked = self.segments.iter().filter_map(|part| part.walked.as_ref()).flatten();
        let queued = self.queue.iter().map(Step::seq);
        let all = walked.map(|chunk| chunk.seq).chain(queued);
        all.filter(|behind| *behind >= seq).count() as u64
    }
}
