//! Giving segments of the map's stream back, as a part of a checkpoint: leaves that still live in them are copied as they are,
//! directories are written with those that changed.
//!
//! Nodes that a checkpoint replaces die one by one, all over the segments of the map's stream. A checkpoint leaves enough
//! segments free for the next one, so it copies what is left in those with least, until that holds: at worst everything,
//! and then the map lies in as few segments as it can. It never writes a node twice, so it takes no more than the budget
//! has for it: a directory changes with the first of its leaves that moves, so a copy of it would not be the last.

use std::collections::HashMap;
use std::ops::Range;

use assay_disk::{DiskError, Result};

use crate::core::map::{Missing, Rescue};
use crate::core::nodes::NODE_ENTRIES;
use crate::core::tables::SegmentRecord;
use crate::format::{Entry, Location, NodeId, Op};
use crate::rules::{Rule, holds};
use crate::shell::drive::Drive;
use crate::shell::span::{Reach, part_of, span, together};
use crate::shell::worker::Worker;

/// How far one read of nodes goes.
const REACH: Reach = Reach { gap_bytes: 64 << 10, bytes_max: 1 << 20 };

/// Free segments that a checkpoint leaves beyond those that the next one needs, where it can: room for the host and for
/// collection to go on.
const FREE_WANTED: u64 = 8;

impl Drive {
    /// Copies what lives in the segments that are to be given back. Adds what was copied to `superseded`; gives the
    /// segments in which nothing is left.
    pub(crate) fn clean_map(&self, superseded: &mut Vec<Location>) -> Result<Vec<u32>> {
        let mut given_back = Vec::new();
        for number in self.segments_to_clean(superseded)? {
            if self.copy_nodes(number, superseded)? {
                given_back.push(number);
            }
        }
        Ok(given_back)
    }

    /// Segments of the map's stream with least in them, as many as it takes to leave enough segments free.
    fn segments_to_clean(&self, superseded: &[Location]) -> Result<Vec<u32>> {
        if !holds(Rule::CleanEnough) {
            return Ok(Vec::new());
        }
        let dying = by_segment(superseded);
        let mut log = self.log()?;
        let (nodes, dirty) = {
            let map = self.map()?;
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
        // Directories that change with leaves that move.
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

    /// Moves what lives in a segment out of it, with this checkpoint; false if some of it may not be known.
    fn copy_nodes(&self, number: u32, superseded: &mut Vec<Location>) -> Result<bool> {
        let opened_seq = self.log()?.space.get(number).opened_seq;
        let tables = self.segment_tables(number, opened_seq)?;
        let mut live = Vec::new();
        for record in tables.records(number) {
            match record.entry.op {
                Op::Node { .. } if self.is_stored_at(&record)? => {
                    match NodeId::from_word(record.entry.key) {
                        NodeId::Leaf(leaf) => live.push((leaf, record)),
                        directory => self.touch_node(directory)?,
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
            self.touch_nodes_in(number)?;
        }
        Ok(tables.is_complete && is_all)
    }

    /// Has the nodes that still lie in a segment, as the map tells, written anew by the next checkpoint: not all of the
    /// segment's own tables can be read.
    pub(crate) fn touch_nodes_in(&self, number: u32) -> Result<()> {
        let directories = self.map()?.stored_directories();
        for (directory, place) in (0..).zip(directories).filter(|(_, place)| place.is_record()) {
            if place.segment() == number {
                self.touch_node(NodeId::Directory(directory))?;
            }
            for leaf in directory * NODE_ENTRIES..(directory + 1) * NODE_ENTRIES {
                let place = self.place_of(NodeId::Leaf(leaf))?;
                if place.is_record() && place.segment() == number {
                    self.touch_node(NodeId::Leaf(leaf))?;
                }
            }
        }
        Ok(())
    }

    /// Has a node written anew by the next checkpoint, a directory by that in progress if there is one, or gives it up.
    pub(crate) fn touch_node(&self, node: NodeId) -> Result<()> {
        loop {
            self.load_or_lose(node)?;
            // The log's lock keeps what was loaded in memory.
            let _log = self.log()?;
            let mut map = self.map_mut()?;
            if map.touch(node) || !map.stored(node).is_ok_and(Location::is_record) {
                return Ok(());
            }
        }
    }

    /// Whether the map's newest version of a node is this record.
    fn is_stored_at(&self, record: &SegmentRecord) -> Result<bool> {
        Ok(self.place_of(NodeId::from_word(record.entry.key))? == record.place)
    }

    /// Where the newest version of a node lies.
    fn place_of(&self, node: NodeId) -> Result<Location> {
        loop {
            let stored = self.map()?.stored(node);
            match stored {
                Ok(place) => return Ok(place),
                Err(Missing(directory)) => self.load_or_lose(directory)?,
            }
        }
    }

    /// Copies leaves that lie together; false if one stays that the next checkpoint writes.
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
        let bytes = match self.read_span(front.place.segment(), &place, &mut media) {
            Ok(bytes) => bytes,
            Err(DiskError::Io(_)) => {
                self.media_lives()?;
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
            let checked = match self.check_record(stored, record.place, key) {
                Ok(checked) => Ok(checked),
                Err(what) => {
                    restored = self.restored_record(record.place, key)?;
                    match &restored {
                        Some(stored) => self.check_record(stored, record.place, key),
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
                    let rescue = self.map()?.rescue(*leaf);
                    match rescue {
                        Rescue::Kept(words) => {
                            // In memory it is what it is on media.
                            let Entry { op, key, .. } = record.entry;
                            let Worker { coder, group, .. } = &mut *worker;
                            group.push(op, key, |out| coder.encode_node(&words, out));
                            copied.push((*leaf, record.place));
                        }
                        Rescue::Later => is_all = false,
                        Rescue::Gone => {
                            self.lose_node(NodeId::Leaf(*leaf), record.place, &what)?;
                        }
                    }
                }
            }
        }
        worker.media = media;
        let mut places = Vec::with_capacity(copied.len());
        self.append_to_map_stream(&worker.group, &mut worker.places, &mut places)?;
        self.enter_copies(&copied, &places, superseded)?;
        Ok(is_all)
    }

    /// Makes the copies of leaves, with where each lay, their newest versions, but of those that were given up meanwhile.
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
            // Its directory was dropped from memory meanwhile.
            self.place_of(NodeId::Leaf(*leaf))?;
        }
    }

    /// The same until one needs a directory that is not loaded; gives how many are done.
    fn try_enter_copies(
        &self,
        copied: &[(u64, Location)],
        places: &[Location],
        superseded: &mut Vec<Location>,
    ) -> Result<usize> {
        let mut log = self.log()?;
        let mut map = self.map_mut()?;
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

/// How many of these places lie in each segment.
fn by_segment(places: &[Location]) -> HashMap<u32, u64> {
    let mut counts = HashMap::new();
    places.iter().for_each(|place| *counts.entry(place.segment()).or_default() += 1);
    counts
}
