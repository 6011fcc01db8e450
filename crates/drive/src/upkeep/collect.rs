//! Collection: moves live records out of a segment that is mostly dead.
//!
//! `core::victims` chooses the segment, its footer lists the records, and the map shows which of
//! them live. Records move as they are, without being decoded; only a unit with dead blocks is
//! encoded anew, block by block, if that is smaller. Segments of the map's stream are not
//! collected: checkpoints clean them.
//!
//! A record that cannot be read stays. The others move, and the segment is set aside until that
//! record is overwritten or discarded.

use std::ops::Range;
use std::sync::Arc;

use crate::core::apply::{apply, is_wanted};
use crate::core::group::{Group, Record};
use crate::core::maintenance::{Collecting, Maintenance};
use crate::core::space::Urgency;
use crate::core::tables::SegmentRecord;
use crate::format::{Location, MAX_WORDS_PER_ENTRY, Op, Stream, UNIT_BLOCKS};
use crate::shell::log::SharedLog;
use crate::shell::map::SharedMap;
use crate::shell::media::Media;
use crate::shell::parts::Shell;
use crate::shell::records::Records;
use crate::shell::segments::Segments;
use crate::shell::span::{Reach, part_of, span, together};
use crate::shell::worker::{Worker, Workers};
use crate::status::Counters;
use crate::upkeep::checkpoint::Checkpointer;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// Bytes of one group of moves.
const MOVE_BYTES: usize = 256 << 10;

/// Limits of one read of a segment. Most of the bytes are live.
pub(crate) const REACH: Reach = Reach { gap_bytes: 64 << 10, bytes_max: 1 << 20 };

/// Moves live records out of segments.
pub(crate) struct Collector {
    media: Arc<Media>,
    log: Arc<SharedLog>,
    segments: Arc<Segments>,
    records: Arc<Records>,
    map: Arc<SharedMap>,
    workers: Arc<Workers>,
    checkpointer: Arc<Checkpointer>,
}

impl Collector {
    pub(crate) fn new(shell: &Shell, checkpointer: &Arc<Checkpointer>) -> Collector {
        Collector {
            media: Arc::clone(&shell.media),
            log: Arc::clone(&shell.log),
            segments: Arc::clone(&shell.segments),
            records: Arc::clone(&shell.records),
            map: Arc::clone(&shell.map),
            workers: Arc::clone(&shell.workers),
            checkpointer: Arc::clone(checkpointer),
        }
    }

    /// Begins to move all live records out of a segment.
    pub(crate) fn begin(&self, victim: u32, maintenance: &mut Maintenance) -> Result<()> {
        Counters::add(&self.media.counters.gc_segments, 1);
        let opened_seq = self.log.lock()?.space.get(victim).opened_seq;
        let tables = self.segments.tables(victim, opened_seq)?;
        let mut collecting = Collecting {
            victim,
            live: Vec::new(),
            next: 0,
            is_complete: tables.is_complete,
            is_damaged: false,
            is_unreadable: tables.is_unreadable,
        };
        for record in tables.records(victim) {
            let is_data = !matches!(record.entry.op, Op::Node { .. } | Op::Dictionary | Op::Zero);
            if is_data && self.media.identity.can_hold(record.place) && self.lives(&record)? {
                collecting.live.push(record);
            }
        }
        // In order of place, even if a damaged footer lists them differently.
        collecting.live.sort_by_key(|record| record.place.offset());
        self.go_on(collecting, maintenance)
    }

    /// Moves the next run of records, and keeps the rest for the next step.
    ///
    /// # Errors
    /// [`DiskError::Full`], with nothing lost, if there is no segment to move them to; those of the
    /// media.
    pub(crate) fn go_on(
        &self,
        mut collecting: Collecting,
        maintenance: &mut Maintenance,
    ) -> Result<()> {
        let victim = collecting.victim;
        let rest = &collecting.live[collecting.next..];
        let run = &rest[..together(rest.iter().map(|record| record.place), REACH)];
        let moved = match self.workers.with(|worker| self.move_run(run, worker)) {
            Err(DiskError::Full) => {
                maintenance.collecting = Some(collecting);
                return Err(DiskError::Full);
            }
            moved => moved?,
        };
        collecting.is_damaged |= moved.is_damaged;
        collecting.is_unreadable |= moved.is_unreadable;
        collecting.next += run.len();
        if collecting.next < collecting.live.len() {
            maintenance.collecting = Some(collecting);
            return Ok(());
        }
        self.end(victim, &collecting, maintenance)
    }

    /// Settles a segment out of which everything was moved that could be.
    fn end(
        &self,
        victim: u32,
        collecting: &Collecting,
        maintenance: &mut Maintenance,
    ) -> Result<()> {
        // Records under a node that was lost meanwhile did not move, see `gain_segment`.
        if self.map.read()?.has_untold_losses() {
            self.checkpointer.checkpoint(maintenance)?;
        }
        let mut log = self.log.lock()?;
        if collecting.is_unreadable {
            // A place that cannot be read now would not return new data either.
            log.space.quarantine(victim);
        } else if collecting.is_damaged || !collecting.is_complete {
            let segment = log.space.get(victim);
            if segment.live_records > 0 {
                maintenance.victims.set_aside(victim, segment.opened_seq);
            }
        } else {
            // The map leads to no record here: those that still count were lost with a part of the
            // map.
            log.space.settle(victim);
        }
        Ok(())
    }

    /// Whether any block is still in the record. Gives up a part of the map that cannot be read.
    fn lives(&self, record: &SegmentRecord) -> Result<bool> {
        let unit = record.entry.op.is_unit();
        let blocks = if unit { UNIT_BLOCKS } else { 1 };
        loop {
            self.map.load_to_change(record.entry.key..record.entry.key + blocks)?;
            if let Ok(lives) = is_wanted(&*self.map.read()?, record.entry.key, record.place, unit) {
                return Ok(lives);
            }
        }
    }

    /// Reads records that lie close together and appends them to the stream of moved data; returns
    /// the state of those that stay.
    fn move_run(&self, run: &[SegmentRecord], worker: &mut Worker) -> Result<Moved> {
        let (Some(front), Some(back)) = (run.first(), run.last()) else {
            return Ok(Moved::default());
        };
        let place = span(front.place, back.place);
        let mut media = std::mem::take(&mut worker.media);
        let read = self.media.read_span(front.place.segment(), &place, &mut media);
        let moved = match read {
            Ok(bytes) => self.move_read(run, bytes, place.start, worker),
            Err(DiskError::Io(_)) if run.len() > 1 => {
                // One place may be bad: read each record by itself.
                run.iter().try_fold(Moved::default(), |moved, record| {
                    Ok(moved.and(self.move_run(std::slice::from_ref(record), worker)?))
                })
            }
            Err(DiskError::Io(_)) => self.move_unreadable(front, &place, worker),
            Err(other) => Err(other),
        };
        worker.media = media;
        moved
    }

    /// Tries once more to move a record that could not be read; if that fails, it stays.
    fn move_unreadable(
        &self,
        record: &SegmentRecord,
        place: &Range<u32>,
        worker: &mut Worker,
    ) -> Result<Moved> {
        self.media.check_alive()?;
        let mut media = assay_disk::BlockBuffer::default();
        match self.media.read_span(record.place.segment(), place, &mut media) {
            Ok(bytes) => self.move_read(std::slice::from_ref(record), bytes, place.start, worker),
            Err(DiskError::Io(error)) => {
                self.note_damage(record, &error.to_string());
                Ok(Moved { is_damaged: true, is_unreadable: true })
            }
            Err(other) => Err(other),
        }
    }

    fn move_read(
        &self,
        run: &[SegmentRecord],
        bytes: &[u8],
        start: u32,
        worker: &mut Worker,
    ) -> Result<Moved> {
        let mut moved = Moved::default();
        worker.group.clear();
        for record in run {
            let stored = part_of(bytes, start, record.place);
            let key = record.entry.op.context_key(record.entry.key);
            match self.records.check(stored, record.place, key) {
                Ok((codec_id, payload)) => self.push_move(record, codec_id, payload, worker)?,
                Err(what) => {
                    self.note_damage(record, &what);
                    moved.is_damaged = true;
                }
            }
            if worker.group.bytes.len() >= MOVE_BYTES {
                self.append_moves(worker)?;
                worker.group.clear();
            }
        }
        self.append_moves(worker)?;
        Ok(moved)
    }

    fn note_damage(&self, record: &SegmentRecord, what: &str) {
        let offset = record.entry.key * BLOCK_BYTES;
        self.media.health.report(format!("the data at byte {offset} is damaged: {what}"));
        Counters::add(&self.media.counters.damaged_records, 1);
    }

    fn push_move(
        &self,
        record: &SegmentRecord,
        codec_id: u8,
        payload: &[u8],
        worker: &mut Worker,
    ) -> Result<()> {
        let (from, origin_seq) = (record.place, record.origin_seq);
        let op = if record.entry.op.is_unit() {
            if self.push_split_unit(record, codec_id, payload, worker)? {
                return Ok(());
            }
            Op::MoveUnit { from, origin_seq }
        } else {
            Op::Move { from, origin_seq }
        };
        let dictionary = self.records.dictionary_of(codec_id, payload);
        worker.group.push_with(dictionary.as_deref(), op, record.entry.key, |out| {
            out.extend_from_slice(payload);
            codec_id
        });
        Ok(())
    }

    /// The blocks of a unit that are still in this record.
    fn living_blocks(&self, record: &SegmentRecord) -> Result<[bool; UNIT_BLOCKS as usize]> {
        let blocks = record.entry.key..record.entry.key + UNIT_BLOCKS;
        loop {
            self.map.load_to_change(blocks.clone())?;
            let map = self.map.read()?;
            // If a node was dropped from memory meanwhile, nothing is known of it.
            if map.missing(blocks.clone()).is_none() {
                return Ok(std::array::from_fn(|index| {
                    let index = index as u64;
                    map.get(blocks.start + index) == Ok(record.place.at_index(index))
                }));
            }
        }
    }

    /// Encodes the live blocks of a unit one by one. Does nothing and returns false if the whole
    /// unit is as small.
    fn push_split_unit(
        &self,
        record: &SegmentRecord,
        codec_id: u8,
        payload: &[u8],
        worker: &mut Worker,
    ) -> Result<bool> {
        let first = record.entry.key;
        let lives = self.living_blocks(record)?;
        if lives == [true; UNIT_BLOCKS as usize] {
            return Ok(false);
        }
        let Worker { coder, group, unit, .. } = worker;
        unit.resize((UNIT_BLOCKS * BLOCK_BYTES) as usize, 0);
        let decoded = coder.decode(
            codec_id,
            payload,
            &|version| self.records.dictionaries.get(version),
            unit,
        );
        if decoded.is_err() {
            return Ok(false);
        }
        let (records, bytes) = (group.records.len(), group.bytes.len());
        let blocks = unit.chunks(BLOCK_BYTES as usize).zip(lives);
        for (index, (block, _)) in (0..).zip(blocks).filter(|(_, (_, lives))| *lives) {
            let op = Op::Move { from: record.place.at_index(index), origin_seq: record.origin_seq };
            group.push(op, first + index, |out| coder.encode(block, None, out));
        }
        let stored: u32 = group.records[records..].iter().map(|record| record.length).sum();
        let is_smaller = stored < record.place.length();
        if !is_smaller {
            group.records.truncate(records);
            group.bytes.truncate(bytes);
        }
        Ok(is_smaller)
    }

    /// Appends the worker's moves, except those that the host has overtaken. They need not stay
    /// together: the end of a segment is filled completely.
    fn append_moves(&self, worker: &mut Worker) -> Result<()> {
        let Worker { group, places, .. } = worker;
        let mut next = 0;
        while next < group.records.len() {
            let mut end = group.records.len();
            loop {
                match self.try_append_moves(group, next..end, places)? {
                    Outcome::Done => break,
                    Outcome::Split => end = next + (end - next) / 2,
                    Outcome::Missing => {
                        for record in &group.records[next..end] {
                            self.map.load_to_change(record.key..record.key + record.blocks())?;
                        }
                    }
                }
            }
            next = end;
        }
        self.log.write_sealed()
    }

    fn try_append_moves(
        &self,
        group: &Group,
        range: Range<usize>,
        places: &mut Vec<Location>,
    ) -> Result<Outcome> {
        let mut log = self.log.lock()?;
        let victim = group.records.get(range.start).map(|record| from_of(record).segment());
        let stream = victim.and_then(|victim| log.space.get(victim).stream);
        let stream = stream.map_or(Stream::Cold, Stream::when_moved);
        let mut wanted = vec![false; group.records.len()];
        let (mut payload, mut words) = (0, 0);
        {
            let map = self.map.read()?;
            log.space.note_nodes(map.nodes());
            for index in range.clone() {
                let record = &group.records[index];
                match is_wanted(&map, record.key, from_of(record), record.op.is_unit()) {
                    Ok(still) => wanted[index] = still,
                    Err(_) => return Ok(Outcome::Missing),
                }
                if wanted[index] {
                    payload += record.length as usize;
                    words += MAX_WORDS_PER_ENTRY;
                }
            }
        }
        if words == 0 {
            // The host has overtaken all of them: no chunk need be opened.
            return Ok(Outcome::Done);
        }
        if range.len() > 1 && !log.fits_segment(stream, payload, words) {
            return Ok(Outcome::Split);
        }
        let urgency = Urgency::Ordinary;
        log.make_room(stream, payload, words, urgency, &self.log.chunks, &self.media.counters)
            .map_err(|_| DiskError::Full)?;
        log.place(stream, group, |index| wanted[index], places);
        let mut map = self.map.write()?;
        let moved = group.records.iter().zip(places.iter()).zip(&wanted);
        for ((record, place), _) in moved.filter(|(_, wanted)| **wanted) {
            apply(&mut map, &mut log.space, &record.entry(false), *place).map_err(|_| {
                self.media.health.stop("the map lost a node while it was locked".into())
            })?;
        }
        Ok(Outcome::Done)
    }
}

/// Records of a run that stay.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    is_damaged: bool,
    is_unreadable: bool,
}

impl Moved {
    fn and(self, other: Moved) -> Moved {
        Moved {
            is_damaged: self.is_damaged || other.is_damaged,
            is_unreadable: self.is_unreadable || other.is_unreadable,
        }
    }
}

/// The result of appending moves.
enum Outcome {
    Done,
    /// A node must be loaded first.
    Missing,
    /// Not all of them fit the segment.
    Split,
}

fn from_of(record: &Record) -> Location {
    match record.op {
        Op::Move { from, .. } | Op::MoveUnit { from, .. } => from,
        _ => Location::NONE,
    }
}
