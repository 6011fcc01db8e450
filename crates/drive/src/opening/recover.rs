//! Opening: the newest checkpoint, then the log behind it.
//!
//! Chunks are replayed in the order of their sequence numbers until one is missing. A chunk that
//! nothing proves to have been on stable media counts only if all its records have their checksums.
//! The log ends either in a tail that a power cut has torn, which is its ordinary end, or the media
//! has lost data that it had guaranteed to keep. The second is certain if a later chunk or the
//! checkpoint proves that the missing chunk was durable; then the drive opens read-only and reports
//! it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::core::apply::{apply, blocks_of};
use crate::core::log::root_weight;
use crate::core::map::Map;
use crate::core::nodes::NODE_ENTRIES;
use crate::core::space::Space;
use crate::core::tables::{SegmentChunk, SegmentRecord, records_of};
use crate::drive::Drive;
use crate::format::{
    ChunkKind, Cursor, Entry, FooterChunk, Op, RepeatedChunk, Root, RootBody, STREAMS, Stream,
    UNIT_BLOCKS,
};
use crate::opening::attempt::Opening;
use crate::opening::create::DriveError;
use crate::opening::dictionaries;
use crate::opening::follow::{Openings, Path, Step};
use crate::opening::losses::{given_up, lost_chunk};
use crate::opening::superblocks::read_superblocks;
use crate::options::{DriveOptions, OPENED_READ_ONLY};
use crate::rules::{Rule, holds};
use crate::shell::bad_places::Unreadable;
use crate::shell::media::check_superblocks;
use crate::shell::parts::{Parts, Shell};
use crate::shell::superblocks::Chosen;
use crate::status::Counters;
use assay_disk::{BLOCK_BYTES, Disk, DiskError, Result};

/// Streams that replay follows.
const LOG_STREAMS: [Stream; STREAMS - 1] = [Stream::Host, Stream::Cold, Stream::Frozen];

impl Drive {
    /// Opens the drive on `media`, after any crash or damage.
    ///
    /// # Errors
    /// [`DriveError`]; nothing is written to a drive that cannot be opened.
    pub fn open(media: Arc<dyn Disk>, options: DriveOptions) -> Result<Drive, DriveError> {
        Drive::open_for_use(media, options, false)
    }

    /// Like [`Drive::open`]; with `gives_up_log`, gives up the missing part of a damaged log and
    /// takes writes.
    pub(crate) fn open_for_use(
        media: Arc<dyn Disk>,
        options: DriveOptions,
        gives_up_log: bool,
    ) -> Result<Drive, DriveError> {
        let drive = recover(&media, options, gives_up_log)?;
        check_superblocks(&*media, drive.shell.media.identity.media_bytes)?;
        Ok(drive)
    }
}

fn recover(
    disk: &Arc<dyn Disk>,
    options: DriveOptions,
    gives_up_log: bool,
) -> Result<Drive, DriveError> {
    let chosen = read_superblocks(&**disk, gives_up_log)?;
    let media_bytes = chosen.superblock.identity.media_bytes;
    let unreadable = Unreadable::default();
    let blank = || {
        let chosen = Chosen { superblock: chosen.superblock.clone(), ..chosen };
        Opening::blank(disk, &options, chosen, gives_up_log, unreadable.clone())
    };
    let (opening, root) = blank().at_checkpoint()?;
    let Some(root) = root else {
        return opening.rebuild("no checkpoint could be read", None);
    };
    match opening.replay(&root) {
        // The log cannot be applied to a map that has lost a node, but the segments have
        // everything.
        Err(DriveError::Disk(error @ (DiskError::Corrupt { .. } | DiskError::Io(_)))) => {
            check_superblocks(&**disk, media_bytes)?;
            blank().rebuild(&error.to_string(), Some(&root))
        }
        replayed => replayed,
    }
}

impl Opening {
    /// Returns the state of the checkpoint and its root, or the blank state if the root cannot be
    /// read.
    fn at_checkpoint(self) -> Result<(Opening, Option<Root>), DriveError> {
        let Some(root) = self.load_root()? else { return Ok((self, None)) };
        let identity = self.shell.media.identity;
        let chosen = self.shell.superblocks.chosen();
        let body = &root.body;
        let blocks = identity.logical_bytes / BLOCK_BYTES;
        let mut space = Space::from_rows(&identity, &body.segments);
        for part in &chosen.superblock.root {
            space.add(root_weight(*part));
        }
        // Directories without leaves, left over from when the drive was larger.
        let slots = blocks.div_ceil(NODE_ENTRIES * NODE_ENTRIES) as usize;
        let left_over = body.directories.iter().skip(slots).filter(|place| !place.is_none());
        left_over.for_each(|place| space.remove(*place));
        let parts = Parts {
            map: Map::stored_at(blocks, &body.directories, body.leaves, body.mapped_blocks),
            space,
            cursors: cursors_of(&root),
            next_seq: chosen.superblock.checkpoint_seq + 1,
            counters: Counters::from_words(&body.counters),
            next_dictionary: body.next_dictionary,
            unreadable: self.shell.segments.unreadable().clone(),
            chosen,
        };
        let shell = Shell::assemble(Arc::clone(self.shell.media.disk()), &self.options, parts);
        if !self.recovery.clean {
            Counters::add(&shell.media.counters.crashes, 1);
        }
        for (version, place) in &body.dictionaries {
            dictionaries::load(&shell, *version, *place)?;
        }
        Ok((Opening { shell, ..self }, Some(root)))
    }

    /// The root that the superblock names, if all of it can be read and is plausible.
    fn load_root(&self) -> Result<Option<Root>> {
        let parts = self.shell.superblocks.lock().root.clone();
        let mut words = Vec::new();
        for part in parts {
            let Some((_, part)) = self.shell.segments.root_chunk(part)? else { return Ok(None) };
            words.extend(part);
        }
        let Some(mut root) = Root::decode(&words) else { return Ok(None) };
        for (number, row) in &root.end.segments {
            let Some(slot) = root.body.segments.get_mut(*number as usize) else { return Ok(None) };
            *slot = *row;
        }
        Ok(self.is_plausible(&root.body, &root.end.map).then_some(root))
    }

    fn is_plausible(&self, body: &RootBody, map: &Cursor) -> bool {
        let identity = &self.shell.media.identity;
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
            && body.directories.iter().all(|place| self.shell.media.identity.can_hold(*place))
    }

    /// Applies the log behind the checkpoint and makes the drive ready.
    fn replay(mut self, root: &Root) -> Result<Drive, DriveError> {
        // The first chunk after a proper close waits until both superblocks have taken the mark
        // back.
        if self.recovery.clean {
            return self.ready(false);
        }
        let checkpoint_seq = self.shell.superblocks.lock().checkpoint_seq;
        let seqs = checkpoint_seq.saturating_add(1)..self.shell.superblocks.lock().log_end_seq;
        let openings = Openings::find(&self.shell, seqs)?;
        let mut ends = cursors_of(root);
        let mut paths = Vec::new();
        for (stream, cursor) in LOG_STREAMS.into_iter().zip(&ends) {
            paths.push(Path::follow(&self.shell, stream, cursor, &openings)?);
        }
        let told = paths.iter().map(|path| path.durable_seq).fold(openings.durable_seq, u64::max);
        let durable_seq = told.max(checkpoint_seq);
        let (mut seq, mut is_torn) = (checkpoint_seq + 1, false);
        loop {
            // A chunk that nothing proves to have been on stable media must be whole. A durable
            // chunk that cannot be read is repeated by the next one.
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
        self.shell.superblocks.log_stop_seq.store(seq, Ordering::Release);
        let behind =
            paths.iter().map(|path| path.count_from(seq)).sum::<u64>() + u64::from(is_torn);
        self.recovery.torn_chunks = behind;
        for (stream, cursor) in Stream::ALL.into_iter().zip(ends) {
            self.shell.log.lock()?.set_cursor(stream, cursor);
        }
        if durable_seq >= seq {
            let problem = lost_chunk(seq, behind);
            self.recovery.problems.push(problem.clone());
            if !self.gives_up_log {
                return Ok(self.finish(Some(problem)));
            }
            let mut rest = Vec::new();
            for mut path in paths {
                rest.extend(path.chunks_from(&self.shell, seq)?);
            }
            self.recovery.given_up = Some(given_up(seq, &rest));
            // Even if nothing was applied: the part that is given up must not come back.
            self.recovery.chunks += 1;
            return self.ready(true);
        }
        self.ready(seq > checkpoint_seq + 1)
    }

    /// If the log was replayed, reserves sequence numbers and makes a checkpoint that fixes the
    /// log's end. First frees empty segments, so that there is as much room as before the crash.
    fn ready(self, replayed: bool) -> Result<Drive, DriveError> {
        if self.options.read_only {
            return Ok(self.finish(Some(OPENED_READ_ONLY.into())));
        }
        let media = &self.shell.media;
        check_superblocks(&**media.disk(), media.identity.media_bytes)?;
        {
            let mut log = self.shell.log.lock()?;
            let nodes = self.shell.map.read()?.nodes();
            log.space.note_nodes(nodes);
        }
        let is_new = replayed && self.recovery.chunks > 0;
        if is_new {
            // So that on stable media, too, the cut begins at the end of the log. Replayed chunks
            // would be durable in any case before their places are filled again, because the
            // superblocks are flushed first.
            self.shell.media.sync()?;
        }
        if holds(Rule::FreedAtOpening) {
            self.free_empty()?;
        }
        if !is_new {
            self.shell.superblocks.mend_torn();
        }
        if is_new {
            self.shell.log.check_room(&self.shell.log.lock()?.space);
            let first = self.shell.superblocks.reserve_seqs(false)?;
            self.shell.log.lock()?.resume(first);
            self.shell.log.set_begun(true);
        }
        let drive = self.finish(None);
        if is_new {
            drive.upkeep.checkpoint()?;
        }
        Ok(drive)
    }

    /// Frees sealed segments without live records that lie before the checkpoint. Nothing is
    /// written: the writes that emptied them are on stable media.
    fn free_empty(&self) -> Result<()> {
        let checkpoint_seq = self.shell.superblocks.lock().checkpoint_seq;
        let mut log = self.shell.log.lock()?;
        let empty: Vec<_> = log.space.empty_segments().collect();
        for number in empty {
            if log.space.get(number).is_behind(checkpoint_seq) {
                log.space.release(number);
            }
        }
        Ok(())
    }

    /// The chunk or footer with this sequence number, if a stream has reached it.
    fn next_step(&self, paths: &mut [Path], seq: u64) -> Result<Option<Step>> {
        for path in paths {
            let step = path.take(&self.shell, seq)?;
            if step.is_some() {
                return Ok(step);
            }
        }
        Ok(None)
    }

    /// The chunk with this sequence number, from the copy of its table in the next chunk of the
    /// log.
    fn repeated_step(&mut self, paths: &[Path], seq: u64) -> Result<Option<Step>> {
        for path in paths {
            let Some((segment, opened_seq, next)) = path.next_chunk(&self.shell)? else { continue };
            let Some(chunk) = self.shell.segments.repeated_by(segment, opened_seq, &next)? else {
                continue;
            };
            let stream = self.shell.log.lock()?.space.get(chunk.segment).stream;
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

    /// Applies a chunk or footer; returns false if it is torn.
    fn replay_step(
        &mut self,
        step: &Step,
        is_durable: bool,
        ends: &mut [Cursor; STREAMS],
    ) -> Result<bool> {
        match step {
            Step::Chunk { stream, segment, chunk } => {
                if !is_durable
                    && holds(Rule::WholeOrTorn)
                    && !self.shell.records.is_chunk_whole(*segment, chunk)?
                {
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
            // The next segment proves that this footer was written, not that it was on stable
            // media.
            Step::Footer { is_lost: true, .. } if !is_durable => return Ok(false),
            Step::Footer { stream, segment, seq, next_segment, is_lost } => {
                if *is_lost {
                    let problem =
                        format!("the footer of segment {segment} is damaged; its chunks serve");
                    self.recovery.problems.push(problem);
                }
                let (seq, next) = (*seq, *next_segment);
                let mut log = self.shell.log.lock()?;
                let log_bytes = log.log_bytes;
                log.space.seal(*segment, seq, log_bytes);
                log.space.open_this(next, *stream, seq);
                self.shell.log.chunks.opened(next, seq);
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
            self.shell.map.load(blocks_of(&record.entry))?;
        }
        Ok(())
    }

    /// Applies records until one needs a node that is not loaded; returns the number of records
    /// done.
    fn replay_records(&self, records: &[SegmentRecord]) -> Result<usize> {
        let blocks = self.shell.map.blocks();
        let mut log = self.shell.log.lock()?;
        let mut map = self.shell.map.write()?;
        let is_done = |record: &&SegmentRecord| match record.entry.op {
            Op::Node { .. } | Op::Dictionary => true,
            // A record outside the drive was written by no drive.
            _ if !self.shell.media.identity.can_hold(record.place)
                || is_beyond(&record.entry, blocks) =>
            {
                true
            }
            _ if record.place.is_unit() && !record.entry.key.is_multiple_of(UNIT_BLOCKS) => true,
            _ => apply(&mut map, &mut log.space, &record.entry, record.place).is_ok(),
        };
        Ok(records.iter().take_while(is_done).count())
    }
}

/// Whether an entry lies behind the drive's end. A unit may reach beyond the end of a drive that
/// was made smaller; it still moves.
fn is_beyond(entry: &Entry, blocks: u64) -> bool {
    match entry.op {
        Op::Unit | Op::MoveUnit { .. } => entry.key >= blocks,
        _ => blocks_of(entry).end > blocks,
    }
}

fn cursors_of(root: &Root) -> [Cursor; STREAMS] {
    let [host, cold, frozen] = root.body.cursors.clone();
    [host, cold, frozen, root.end.map.clone()]
}
