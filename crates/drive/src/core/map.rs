//! The map from block addresses to locations, in memory as far as it is needed.
//!
//! A radix tree of two levels under a list of directories: a leaf holds 512 blocks (2 MiB), a
//! directory 512 leaves (1 GiB). Addresses that were never written have no node, so memory is
//! proportional to written space: 4 KiB and a slot of 24 B a leaf, which is 8.1 B a block if dense,
//! and 12 KiB of slots for each GiB with data in it. A directory without content leaves memory with
//! the checkpoint that stores it. Stored nodes are loaded when needed, and clean ones can be
//! evicted.
//!
//! A node that cannot be read is lost, and with it each of its blocks until that is overwritten or
//! discarded.
//!
//! The map does no input or output: it returns the number of a node that is not in memory, and its
//! owner loads it. Leaves are shared with the checkpoint that is being written; a change copies
//! such a leaf first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::core::nodes::{NODE_ENTRIES, Node, Nodes, blocks_of, directory_of, leaf_of, slots_for};
use crate::format::{Location, NodeId};
use crate::rules::{Rule, holds};

/// Bytes of memory of a loaded leaf, and of a loaded directory.
const LEAF_MEMORY_BYTES: u64 = size_of::<Node>() as u64 + 16;
const DIRECTORY_MEMORY_BYTES: u64 = NODE_ENTRIES * size_of::<LeafSlot>() as u64;

/// A node that must be loaded before the answer is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missing(pub(crate) NodeId);

/// The map from block address to location.
#[derive(Debug, Default)]
pub(crate) struct Map {
    directories: Vec<DirectorySlot>,
    /// Leaves that changed since the last checkpoint began, each once.
    dirty_leaves: Vec<u64>,
    /// Leaves that the checkpoint in progress has taken and not yet stored.
    leaves_to_store: usize,
    loaded_leaves: usize,
    loaded_directories: usize,
    /// Directories that differ from media, or have leaves that do.
    changed_directories: usize,
    existing_leaves: u64,
    /// Empty leaves that were dropped; they count as existing until a checkpoint without them is
    /// complete.
    leaves_dropped: u64,
    /// Empty leaves in memory, which the next checkpoint drops.
    empty_leaves: u64,
    existing_directories: u64,
    mapped_blocks: u64,
    /// Places of nodes that were given up, which die with the next checkpoint.
    lost_places: Vec<Location>,
    /// Nodes and blocks that were given up, and the number of them that a checkpoint has stored.
    losses: u64,
    losses_told: u64,
    /// Where eviction continues.
    hand: u64,
}

#[derive(Debug, Default)]
struct DirectorySlot {
    stored: Location,
    dirty: bool,
    /// Whether the directory or one of its leaves differs from media.
    changed: bool,
    loaded: Option<Box<[LeafSlot]>>,
}

#[derive(Debug, Default)]
struct LeafSlot {
    stored: Location,
    leaf: Option<Arc<Node>>,
    dirty: bool,
    /// Taken by the checkpoint in progress and not yet stored: the version at `stored` is older.
    storing: bool,
    /// Used since eviction last passed.
    used: AtomicBool,
    /// Number of mapped blocks of the leaf, if it is in memory.
    filled: u16,
}

/// The copy in memory of a leaf that cannot be read on media.
#[derive(Debug)]
pub(crate) enum Rescue {
    /// The copy is the same as on media.
    Kept(Arc<Node>),
    /// The copy has changed: the next checkpoint writes it.
    Later,
    Gone,
}

impl Map {
    /// An empty map for `blocks` blocks.
    pub(crate) fn new(blocks: u64) -> Map {
        Map::stored_at(blocks, &[], 0, 0)
    }

    /// A map for `blocks` blocks with the directories at these places, `leaves` leaves, and nothing
    /// else mapped.
    pub(crate) fn stored_at(
        blocks: u64,
        directories: &[Location],
        leaves: u64,
        mapped_blocks: u64,
    ) -> Map {
        let mut map = Map { mapped_blocks, existing_leaves: leaves, ..Map::default() };
        map.resize(blocks);
        for (slot, stored) in map.directories.iter_mut().zip(directories) {
            slot.stored = *stored;
            map.existing_directories += u64::from(!stored.is_none());
        }
        map
    }

    /// Makes room for `blocks` blocks.
    pub(crate) fn resize(&mut self, blocks: u64) {
        let directories = directory_of(leaf_of(blocks.saturating_sub(1))) + 1;
        // Directories beyond a smaller end stay, and count as live, until the drive is opened
        // again.
        let directories = self.directories.len().max(directories as usize);
        self.directories.resize_with(directories, DirectorySlot::default);
    }

    /// The place of a block.
    pub(crate) fn get(&self, block: u64) -> Result<Location, Missing> {
        Ok(match self.slot(leaf_of(block))? {
            None => Location::NONE,
            // Unmapped, or lost.
            Some(LeafSlot { stored, leaf: None, .. }) if !stored.is_record() => *stored,
            Some(slot) => {
                let leaf = slot.leaf.as_ref().ok_or(Missing(NodeId::Leaf(leaf_of(block))))?;
                slot.used.store(true, Ordering::Relaxed);
                Location::from_word(leaf[(block % NODE_ENTRIES) as usize])
            }
        })
    }

    /// The first node that must be loaded before all of `blocks` can be read or set.
    pub(crate) fn missing(&self, blocks: std::ops::Range<u64>) -> Option<Missing> {
        let leaves = leaf_of(blocks.start)..=leaf_of(blocks.end.saturating_sub(1));
        leaves.into_iter().find_map(|leaf| match self.slot(leaf) {
            Err(missing) => Some(missing),
            Ok(Some(slot)) if slot.leaf.is_none() && slot.stored.is_record() => {
                Some(Missing(NodeId::Leaf(leaf)))
            }
            Ok(_) => None,
        })
    }

    /// Maps a block to `location`; returns its former place.
    pub(crate) fn set(&mut self, block: u64, location: Location) -> Result<Location, Missing> {
        let number = leaf_of(block);
        let directory_number = directory_of(number);
        let directory = &mut self.directories[directory_number as usize];
        if directory.loaded.is_none() {
            self.loaded_directories +=
                usize::from(directory.stored.is_none() && !location.is_none());
            match (directory.stored.is_none(), location.is_none()) {
                (false, _) => return Err(Missing(NodeId::Directory(directory_number))),
                (true, true) => return Ok(Location::NONE),
                (true, false) => self.existing_directories += 1,
            }
        }
        let slot = &mut directory.leaves()[(number % NODE_ENTRIES) as usize];
        if slot.leaf.is_none() {
            match (slot.stored, location) {
                (stored, _) if stored.is_record() => {
                    return Err(Missing(NodeId::Leaf(number)));
                }
                (stored, location) if stored == location => return Ok(location),
                _ => {}
            }
            slot.put_leaf(Arc::new([slot.stored.word(); NODE_ENTRIES as usize]));
            self.empty_leaves += u64::from(slot.filled == 0);
            self.loaded_leaves += 1;
            self.existing_leaves += 1;
        }
        let Some(leaf) = &mut slot.leaf else { return Err(Missing(NodeId::Leaf(number))) };
        let index = (block % NODE_ENTRIES) as usize;
        let former = Location::from_word(leaf[index]);
        if former == location {
            return Ok(former);
        }
        Arc::make_mut(leaf)[index] = location.word();
        let was_empty = slot.filled == 0;
        slot.filled += u16::from(former.is_none());
        slot.filled -= u16::from(location.is_none());
        self.empty_leaves -= u64::from(was_empty);
        self.empty_leaves += u64::from(slot.filled == 0);
        *slot.used.get_mut() = true;
        if !std::mem::replace(&mut slot.dirty, true) {
            self.dirty_leaves.push(number);
            self.note_change(directory_number);
        }
        self.mapped_blocks += u64::from(former.is_none());
        // It is not known which lost blocks were counted.
        self.mapped_blocks = self.mapped_blocks.saturating_sub(u64::from(location.is_none()));
        Ok(former)
    }

    /// Whether a run of blocks has no node, so that none of them is mapped. Loads nothing.
    pub(crate) fn is_hole(&self, blocks: std::ops::Range<u64>) -> bool {
        let leaves = leaf_of(blocks.start)..=leaf_of(blocks.end.saturating_sub(1));
        leaves.into_iter().all(|leaf| match self.slot(leaf) {
            Err(_) => false,
            Ok(slot) => slot.is_none_or(|slot| slot.leaf.is_none() && slot.stored.is_none()),
        })
    }

    /// Whether any of these blocks is mapped; a node that is not loaded counts as mapped.
    pub(crate) fn holds_any(&self, blocks: std::ops::Range<u64>) -> bool {
        blocks.into_iter().any(|block| self.get(block) != Ok(Location::NONE))
    }

    /// The place at which a node was last stored; for a leaf, its directory must be loaded.
    pub(crate) fn stored(&self, node: NodeId) -> Result<Location, Missing> {
        Ok(match node {
            NodeId::Directory(number) => {
                self.directories.get(number as usize).map_or(Location::NONE, |slot| slot.stored)
            }
            NodeId::Leaf(number) => self.slot(number)?.map_or(Location::NONE, |slot| slot.stored),
        })
    }

    /// Adds a node that was read from `place`, unless it is loaded already or lies elsewhere:
    /// meanwhile other threads may have loaded it, changed it, stored it anew and evicted it.
    pub(crate) fn load(&mut self, node: NodeId, place: Location, words: Box<Node>) {
        if self.stored(node) != Ok(place) {
            return;
        }
        match node {
            NodeId::Directory(number) => self.load_directory(number, &words),
            NodeId::Leaf(number) => {
                let directory = self.directory_mut(directory_of(number));
                let slot = &mut directory[(number % NODE_ENTRIES) as usize];
                if slot.leaf.is_none() {
                    slot.put_leaf(Arc::from(words));
                    let is_empty = slot.filled == 0;
                    self.empty_leaves += u64::from(is_empty);
                    self.loaded_leaves += 1;
                }
            }
        }
    }

    fn load_directory(&mut self, number: u64, words: &Node) {
        let Some(slot) = self.directories.get_mut(number as usize) else { return };
        if slot.loaded.is_some() {
            return;
        }
        let leaf = |&word| LeafSlot { stored: Location::from_word(word), ..LeafSlot::default() };
        slot.loaded = Some(words.iter().map(leaf).collect());
        self.loaded_directories += 1;
    }

    /// Gives up a node that cannot be read at `place`, with everything in it.
    pub(crate) fn lose(&mut self, node: NodeId, place: Location) {
        if self.stored(node) != Ok(place) {
            return;
        }
        self.losses += 1;
        let number = match node {
            NodeId::Directory(number) => {
                self.load_directory(number, &[Location::LOST.word(); NODE_ENTRIES as usize]);
                number
            }
            NodeId::Leaf(number) => {
                let directory = self.directory_mut(directory_of(number));
                let slot = &mut directory[(number % NODE_ENTRIES) as usize];
                if slot.leaf.is_some() {
                    return;
                }
                slot.stored = Location::LOST;
                self.leaves_dropped += 1;
                self.lost_places.push(place);
                directory_of(number)
            }
        };
        self.directories[number as usize].dirty = true;
        self.note_change(number);
    }

    /// Notes that a directory or one of its leaves differs from media.
    fn note_change(&mut self, number: u64) {
        let slot = &mut self.directories[number as usize];
        self.changed_directories += usize::from(!std::mem::replace(&mut slot.changed, true));
    }

    /// Notes that a block was given up.
    pub(crate) fn note_loss(&mut self) {
        self.losses += 1;
    }

    /// Number of nodes and blocks that were given up.
    pub(crate) fn losses(&self) -> u64 {
        self.losses
    }

    /// Notes that a checkpoint has stored this number of losses.
    pub(crate) fn losses_told(&mut self, losses: u64) {
        self.losses_told = losses;
    }

    /// Whether nodes were given up that no checkpoint has stored yet: on media, they are unchanged.
    pub(crate) fn has_untold_losses(&self) -> bool {
        self.losses > self.losses_told
    }

    /// The copy in memory of a leaf that cannot be read on media: it need not be lost.
    pub(crate) fn rescue(&self, leaf: u64) -> Rescue {
        match self.slot(leaf) {
            Ok(Some(LeafSlot { leaf: Some(leaf), dirty: false, storing: false, .. })) => {
                Rescue::Kept(Arc::clone(leaf))
            }
            Ok(Some(LeafSlot { leaf: Some(_), .. })) => Rescue::Later,
            _ => Rescue::Gone,
        }
    }

    /// Makes the next checkpoint rewrite a node; returns false if the node is not in memory.
    pub(crate) fn touch(&mut self, node: NodeId) -> bool {
        match node {
            NodeId::Directory(number) => {
                let Some(slot) = self.directories.get_mut(number as usize) else { return true };
                slot.dirty |= slot.loaded.is_some();
                slot.loaded.is_some()
            }
            NodeId::Leaf(number) => {
                if !matches!(self.slot(number), Ok(Some(slot)) if slot.leaf.is_some()) {
                    return false;
                }
                let directory = self.directory_mut(directory_of(number));
                let slot = &mut directory[(number % NODE_ENTRIES) as usize];
                if !std::mem::replace(&mut slot.dirty, true) {
                    self.dirty_leaves.push(number);
                }
                true
            }
        }
    }

    /// Takes the places of the nodes that were given up.
    pub(crate) fn take_lost_places(&mut self) -> Vec<Location> {
        std::mem::take(&mut self.lost_places)
    }

    /// Forgets places in segments without live records.
    pub(crate) fn forget_lost_places(&mut self, segments: &[u32]) {
        self.lost_places.retain(|place| !segments.contains(&place.segment()));
    }

    /// Takes the changed leaves, in order, with their contents; they count as clean from now on.
    pub(crate) fn take_dirty(&mut self) -> Vec<(u64, Arc<Node>)> {
        let mut numbers = std::mem::take(&mut self.dirty_leaves);
        numbers.sort_unstable();
        let mut dirty = Vec::with_capacity(numbers.len());
        for number in numbers {
            let directory = self.directory_mut(directory_of(number));
            let slot = &mut directory[(number % NODE_ENTRIES) as usize];
            (slot.dirty, slot.storing) = (false, true);
            if let Some(leaf) = &slot.leaf {
                dirty.push((number, Arc::clone(leaf)));
            }
        }
        self.leaves_to_store = dirty.len();
        dirty
    }

    /// Notes the place of a node on media; returns its former place.
    pub(crate) fn set_stored(&mut self, node: NodeId, location: Location) -> Location {
        match node {
            NodeId::Directory(number) => {
                let slot = &mut self.directories[number as usize];
                slot.dirty = false;
                let mut leaves = slot.loaded.iter().flatten();
                if slot.changed && !leaves.any(|leaf| leaf.dirty || leaf.storing) {
                    slot.changed = false;
                    self.changed_directories -= 1;
                }
                std::mem::replace(&mut slot.stored, location)
            }
            NodeId::Leaf(number) => {
                let directory_number = directory_of(number);
                let slot =
                    &mut self.directory_mut(directory_number)[(number % NODE_ENTRIES) as usize];
                slot.storing = false;
                let former = std::mem::replace(&mut slot.stored, location);
                self.leaves_to_store = self.leaves_to_store.saturating_sub(1);
                self.directories[directory_number as usize].dirty = true;
                self.note_change(directory_number);
                former
            }
        }
    }

    /// Drops a directory without content that is the same on media. The caller holds the log's
    /// lock, as for [`Map::evict`].
    pub(crate) fn release_if_empty(&mut self, number: u64) {
        let slot = &mut self.directories[number as usize];
        let may_go = !slot.dirty && slot.stored.is_record() && slot.is_empty();
        if may_go && slot.loaded.take().is_some() {
            self.loaded_directories -= 1;
        }
    }

    /// Notes that a leaf was copied unchanged; returns its former place.
    pub(crate) fn move_leaf(&mut self, number: u64, location: Location) -> Location {
        let directory_number = directory_of(number);
        let directory = self.directory_mut(directory_number);
        let slot = &mut directory[(number % NODE_ENTRIES) as usize];
        let former = std::mem::replace(&mut slot.stored, location);
        self.directories[directory_number as usize].dirty = true;
        self.note_change(directory_number);
        former
    }

    /// Number of directories that differ from media.
    pub(crate) fn dirty_directory_count(&self) -> usize {
        self.directories.iter().filter(|slot| slot.dirty).count()
    }

    /// Drops an empty leaf that is not stored; returns whether it did.
    pub(crate) fn drop_if_empty(&mut self, number: u64) -> bool {
        let directory = self.directory_mut(directory_of(number));
        let slot = &mut directory[(number % NODE_ENTRIES) as usize];
        let is_empty = slot.leaf.is_some() && slot.filled == 0;
        let drops = is_empty && !slot.dirty && slot.stored.is_none();
        if drops {
            slot.leaf = None;
            self.empty_leaves -= 1;
            self.loaded_leaves -= 1;
            self.leaves_dropped += 1;
        }
        drops
    }

    /// Number of empty leaves, which the next checkpoint drops.
    pub(crate) fn empty_leaves(&self) -> u64 {
        self.empty_leaves
    }

    /// Notes that a checkpoint is complete: leaves dropped before it began need no room any more.
    pub(crate) fn forget_dropped(&mut self, dropped: u64) {
        self.leaves_dropped -= dropped;
        self.existing_leaves = self.existing_leaves.saturating_sub(dropped);
    }

    /// Number of leaves that were dropped and still count.
    pub(crate) fn dropped_leaves(&self) -> u64 {
        self.leaves_dropped
    }

    /// Directories whose leaves moved, with their contents for media.
    pub(crate) fn dirty_directories(&self) -> Vec<(u64, Node)> {
        let slots = self.directories.iter().enumerate().filter(|(_, slot)| slot.dirty);
        slots
            .filter_map(|(number, slot)| {
                let mut node = [0; NODE_ENTRIES as usize];
                for (word, leaf) in node.iter_mut().zip(slot.loaded.as_ref()?) {
                    *word = leaf.stored.word();
                }
                Some((number as u64, node))
            })
            .collect()
    }

    /// The place of each directory.
    pub(crate) fn stored_directories(&self) -> Vec<Location> {
        self.directories.iter().map(|slot| slot.stored).collect()
    }

    /// Drops clean nodes, least recently used leaves first, until they take at most `bytes` or one
    /// round is done. Returns the bytes that nodes still take.
    pub(crate) fn evict(&mut self, bytes: u64) -> u64 {
        let end = self.directories.len() as u64 * NODE_ENTRIES;
        // Twice past every slot in memory, and no further than to where only changed nodes are
        // left.
        let steps = 2 * NODE_ENTRIES * (self.loaded_directories as u64 + 1);
        let least = bytes.max(self.dirty_bytes());
        for _ in 0..steps {
            if self.node_bytes() <= least {
                break;
            }
            self.hand = if self.hand + 1 >= end { 0 } else { self.hand + 1 };
            if self.hand.is_multiple_of(NODE_ENTRIES) {
                if self.hand > 0 {
                    self.evict_directory(directory_of(self.hand - 1));
                }
                self.skip_unloaded_directories(end);
            }
            self.evict_at_hand();
        }
        self.node_bytes()
    }

    /// Drops a directory without leaves in memory that is the same on media.
    fn evict_directory(&mut self, number: u64) {
        let slot = &mut self.directories[number as usize];
        let Some(leaves) = &slot.loaded else { return };
        let is_at_rest = |leaf: &LeafSlot| leaf.leaf.is_none() && !leaf.dirty;
        if !slot.dirty && slot.stored.is_record() && leaves.iter().all(is_at_rest) {
            slot.loaded = None;
            self.loaded_directories -= 1;
        }
    }

    /// Bytes of memory of loaded nodes.
    pub(crate) fn node_bytes(&self) -> u64 {
        self.loaded_leaves as u64 * LEAF_MEMORY_BYTES
            + self.loaded_directories as u64 * DIRECTORY_MEMORY_BYTES
    }

    /// Bytes of nodes that cannot be dropped before a checkpoint.
    pub(crate) fn dirty_bytes(&self) -> u64 {
        self.unstored_leaves() as u64 * LEAF_MEMORY_BYTES
            + self.changed_directories as u64 * DIRECTORY_MEMORY_BYTES
    }

    fn skip_unloaded_directories(&mut self, end: u64) {
        let is_loaded = |hand: u64| self.directories[directory_of(hand) as usize].loaded.is_some();
        let mut hand = self.hand;
        while hand < end && !is_loaded(hand) {
            hand += NODE_ENTRIES;
        }
        self.hand = if hand < end { hand } else { 0 };
    }

    fn evict_at_hand(&mut self) {
        let (directory, index) = (directory_of(self.hand), self.hand % NODE_ENTRIES);
        let Some(leaves) = &mut self.directories[directory as usize].loaded else { return };
        let slot = &mut leaves[index as usize];
        let is_stored = !slot.storing || !holds(Rule::StoredBeforeEvicted);
        let is_clean = is_stored && !slot.dirty && slot.stored.is_record() && slot.leaf.is_some();
        if is_clean && !std::mem::replace(slot.used.get_mut(), false) {
            slot.leaf = None;
            self.empty_leaves -= u64::from(slot.filled == 0);
            self.loaded_leaves -= 1;
        }
    }

    /// Number of leaves that changed since the last checkpoint began.
    pub(crate) fn dirty_leaf_count(&self) -> usize {
        self.dirty_leaves.len()
    }

    /// Number of leaves that differ from media: those that changed, and those that the checkpoint
    /// in progress has yet to store.
    pub(crate) fn unstored_leaves(&self) -> usize {
        self.dirty_leaves.len() + self.leaves_to_store
    }

    /// Number of nodes.
    pub(crate) fn nodes(&self) -> Nodes {
        Nodes {
            leaves: self.existing_leaves,
            directories: self.existing_directories,
            slots: self.directories.len() as u64,
        }
    }

    /// Number of nodes if all of `blocks` were written.
    pub(crate) fn nodes_with(&self, blocks: std::ops::Range<u64>) -> Nodes {
        let (first, last) = (leaf_of(blocks.start), leaf_of(blocks.end.saturating_sub(1)));
        let is_new = |leaf: &u64| match self.slot(*leaf) {
            Ok(slot) => slot.is_none_or(|slot| slot.leaf.is_none() && !slot.stored.is_record()),
            Err(_) => false,
        };
        let leaves = (first..=last).filter(is_new).count() as u64;
        let directories = (directory_of(first)..=directory_of(last))
            .filter(|&number| !self.has_directory(number));
        let directories = directories.count() as u64;
        let nodes = self.nodes();
        Nodes {
            leaves: nodes.leaves + leaves,
            directories: nodes.directories + directories,
            ..nodes
        }
    }

    /// Number of nodes if all of `blocks` were discarded. A lost leaf of which a part remains lost
    /// is created to tell which.
    pub(crate) fn nodes_with_discarded(&self, blocks: std::ops::Range<u64>) -> Nodes {
        let [first, last] = self.lost_ends(&blocks);
        let is_one = leaf_of(blocks.start) == leaf_of(blocks.end.saturating_sub(1));
        let come_back = u64::from(first) + u64::from(last && !is_one);
        let nodes = self.nodes();
        Nodes { leaves: nodes.leaves + come_back, ..nodes }
    }

    /// These blocks without those at either end that lie in a lost leaf of which a part remains
    /// lost.
    pub(crate) fn without_lost_ends(&self, blocks: std::ops::Range<u64>) -> std::ops::Range<u64> {
        let [first, last] = self.lost_ends(&blocks);
        let end_of_first = blocks_of(NodeId::Leaf(leaf_of(blocks.start))).end;
        let start_of_last = blocks_of(NodeId::Leaf(leaf_of(blocks.end.saturating_sub(1)))).start;
        let start = if first { end_of_first } else { blocks.start };
        let end = if last { start_of_last } else { blocks.end };
        start..end.max(start)
    }

    /// Whether the first and the last leaf are lost, and have blocks other than these.
    fn lost_ends(&self, blocks: &std::ops::Range<u64>) -> [bool; 2] {
        [blocks.start, blocks.end.saturating_sub(1)]
            .map(leaf_of)
            .map(|leaf| self.is_lost(leaf) && !covers(blocks, leaf))
    }

    /// Whether a leaf was given up, and nothing of it was written since.
    fn is_lost(&self, leaf: u64) -> bool {
        let is_lost = |slot: &LeafSlot| slot.leaf.is_none() && slot.stored == Location::LOST;
        self.slot(leaf).is_ok_and(|slot| slot.is_some_and(is_lost))
    }

    /// Forgets a lost leaf all of whose blocks are discarded; returns false if it is none.
    pub(crate) fn forget_lost(&mut self, leaf: u64, blocks: &std::ops::Range<u64>) -> bool {
        let forgets = self.is_lost(leaf) && covers(blocks, leaf);
        if forgets {
            let number = directory_of(leaf);
            self.directory_mut(number)[(leaf % NODE_ENTRIES) as usize].stored = Location::NONE;
            self.directories[number as usize].dirty = true;
            self.note_change(number);
        }
        forgets
    }

    /// Number of nodes, with directories for `blocks` blocks.
    pub(crate) fn nodes_for(&self, blocks: u64) -> Nodes {
        let slots = slots_for(blocks);
        Nodes { slots: slots.max(self.directories.len() as u64), ..self.nodes() }
    }

    /// Whether a directory exists; if it does not, nothing in it is mapped.
    pub(crate) fn has_directory(&self, number: u64) -> bool {
        let slot = self.directories.get(number as usize);
        slot.is_some_and(|slot| slot.loaded.is_some() || !slot.stored.is_none())
    }

    /// Number of mapped blocks.
    pub(crate) fn mapped_blocks(&self) -> u64 {
        self.mapped_blocks
    }

    /// Bytes of memory of the nodes and lists.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let lists =
            self.directories.len() * size_of::<DirectorySlot>() + self.dirty_leaves.len() * 8;
        self.node_bytes() + lists as u64
    }

    fn slot(&self, leaf: u64) -> Result<Option<&LeafSlot>, Missing> {
        let number = directory_of(leaf);
        let Some(directory) = self.directories.get(number as usize) else { return Ok(None) };
        match &directory.loaded {
            Some(leaves) => Ok(Some(&leaves[(leaf % NODE_ENTRIES) as usize])),
            None if directory.stored.is_none() => Ok(None),
            None => Err(Missing(NodeId::Directory(number))),
        }
    }

    /// A directory's leaves, created if it does not exist. Only for a directory that is loaded or
    /// empty.
    fn directory_mut(&mut self, number: u64) -> &mut [LeafSlot] {
        self.existing_directories += u64::from(!self.has_directory(number));
        self.loaded_directories += usize::from(self.directories[number as usize].loaded.is_none());
        self.directories[number as usize].leaves()
    }
}

/// Whether all blocks of a leaf are among these.
fn covers(blocks: &std::ops::Range<u64>, leaf: u64) -> bool {
    let all = blocks_of(NodeId::Leaf(leaf));
    blocks.start <= all.start && all.end <= blocks.end
}

impl LeafSlot {
    fn put_leaf(&mut self, leaf: Arc<Node>) {
        self.filled = leaf.iter().filter(|&&word| word != 0).count() as u16;
        self.leaf = Some(leaf);
    }
}

impl DirectorySlot {
    /// Whether none of its leaves has content, in memory or on media.
    fn is_empty(&self) -> bool {
        let holds_nothing = |leaf: &LeafSlot| {
            leaf.leaf.is_none() && leaf.stored.is_none() && !leaf.dirty && !leaf.storing
        };
        !self.changed && self.loaded.iter().flatten().all(holds_nothing)
    }

    fn leaves(&mut self) -> &mut [LeafSlot] {
        let empty = || (0..NODE_ENTRIES).map(|_| LeafSlot::default()).collect();
        self.loaded.get_or_insert_with(empty)
    }
}

#[cfg(test)]
mod tests;
