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

use crate::layout::{Location, NodeId};

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
    loaded_leaves: usize,
    existing_leaves: u64,
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
        if self.get(block)? == location {
            return Ok(location);
        }
        let directory = self.directory_mut(directory_of(number));
        let slot = &mut directory[(number % NODE_ENTRIES) as usize];
        let is_new = slot.leaf.is_none();
        let leaf = slot.leaf.get_or_insert_with(|| Arc::new([0; NODE_ENTRIES as usize]));
        let entry = &mut Arc::make_mut(leaf)[(block % NODE_ENTRIES) as usize];
        let former = Location::from_word(std::mem::replace(entry, location.word()));
        let becomes_dirty = !std::mem::replace(&mut slot.dirty, true);
        self.loaded_leaves += usize::from(is_new);
        self.existing_leaves += u64::from(is_new);
        if becomes_dirty {
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

    /// Leaves and directories that exist, as far as their directories were loaded.
    pub(crate) fn existing_nodes(&self) -> u64 {
        self.existing_leaves + self.directories.len() as u64
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
        let empty = || (0..NODE_ENTRIES).map(|_| LeafSlot::default()).collect();
        self.directories[number as usize].loaded.get_or_insert_with(empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(offset: u32) -> Location {
        Location::new(1, offset, 100, false)
    }

    #[test]
    fn what_was_set_is_found_and_memory_follows_what_is_written() {
        let mut map = Map::new(10 * NODE_ENTRIES * NODE_ENTRIES, &[], 0);
        assert_eq!(map.get(5), Ok(Location::NONE));
        let nothing = map.memory_bytes();
        assert_eq!(map.set(5, place(64)), Ok(Location::NONE));
        assert_eq!(map.set(5, place(999)), Ok(place(64)));
        assert_eq!((map.get(5), map.get(6)), (Ok(place(999)), Ok(Location::NONE)));
        assert_eq!((map.mapped_blocks(), map.loaded_leaves()), (1, 1));
        assert!(map.memory_bytes() - nothing < 20_000);
    }

    #[test]
    fn a_stored_map_is_loaded_node_by_node() {
        let mut map = Map::new(NODE_ENTRIES * NODE_ENTRIES, &[place(1)], 1);
        let directory = NodeId::Directory(0);
        assert_eq!(map.get(700), Err(Missing(directory)));
        let mut words = [0; 512];
        words[1] = place(2).word();
        map.load(directory, place(1), Box::new(words));
        assert_eq!(map.get(3), Ok(Location::NONE));
        assert_eq!(map.get(700), Err(Missing(NodeId::Leaf(1))));
        assert_eq!(map.missing(0..1024), Some(Missing(NodeId::Leaf(1))));
        assert_eq!(map.stored(NodeId::Leaf(1)), Ok(place(2)));
        let mut words = [0; 512];
        words[700 - 512] = place(3).word();
        map.load(NodeId::Leaf(1), place(2), Box::new(words));
        assert_eq!((map.get(700), map.missing(0..1024)), (Ok(place(3)), None));
        assert!(map.take_dirty().is_empty());
    }

    #[test]
    fn what_was_read_from_a_former_place_is_not_taken_in() {
        let mut map = Map::new(NODE_ENTRIES, &[], 0);
        map.set(1, place(1)).unwrap();
        let old = Box::new(*map.take_dirty()[0].1);
        map.set_stored(NodeId::Leaf(0), place(2));
        map.set(1, place(3)).unwrap();
        map.take_dirty();
        map.set_stored(NodeId::Leaf(0), place(4));
        map.evict(0);
        map.load(NodeId::Leaf(0), place(2), old);
        assert_eq!(map.get(1), Err(Missing(NodeId::Leaf(0))));
    }

    #[test]
    fn a_checkpoint_keeps_what_it_took_while_the_map_goes_on() {
        let mut map = Map::new(NODE_ENTRIES, &[], 0);
        map.set(1, place(1)).unwrap();
        let taken = map.take_dirty();
        map.set(1, place(2)).unwrap();
        assert_eq!(taken[0].1[1], place(1).word());
        assert_eq!(map.get(1), Ok(place(2)));
        assert_eq!(map.set_stored(NodeId::Leaf(0), place(9)), Location::NONE);
        assert_eq!(map.dirty_directories()[0].1[0], place(9).word());
        assert_eq!(map.take_dirty().len(), 1, "changed since, so due again");
    }

    #[test]
    fn only_clean_stored_leaves_are_evicted() {
        let mut map = Map::new(4 * NODE_ENTRIES, &[], 0);
        for leaf in 0..4 {
            map.set(leaf * NODE_ENTRIES, place(1)).unwrap();
        }
        assert_eq!(map.evict(0), 4);
        map.take_dirty();
        for leaf in 0..3 {
            map.set_stored(NodeId::Leaf(leaf), place(7));
        }
        map.set(0, place(2)).unwrap();
        assert_eq!(map.evict(0), 2);
        assert_eq!(map.get(0), Ok(place(2)));
        assert_eq!(map.get(NODE_ENTRIES), Err(Missing(NodeId::Leaf(1))));
    }

    #[test]
    fn an_emptied_leaf_gives_its_memory_back() {
        let mut map = Map::new(NODE_ENTRIES, &[], 0);
        map.set(1, place(1)).unwrap();
        map.set(1, Location::NONE).unwrap();
        map.drop_if_empty(0);
        assert_eq!(map.loaded_leaves(), 1, "still due");
        map.take_dirty();
        map.drop_if_empty(0);
        assert_eq!((map.loaded_leaves(), map.mapped_blocks()), (0, 0));
        assert!(map.is_hole(0..512));
    }
}
