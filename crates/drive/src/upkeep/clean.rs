//! Giving segments of the map's stream back, as a part of a checkpoint: live leaves are copied
//! unchanged, directories are written together with the changed ones.
//!
//! Nodes that checkpoints replace die one by one, in all segments of the map's stream. A checkpoint
//! must leave enough segments free for the next one. So it copies the live nodes of the emptiest
//! segments until that holds; at worst it copies all of them, and then the map lies in as few
//! segments as possible. It never writes a node twice, so it stays within its budget: a directory
//! changes with the first of its leaves that moves, so a copy of it would not be the last.

use std::collections::HashMap;
use std::ops::Range;

use assay_disk::{DiskError, Result};

use crate::core::map::Rescue;
use crate::core::tables::SegmentRecord;
use crate::format::{Entry, Location, NodeId, Op};
use crate::rules::{Rule, holds};
use crate::shell::span::{Reach, part_of, span, together};
use crate::shell::worker::Worker;
use crate::upkeep::checkpoint::Checkpointer;

/// Limits of one read of nodes.
const REACH: Reach = Reach { gap_bytes: 64 << 10, bytes_max: 1 << 20 };

/// Free segments that a checkpoint leaves, if it can, in addition to those for the next one: room
/// for the host and for collection.
const FREE_WANTED: u64 = 8;

impl Checkpointer {
    /// Copies the live nodes of the segments that are to be given back. Adds their former places to
    /// `superseded`; returns the segments without live nodes.
    pub(super) fn clean_map(&self, superseded: &mut Vec<Location>) -> Result<Vec<u32>> {
        let mut given_back = Vec::new();
        for number in self.segments_to_clean(superseded)? {
            if self.copy_nodes(number, superseded)? {
                given_back.push(number);
            }
        }
        Ok(given_back)
    }

    /// The emptiest segments of the map's stream, as many as it takes to leave enough segments
    /// free.
    fn segments_to_clean(&self, superseded: &[Location]) -> Result<Vec<u32>> {
        if !holds(Rule::CleanEnough) {
            return Ok(Vec::new());
        }
        let dying = by_segment(superseded);
        let mut log = self.log.lock()?;
        let (nodes, dirty) = {
            let map = self.map.read()?;
            (map.nodes(), map.dirty_directory_count())
        };
        log.space.note_nodes(nodes);
        let current = log.checkpoint_segments();
        let is_older = |number: u32| current.iter().all(|(each, _)| *each != number);
        let mut live: Vec<_> = log
            .space
            .sealed_of_map()
            .filter(|(number, _)| is_older(*number))
            .map(|(number, live)| {
                (live.saturating_sub(dying.get(&number).copied().unwrap_or(0)), number)
            })
            .collect();
        live.sort_unstable();
        let space = &log.space;
        let whole = space.checkpoint_segments();
        let all = space.free_segments() as u64 + space.map_segments();
        let target = whole.max(all.saturating_sub(whole + FREE_WANTED));
        let mut expected = space.map_segments() + space.segments_for(dirty as u64);
        // Directories that change because a leaf moves.
        let clean = nodes.directories.saturating_sub(dirty as u64);
        let written = |moved: u64| space.node_segments(moved + moved.min(clean));
        let (mut moved, mut chosen) = (0, Vec::new());
        for (live, number) in live {
            if expected + written(moved) <= target && live > 0 {
                break;
            }
            expected = expected.saturating_sub(1);
            moved += live;
            if live > 0 {
                chosen.push(number);
            }
        }
        Ok(chosen)
    }

    /// Moves the live nodes out of a segment; returns false if some of them may be unknown.
    fn copy_nodes(&self, number: u32, superseded: &mut Vec<Location>) -> Result<bool> {
        let opened_seq = self.log.lock()?.space.get(number).opened_seq;
        let tables = self.segments.tables(number, opened_seq)?;
        let mut live = Vec::new();
        for record in tables.records(number) {
            match record.entry.op {
                Op::Node { .. } if self.is_stored_at(&record)? => {
                    match NodeId::from_word(record.entry.key) {
                        NodeId::Leaf(leaf) => live.push((leaf, record)),
                        directory => self.map.touch_node(directory)?,
                    }
                }
                Op::Dictionary => superseded.extend(self.move_dictionary(&record)?),
                _ => {}
            }
        }
        live.sort_by_key(|(_, record)| record.place.offset());
        let mut rest = 0..live.len();
        let mut is_all = true;
        while !rest.is_empty() {
            let places = live[rest.clone()].iter().map(|(_, record)| record.place);
            let run = rest.start..rest.start + together(places, REACH);
            rest.start = run.end;
            is_all &= self.workers.with(|worker| self.copy_run(&live[run], worker, superseded))?;
        }
        if !tables.is_complete {
            self.map.touch_nodes_in(number)?;
        }
        Ok(tables.is_complete && is_all)
    }

    /// Whether the newest version of a node is this record.
    fn is_stored_at(&self, record: &SegmentRecord) -> Result<bool> {
        Ok(self.map.place_of(NodeId::from_word(record.entry.key))? == record.place)
    }

    /// Copies leaves that lie close together; returns false if one is left to the next checkpoint.
    fn copy_run(
        &self,
        run: &[(u64, SegmentRecord)],
        worker: &mut Worker,
        superseded: &mut Vec<Location>,
    ) -> Result<bool> {
        let (Some((_, front)), Some((_, back))) = (run.first(), run.last()) else {
            return Ok(true);
        };
        let place: Range<u32> = span(front.place, back.place);
        let mut media = std::mem::take(&mut worker.media);
        let bytes = match self.media.read_span(front.place.segment(), &place, &mut media) {
            Ok(bytes) => bytes,
            Err(DiskError::Io(_)) => {
                self.media.check_alive()?;
                &[]
            }
            Err(other) => return Err(other),
        };
        worker.group.clear();
        let mut is_all = true;
        let mut copied = Vec::with_capacity(run.len());
        for (leaf, record) in run {
            let key = record.entry.op.context_key(record.entry.key);
            let stored = part_of(bytes, place.start, record.place);
            let restored;
            let checked = match self.records.check(stored, record.place, key) {
                Ok(checked) => Ok(checked),
                Err(what) => {
                    restored = self.records.restored(record.place, key)?;
                    match &restored {
                        Some(stored) => self.records.check(stored, record.place, key),
                        None => Err(what),
                    }
                }
            };
            match checked {
                Ok((codec_id, payload)) => {
                    worker.group.push(record.entry.op, record.entry.key, |out| {
                        out.extend_from_slice(payload);
                        codec_id
                    });
                    copied.push((*leaf, record.place));
                }
                Err(what) => {
                    let rescue = self.map.read()?.rescue(*leaf);
                    match rescue {
                        Rescue::Kept(words) => {
                            // The leaf in memory is the same as on media.
                            let Entry { op, key, .. } = record.entry;
                            let Worker { coder, group, .. } = &mut *worker;
                            group.push(op, key, |out| coder.encode_node(&words, out));
                            copied.push((*leaf, record.place));
                        }
                        Rescue::Later => is_all = false,
                        Rescue::Gone => {
                            self.map.lose_node(NodeId::Leaf(*leaf), record.place, &what)?;
                        }
                    }
                }
            }
        }
        worker.media = media;
        let mut places = Vec::with_capacity(copied.len());
        self.log.append_to_map_stream(&worker.group, &mut worker.places, &mut places)?;
        self.enter_copies(&copied, &places, superseded)?;
        Ok(is_all)
    }

    /// Makes the copies the newest versions of their leaves, except those that were given up
    /// meanwhile. `copied` has the former places.
    fn enter_copies(
        &self,
        copied: &[(u64, Location)],
        places: &[Location],
        superseded: &mut Vec<Location>,
    ) -> Result<()> {
        let mut next = 0;
        loop {
            next += self.try_enter_copies(&copied[next..], &places[next..], superseded)?;
            let Some((leaf, _)) = copied.get(next) else { return Ok(()) };
            // The directory was dropped from memory meanwhile.
            self.map.place_of(NodeId::Leaf(*leaf))?;
        }
    }

    /// Like [`Checkpointer::enter_copies`] until a directory is not in memory; returns the number
    /// of leaves done.
    fn try_enter_copies(
        &self,
        copied: &[(u64, Location)],
        places: &[Location],
        superseded: &mut Vec<Location>,
    ) -> Result<usize> {
        let mut log = self.log.lock()?;
        let mut map = self.map.write()?;
        for (done, ((leaf, former), place)) in copied.iter().zip(places).enumerate() {
            match map.stored(NodeId::Leaf(*leaf)) {
                Ok(stored) if stored == *former => superseded.push(map.move_leaf(*leaf, *place)),
                Ok(_) => log.space.remove(*place),
                Err(_) => return Ok(done),
            }
        }
        Ok(copied.len())
    }
}

/// Number of places in each segment.
fn by_segment(places: &[Location]) -> HashMap<u32, u64> {
    let mut counts = HashMap::new();
    places.iter().for_each(|place| *counts.entry(place.segment()).or_default() += 1);
    counts
}
