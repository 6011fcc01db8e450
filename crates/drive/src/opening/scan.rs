//! The contents of the segments without a map: their chunks, and the end of the log.
//!
//! The end of the log is found as in replay. A chunk belongs to the log if a later chunk, the
//! checkpoint or the superblock proves that it was on stable media, whatever became of its bytes.
//! Behind that, the log ends at the first chunk that is not whole.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::core::tables::{Hole, SegmentChunk, chunks_of};
use crate::format::{ChunkHeader, Location, Root, Stream};
use crate::shell::parts::Shell;
use assay_disk::Result;

/// One segment, according to its own bytes.
pub(crate) struct Found {
    pub(crate) number: u32,
    pub(crate) stream: Stream,
    pub(crate) opened_seq: u64,
    /// Number of its footer, or of its last chunk.
    pub(crate) sealed_seq: u64,
    pub(crate) chunks: Vec<SegmentChunk>,
    /// The footer's number and the durable number that it claims.
    footer: Option<(u64, u64)>,
    /// Gaps between its chunks.
    holes: Vec<Hole>,
}

/// The end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogEnd {
    /// The first number that is not part of it.
    pub(crate) seq: u64,
    /// Whether this number was on stable media, so that the media lost it and everything after it.
    pub(crate) is_damage: bool,
    /// Chunks found behind the end.
    pub(crate) behind: u64,
}

/// The known owner of a sequence number.
enum Known<'a> {
    Chunk(u32, &'a SegmentChunk),
    Footer,
    /// The footer cannot be read, but the segment that it opened is there.
    LostFooter,
}

/// All segments with any contents, without the parts that crashes cut off. A root repeats the
/// tables of those that were open.
pub(crate) fn scan(shell: &Shell, root: Option<&Root>) -> Result<Vec<Found>> {
    let superblock = shell.superblocks.lock().clone();
    let mut found = Vec::new();
    for number in 0..shell.media.identity.segments {
        found.extend(scan_segment(shell, number)?);
    }
    for segment in &mut found {
        segment.chunks.retain(|chunk| !superblock.is_cut(chunk.seq));
        segment.holes.retain(|hole| !superblock.is_cut(hole.after));
    }
    if let Some(root) = root {
        complete(&mut found, root);
    }
    Ok(found)
}

fn scan_segment(shell: &Shell, number: u32) -> Result<Option<Found>> {
    let head = shell.segments.first_header(number)?;
    let footer = shell.segments.any_footer(number)?;
    // A footer of an earlier filling, or one that a crash cut off, may still lie behind newer
    // chunks.
    let footer = footer.filter(|footer| {
        head.is_none_or(|(_, opened_seq)| footer.header.opened_seq == opened_seq)
            && !shell.superblocks.lock().is_cut(footer.header.seq)
            && !is_behind_root(shell, number, &footer.header)
    });
    if let Some(footer) = footer {
        return Ok(Some(Found {
            number,
            stream: footer.header.stream,
            opened_seq: footer.header.opened_seq,
            sealed_seq: footer.header.seq,
            chunks: footer.chunks(),
            footer: Some((footer.header.seq, footer.header.durable_seq)),
            holes: Vec::new(),
        }));
    }
    let Some((stream, opened_seq)) = head else { return Ok(None) };
    let walked = shell.segments.walk_chunks(number, opened_seq, 0, 0..u64::MAX)?;
    let holes = walked.holes.clone();
    let chunks = walked.all();
    let sealed_seq = chunks.last().map_or(opened_seq, |chunk| chunk.seq);
    Ok(Some(Found { number, stream, opened_seq, sealed_seq, chunks, footer: None, holes }))
}

/// Whether a footer of the map's stream is older than the root that ends in its segment: an
/// unfinished checkpoint wrote it, and the next one went on in its place.
fn is_behind_root(shell: &Shell, number: u32, footer: &ChunkHeader) -> bool {
    let superblock = shell.superblocks.lock();
    footer.stream == Stream::Map
        && superblock.root.last().is_some_and(|part| part.segment() == number)
        && footer.seq <= superblock.root_seqs.1
}

/// Finds the end of the log behind the checkpoint.
pub(crate) fn log_end(shell: &Shell, found: &[Found]) -> Result<LogEnd> {
    let superblock = shell.superblocks.lock().clone();
    let log = superblock.checkpoint_seq.saturating_add(1)..superblock.log_end_seq;
    let known = known(found, &log);
    // A superblock names a root only when everything before it is on stable media.
    let proven = superblock.checkpoint_seq;
    let durable_seq = found.iter().map(|segment| segment.durable_seq(&log)).fold(proven, u64::max);
    let mut seq = log.start;
    while log.contains(&seq) {
        let is_durable = seq <= durable_seq;
        let is_there = match known.get(&seq) {
            Some(Known::Footer) => true,
            Some(Known::LostFooter) => is_durable,
            Some(Known::Chunk(segment, chunk)) => {
                is_durable || shell.records.is_chunk_whole(*segment, chunk)?
            }
            None => false,
        };
        if !is_there {
            break;
        }
        seq += 1;
    }
    let behind = known.range(seq..).filter(|(_, what)| matches!(what, Known::Chunk(..)));
    let behind = behind.count() as u64;
    Ok(LogEnd { seq, is_damage: seq <= durable_seq, behind })
}

impl Found {
    /// Highest durable number that a part of the log claims.
    fn durable_seq(&self, log: &Range<u64>) -> u64 {
        let chunks = self.chunks.iter().map(|chunk| (chunk.seq, chunk.durable_seq));
        let all = chunks.chain(self.footer);
        all.filter(|(seq, _)| log.contains(seq)).map(|(_, durable)| durable).max().unwrap_or(0)
    }

    /// Whether a chunk of the log is missing that was written up to `end_seq`.
    pub(crate) fn has_lost_records(&self, end_seq: u64) -> bool {
        self.stream != Stream::Map && self.holes.iter().any(|hole| hole.before < end_seq)
    }

    /// Whether a chunk of the map's stream is missing that was written before the root with this
    /// number and place.
    pub(crate) fn has_lost_nodes(&self, root_seq: u64, root: Location) -> bool {
        let is_root = |hole: &Hole| self.number == root.segment() && hole.offset >= root.offset();
        let is_before = |hole: &Hole| hole.before < root_seq && !is_root(hole);
        self.stream == Stream::Map && self.holes.iter().any(is_before)
    }
}

/// Adds the root's tables of the segments that were open at its checkpoint.
fn complete(found: &mut Vec<Found>, root: &Root) {
    let cursors = root.body.cursors.iter().chain([&root.end.map]);
    for (stream, cursor) in Stream::ALL.into_iter().zip(cursors) {
        let chunks = chunks_of(stream, &cursor.words, cursor.offset);
        let Some(last) = chunks.last() else { continue };
        let last_seq = last.seq;
        let opened_seq = root.body.segments[cursor.segment as usize].opened_seq;
        let index = found.iter().position(|segment| segment.number == cursor.segment);
        let index = index.unwrap_or_else(|| {
            let (number, sealed_seq) = (cursor.segment, opened_seq);
            let (chunks, holes, footer) = (Vec::new(), Vec::new(), None);
            found.push(Found { number, stream, opened_seq, sealed_seq, chunks, footer, holes });
            found.len() - 1
        });
        let segment = &mut found[index];
        // Otherwise it was filled again, or its footer has everything.
        if segment.opened_seq == opened_seq && segment.footer.is_none() {
            segment.chunks.retain(|chunk| chunk.seq > last_seq);
            segment.chunks.splice(0..0, chunks);
            segment.sealed_seq = segment.sealed_seq.max(last_seq);
            segment.holes.retain(|hole| hole.before >= last_seq);
        }
    }
}

/// All known numbers of the log with their owners.
fn known<'a>(found: &'a [Found], log: &Range<u64>) -> BTreeMap<u64, Known<'a>> {
    let mut known = BTreeMap::new();
    for segment in found {
        known.insert(segment.opened_seq, Known::LostFooter);
    }
    for segment in found {
        known.extend(segment.footer.map(|(seq, _)| (seq, Known::Footer)));
        let chunks = segment.chunks.iter();
        known.extend(chunks.map(|chunk| (chunk.seq, Known::Chunk(segment.number, chunk))));
    }
    known.retain(|seq, _| log.contains(seq));
    known
}
