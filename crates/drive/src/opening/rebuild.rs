//! Rebuilding the map from the segments alone, if no checkpoint can be read, or a node that replay
//! needs.
//!
//! The tables of all segments list the blocks of their records and when these were first written:
//! the newest version counts. Discards are known from entries of the log and from the nodes that
//! still lie in the map's stream. Everything that was on stable media is there again; losses are
//! reported, as in replay. The counters of the drive's life are lost, data are not.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::core::map::Map;
use crate::core::nodes::Nodes as NodeCounts;
use crate::core::space::{Space, State, Urgency};
use crate::core::tables::{SegmentChunk, records_of};
use crate::drive::Drive;
use crate::format::{
    Cursor, Identity, NodeId, Op, OtherSuperblock, Root, STREAMS, SegmentRow, Stream, UNIT_BLOCKS,
    Words,
};
use crate::opening::attempt::Opening;
use crate::opening::create::DriveError;
use crate::opening::dictionaries::{self, Copies, Places};
use crate::opening::losses::{given_up, joined, lost_chunk};
use crate::opening::reconcile::{Nodes, Rebuilt, Versions, newest, tell_blind};
use crate::opening::scan::{Found, log_end, scan};
use crate::options::OPENED_READ_ONLY;
use crate::shell::bad_places::Unreadable;
use crate::shell::media::check_superblocks;
use crate::shell::parts::{Parts, Shell};
use crate::shell::superblocks::Chosen;
use crate::status::{Counters, Recovery};
use assay_disk::{BLOCK_BYTES, Result};

/// Damaged ranges that are reported one by one.
const RANGES_TOLD: usize = 50;

/// The reason for a read-only drive if neither chunks nor nodes list some of its records.
const LOST_RECORDS: &str = "the log is damaged: chunks from before the checkpoint \
     cannot be read, nor can the map that knew what they held";

impl Opening {
    /// Rebuilds the drive from its segments. `why` goes to the health log; `root` is the
    /// checkpoint's, if it could be read.
    pub(crate) fn rebuild(self, why: &str, root: Option<&Root>) -> Result<Drive, DriveError> {
        let found = scan(&self.shell, root)?;
        self.note_openings(&found, root);
        let end = log_end(&self.shell, &found)?;
        let (mut rebuilt, nodes, copies) = self.enter_tables(&found, root, end.seq);
        let dictionaries = dictionaries::choose(&self.shell, root, copies)?;
        dictionaries::keep(&self.shell, root, &dictionaries, &mut rebuilt.space);
        let blind = rebuilt.reconcile_all(&self.shell, nodes, root)?;
        let mut recovery = self.recovery.clone();
        recovery.rebuilt = true;
        recovery.chunks = found.iter().map(|segment| segment.chunks.len() as u64).sum();
        recovery.torn_chunks = end.behind;
        recovery.problems.push(format!("{why}; the map was rebuilt from the segments"));
        let mut damage = end.is_damage.then(|| lost_chunk(end.seq, end.behind));
        let (doubtful, lost) = self.tell_lost_nodes(&found, root.is_some(), blind);
        recovery.doubtful = doubtful;
        let counters = Counters::default();
        Counters::add(&counters.damaged_records, lost.len() as u64);
        recovery.problems.extend(lost.iter().take(RANGES_TOLD).cloned());
        // Nothing lists the contents of these chunks any more.
        if !lost.is_empty() && self.has_lost_records(&found) {
            damage = damage.or_else(|| Some(LOST_RECORDS.into()));
        }
        recovery.problems.extend(damage.clone());
        if self.gives_up_log {
            if end.is_damage {
                let behind: Vec<_> = chunks_from(&found, end.seq).cloned().collect();
                recovery.given_up = Some(given_up(end.seq, &behind));
            }
            damage = None;
        }
        self.shell.superblocks.log_stop_seq.store(end.seq, Ordering::Release);
        let Rebuilt { map, mut space, .. } = rebuilt;
        release_empty(&found, &mut space, map.nodes(), self.shell.segments.unreadable());
        self.reopen_rebuilt(map, space, recovery, counters, dictionaries, damage)
    }

    /// Whether chunks up to the checkpoint are missing, whose records only nodes listed.
    fn has_lost_records(&self, found: &[Found]) -> bool {
        let checkpoint_seq = self.shell.superblocks.lock().checkpoint_seq;
        found.iter().any(|segment| segment.has_lost_records(checkpoint_seq))
    }

    /// Ranges and health-log lines for lost nodes. Without a root, any block may be affected if a
    /// node is missing.
    fn tell_lost_nodes(
        &self,
        found: &[Found],
        has_root: bool,
        mut blind: Vec<Range<u64>>,
    ) -> (Vec<Range<u64>>, Vec<String>) {
        let (root_seq, root) = {
            let superblock = self.shell.superblocks.lock();
            (superblock.root_seqs.0, superblock.root.first().copied().unwrap_or_default())
        };
        let is_any_lost = found.iter().any(|segment| segment.has_lost_nodes(root_seq, root));
        let blocks = self.shell.media.identity.logical_bytes / BLOCK_BYTES;
        if is_any_lost && !has_root {
            blind.push(0..blocks);
        }
        let was = if self.has_lost_records(found) { "written or discarded" } else { "discarded" };
        let blind = joined(blind);
        let bytes = |blocks: &Range<u64>| blocks.start * BLOCK_BYTES..blocks.end * BLOCK_BYTES;
        (blind.iter().map(bytes).collect(), tell_blind(blind, was))
    }

    /// Notes the number by which each segment was opened, which the checksums of its records cover.
    fn note_openings(&self, found: &[Found], root: Option<&Root>) {
        let rows = root.map_or(&[][..], |root| &root.body.segments);
        for (number, row) in (0..).zip(rows) {
            self.shell.log.chunks.opened(number, row.opened_seq);
        }
        for segment in found {
            self.shell.log.chunks.opened(segment.number, segment.opened_seq);
        }
    }

    /// Enters the segments' tables up to the log's end.
    fn enter_tables(
        &self,
        found: &[Found],
        root: Option<&Root>,
        end_seq: u64,
    ) -> (Rebuilt, Nodes, Copies) {
        let identity = self.shell.media.identity;
        let superblock = self.shell.superblocks.lock().clone();
        let checkpoint_seq = superblock.checkpoint_seq;
        let blocks = identity.logical_bytes / BLOCK_BYTES;
        let mut rebuilt = Rebuilt {
            blocks,
            map: Map::new(blocks),
            space: Space::from_rows(&identity, &rows_of(found, root, &identity)),
            versions: Versions::default(),
        };
        let (mut nodes, mut dictionaries) = (Nodes::new(), Copies::new());
        for (segment, chunk) in chunks_below(found, end_seq) {
            for record in records_of(segment, chunk) {
                let (key, place) = (record.entry.key, record.place);
                let is_aligned = !place.is_unit() || key.is_multiple_of(UNIT_BLOCKS);
                if !self.shell.media.identity.can_hold(place) || !is_aligned {
                    continue;
                }
                match record.entry.op {
                    // Later nodes belong to a checkpoint that was never finished; the log has the
                    // same contents.
                    Op::Node { complete_seq }
                        if complete_seq <= checkpoint_seq
                            && !superblock.cuts_node(complete_seq) =>
                    {
                        newest(&mut nodes, NodeId::from_word(key), complete_seq, place);
                    }
                    Op::Node { .. } => {}
                    Op::Dictionary => {
                        dictionaries.entry(key).or_default().push((chunk.seq, place));
                    }
                    _ => rebuilt.enter(&record.entry, place, (record.origin_seq, chunk.seq)),
                }
            }
        }
        (rebuilt, nodes, dictionaries)
    }

    /// Puts the drive together anew, with fresh segments for the streams.
    fn reopen_rebuilt(
        self,
        map: Map,
        mut space: Space,
        mut recovery: Recovery,
        counters: Counters,
        dictionaries: Places,
        damage: Option<String>,
    ) -> Result<Drive, DriveError> {
        let opened = || self.options.read_only.then(|| OPENED_READ_ONLY.into());
        let mut read_only = damage.or_else(opened);
        let chosen = Chosen { other: OtherSuperblock::Whole, ..self.shell.superblocks.chosen() };
        let first_seq = chosen.superblock.unused_seq;
        let mut cursors = <[Cursor; STREAMS]>::default();
        for (opened_seq, stream) in (first_seq..).zip(Stream::ALL) {
            match space.open(Stream::Map, opened_seq, Urgency::MakesRoom) {
                Some(number) => {
                    space.open_this(number, stream, opened_seq);
                    cursors[stream as usize].segment = number;
                }
                None if read_only.is_none() => {
                    read_only = Some("no segment is free to write the rebuilt map to".into());
                }
                None => {}
            }
        }
        space.note_nodes(map.nodes());
        if read_only.is_none() && (space.free_segments() as u64) < space.checkpoint_segments() {
            read_only = Some("too few segments are free to write the rebuilt map to".into());
        }
        recovery.clean = false;
        let mut places: Vec<_> = dictionaries.into_iter().collect();
        places.sort_unstable_by_key(|(version, _)| *version);
        let known = self.shell.records.dictionaries.next_version();
        let parts = Parts {
            chosen,
            map,
            space,
            cursors,
            next_seq: first_seq + STREAMS as u64,
            counters,
            next_dictionary: places.last().map_or(1, |(version, _)| version + 1).max(known),
            unreadable: self.shell.segments.unreadable().clone(),
        };
        let shell = Shell::assemble(Arc::clone(self.shell.media.disk()), &self.options, parts);
        let stop_seq = self.shell.superblocks.log_stop_seq.load(Ordering::Acquire);
        shell.superblocks.log_stop_seq.store(stop_seq, Ordering::Release);
        for (version, place) in places {
            dictionaries::load(&shell, version as u8, place)?;
        }
        let may_write = read_only.is_none();
        if may_write {
            check_superblocks(&**shell.media.disk(), shell.media.identity.media_bytes)?;
            shell.superblocks.lock().root.clear();
            shell.superblocks.reserve_seqs(false)?;
            shell.log.set_begun(true);
        }
        let drive = Opening { shell, recovery, ..self }.finish(read_only);
        if may_write {
            drive.upkeep.checkpoint()?;
        }
        Ok(drive)
    }
}

/// Chunks of the log from a number on.
fn chunks_from(found: &[Found], seq: u64) -> impl Iterator<Item = &SegmentChunk> {
    let of_log = found.iter().filter(|segment| segment.stream != Stream::Map);
    of_log.flat_map(|segment| &segment.chunks).filter(move |chunk| chunk.seq >= seq)
}

fn chunks_below(found: &[Found], end_seq: u64) -> impl Iterator<Item = (u32, &SegmentChunk)> {
    let in_log = move |segment: &Found, chunk: &SegmentChunk| {
        segment.stream == Stream::Map || chunk.seq < end_seq
    };
    found.iter().flat_map(move |segment| {
        let chunks = segment.chunks.iter().filter(move |chunk| in_log(segment, chunk));
        chunks.map(move |chunk| (segment.number, chunk))
    })
}

/// Frees segments without live records. Those with discards or nodes are freed only if room for the
/// rebuilt map is short, because a second rebuild would miss them.
fn release_empty(found: &[Found], space: &mut Space, nodes: NodeCounts, unreadable: &Unreadable) {
    let release = |space: &mut Space, segment: &Found| {
        let is_bad = space.get(segment.number).state == State::Damaged
            || unreadable.has(segment.number, segment.opened_seq);
        match is_bad {
            true => space.quarantine(segment.number),
            false => space.release(segment.number),
        }
    };
    let tells = |segment: &Found| {
        segment
            .chunks
            .iter()
            .flat_map(|chunk| Words::new(&chunk.words))
            .any(|entry| matches!(entry.op, Op::Zero | Op::Node { .. }))
    };
    let empty = found.iter().filter(|segment| space.get(segment.number).live_records == 0);
    let (mut telling, silent): (Vec<_>, Vec<_>) = empty.partition(|segment| tells(segment));
    silent.iter().for_each(|segment| release(space, segment));
    // Segments with nodes first: the rebuilt map replaces them.
    telling.sort_by_key(|segment| segment.stream != Stream::Map);
    space.note_nodes(nodes);
    for segment in telling {
        if (space.free_segments() as u64) < 2 * space.checkpoint_segments() + 2 * STREAMS as u64 {
            release(space, segment);
        }
    }
}

/// The rows of the segments, without live records. A segment that the root calls damaged stays
/// damaged, because it was never filled again.
fn rows_of(found: &[Found], root: Option<&Root>, identity: &Identity) -> Vec<SegmentRow> {
    let mut rows = vec![SegmentRow::default(); identity.segments as usize];
    let told = root.map_or(&[][..], |root| &root.body.segments);
    for (row, told) in rows.iter_mut().zip(told).filter(|(_, told)| told.damaged) {
        *row = SegmentRow { live_bytes: 0, live_records: 0, ..*told };
    }
    for segment in found {
        let row = &mut rows[segment.number as usize];
        *row = SegmentRow {
            opened_seq: segment.opened_seq,
            sealed_seq: segment.sealed_seq,
            stream: Some(segment.stream),
            damaged: row.damaged && row.opened_seq == segment.opened_seq,
            ..SegmentRow::default()
        };
    }
    rows
}
