//! The map: block address to location, in memory as far as it is needed.
//!
//! A radix tree of two levels under a list of directories: a leaf holds 512 blocks (2 MiB), a directory 512 leaves
//! (1 GiB). What was never written has no node, so memory follows written space: 4 KiB and a slot of 24 B a leaf,
//! 8.1 B a block. Nodes that were stored by a checkpoint are loaded when they are first asked for, and clean ones
//! can be evicted again.
//!
//! The map does no input or output: where a node is needed that is not in memory, it says which, and its owner
//! loads it. Leaves are shared with the checkpoint that is being written; a change copies such a leaf first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_disk::BLOCK_BYTES;
use crate::format::{Location, NodeId};

/// Entries of a node.
pub(crate) const NODE_ENTRIES: u64 = 512;

/// Words of a leaf (locations of blocks) or of a directory (locations of leaves).
pub(crate) type Node = [u64; NODE_ENTRIES as usize];

/// A node that must be loaded before the question can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missing(pub(crate) NodeId);

/// Block address to location.
#[derive(Debug, Default)]
pub(crate) struct Map {
    directories: Vec<DirectorySlot>,
    /// Leaves that changed since the last checkpoint began; each once.
    dirty_leaves: Vec<u64>,
    /// Leaves that the checkpoint in progress has taken and not yet stored.
    leaves_to_store: usize,
    loaded_leaves: usize,
    existing_leaves: u64,
    existing_directories: u64,
    mapped_blocks: u64,
    /// Where eviction looks next.
    hand: u64,
}

#[derive(Debug, Default)]
struct DirectorySlot {
    stored: Location,
    dirty: bool,
    loaded: Option<Box<[LeafSlot]>>,
}

#[derive(Debug, Default)]
struct LeafSlot {
    stored: Location,
    leaf: Option<Arc<Node>>,
    dirty: bool,
    /// Asked for since eviction last passed.
    used: AtomicBool,
}

/// Number of the leaf that holds a block.
pub(crate) const fn leaf_of(block: u64) -> u64 {
    block / NODE_ENTRIES
}

/// Number of the directory that holds a leaf.
pub(crate) const fn directory_of(leaf: u64) -> u64 {
    leaf / NODE_ENTRIES
}

impl Map {
    /// A map for `blocks` blocks whose directories lie at `directories`; the rest is unmapped.
    pub(crate) fn new(blocks: u64, directories: &[Location], mapped_blocks: u64) -> Map {
        let mut map = Map { mapped_blocks, ..Map::default() };
        map.resize(blocks);
        for (slot, stored) in map.directories.iter_mut().zip(directories) {
            slot.stored = *stored;
            map.existing_directories += u64::from(!stored.is_none());
        }
        map
    }

    /// Makes room for `blocks` blocks; directories beyond are dropped.
    pub(crate) fn resize(&mut self, blocks: u64) {
        let directories = directory_of(leaf_of(blocks.saturating_sub(1))) + 1;
        self.directories.resize_with(directories as usize, DirectorySlot::default);
    }

    /// Where a block lies.
    pub(crate) fn get(&self, block: u64) -> Result<Location, Missing> {
        Ok(match self.slot(leaf_of(block))? {
            None => Location::NONE,
            Some(LeafSlot { stored: Location::NONE, leaf: None, .. }) => Location::NONE,
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
            Ok(Some(slot)) if slot.leaf.is_none() && !slot.stored.is_none() => {
                Some(Missing(NodeId::Leaf(leaf)))
            }
            Ok(_) => None,
        })
    }

    /// Puts a block at `location` and gives its former one.
    pub(crate) fn set(&mut self, block: u64, location: Location) -> Result<Location, Missing> {
        let number = leaf_of(block);
        let directory_number = directory_of(number);
        let directory = &mut self.directories[directory_number as usize];
        if directory.loaded.is_none() {
            match (directory.stored.is_none(), location.is_none()) {
                (false, _) => return Err(Missing(NodeId::Directory(directory_number))),
                (true, true) => return Ok(Location::NONE),
                (true, false) => self.existing_directories += 1,
            }
        }
        let slot = &mut directory.leaves()[(number % NODE_ENTRIES) as usize];
        if slot.leaf.is_none() {
            match (slot.stored.is_none(), location.is_none()) {
                (false, _) => return Err(Missing(NodeId::Leaf(number))),
                (true, true) => return Ok(Location::NONE),
                (true, false) => {}
            }
            slot.leaf = Some(Arc::new([0; NODE_ENTRIES as usize]));
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
        *slot.used.get_mut() = true;
        if !std::mem::replace(&mut slot.dirty, true) {
            self.dirty_leaves.push(number);
        }
        self.mapped_blocks += u64::from(former.is_none());
        self.mapped_blocks -= u64::from(location.is_none());
        Ok(former)
    }

    /// Whether a run of blocks has no node at all, so that nothing in it can be mapped; without loading any.
    pub(crate) fn is_hole(&self, blocks: std::ops::Range<u64>) -> bool {
        let leaves = leaf_of(blocks.start)..=leaf_of(blocks.end.saturating_sub(1));
        leaves.into_iter().all(|leaf| match self.slot(leaf) {
            Err(_) => false,
            Ok(slot) => slot.is_none_or(|slot| slot.leaf.is_none() && slot.stored.is_none()),
        })
    }

    /// Where a node was last stored, if it was; for a leaf its directory must be loaded.
    pub(crate) fn stored(&self, node: NodeId) -> Result<Location, Missing> {
        Ok(match node {
            NodeId::Directory(number) => {
                self.directories.get(number as usize).map_or(Location::NONE, |slot| slot.stored)
            }
            NodeId::Leaf(number) => self.slot(number)?.map_or(Location::NONE, |slot| slot.stored),
        })
    }

    /// Takes in a node that was read from `place`, unless it is there already or lies elsewhere by now: while it
    /// was read, others may have loaded it, changed it, stored it anew and evicted it.
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
                    slot.leaf = Some(Arc::from(words));
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
        self.existing_leaves += words.iter().filter(|&&word| word != 0).count() as u64;
    }

    /// The leaves that changed since this was last asked, in order, with their content; they count as clean from now.
    pub(crate) fn take_dirty(&mut self) -> Vec<(u64, Arc<Node>)> {
        let mut numbers = std::mem::take(&mut self.dirty_leaves);
        numbers.sort_unstable();
        let mut dirty = Vec::with_capacity(numbers.len());
        for number in numbers {
            let directory = self.directory_mut(directory_of(number));
            let slot = &mut directory[(number % NODE_ENTRIES) as usize];
            slot.dirty = false;
            if let Some(leaf) = &slot.leaf {
                dirty.push((number, Arc::clone(leaf)));
            }
        }
        self.leaves_to_store = dirty.len();
        dirty
    }

    /// Notes where a node now lies on media and gives its former place.
    pub(crate) fn set_stored(&mut self, node: NodeId, location: Location) -> Location {
        match node {
            NodeId::Directory(number) => {
                let slot = &mut self.directories[number as usize];
                slot.dirty = false;
                std::mem::replace(&mut slot.stored, location)
            }
            NodeId::Leaf(number) => {
                let directory_number = directory_of(number);
                let slot =
                    &mut self.directory_mut(directory_number)[(number % NODE_ENTRIES) as usize];
                let former = std::mem::replace(&mut slot.stored, location);
                self.leaves_to_store = self.leaves_to_store.saturating_sub(1);
                self.directories[directory_number as usize].dirty = true;
                former
            }
        }
    }

    /// Drops a leaf that holds nothing and is not stored.
    pub(crate) fn drop_if_empty(&mut self, number: u64) {
        let directory = self.directory_mut(directory_of(number));
        let slot = &mut directory[(number % NODE_ENTRIES) as usize];
        let is_empty = slot.leaf.as_ref().is_some_and(|leaf| leaf.iter().all(|&word| word == 0));
        if is_empty && !slot.dirty && slot.stored.is_none() {
            slot.leaf = None;
            self.loaded_leaves -= 1;
            self.existing_leaves -= 1;
        }
    }

    /// Directories whose leaves moved, with their content for media.
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

    /// Where each directory lies.
    pub(crate) fn stored_directories(&self) -> Vec<Location> {
        self.directories.iter().map(|slot| slot.stored).collect()
    }

    /// Makes a stored node due for the next checkpoint, so that its present place is given up; it must be loaded.
    pub(crate) fn touch(&mut self, node: NodeId) -> Result<(), Missing> {
        match node {
            NodeId::Directory(number) => {
                let slot = &mut self.directories[number as usize];
                if slot.loaded.is_none() && !slot.stored.is_none() {
                    return Err(Missing(node));
                }
                slot.dirty = true;
            }
            NodeId::Leaf(number) => {
                if let Some(missing) =
                    self.missing(number * NODE_ENTRIES..number * NODE_ENTRIES + 1)
                {
                    return Err(missing);
                }
                let directory = self.directory_mut(directory_of(number));
                let slot = &mut directory[(number % NODE_ENTRIES) as usize];
                if slot.leaf.is_some() && !std::mem::replace(&mut slot.dirty, true) {
                    self.dirty_leaves.push(number);
                }
            }
        }
        Ok(())
    }

    /// Drops clean leaves, those not asked for lately first, until at most `leaves` are loaded or one round is done.
    /// Gives how many are loaded still.
    pub(crate) fn evict(&mut self, leaves: usize) -> usize {
        let end = self.directories.len() as u64 * NODE_ENTRIES;
        for _ in 0..2 * end {
            if self.loaded_leaves <= leaves {
                break;
            }
            self.hand = if self.hand + 1 >= end { 0 } else { self.hand + 1 };
            if self.hand.is_multiple_of(NODE_ENTRIES) {
                self.skip_unloaded_directories(end);
            }
            self.evict_at_hand();
        }
        self.loaded_leaves
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
        let is_clean = !slot.dirty && !slot.stored.is_none() && slot.leaf.is_some();
        if is_clean && !std::mem::replace(slot.used.get_mut(), false) {
            slot.leaf = None;
            self.loaded_leaves -= 1;
        }
    }

    /// Leaves in memory.
    pub(crate) fn loaded_leaves(&self) -> usize {
        self.loaded_leaves
    }

    /// Leaves that changed since the last checkpoint began.
    pub(crate) fn dirty_leaf_count(&self) -> usize {
        self.dirty_leaves.len()
    }

    /// Leaves that are not on media as they are: those that changed, and those that the checkpoint in progress has still to
    /// store.
    pub(crate) fn unstored_leaves(&self) -> usize {
        self.dirty_leaves.len() + self.leaves_to_store
    }

    /// What the map may take on media, as far as its directories were loaded, in bytes: each node that exists once as it
    /// is and once as it will be, and likewise the root's word for each directory that there may be.
    pub(crate) fn media_bytes(&self) -> u64 {
        let nodes = self.existing_leaves + self.existing_directories;
        2 * (BLOCK_BYTES * nodes + 8 * self.directories.len() as u64)
    }

    /// The same of a map without a block.
    pub(crate) fn least_media_bytes(&self) -> u64 {
        16 * self.directories.len() as u64
    }

    /// The same with directories for so many blocks.
    pub(crate) fn media_bytes_with(&self, blocks: u64) -> u64 {
        let directories = blocks.div_ceil(NODE_ENTRIES * NODE_ENTRIES);
        self.media_bytes() + 16 * directories.saturating_sub(self.directories.len() as u64)
    }

    /// What would come to that if all of `blocks` were written.
    pub(crate) fn media_bytes_more(&self, blocks: std::ops::Range<u64>) -> u64 {
        let (first, last) = (leaf_of(blocks.start), leaf_of(blocks.end.saturating_sub(1)));
        let is_new = |leaf: &u64| self.is_hole(leaf * NODE_ENTRIES..(leaf + 1) * NODE_ENTRIES);
        let leaves = (first..=last).filter(is_new).count() as u64;
        let directories = (directory_of(first)..=directory_of(last))
            .filter(|&number| !self.has_directory(number));
        2 * BLOCK_BYTES * (leaves + directories.count() as u64)
    }

    /// Whether a directory exists; where it does not, nothing in it is mapped.
    pub(crate) fn has_directory(&self, number: u64) -> bool {
        let slot = self.directories.get(number as usize);
        slot.is_some_and(|slot| slot.loaded.is_some() || !slot.stored.is_none())
    }

    /// Blocks that have a record.
    pub(crate) fn mapped_blocks(&self) -> u64 {
        self.mapped_blocks
    }

    /// Bytes of memory that the nodes take.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let directories = self.directories.iter().filter(|slot| slot.loaded.is_some()).count();
        let slots = directories * NODE_ENTRIES as usize * size_of::<LeafSlot>()
            + self.directories.len() * size_of::<DirectorySlot>();
        (slots + self.loaded_leaves * (size_of::<Node>() + 16) + self.dirty_leaves.len() * 8) as u64
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

    /// A directory's leaves; made if it does not exist. Only called where it is loaded or empty.
    fn directory_mut(&mut self, number: u64) -> &mut [LeafSlot] {
        self.existing_directories += u64::from(!self.has_directory(number));
        self.directories[number as usize].leaves()
    }
}

impl DirectorySlot {
    fn leaves(&mut self) -> &mut [LeafSlot] {
        let empty = || (0..NODE_ENTRIES).map(|_| LeafSlot::default()).collect();
        self.loaded.get_or_insert_with(empty)
    }
}

#[cfg(test)]
mod tests;
