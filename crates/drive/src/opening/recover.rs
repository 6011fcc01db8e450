//! Opening: the newest checkpoint, then the log behind it.
//!
//! Chunks are replayed in the order of their sequence numbers as long as none is missing. A chunk that nothing proves
//! to have been on stable media counts only if every record in it has its checksum. Where the log ends, either it was
//! torn by a power cut, which is its ordinary end, or the media has lost what it had guaranteed to keep. The second is
//! certain when any later chunk, or the checkpoint, says that the missing one was durable; then the drive opens
//! read-only and says so.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::core::apply::{apply, blocks_of};
use crate::core::map::Map;
use crate::core::nodes::NODE_ENTRIES;
use crate::core::space::Space;
use crate::core::tables::{SegmentChunk, SegmentRecord, records_of};
use crate::format::{
    ChunkKind, Cursor, Entry, FooterChunk, Op, RepeatedChunk, Root, RootBody, STREAMS, Stream,
    Superblock, UNIT_BLOCKS, Words,
};
use crate::opening::create::DriveError;
use crate::opening::follow::{Path, Step};
use crate::opening::reconcile::joined;
use crate::opening::superblocks::{Chosen, read_superblocks};
use crate::rules::{Rule, holds};
use crate::shell::bad_places::{Unreadable, drive_lives};
use crate::shell::drive::{Drive, DriveOptions, OPENED_READ_ONLY, Parts};
use crate::status::{Counters, GivenUp, Recovery};
use assay_disk::{BLOCK_BYTES, BlockBuffer, Disk, DiskError, Result};

/// Streams that replay follows.
const LOG_STREAMS: [Stream; STREAMS - 1] = [Stream::Host, Stream::Cold, Stream::Frozen];

impl Drive {
    /// Opens the drive that `media` holds, after whatever happened to it.
    ///
    /// # Errors
    /// [`DriveError`]; nothing is written to what cannot be opened.
    pub fn open(media: Arc<dyn Disk>, options: DriveOptions) -> Result<Drive, DriveError> {
        Drive::open_for_use(media, options, false)
    }

    /// The same; gives up what is missing of the log if it is told to, and takes writes then.
    pub(crate) fn open_for_use(
        media: Arc<dyn Disk>,
        options: DriveOptions,
        gives_up_log: bool,
    ) -> Result<Drive, DriveError> {
        let drive = Drive::recover(Arc::clone(&media), options, gives_up_log)?;
        drive_lives(&*media, &drive.superblock())?;
        Ok(drive)
    }

    fn recover(
        media: Arc<dyn Disk>,
        options: DriveOptions,
        gives_up_log: bool,
    ) -> Result<Drive, DriveError> {
        let mut recovery = Recovery::default();
        let Chosen { superblock, which, other } = read_superblocks(&*media, gives_up_log)?;
        recovery.clean = superblock.clean;
        recovery.mended.extend(other.told(which));
        let unreadable = Unreadable::default();
        let blank = || {
            let (media, options) = (Arc::clone(&media), options.clone());
            let mut blank = Drive::blank(media, options, superblock.clone(), recovery.clone());
            blank.gives_up_log = gives_up_log;
            (blank.superblock_in_use, blank.other_superblock) = (which, other);
            blank.unreadable = unreadable.clone();
            blank
        };
        let (drive, loaded) = blank().at_checkpoint()?;
        let Some(loaded) = loaded else {
            return drive.rebuild("no checkpoint could be read", None);
        };
        match drive.replay(&loaded) {
            // The log cannot be applied to a map that has lost a node, but the segments tell everything.
            Err(DriveError::Disk(error @ (DiskError::Corrupt { .. } | DiskError::Io(_)))) => {
                drive_lives(&*media, &superblock)?;
                blank().rebuild(&error.to_string(), Some(&loaded.root))
            }
            replayed => replayed,
        }
    }

    /// The drive as its checkpoint says, and the root; an empty one if the root cannot be read.
    fn at_checkpoint(self) -> Result<(Drive, Option<Loaded>), DriveError> {
        let Some(loaded) = self.load_root()? else { return Ok((self, None)) };
        let identity = self.identity;
        let superblock = self.superblock().clone();
        let body = &loaded.root.body;
        let blocks = identity.logical_bytes / BLOCK_BYTES;
        let mut space = Space::from_rows(&identity, &body.segments);
        for part in &superblock.root {
            space.add(crate::upkeep::checkpoint::root_weight(*part));
        }
        // Directories that are left over, without leaves, from when the drive was larger.
        let slots = blocks.div_ceil(NODE_ENTRIES * NODE_ENTRIES) as usize;
        let left_over = body.directories.iter().skip(slots).filter(|place| !place.is_none());
        left_over.for_each(|place| space.remove(*place));
        let parts = Parts {
            map: Map::stored_at(blocks, &body.directories, body.leaves, body.mapped_blocks),
            space,
            cursors: cursors_of(&loaded.root),
            next_seq: superblock.checkpoint_seq + 1,
            counters: Counters::from_words(&body.counters),
            dictionaries: Vec::new(),
            next_dictionary: body.next_dictionary,
            recovery: self.recovery.clone(),
            read_only: None,
            superblock,
        };
        let mut drive = Drive::assemble(self.media, self.options, parts);
        drive.unreadable = self.unreadable;
        drive.gives_up_log = self.gives_up_log;
        drive.superblock_in_use = self.superblock_in_use;
        drive.other_superblock = self.other_superblock;
        if !drive.recovery.clean {
            Counters::add(&drive.counters.crashes, 1);
        }
        for (version, place) in &body.dictionaries {
            drive.load_dictionary(*version, *place)?;
        }
        Ok((drive, Some(loaded)))
    }

    /// A drive that knows nothing but its superblock.
    fn blank(
        media: Arc<dyn Disk>,
        options: DriveOptions,
        superblock: Superblock,
        recovery: Recovery,
    ) -> Drive {
        let identity = superblock.identity;
        let parts = Parts {
            map: Map::new(identity.logical_bytes / BLOCK_BYTES),
            space: Space::fresh(&identity),
            cursors: <[Cursor; STREAMS]>::default(),
            next_seq: superblock.checkpoint_seq + 1,
            counters: Counters::default(),
            dictionaries: Vec::new(),
            next_dictionary: 1,
            recovery,
            read_only: None,
            superblock,
        };
        Drive::assemble(media, options, parts)
    }

    /// The root that the superblock names, if all of it can be read and makes sense.
    fn load_root(&self) -> Result<Option<Loaded>> {
        let parts = self.superblock().root.clone();
        let mut words = Vec::new();
        for part in parts {
            let Some((_, part)) = self.root_chunk(part)? else { return Ok(None) };
            words.extend(part);
        }
        let Some(mut root) = Root::decode(&words) else { return Ok(None) };
        for (number, row) in &root.end.segments {
            let Some(slot) = root.body.segments.get_mut(*number as usize) else { return Ok(None) };
            *slot = *row;
        }
        Ok(self.is_plausible(&root.body, &root.end.map).then_some(Loaded { root }))
    }

    fn is_plausible(&self, body: &RootBody, map: &Cursor) -> bool {
        let identity = &self.identity;
        let [host, cold, frozen] = &body.cursors;
        let cursors = [host, cold, frozen, map];
        let on_drive = |cursor: &&Cursor| {
            cursor.segment < identity.segments
                && cursor.offset <= identity.segment_bytes
                && u64::from(cursor.offset).is_multiple_of(BLOCK_BYTES)
        };
        let streams_fit = Stream::ALL.into_iter().zip(cursors).all(|(stream, cursor)| {
            let row = body.segments.get(cursor.segment as usize);
            row.is_some_and(|row| row.open && row.stream == Some(stream))
        });
        body.segments.len() == identity.segments as usize
            && cursors.iter().all(on_drive)
            && streams_fit
            && body.directories.iter().all(|place| self.is_possible(*place))
    }

    /// Applies the log behind the checkpoint and makes the drive ready.
    fn replay(mut self, loaded: &Loaded) -> Result<Drive, DriveError> {
        // The first chunk after a proper close waits until both superblocks have taken the mark back.
        if self.recovery.clean {
            return self.ready(false);
        }
        let checkpoint_seq = self.superblock().checkpoint_seq;
        let seqs = checkpoint_seq.saturating_add(1)..self.superblock().log_end_seq;
        let openings = self.openings(seqs)?;
        let mut ends = cursors_of(&loaded.root);
        let mut paths = Vec::new();
        for (stream, cursor) in LOG_STREAMS.into_iter().zip(&ends) {
            paths.push(self.follow(stream, cursor, &openings)?);
        }
        let told = paths.iter().map(|path| path.durable_seq).fold(openings.durable_seq, u64::max);
        let durable_seq = told.max(checkpoint_seq);
        let (mut seq, mut is_torn) = (checkpoint_seq + 1, false);
        loop {
            // What nothing proves to have been on stable media must be whole; what was and cannot be read is told by the
            // next chunk.
            let is_durable = seq <= durable_seq;
            let step = match self.next_step(&mut paths, seq)? {
                None if is_durable => self.repeated_step(&paths, seq)?,
                step => step,
            };
            let Some(step) = step else { break };
            if !self.replay_step(&step, is_durable, &mut ends)? {
                is_torn = true;
                break;
            }
            seq += 1;
        }
        self.log_stop_seq.store(seq, Ordering::Release);
        let behind =
            paths.iter().map(|path| path.count_from(seq)).sum::<u64>() + u64::from(is_torn);
        self.recovery.torn_chunks = behind;
        for (stream, cursor) in Stream::ALL.into_iter().zip(ends) {
            self.log()?.set_cursor(stream, cursor);
        }
        if durable_seq >= seq {
            let problem = lost_chunk(seq, behind);
            self.recovery.problems.push(problem.clone());
            if !self.gives_up_log {
                self.read_only = Some(problem);
                return Ok(self);
            }
            let mut rest = Vec::new();
            for mut path in paths {
                rest.extend(path.chunks_from(&self, seq)?);
            }
            self.recovery.given_up = Some(given_up(seq, &rest));
            // Also where nothing was applied: what is given up must not come back.
            self.recovery.chunks += 1;
            return self.ready(true);
        }
        self.ready(seq > checkpoint_seq + 1)
    }

    /// Takes new sequence numbers if the log was replayed, with a checkpoint that makes its end final. Before that it
    /// gives back what is empty, so that there is as much room as there was when power went.
    fn ready(mut self, replayed: bool) -> Result<Drive, DriveError> {
        if self.options.read_only {
            self.read_only = Some(OPENED_READ_ONLY.into());
            return Ok(self);
        }
        drive_lives(&*self.media, &self.superblock())?;
        {
            let mut log = self.log()?;
            let nodes = self.map()?.nodes();
            log.space.note_nodes(nodes);
        }
        let is_new = replayed && self.recovery.chunks > 0;
        if is_new {
            // So that what the superblock calls cut off begins where the log ends on stable media, too. What was replayed would
            // be there in any case before anything is written in place of what it emptied: the superblocks are flushed first.
            self.sync_media()?;
        }
        if holds(Rule::FreedAtOpening) {
            self.free_empty()?;
        }
        if !is_new {
            self.mend_torn_superblock();
        }
        if is_new {
            self.check_room(&self.log()?.space);
            let first = self.reserve_seqs(false)?;
            self.log()?.resume(first);
            self.is_begun.store(true, Ordering::Release);
            self.checkpoint(&mut self.maintenance())?;
        }
        Ok(self)
    }

    /// Counts as free what is sealed, holds nothing, and lies before the checkpoint. Nothing is written: all of it was
    /// emptied by what is on stable media.
    fn free_empty(&self) -> Result<()> {
        let checkpoint_seq = self.superblock().checkpoint_seq;
        let mut log = self.log()?;
        let empty: Vec<_> = log.space.empty_segments().collect();
        for number in empty {
            if log.space.get(number).is_behind(checkpoint_seq) {
                log.space.release(number);
            }
        }
        Ok(())
    }

    /// The chunk or footer with this sequence number, if a stream has come to it.
    fn next_step(&self, paths: &mut [Path], seq: u64) -> Result<Option<Step>> {
        for path in paths {
            let step = path.take(self, seq)?;
            if step.is_some() {
                return Ok(step);
            }
        }
        Ok(None)
    }

    /// The chunk with this sequence number as the next chunk of the log repeats it.
    fn repeated_step(&mut self, paths: &[Path], seq: u64) -> Result<Option<Step>> {
        for path in paths {
            let Some((segment, opened_seq, next)) = path.next_chunk(self)? else { continue };
            let Some(chunk) = self.repeated_by(segment, opened_seq, &next)? else { continue };
            let stream = self.log()?.space.get(chunk.segment).stream;
            let (true, Some(stream)) = (chunk.seq == seq, stream) else { continue };
            self.recovery.problems.push(format!(
                "chunk {seq} of the log is damaged; the next one tells what it held"
            ));
            let RepeatedChunk { segment, seq, offset, bytes, words } = chunk;
            let kind = ChunkKind::Log;
            let chunk = SegmentChunk { kind, seq, offset, bytes, durable_seq: 0, words };
            return Ok(Some(Step::Chunk { stream, segment, chunk }));
        }
        Ok(None)
    }

    /// Applies a chunk or footer; false if it is torn.
    fn replay_step(
        &mut self,
        step: &Step,
        is_durable: bool,
        ends: &mut [Cursor; STREAMS],
    ) -> Result<bool> {
        match step {
            Step::Chunk { stream, segment, chunk } => {
                if !is_durable && holds(Rule::WholeOrTorn) && !self.is_whole(*segment, chunk)? {
                    return Ok(false);
                }
                self.replay_chunk(*segment, chunk)?;
                let end = &mut ends[*stream as usize];
                FooterChunk {
                    seq: chunk.seq,
                    offset: chunk.offset,
                    table_words: chunk.words.len() as u32,
                }
                .push(&mut end.words);
                end.words.extend(&chunk.words);
                end.offset = chunk.offset + chunk.bytes;
            }
            // The next segment says that this footer was written, not that it was on stable media.
            Step::Footer { is_lost: true, .. } if !is_durable => return Ok(false),
            Step::Footer { stream, segment, seq, next_segment, is_lost } => {
                if *is_lost {
                    let problem =
                        format!("the footer of segment {segment} is damaged; its chunks serve");
                    self.recovery.problems.push(problem);
                }
                let (seq, next) = (*seq, *next_segment);
                let mut log = self.log()?;
                let log_bytes = log.log_bytes;
                log.space.seal(*segment, seq, log_bytes);
                log.space.open_this(next, *stream, seq);
                self.chunks.opened(next, seq);
                ends[*stream as usize] = Cursor { segment: next, offset: 0, words: Vec::new() };
            }
        }
        self.recovery.chunks += 1;
        Ok(true)
    }

    fn replay_chunk(&mut self, segment: u32, chunk: &SegmentChunk) -> Result<()> {
        let records = records_of(segment, chunk);
        self.recovery.entries += records.len() as u64;
        let mut next = 0;
        while next < records.len() {
            next += self.replay_records(&records[next..])?;
            let Some(record) = records.get(next) else { return Ok(()) };
            self.load_nodes(blocks_of(&record.entry))?;
        }
        Ok(())
    }

    /// Applies records until one needs a node that is not loaded; gives how many are done.
    fn replay_records(&self, records: &[SegmentRecord]) -> Result<usize> {
        let blocks = self.blocks();
        let mut log = self.log()?;
        let mut map = self.map_mut()?;
        let is_done = |record: &&SegmentRecord| match record.entry.op {
            Op::Node { .. } | Op::Dictionary => true,
            // What is larger than the drive, or lies outside it, was never written by one.
            _ if !self.is_possible(record.place) || is_beyond(&record.entry, blocks) => true,
            _ if record.place.is_unit() && !record.entry.key.is_multiple_of(UNIT_BLOCKS) => true,
            _ => apply(&mut map, &mut log.space, &record.entry, record.place).is_ok(),
        };
        Ok(records.iter().take_while(is_done).count())
    }

    /// Whether every record of a chunk has its checksum. One whose dictionary is lost cannot be checked, nor read: it says
    /// nothing of the others.
    pub(crate) fn is_whole(&self, segment: u32, chunk: &SegmentChunk) -> Result<bool> {
        let mut buffer = BlockBuffer::default();
        let bytes = buffer.first(chunk.bytes as usize);
        self.read_tolerant(self.identity.segment_start(segment) + u64::from(chunk.offset), bytes)?;
        Ok(records_of(segment, chunk).iter().filter(|record| !record.place.is_none()).all(
            |record| {
                let start = (record.place.offset() - chunk.offset) as usize;
                let stored = bytes.get(start..start + record.place.length() as usize);
                let key = record.entry.op.context_key(record.entry.key);
                stored.is_some_and(|stored| {
                    self.needs_lost_dictionary(stored)
                        || self.check_record(stored, record.place, key).is_ok()
                })
            },
        ))
    }
}

/// Whether an entry is of blocks behind the drive's end. A unit may reach over it, where the drive was made smaller: it still moves.
fn is_beyond(entry: &Entry, blocks: u64) -> bool {
    match entry.op {
        Op::Unit | Op::MoveUnit { .. } => entry.key >= blocks,
        _ => blocks_of(entry).end > blocks,
    }
}

/// A checkpoint's root.
struct Loaded {
    root: Root,
}

/// What is given up with a chunk and those that were found behind it, which are of the log.
pub(crate) fn given_up(seq: u64, behind: &[SegmentChunk]) -> GivenUp {
    let blocks = behind
        .iter()
        .flat_map(|chunk| Words::new(&chunk.words))
        .filter(|entry| matches!(entry.op, Op::Data | Op::Unit | Op::Zero))
        .map(|entry| blocks_of(&entry));
    let bytes = |blocks: Range<u64>| blocks.start * BLOCK_BYTES..blocks.end * BLOCK_BYTES;
    let ranges = joined(blocks.map(bytes).collect());
    GivenUp { seq, chunks: behind.len() as u64, ranges }
}

/// What is told of a chunk that was on stable media and is not there, with those that were found behind it.
pub(crate) fn lost_chunk(seq: u64, behind: u64) -> String {
    format!(
        "the log is damaged: chunk {seq} was on stable media and cannot be read; \
         {behind} later chunks are not applied"
    )
}

fn cursors_of(root: &Root) -> [Cursor; STREAMS] {
    let [host, cold, frozen] = root.body.cursors.clone();
    [host, cold, frozen, root.end.map.clone()]
}
