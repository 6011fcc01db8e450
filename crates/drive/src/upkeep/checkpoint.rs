//! Checkpoints: the map made durable, so that recovery need not go further back.
//!
//! Under the locks, for a moment: everything open is sealed, and the leaves that changed, the segments' rows and the
//! streams' positions are taken as they are. The host goes on; a leaf that it changes meanwhile is copied first. Then
//! the leaves are written to the map's stream, the directories that name them, and the root. When all that is on
//! stable media, the superblock is made to name the root: first one copy, then the other. Only then is what the new
//! nodes replace counted as dead.

use std::sync::atomic::Ordering;

use assay_disk::{BLOCK_BYTES, Disk, DiskError, Result};
use crate::shell::drive::Drive;
use crate::core::group::Group;
use crate::format::{
    Cursor, Identity, Location, MAX_ROOT_PARTS, NodeId, Op, RootBody, RootEnd, SegmentRow, Stream,
    Superblock,
};
use crate::core::log::Log;
use crate::upkeep::maintain::Maintenance;
use crate::core::map::{NODE_ENTRIES, Node};
use crate::inspect::status::Counters;

/// Nodes that are appended at once.
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
    leaves: Vec<(u64, std::sync::Arc<Node>)>,
    body: RootBody,
}

impl Drive {
    /// Makes the map durable; `clean` says that the drive is being closed.
    pub(crate) fn checkpoint(&self, maintenance: &mut Maintenance, clean: bool) -> Result<()> {
        Counters::add(&self.counters.checkpoints, 1);
        let snapshot = self.snapshot()?;
        self.write_sealed()?;
        let mut superseded = self.write_leaves(&snapshot)?;
        superseded.extend(self.write_directories(snapshot.seq)?);
        let (root, log_bytes) = self.write_root(snapshot.body, &superseded)?;
        self.make_durable(true)?;
        let parts = root.parts.clone();
        let old_root = self.name_root(snapshot.seq, root, clean)?;
        let mut log = self.log()?;
        superseded.iter().for_each(|place| log.space.remove(*place));
        old_root.iter().for_each(|part| log.space.remove(root_weight(*part)));
        parts.iter().for_each(|part| log.space.add(root_weight(*part)));
        maintenance.checkpoint_seq = snapshot.seq;
        maintenance.checkpoint_log_bytes = log_bytes;
        maintenance.waiting.clear();
        let unstored_leaves = self.map()?.unstored_leaves();
        log.space.reserve_for_checkpoint(unstored_leaves);
        Ok(())
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let mut log = self.log()?;
        let mut map = self.map_mut()?;
        Stream::ALL.into_iter().for_each(|stream| log.seal(stream, &self.counters));
        log.begin_checkpoint();
        let seq = log.next_seq - 1;
        let body = RootBody {
            checkpoint_seq: seq,
            mapped_blocks: map.mapped_blocks(),
            cursors: [Stream::Host, Stream::Cold, Stream::Frozen].map(|stream| log.cursor(stream)),
            segments: log.space.rows(),
            directories: Vec::new(),
            dictionaries: self.dictionary_places(),
            counters: self.counters.words(),
        };
        Ok(Snapshot { seq, leaves: map.take_dirty(), body })
    }

    /// Writes the changed leaves; gives the places of those that they replace.
    fn write_leaves(&self, snapshot: &Snapshot) -> Result<Vec<Location>> {
        let mut superseded = Vec::new();
        for leaves in snapshot.leaves.chunks(NODES_PER_GROUP) {
            let filled = leaves.iter().filter(|(_, leaf)| leaf.iter().any(|&word| word != 0));
            let nodes: Vec<_> =
                filled.map(|(number, leaf)| (NodeId::Leaf(*number), &**leaf)).collect();
            let places = self.append_nodes(&nodes, snapshot.seq)?;
            let mut map = self.map_mut()?;
            let mut places = nodes.iter().map(|(node, _)| *node).zip(places).peekable();
            for (number, _) in leaves {
                let node = NodeId::Leaf(*number);
                let place = places.next_if(|(written, _)| *written == node);
                let place = place.map_or(Location::NONE, |(_, place)| place);
                superseded.push(map.set_stored(node, place));
                map.drop_if_empty(*number);
            }
        }
        superseded.retain(|place| !place.is_none());
        Ok(superseded)
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
            let mut map = self.map_mut()?;
            for ((node, _), place) in nodes.iter().zip(places) {
                superseded.push(map.set_stored(*node, place));
            }
        }
        superseded.retain(|place| !place.is_none());
        Ok(superseded)
    }

    /// Appends nodes to the map's stream and counts them as live; gives their places.
    fn append_nodes(&self, nodes: &[(NodeId, &Node)], complete_seq: u64) -> Result<Vec<Location>> {
        self.workers.with(|worker| {
            worker.group.clear();
            let mut bytes = Vec::with_capacity(BLOCK_BYTES as usize);
            for (node, words) in nodes {
                bytes.clear();
                bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
                let coder = &mut worker.coder;
                let op = Op::Node { complete_seq };
                worker.group.push(op, node.word(), |out| coder.encode(&bytes, None, out));
            }
            let places = &mut worker.places;
            self.append_to_map_stream(&worker.group, places)?;
            Ok(places.clone())
        })
    }

    fn append_to_map_stream(&self, group: &Group, places: &mut Vec<Location>) -> Result<()> {
        {
            let mut log = self.log()?;
            let (payload, words) = (group.payload_bytes(), group.words_at_most());
            log.make_room(Stream::Map, payload, words, &self.chunks, &self.counters)
                .map_err(|_| self.no_room())?;
            log.place(Stream::Map, group, |_| true, places);
            places.iter().for_each(|place| log.space.add(*place));
        }
        self.keep_pace()
    }

    /// Queues the root's chunks; gives them and what the log had come to.
    fn write_root(
        &self,
        mut body: RootBody,
        superseded: &[Location],
    ) -> Result<(WrittenRoot, u64)> {
        let mut log = self.log()?;
        body.directories = self.map()?.stored_directories();
        log.seal(Stream::Map, &self.counters);
        for place in superseded {
            subtract(&mut body.segments[place.segment() as usize], *place);
        }
        for part in &self.superblock().root {
            subtract(&mut body.segments[part.segment() as usize], root_weight(*part));
        }
        let mut root = Vec::new();
        let first_seq = log.next_seq;
        let words = body.encode();
        for part in words.chunks(part_words(&self.identity)) {
            log.make_root_room(part.len(), &self.chunks, &self.counters)
                .map_err(|_| self.no_room())?;
            root.push(log.append_root(part, &self.counters));
        }
        // The end may take as much as the map's stream did, and a footer of its own.
        let most = 64 + log.map_words_at_most();
        log.make_root_room(most, &self.chunks, &self.counters).map_err(|_| self.no_room())?;
        let end = self.root_end(&log, superseded);
        root.push(log.append_root(&end.encode(), &self.counters));
        if root.len() > MAX_ROOT_PARTS {
            return Err(self.no_room());
        }
        Ok((WrittenRoot { parts: root, seqs: (first_seq, log.next_seq - 1) }, log.log_bytes))
    }

    /// Leaves that count as stored are not: the drive must not go on.
    fn no_room(&self) -> DiskError {
        self.stop("no segment was left for a checkpoint".into())
    }

    /// What the root's end says, its own chunk included.
    fn root_end(&self, log: &Log, superseded: &[Location]) -> RootEnd {
        let mut segments = log.checkpoint_segments();
        for (number, row) in &mut segments {
            for place in superseded.iter().filter(|place| place.segment() == *number) {
                subtract(row, *place);
            }
            let old_root = self.superblock().root.clone();
            for part in old_root.iter().filter(|part| part.segment() == *number) {
                subtract(row, root_weight(*part));
            }
        }
        let mut end = RootEnd { own_seqs: log.checkpoint_seqs(), map: Cursor::default(), segments };
        // The cursor's length does not depend on its values, so the chunk's length is known before its end is.
        end.map = log.cursor_behind_root(0);
        end.map = log.cursor_behind_root(end.encode().len());
        end
    }

    /// Makes both superblocks name the root; gives the former root.
    fn name_root(&self, seq: u64, root: WrittenRoot, clean: bool) -> Result<Vec<Location>> {
        let next_seq = self.log()?.next_seq;
        let mut superblock = self.superblock();
        let mut new = superblock.clone();
        new.identity.logical_bytes = self.logical_bytes.load(Ordering::Acquire);
        new.checkpoint_seq = seq;
        new.unused_seq = new.unused_seq.max(next_seq + INCARNATION_SEQS);
        new.log_end_seq = new.unused_seq;
        new.clean = clean;
        new.root_seqs = root.seqs;
        let old_root = std::mem::replace(&mut new.root, root.parts);
        self.write_superblocks(&mut new)?;
        *superblock = new;
        Ok(old_root)
    }

    pub(crate) fn superblock(&self) -> std::sync::MutexGuard<'_, Superblock> {
        self.superblock.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Writes both copies, one after the other: a power cut leaves one of them whole.
    fn write_superblocks(&self, superblock: &mut Superblock) -> Result<()> {
        superblock.generation += 1;
        let mut block = assay_disk::BlockBuffer::zeroed(BLOCK_BYTES as usize);
        superblock.encode(block.as_mut());
        for place in Identity::superblock_places(self.identity.media_bytes) {
            if let Err(error) = self.media.write(place, block.as_ref(), false) {
                let error = crate::shell::commit::chain(&error);
                return Err(self.stop(format!("writing the superblock failed: {error}")));
            }
            self.sync_media()?;
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
        let first = new.unused_seq;
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
        self.checkpoint(&mut maintenance, true)?;
        {
            let log = self.log()?;
            if log.ends_with_checkpoint(maintenance.checkpoint_seq) {
                self.is_begun.store(false, Ordering::Release);
                return Ok(());
            }
        }
        // The host wrote meanwhile, behind the checkpoint: the log goes on, and the drive is not closed.
        self.reserve_seqs(false).map(drop)
    }

    /// Changes the logical size.
    ///
    /// # Errors
    /// [`DiskError::OutOfRange`] when blocks beyond the new end are in use, or the size cannot be; [`DiskError::Full`] when
    /// there is no room for what the larger map takes. Nothing has changed then.
    pub fn resize(&self, logical_bytes: u64) -> Result<()> {
        self.writable()?;
        let former = self.size();
        let grows = logical_bytes > former;
        let possible = Identity { logical_bytes, ..self.identity }.is_possible()
            && logical_bytes > 0
            && (!grows || logical_bytes <= self.identity.logical_bytes_most());
        if !possible || !self.is_free_beyond(logical_bytes)? {
            return Err(DiskError::OutOfRange { offset: logical_bytes, length: 0, size: former });
        }
        self.begin_incarnation()?;
        {
            let log = self.log()?;
            let mut map = self.map_mut()?;
            let blocks = logical_bytes.max(former) / BLOCK_BYTES;
            if grows && !log.space.admits_map(map.media_bytes_with(blocks)) {
                return Err(DiskError::Full);
            }
            map.resize(blocks);
            self.logical_bytes.store(logical_bytes, Ordering::Release);
        }
        self.checkpoint(&mut self.maintenance(), false)
    }

    /// Whether nothing is written from `logical_bytes` on.
    fn is_free_beyond(&self, logical_bytes: u64) -> Result<bool> {
        Ok(self.highest_block()?.is_none_or(|block| (block + 1) * BLOCK_BYTES <= logical_bytes))
    }

    /// The last block that is mapped.
    fn highest_block(&self) -> Result<Option<u64>> {
        let blocks = self.size() / BLOCK_BYTES;
        let directories = blocks.div_ceil(NODE_ENTRIES * NODE_ENTRIES);
        for number in (0..directories).rev() {
            if self.map()?.has_directory(number)
                && let Some(block) = self.highest_block_in(number, blocks)?
            {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// The last block of a directory that is mapped, of a drive that has so many.
    fn highest_block_in(&self, directory: u64, blocks: u64) -> Result<Option<u64>> {
        let leaf = NODE_ENTRIES;
        let leaves = directory * NODE_ENTRIES..(directory + 1) * NODE_ENTRIES;
        for number in (leaves.start..leaves.end.min(blocks.div_ceil(leaf))).rev() {
            let range = number * leaf..((number + 1) * leaf).min(blocks);
            if self.map()?.is_hole(range.clone()) {
                continue;
            }
            self.load_nodes(range.clone())?;
            let map = self.map()?;
            let mut mapped =
                range.rev().filter(|block| map.get(*block).is_ok_and(|place| !place.is_none()));
            if let Some(block) = mapped.next() {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }
}

/// A part of the root as a live record: it keeps its segment from being used again.
pub(crate) fn root_weight(part: Location) -> Location {
    Location::new(part.segment(), part.offset(), 1, false)
}

fn subtract(row: &mut SegmentRow, place: Location) {
    row.live_bytes = row.live_bytes.saturating_sub(place.length());
    row.live_records = row.live_records.saturating_sub(1);
}

/// Words of one chunk of a root: with its footer it fits the smallest segment.
fn part_words(identity: &Identity) -> usize {
    (identity.segment_bytes / 32).min(96 << 10) as usize
}
