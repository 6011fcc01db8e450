//! Checkpoints: the map made durable, so that recovery need not go further back.
//!
//! For a moment, under the locks, everything open is sealed, and a snapshot is taken of the changed
//! leaves, the segments' rows and the streams' positions. The host goes on; it copies a leaf of the
//! snapshot before it changes it. Then the map's stream gets the leaves, the live nodes of those of
//! its segments that are given back (see `clean`), the directories that name them, and the root.
//! When all of this is on stable media, the superblocks are made to name the root, one after the
//! other. Only then do the replaced nodes count as dead.
//!
//! It always fits: [`crate::core::budget`] keeps as many segments free as it takes at most.

use std::collections::HashMap;
use std::sync::Arc;

use assay_disk::Result;

use crate::core::budget::END_WORDS_BESIDE;
use crate::core::log::{Log, root_weight};
use crate::core::maintenance::Maintenance;
use crate::core::nodes::Node;
use crate::format::{
    Cursor, Location, MAX_ROOT_PARTS, NodeId, Op, RootBody, RootEnd, SegmentRow, Stream, part_words,
};
use crate::rules::{Rule, holds};
use crate::shell::log::SharedLog;
use crate::shell::map::SharedMap;
use crate::shell::media::Media;
use crate::shell::parts::Shell;
use crate::shell::records::Records;
use crate::shell::segments::Segments;
use crate::shell::superblocks::{INCARNATION_SEQS, Superblocks};
use crate::shell::worker::{Worker, Workers};
use crate::status::Counters;
use crate::upkeep::release::Releaser;

/// Nodes that are encoded before any of them is appended.
const NODES_PER_GROUP: usize = 32;

/// A queued root.
struct WrittenRoot {
    parts: Vec<Location>,
    seqs: (u64, u64),
}

/// The state at the beginning of a checkpoint.
struct Snapshot {
    seq: u64,
    /// Replay cost of the log up to `seq`, in blocks.
    replay_blocks: u64,
    leaves: Vec<DirtyLeaf>,
    body: RootBody,
    /// Leaves that were dropped before.
    dropped: u64,
    /// Nodes and blocks that were given up before.
    losses: u64,
}

/// Number and contents of a leaf that changed since the last checkpoint.
type DirtyLeaf = (u64, Arc<Node>);

/// Live bytes and records by segment.
type Weights = HashMap<u32, (u64, u64)>;

/// Makes checkpoints.
pub(crate) struct Checkpointer {
    pub(super) media: Arc<Media>,
    pub(super) log: Arc<SharedLog>,
    pub(super) superblocks: Arc<Superblocks>,
    pub(super) segments: Arc<Segments>,
    pub(super) records: Arc<Records>,
    pub(super) map: Arc<SharedMap>,
    pub(super) workers: Arc<Workers>,
    releaser: Arc<Releaser>,
}

impl Checkpointer {
    pub(crate) fn new(shell: &Shell, releaser: &Arc<Releaser>) -> Checkpointer {
        Checkpointer {
            media: Arc::clone(&shell.media),
            log: Arc::clone(&shell.log),
            superblocks: Arc::clone(&shell.superblocks),
            segments: Arc::clone(&shell.segments),
            records: Arc::clone(&shell.records),
            map: Arc::clone(&shell.map),
            workers: Arc::clone(&shell.workers),
            releaser: Arc::clone(releaser),
        }
    }

    /// Makes the map durable.
    pub(crate) fn checkpoint(&self, maintenance: &mut Maintenance) -> Result<()> {
        Counters::add(&self.media.counters.checkpoints, 1);
        let mut snapshot = self.snapshot()?;
        self.log.write_sealed()?;
        let leaves = std::mem::take(&mut snapshot.leaves);
        let (mut superseded, emptied) = self.write_leaves(leaves, snapshot.seq)?;
        let given_back = self.clean_map(&mut superseded)?;
        // Includes nodes that cleaning gave up: their segment may be filled again before the next
        // checkpoint.
        superseded.extend(self.lost_places()?);
        superseded.extend(self.write_directories(snapshot.seq)?);
        superseded.extend(self.move_dictionaries_out_of(&maintenance.to_empty)?);
        self.write_new_dictionary(maintenance)?;
        snapshot.body.dictionaries = self.records.dictionaries.places();
        snapshot.body.dictionaries.extend(maintenance.training.stored());
        let (root, log_bytes) = self.write_root(snapshot.body, &superseded)?;
        if holds(Rule::DurableBeforeNamed) {
            self.log.make_durable(true)?;
        }
        if !holds(Rule::NamedBeforeDead) {
            let mut log = self.log.lock()?;
            superseded.drain(..).for_each(|place| log.space.remove(place));
            drop(log);
            self.releaser.release_empty(maintenance)?;
        }
        let parts = root.parts.clone();
        let old_root = self.name_root(snapshot.seq, root)?;
        let dropped = snapshot.dropped + emptied;
        self.complete(snapshot.seq, dropped, log_bytes, maintenance, |log| {
            superseded.iter().for_each(|place| log.space.remove(*place));
            old_root.iter().for_each(|part| log.space.remove(root_weight(*part)));
            parts.iter().for_each(|part| log.space.add(root_weight(*part)));
            // The copies of its nodes are durable elsewhere, and nothing leads to the originals any
            // more.
            given_back.iter().for_each(|number| log.space.settle(*number));
        })?;
        self.map.write()?.forget_lost_places(&given_back);
        maintenance.checkpoint_replay_blocks = snapshot.replay_blocks;
        self.map.write()?.losses_told(snapshot.losses);
        self.use_new_dictionary(maintenance);
        self.give_back(maintenance)
    }

    /// Takes the places of the nodes that were given up.
    fn lost_places(&self) -> Result<Vec<Location>> {
        Ok(self.map.write()?.take_lost_places())
    }

    /// Gives back the segments that the checkpoint emptied, and ends it: only now is there room for
    /// the next one. Waits for readers of these segments if the next one needs them.
    fn give_back(&self, maintenance: &Maintenance) -> Result<()> {
        self.releaser.release_empty(maintenance)?;
        while !self.log.lock()?.space.has_room_for_checkpoint()
            && self.releaser.wait_for_readers(maintenance)?
        {
            self.releaser.release_empty(maintenance)?;
        }
        self.log.lock()?.space.note_checkpoint(false);
        Ok(())
    }

    /// Accounts for a checkpoint that both superblocks name.
    fn complete(
        &self,
        seq: u64,
        dropped: u64,
        log_bytes: u64,
        maintenance: &mut Maintenance,
        book: impl FnOnce(&mut Log),
    ) -> Result<()> {
        let mut log = self.log.lock()?;
        book(&mut log);
        maintenance.checkpoint_seq = seq;
        maintenance.checkpoint_log_bytes = log_bytes;
        let mut map = self.map.write()?;
        map.forget_dropped(dropped);
        log.space.note_nodes(map.nodes());
        Ok(())
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let mut log = self.log.lock()?;
        let mut map = self.map.write()?;
        Stream::ALL.into_iter().for_each(|stream| log.seal(stream, &self.media.counters));
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
            next_dictionary: self.records.dictionaries.next_version(),
            cursors: [Stream::Host, Stream::Cold, Stream::Frozen].map(|stream| log.cursor(stream)),
            segments: log.space.rows(),
            directories: Vec::new(),
            dictionaries: Vec::new(),
            counters: self.media.counters.words(),
        };
        Ok(Snapshot { seq, replay_blocks, leaves, body, dropped, losses })
    }

    /// Writes the changed leaves and drops empty ones. Returns the places of the replaced leaves,
    /// and the number of dropped ones. Each leaf that the host has copied since is freed as soon as
    /// it is written: a checkpoint during random overwrites must not end with the map in memory
    /// twice.
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
            let mut map = self.map.write()?;
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
        let dirty = self.map.read()?.dirty_directories();
        let mut superseded = Vec::new();
        for directories in dirty.chunks(NODES_PER_GROUP) {
            let nodes: Vec<_> = directories
                .iter()
                .map(|(number, node)| (NodeId::Directory(*number), node))
                .collect();
            let places = self.append_nodes(&nodes, seq)?;
            // The log's lock keeps directories in memory while a host write uses them.
            let _log = self.log.lock()?;
            let mut map = self.map.write()?;
            for ((number, _), place) in directories.iter().zip(places) {
                superseded.push(map.set_stored(NodeId::Directory(*number), place));
                map.release_if_empty(*number);
            }
        }
        superseded.retain(|place| place.is_record());
        Ok(superseded)
    }

    /// Appends nodes to the map's stream and counts them as live; returns their places.
    fn append_nodes(&self, nodes: &[(NodeId, &Node)], complete_seq: u64) -> Result<Vec<Location>> {
        self.workers.with(|worker| {
            worker.group.clear();
            for (node, words) in nodes {
                let Worker { coder, group, .. } = &mut *worker;
                let op = Op::Node { complete_seq };
                group.push(op, node.word(), |out| coder.encode_node(words, out));
            }
            let mut places = Vec::with_capacity(nodes.len());
            self.log.append_to_map_stream(&worker.group, &mut worker.places, &mut places)?;
            Ok(places)
        })
    }

    /// Queues the root's chunks; returns them and the bytes of log so far.
    fn write_root(
        &self,
        mut body: RootBody,
        superseded: &[Location],
    ) -> Result<(WrittenRoot, u64)> {
        body.directories = self.map.read()?.stored_directories();
        let weights = self.weights_replaced(superseded);
        for (number, weight) in &weights {
            if let Some(row) = body.segments.get_mut(*number as usize) {
                subtract(row, *weight);
            }
        }
        let words = body.encode();
        let mut log = self.log.lock()?;
        log.seal(Stream::Map, &self.media.counters);
        let mut root = Vec::new();
        let first_seq = log.next_map_seq();
        for part in words.chunks(part_words(self.media.identity.segment_bytes)) {
            log.make_root_room(part.len(), &self.log.chunks, &self.media.counters)
                .map_err(|_| self.log.stop_without_room())?;
            root.push(log.append_root(part, &self.media.counters));
        }
        // The end may list as many segments as the map's stream took, and has a footer's words of
        // its own.
        let most = END_WORDS_BESIDE as usize + log.map_words_at_most();
        log.make_root_room(most, &self.log.chunks, &self.media.counters)
            .map_err(|_| self.log.stop_without_room())?;
        let end = root_end(&log, &weights);
        root.push(log.append_root(&end.encode(), &self.media.counters));
        if root.len() > MAX_ROOT_PARTS {
            return Err(self.log.stop_without_room());
        }
        let seqs = (first_seq, log.next_map_seq() - 1);
        Ok((WrittenRoot { parts: root, seqs }, log.log_bytes))
    }

    /// The bytes and records that die with this checkpoint, by segment: the replaced nodes and the
    /// former root.
    fn weights_replaced(&self, superseded: &[Location]) -> Weights {
        let old_root = self.superblocks.lock().root.clone();
        let roots = old_root.iter().map(|part| root_weight(*part));
        let mut weights = Weights::new();
        for place in superseded.iter().copied().chain(roots) {
            let (bytes, records) = weights.entry(place.segment()).or_default();
            *bytes += u64::from(place.length());
            *records += 1;
        }
        weights
    }

    /// Makes both superblocks name the root; returns the places of the former root.
    fn name_root(&self, seq: u64, root: WrittenRoot) -> Result<Vec<Location>> {
        let next_seq = self.log.lock()?.next_seq;
        self.superblocks.change(|new| {
            new.identity.logical_bytes = self.map.logical_bytes();
            new.checkpoint_seq = seq;
            new.unused_seq = new.unused_seq.max(next_seq + INCARNATION_SEQS);
            new.log_end_seq = new.unused_seq;
            new.clean = false;
            new.root_seqs = root.seqs;
            std::mem::replace(&mut new.root, root.parts)
        })
    }
}

fn subtract(row: &mut SegmentRow, (bytes, records): (u64, u64)) {
    row.live_bytes = row.live_bytes.saturating_sub(bytes as u32);
    row.live_records = row.live_records.saturating_sub(records as u32);
}

fn is_empty(leaf: &Node) -> bool {
    leaf.iter().all(|&word| word == 0)
}

/// The end of the root, which accounts for its own chunk.
fn root_end(log: &Log, weights: &Weights) -> RootEnd {
    let mut segments = log.checkpoint_segments();
    for (number, row) in &mut segments {
        subtract(row, weights.get(number).copied().unwrap_or_default());
    }
    let mut end = RootEnd { map: Cursor::default(), segments };
    // The length of the cursor does not depend on its values, so the length of the chunk is known
    // before its end is.
    end.map = log.cursor_behind_root(0);
    end.map = log.cursor_behind_root(end.encode().len());
    end
}
