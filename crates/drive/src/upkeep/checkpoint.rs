//! Checkpoints: the map made durable, so that recovery need not go further back.
//!
//! Under the locks, for a moment: everything open is sealed, and the leaves that changed, the segments' rows and the
//! streams' positions are taken as they are. The host goes on; a leaf that it changes meanwhile is copied first. Then
//! the leaves are written to the map's stream, what still lives in those of its segments that are given back (see
//! `clean`), the directories that name them, and the root. When all that is on stable media, the superblock is made to
//! name the root: first one copy, then the other. Only then is what the new nodes replace counted as dead.
//!
//! It always fits: [`crate::core::budget`] keeps as many segments free as it takes at most.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_disk::{BLOCK_BYTES, DiskError, Result};

use crate::core::budget::END_WORDS_BESIDE;
use crate::core::group::Group;
use crate::core::log::Log;
use crate::core::maintenance::Maintenance;
use crate::core::nodes::Node;
use crate::core::space::Urgency;
use crate::format::{
    Cursor, Identity, Location, MAX_ROOT_PARTS, NodeId, Op, RootBody, RootEnd, SegmentRow, Stream,
    Superblock, part_words,
};
use crate::rules::{Rule, holds};
use crate::shell::drive::Drive;
use crate::shell::worker::Worker;
use crate::status::Counters;

/// Nodes that are encoded before any of them is appended.
const NODES_PER_GROUP: usize = 32;

/// Sequence numbers that one incarnation may use before a superblock must say so.
const INCARNATION_SEQS: u64 = 1 << 36;

/// A root that was queued.
struct WrittenRoot {
    parts: Vec<Location>,
    seqs: (u64, u64),
}

/// What the checkpoint found when it began.
struct Snapshot {
    seq: u64,
    /// Words of the log's tables up to there.
    replay_blocks: u64,
    leaves: Vec<DirtyLeaf>,
    body: RootBody,
    /// Leaves that were dropped before it began.
    dropped: u64,
    /// Nodes that were given up before it began.
    losses: u64,
}

/// A leaf that changed since the last checkpoint, as it was when this one began, with its number.
type DirtyLeaf = (u64, Arc<Node>);

/// Live bytes and records of places, by segment.
type Weights = HashMap<u32, (u64, u64)>;

impl Drive {
    /// Makes the map durable.
    pub(crate) fn checkpoint(&self, maintenance: &mut Maintenance) -> Result<()> {
        Counters::add(&self.counters.checkpoints, 1);
        let mut snapshot = self.snapshot()?;
        self.write_sealed()?;
        let leaves = std::mem::take(&mut snapshot.leaves);
        let (mut superseded, emptied) = self.write_leaves(leaves, snapshot.seq)?;
        let given_back = self.clean_map(&mut superseded)?;
        // Also what cleaning gave up: its segment may be used again when the next checkpoint comes.
        superseded.extend(self.lost_places()?);
        superseded.extend(self.write_directories(snapshot.seq)?);
        superseded.extend(self.move_dictionaries_out_of(&maintenance.to_empty)?);
        self.write_new_dictionary(maintenance)?;
        snapshot.body.dictionaries = self.dictionary_places();
        snapshot.body.dictionaries.extend(maintenance.trainer.stored());
        let (root, log_bytes) = self.write_root(snapshot.body, &superseded)?;
        if holds(Rule::DurableBeforeNamed) {
            self.make_durable(true)?;
        }
        if !holds(Rule::NamedBeforeDead) {
            let mut log = self.log()?;
            superseded.drain(..).for_each(|place| log.space.remove(place));
            drop(log);
            self.release_empty(maintenance)?;
        }
        let parts = root.parts.clone();
        let old_root = self.name_root(snapshot.seq, root)?;
        let dropped = snapshot.dropped + emptied;
        self.complete(snapshot.seq, dropped, log_bytes, maintenance, |log| {
            superseded.iter().for_each(|place| log.space.remove(*place));
            old_root.iter().for_each(|part| log.space.remove(root_weight(*part)));
            parts.iter().for_each(|part| log.space.add(root_weight(*part)));
            // What was read of them is durable elsewhere, and nothing leads there any more.
            given_back.iter().for_each(|number| log.space.settle(*number));
        })?;
        self.map_mut()?.forget_lost_places(&given_back);
        maintenance.checkpoint_replay_blocks = snapshot.replay_blocks;
        self.map_mut()?.losses_told(snapshot.losses);
        self.use_new_dictionary(maintenance);
        self.give_back(maintenance)
    }

    /// Where nodes lie that were given up since this was last asked.
    fn lost_places(&self) -> Result<Vec<Location>> {
        Ok(self.map_mut()?.take_lost_places())
    }

    /// Gives back what the checkpoint emptied, and with that ends it: only now is there room for the next one. What a reader
    /// holds of that is waited for where the next one needs it.
    fn give_back(&self, maintenance: &Maintenance) -> Result<()> {
        self.release_empty(maintenance)?;
        while !self.log()?.space.has_room_for_checkpoint() && self.wait_for_readers(maintenance)? {
            self.release_empty(maintenance)?;
        }
        self.log()?.space.note_checkpoint(false);
        Ok(())
    }

    /// Enters a checkpoint that both superblocks name into the books.
    fn complete(
        &self,
        seq: u64,
        dropped: u64,
        log_bytes: u64,
        maintenance: &mut Maintenance,
        book: impl FnOnce(&mut Log),
    ) -> Result<()> {
        let mut log = self.log()?;
        book(&mut log);
        maintenance.checkpoint_seq = seq;
        maintenance.checkpoint_log_bytes = log_bytes;
        let mut map = self.map_mut()?;
        map.forget_dropped(dropped);
        log.space.note_nodes(map.nodes());
        Ok(())
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let mut log = self.log()?;
        let mut map = self.map_mut()?;
        Stream::ALL.into_iter().for_each(|stream| log.seal(stream, &self.counters));
        log.begin_checkpoint();
        let (seq, dropped) = (log.next_seq - 1, map.dropped_leaves());
        let replay_blocks = log.replay_blocks;
        let losses = map.losses();
        let leaves = map.take_dirty();
        let empty = leaves.iter().filter(|(_, leaf)| is_empty(leaf)).count() as u64;
        let body = RootBody {
            checkpoint_seq: seq,
            mapped_blocks: map.mapped_blocks(),
            leaves: map.nodes().leaves.saturating_sub(dropped + empty),
            next_dictionary: self.next_dictionary.load(Ordering::Relaxed),
            cursors: [Stream::Host, Stream::Cold, Stream::Frozen].map(|stream| log.cursor(stream)),
            segments: log.space.rows(),
            directories: Vec::new(),
            dictionaries: Vec::new(),
            counters: self.counters.words(),
        };
        Ok(Snapshot { seq, replay_blocks, leaves, body, dropped, losses })
    }

    /// Writes the changed leaves and drops those that hold nothing; gives the places of those that they replace, and how
    /// many were dropped. What the host has copied since is let go as soon as it is written: a checkpoint while everything is
    /// overwritten at random must not end with the map in memory twice.
    fn write_leaves(&self, leaves: Vec<DirtyLeaf>, seq: u64) -> Result<(Vec<Location>, u64)> {
        let (mut superseded, mut emptied) = (Vec::new(), 0);
        let mut leaves = leaves.into_iter();
        loop {
            let leaves: Vec<_> = leaves.by_ref().take(NODES_PER_GROUP).collect();
            if leaves.is_empty() {
                break;
            }
            let filled = leaves.iter().filter(|(_, leaf)| !is_empty(leaf));
            let nodes: Vec<_> =
                filled.map(|(number, leaf)| (NodeId::Leaf(*number), &**leaf)).collect();
            let places = self.append_nodes(&nodes, seq)?;
            let mut map = self.map_mut()?;
            let mut places = nodes.iter().map(|(node, _)| *node).zip(places).peekable();
            for (number, _) in &leaves {
                let node = NodeId::Leaf(*number);
                let place = places.next_if(|(written, _)| *written == node);
                let place = place.map_or(Location::NONE, |(_, place)| place);
                superseded.push(map.set_stored(node, place));
                emptied += u64::from(map.drop_if_empty(*number));
            }
        }
        superseded.retain(|place| place.is_record());
        Ok((superseded, emptied))
    }

    fn write_directories(&self, seq: u64) -> Result<Vec<Location>> {
        let dirty = self.map()?.dirty_directories();
        let mut superseded = Vec::new();
        for directories in dirty.chunks(NODES_PER_GROUP) {
            let nodes: Vec<_> = directories
                .iter()
                .map(|(number, node)| (NodeId::Directory(*number), node))
                .collect();
            let places = self.append_nodes(&nodes, seq)?;
            // The log's lock keeps directories in memory while a host write uses them.
            let _log = self.log()?;
            let mut map = self.map_mut()?;
            for ((number, _), place) in directories.iter().zip(places) {
                superseded.push(map.set_stored(NodeId::Directory(*number), place));
                map.release_if_empty(*number);
            }
        }
        superseded.retain(|place| place.is_record());
        Ok(superseded)
    }

    /// Appends nodes to the map's stream and counts them as live; gives their places.
    fn append_nodes(&self, nodes: &[(NodeId, &Node)], complete_seq: u64) -> Result<Vec<Location>> {
        self.workers.with(|worker| {
            worker.group.clear();
            for (node, words) in nodes {
                let Worker { coder, group, .. } = &mut *worker;
                let op = Op::Node { complete_seq };
                group.push(op, node.word(), |out| coder.encode_node(words, out));
            }
            let mut places = Vec::with_capacity(nodes.len());
            self.append_to_map_stream(&worker.group, &mut worker.places, &mut places)?;
            Ok(places)
        })
    }

    /// Appends each record of a group by itself, so that a chunk is filled as far as the next one allows.
    pub(crate) fn append_to_map_stream(
        &self,
        group: &Group,
        scratch: &mut Vec<Location>,
        places: &mut Vec<Location>,
    ) -> Result<()> {
        {
            let mut log = self.log()?;
            for (index, record) in group.records.iter().enumerate() {
                let (payload, words) = (record.length as usize, record.words());
                let urgency = Urgency::Ordinary;
                log.make_room(Stream::Map, payload, words, urgency, &self.chunks, &self.counters)
                    .map_err(|_| self.no_room())?;
                log.place(Stream::Map, group, |each| each == index, scratch);
                let place = scratch.get(index).copied().unwrap_or_default();
                log.space.add(place);
                places.push(place);
            }
        }
        self.keep_pace()
    }

    /// Queues the root's chunks; gives them and what the log had come to.
    fn write_root(
        &self,
        mut body: RootBody,
        superseded: &[Location],
    ) -> Result<(WrittenRoot, u64)> {
        body.directories = self.map()?.stored_directories();
        let weights = self.weights_replaced(superseded);
        for (number, weight) in &weights {
            if let Some(row) = body.segments.get_mut(*number as usize) {
                subtract(row, *weight);
            }
        }
        let words = body.encode();
        let mut log = self.log()?;
        log.seal(Stream::Map, &self.counters);
        let mut root = Vec::new();
        let first_seq = log.next_map_seq();
        for part in words.chunks(part_words(self.identity.segment_bytes)) {
            log.make_root_room(part.len(), &self.chunks, &self.counters)
                .map_err(|_| self.no_room())?;
            root.push(log.append_root(part, &self.counters));
        }
        // The end may take as much as the map's stream did, and a footer of its own.
        let most = END_WORDS_BESIDE as usize + log.map_words_at_most();
        log.make_root_room(most, &self.chunks, &self.counters).map_err(|_| self.no_room())?;
        let end = root_end(&log, &weights);
        root.push(log.append_root(&end.encode(), &self.counters));
        if root.len() > MAX_ROOT_PARTS {
            return Err(self.no_room());
        }
        let seqs = (first_seq, log.next_map_seq() - 1);
        Ok((WrittenRoot { parts: root, seqs }, log.log_bytes))
    }

    /// What dies with this checkpoint, by segment: the nodes that were replaced and the former root.
    fn weights_replaced(&self, superseded: &[Location]) -> Weights {
        let old_root = self.superblock().root.clone();
        let roots = old_root.iter().map(|part| root_weight(*part));
        let mut weights = Weights::new();
        for place in superseded.iter().copied().chain(roots) {
            let (bytes, records) = weights.entry(place.segment()).or_default();
            *bytes += u64::from(place.length());
            *records += 1;
        }
        weights
    }

    /// Leaves that count as stored are not: the drive must not go on. The budget is there so that this never happens.
    fn no_room(&self) -> DiskError {
        self.stop("no segment was left for a checkpoint".into())
    }

    /// Makes both superblocks name the root; gives the former root.
    fn name_root(&self, seq: u64, root: WrittenRoot) -> Result<Vec<Location>> {
        let next_seq = self.log()?.next_seq;
        let mut superblock = self.superblock();
        let mut new = superblock.clone();
        new.identity.logical_bytes = self.logical_bytes.load(Ordering::Acquire);
        new.checkpoint_seq = seq;
        new.unused_seq = new.unused_seq.max(next_seq + INCARNATION_SEQS);
        new.log_end_seq = new.unused_seq;
        new.clean = false;
        new.root_seqs = root.seqs;
        let old_root = std::mem::replace(&mut new.root, root.parts);
        self.write_superblocks(&mut new)?;
        *superblock = new;
        Ok(old_root)
    }

    /// Writes both copies, one after the other: a power cut leaves one of them whole. The one that the drive was opened with comes
    /// last, for the other may be torn already.
    fn write_superblocks(&self, superblock: &mut Superblock) -> Result<()> {
        superblock.generation += 1;
        let mut block = assay_disk::BlockBuffer::zeroed(BLOCK_BYTES as usize);
        superblock.encode(block.as_mut());
        let mut places = Identity::superblock_places(self.identity.media_bytes);
        if self.superblock_in_use == 0 && holds(Rule::WorseSuperblockFirst) {
            places.reverse();
        }
        for place in places {
            if let Err(error) = self.media.write(place, block.as_ref(), false) {
                let error = crate::shell::commit::media_failure(&error);
                return Err(self.stop(format!("writing the superblock failed: {error}")));
            }
            if holds(Rule::FlushBetweenSuperblocks) {
                self.sync_media()?;
            }
            Counters::add(&self.counters.write_bytes_checkpoint, BLOCK_BYTES);
            Counters::add(&self.counters.writes_media, 1);
        }
        self.superblocks_written.store(true, Ordering::Release);
        Ok(())
    }

    /// Whether this incarnation may write.
    pub(crate) fn has_begun(&self) -> bool {
        self.is_begun.load(Ordering::Acquire)
    }

    /// Before the first chunk since the drive was opened: takes sequence numbers that were never used, so that
    /// nothing which an earlier incarnation left behind can pass for part of the log.
    pub(crate) fn begin_incarnation(&self) -> Result<()> {
        if self.has_begun() {
            return Ok(());
        }
        let _maintenance = self.maintenance();
        if self.has_begun() {
            return Ok(());
        }
        let first = self.reserve_seqs(true)?;
        self.log()?.resume(first);
        self.is_begun.store(true, Ordering::Release);
        Ok(())
    }

    /// Reserves sequence numbers in both superblocks; with `after_checkpoint` the log goes on with the first of them.
    pub(crate) fn reserve_seqs(&self, after_checkpoint: bool) -> Result<u64> {
        let mut superblock = self.superblock();
        let mut new = superblock.clone();
        let first = match holds(Rule::IncarnationJumps) {
            true => new.unused_seq,
            false => self.log_stop_seq.load(Ordering::Acquire),
        };
        new.unused_seq = first + INCARNATION_SEQS;
        if !new.clean {
            new.cut(self.log_stop_seq.load(Ordering::Acquire), first);
        }
        new.clean = false;
        if after_checkpoint {
            new.checkpoint_seq = first - 1;
            new.log_end_seq = new.unused_seq;
        }
        self.write_superblocks(&mut new)?;
        *superblock = new;
        Ok(first)
    }

    /// Writes everything out and marks the drive as properly closed. A command that comes meanwhile, or later, opens
    /// it again.
    ///
    /// # Errors
    /// Those of the media.
    pub fn close(&self) -> Result<()> {
        self.running()?;
        let mut maintenance = self.maintenance();
        if self.read_only.is_some() || !self.has_begun() {
            return Ok(());
        }
        self.checkpoint(&mut maintenance)?;
        {
            let log = self.log()?;
            if !log.ends_with(maintenance.checkpoint_seq) && holds(Rule::CloseLooksBack) {
                // The host wrote meanwhile, behind the checkpoint: the log goes on, and the drive is not closed.
                return Ok(());
            }
            self.is_begun.store(false, Ordering::Release);
        }
        // From here on nothing is written before both superblocks have taken back what is said now.
        self.name_clean()
    }

    /// Says in both superblocks that nothing lies behind the checkpoint.
    fn name_clean(&self) -> Result<()> {
        let mut superblock = self.superblock();
        let mut new = superblock.clone();
        new.clean = true;
        self.write_superblocks(&mut new)?;
        *superblock = new;
        Ok(())
    }
}

/// A part of the root as a live record: it keeps its segment from being used again.
pub(crate) fn root_weight(part: Location) -> Location {
    Location::new(part.segment(), part.offset(), 1, false)
}

fn subtract(row: &mut SegmentRow, (bytes, records): (u64, u64)) {
    row.live_bytes = row.live_bytes.saturating_sub(bytes as u32);
    row.live_records = row.live_records.saturating_sub(records as u32);
}

fn is_empty(leaf: &Node) -> bool {
    leaf.iter().all(|&word| word == 0)
}

/// What the root's end says, its own chunk included.
fn root_end(log: &Log, weights: &Weights) -> RootEnd {
    let mut segments = log.checkpoint_segments();
    for (number, row) in &mut segments {
        subtract(row, weights.get(number).copied().unwrap_or_default());
    }
    let mut end = RootEnd { map: Cursor::default(), segments };
    // The cursor's length does not depend on its values, so the chunk's length is known before its end is.
    end.map = log.cursor_behind_root(0);
    end.map = log.cursor_behind_root(end.encode().len());
    end
}
