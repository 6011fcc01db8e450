//! Collection: moving what lives out of a segment that is mostly dead.
//!
//! Which segment that is, `core::victims` says. Its
//! footer says what lies in it; the map says what of it still lives. Records move as they are, without being decoded;
//! only the live blocks of a 16 KiB unit are encoded anew, if that is smaller. Segments of the map's stream are not
//! collected: checkpoints clean them.
//!
//! What cannot be read stays where it is, and costs nothing else: the rest moves, and the segment is set aside until what
//! stays is overwritten or discarded.

use std::ops::Range;

use crate::core::apply::{apply, is_wanted};
use crate::core::group::{Group, Record};
use crate::core::maintenance::{Collecting, Maintenance};
use crate::core::space::Urgency;
use crate::core::tables::SegmentRecord;
use crate::format::{Location, MAX_WORDS_PER_ENTRY, Op, Stream, UNIT_BLOCKS};
use crate::shell::drive::Drive;
use crate::shell::span::{Reach, part_of, span, together};
use crate::shell::worker::Worker;
use crate::status::Counters;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// Bytes that one group of moves may take.
const MOVE_BYTES: usize = 256 << 10;

/// How far one read of a segment goes, of which most is wanted.
pub(crate) const REACH: Reach = Reach { gap_bytes: 64 << 10, bytes_max: 1 << 20 };

impl Drive {
    /// Begins to move everything that lives in a segment elsewhere.
    pub(crate) fn begin_collecting(
        &self,
        victim: u32,
        maintenance: &mut Maintenance,
    ) -> Result<()> {
        Counters::add(&self.counters.gc_segments, 1);
        let opened_seq = self.log()?.space.get(victim).opened_seq;
        let tables = self.segment_tables(victim, opened_seq)?;
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
            if is_data && self.is_possible(record.place) && self.lives(&record)? {
                collecting.live.push(record);
            }
        }
        // As they were written, unless a footer lies.
        collecting.live.sort_by_key(|record| record.place.offset());
        self.go_on_collecting(collecting, maintenance)
    }

    /// Moves the next run of records; keeps what is left for the next time.
    ///
    /// # Errors
    /// [`DiskError::Full`], with nothing lost, when there is no segment to move them to; those of the media.
    pub(crate) fn go_on_collecting(
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
        self.end_collecting(victim, &collecting, maintenance)
    }

    /// What becomes of a segment out of which everything was moved that could be.
    fn end_collecting(
        &self,
        victim: u32,
        collecting: &Collecting,
        maintenance: &mut Maintenance,
    ) -> Result<()> {
        // Of what was lost meanwhile nothing was moved, see `gain_segment`.
        if self.map()?.has_untold_losses() {
            self.checkpoint(maintenance)?;
        }
        let mut log = self.log()?;
        if collecting.is_unreadable {
            // What the media does not give back now, it would not give back of what is written there next either.
            log.space.quarantine(victim);
        } else if collecting.is_damaged || !collecting.is_complete {
            let segment = log.space.get(victim);
            if segment.live_records > 0 {
                maintenance.victims.set_aside(victim, segment.opened_seq);
            }
        } else {
            // The map knows of nothing here: what is still counted was lost with a part of the map.
            log.space.settle(victim);
        }
        Ok(())
    }

    /// Whether any block is still in the record; gives up a part of the map that cannot be read.
    fn lives(&self, record: &SegmentRecord) -> Result<bool> {
        let unit = record.entry.op.is_unit();
        let blocks = if unit { UNIT_BLOCKS } else { 1 };
        loop {
            self.load_nodes_to_change(record.entry.key..record.entry.key + blocks)?;
            if let Ok(lives) = is_wanted(&*self.map()?, record.entry.key, record.place, unit) {
                return Ok(lives);
            }
        }
    }

    /// Reads records that lie together and appends them to the stream of what was moved; says what stays.
    fn move_run(&self, run: &[SegmentRecord], worker: &mut Worker) -> Result<Moved> {
        let (Some(front), Some(back)) = (run.first(), run.last()) else {
            return Ok(Moved::default());
        };
        let place = span(front.place, back.place);
        let mut media = std::mem::take(&mut worker.media);
        let read = self.read_span(front.place.segment(), &place, &mut media);
        let moved = match read {
            Ok(bytes) => self.move_read(run, bytes, place.start, worker),
            Err(DiskError::Io(_)) if run.len() > 1 => {
                // One place may be bad: each record by itself.
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

    /// Asks once more for a record that could not be read; then it stays.
    fn move_unreadable(
        &self,
        record: &SegmentRecord,
        place: &Range<u32>,
        worker: &mut Worker,
    ) -> Result<Moved> {
        self.media_lives()?;
        let mut media = assay_disk::BlockBuffer::default();
        match self.read_span(record.place.segment(), place, &mut media) {
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
            match self.check_record(stored, record.place, key) {
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
        self.report(format!("the data at byte {offset} is damaged: {what}"));
        Counters::add(&self.counters.damaged_records, 1);
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
        let dictionary = self.dictionary_of(codec_id, payload);
        worker.group.push_with(dictionary.as_deref(), op, record.entry.key, |out| {
            out.extend_from_slice(payload);
            codec_id
        });
        Ok(())
    }

    /// Which blocks of a unit are still in this record.
    fn living_blocks(&self, record: &SegmentRecord) -> Result<[bool; UNIT_BLOCKS as usize]> {
        let blocks = record.entry.key..record.entry.key + UNIT_BLOCKS;
        loop {
            self.load_nodes_to_change(blocks.clone())?;
            let map = self.map()?;
            // It may have been dropped from memory meanwhile, and then nothing is known of it.
            if map.missing(blocks.clone()).is_none() {
                return Ok(std::array::from_fn(|index| {
                    let index = index as u64;
                    map.get(blocks.start + index) == Ok(record.place.at_index(index))
                }));
            }
        }
    }

    /// Encodes the live blocks of a unit one by one; false, and nothing done, if the whole unit is as small.
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
        let decoded = coder.decode(codec_id, payload, &|version| self.dictionary(version), unit);
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

    /// Appends the worker's moves, without those that the host has overtaken. They need not stay together: where
    /// a segment ends, it is filled to the brim.
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
                            self.load_nodes_to_change(record.key..record.key + record.blocks())?;
                        }
                    }
                }
            }
            next = end;
        }
        self.write_sealed()
    }

    fn try_append_moves(
        &self,
        group: &Group,
        range: Range<usize>,
        places: &mut Vec<Location>,
    ) -> Result<Outcome> {
        let mut log = self.log()?;
        let victim = group.records.get(range.start).map(|record| from_of(record).segment());
        let stream = victim.and_then(|victim| log.space.get(victim).stream);
        let stream = stream.map_or(Stream::Cold, Stream::when_moved);
        let mut wanted = vec![false; group.records.len()];
        let (mut payload, mut words) = (0, 0);
        {
            let map = self.map()?;
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
            // The host has overtaken them all: a chunk need not be opened for nothing.
            return Ok(Outcome::Done);
        }
        if range.len() > 1 && !log.fits_segment(stream, payload, words) {
            return Ok(Outcome::Split);
        }
        let urgency = Urgency::Ordinary;
        log.make_room(stream, payload, words, urgency, &self.chunks, &self.counters)
            .map_err(|_| DiskError::Full)?;
        log.place(stream, group, |index| wanted[index], places);
        let mut map = self.map_mut()?;
        let moved = group.records.iter().zip(places.iter()).zip(&wanted);
        for ((record, place), _) in moved.filter(|(_, wanted)| **wanted) {
            apply(&mut map, &mut log.space, &record.entry(false), *place)
                .map_err(|_| self.stop("the map lost a node while it was locked".into()))?;
        }
        Ok(Outcome::Done)
    }
}

/// What stays of a run of records.
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

/// What came of moves.
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
