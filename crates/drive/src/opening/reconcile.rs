//! What the map's nodes still tell, put together with what the segments' tables say.
//!
//! A node says of each of its blocks where it lay, or that it was not mapped, when the node was complete. So it knows of
//! discards whose entries are gone, and of records whose chunk no longer tells of them. What came later is in the
//! tables. Where the newest version of a node cannot be read, nothing knows what was discarded there: that is told.

use std::collections::HashMap;
use std::ops::Range;

use crate::core::apply::apply;
use crate::core::map::Map;
use crate::core::nodes::{NODE_ENTRIES, Node};
use crate::core::space::{Space, State};
use crate::format::{Entry, Location, NodeId, Op, Root, UNIT_BLOCKS};
use crate::shell::parts::Shell;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// When a block got what it holds: the chunk that first held it, and the chunk that holds it now.
pub(crate) type Version = (u64, u64);

/// Newest version of each block, by leaf.
#[derive(Default)]
pub(crate) struct Versions(HashMap<u64, Box<[Version]>>);

impl Versions {
    fn of(&mut self, block: u64) -> &mut Version {
        let empty = || vec![(0, 0); NODE_ENTRIES as usize].into();
        let leaf = self.0.entry(block / NODE_ENTRIES).or_insert_with(empty);
        &mut leaf[(block % NODE_ENTRIES) as usize]
    }

    fn get(&self, block: u64) -> Version {
        let leaf = self.0.get(&(block / NODE_ENTRIES));
        leaf.map_or((0, 0), |leaf| leaf[(block % NODE_ENTRIES) as usize])
    }

    fn knows_leaf(&self, leaf: u64) -> bool {
        self.0.contains_key(&leaf)
    }
}

/// The newest record of each node: up to which number it is complete, and where it lies.
pub(crate) type Nodes = HashMap<NodeId, (u64, Location)>;

/// Enters a node or dictionary, unless a newer one is known.
pub(crate) fn newest<K: std::hash::Hash + Eq>(
    all: &mut HashMap<K, (u64, Location)>,
    key: K,
    seq: u64,
    place: Location,
) {
    let slot = all.entry(key).or_insert((seq, place));
    if seq >= slot.0 {
        *slot = (seq, place);
    }
}

/// The map as it is being rebuilt.
pub(crate) struct Rebuilt {
    /// Blocks of the drive: what lies behind the end was given up when it was made smaller.
    pub(crate) blocks: u64,
    pub(crate) map: Map,
    pub(crate) space: Space,
    pub(crate) versions: Versions,
}

impl Rebuilt {
    /// Puts a record into the map where it is newer than what is there.
    pub(crate) fn enter(&mut self, entry: &Entry, place: Location, version: Version) {
        let unit = place.is_unit();
        let count = match entry.op {
            Op::Zero => u64::from(entry.length),
            _ if unit => UNIT_BLOCKS,
            _ => 1,
        };
        for index in 0..count.min(self.blocks.saturating_sub(entry.key)) {
            let block = entry.key + index;
            let present = self.versions.of(block);
            if version < *present {
                continue;
            }
            *present = version;
            let place =
                if place.is_none() { place } else { place.at_index(if unit { index } else { 0 }) };
            self.put(block, place);
        }
    }

    /// Maps one block; a unit is booked with the first of its blocks that is.
    fn put(&mut self, block: u64, place: Location) {
        if place.is_record() {
            let siblings = 0..if place.is_unit() { UNIT_BLOCKS } else { 1 };
            let first = block - place.index();
            let is_booked = siblings
                .into_iter()
                .any(|index| self.map.get(first + index) == Ok(place.at_index(index)));
            if !is_booked {
                self.space.add(place);
            }
        }
        crate::core::apply::put(&mut self.map, &mut self.space, block, place).ok();
    }

    /// What a leaf that is complete up to `complete_seq` says of its blocks.
    fn reconcile(&mut self, leaf: u64, words: &Node, complete_seq: u64) {
        for (block, word) in (leaf * NODE_ENTRIES..self.blocks).zip(words) {
            let place = Location::from_word(*word);
            let (first_seq, seq) = self.versions.get(block);
            // It was written, discarded or moved since.
            if first_seq > complete_seq || (seq > complete_seq && !place.is_none()) {
                continue;
            }
            if place.is_none() {
                self.clear(block);
            } else if place == Location::LOST {
                self.put(block, place);
            } else if self.map.get(block) != Ok(place) {
                // The chunk that holds it cannot be read, or tells something else.
                if self.space.get(place.segment()).state == State::Free {
                    self.space.quarantine(place.segment());
                }
                *self.versions.of(block) = (complete_seq, complete_seq);
                self.put(block, place);
            }
        }
    }

    /// Unmaps what is older than a directory that has no such leaf.
    fn clear_leaf(&mut self, leaf: u64, complete_seq: u64) {
        if self.versions.knows_leaf(leaf) {
            let blocks = leaf * NODE_ENTRIES..((leaf + 1) * NODE_ENTRIES).min(self.blocks);
            for block in blocks {
                if self.versions.get(block).0 <= complete_seq {
                    self.clear(block);
                }
            }
        }
    }

    /// Blocks of a leaf that was lost, and are until they are written anew.
    fn lose_leaf(&mut self, leaf: u64, complete_seq: u64) {
        let blocks = leaf * NODE_ENTRIES..((leaf + 1) * NODE_ENTRIES).min(self.blocks);
        for block in blocks {
            if self.versions.get(block).0 <= complete_seq {
                self.put(block, Location::LOST);
            }
        }
    }

    /// Brings the map to what its nodes say; `nodes` are those that the segments tell of. Gives the blocks whose
    /// newest node cannot be read.
    pub(crate) fn reconcile_all(
        &mut self,
        shell: &Shell,
        mut nodes: Nodes,
        root: Option<&Root>,
    ) -> Result<Vec<Range<u64>>> {
        let mut blind = Vec::new();
        if let Some(root) = root {
            enter_directories(root, &mut nodes);
        }
        for (number, (complete_seq, place)) in directories(&nodes) {
            let Some(words) = try_node(shell, NodeId::Directory(number), place)? else {
                blind.push(blocks_of(NodeId::Directory(number), self.blocks));
                continue;
            };
            for (leaf, word) in (number * NODE_ENTRIES..).zip(&words[..]) {
                let stored = Location::from_word(*word);
                if !stored.is_none() {
                    newest(&mut nodes, NodeId::Leaf(leaf), complete_seq, stored);
                } else if nodes.get(&NodeId::Leaf(leaf)).is_none_or(|(seq, _)| *seq <= complete_seq)
                {
                    nodes.remove(&NodeId::Leaf(leaf));
                    self.clear_leaf(leaf, complete_seq);
                }
            }
        }
        for (leaf, (complete_seq, place)) in leaves(&nodes) {
            if place == Location::LOST {
                self.lose_leaf(leaf, complete_seq);
                continue;
            }
            match try_node(shell, NodeId::Leaf(leaf), place)? {
                Some(words) => self.reconcile(leaf, &words, complete_seq),
                None => blind.push(blocks_of(NodeId::Leaf(leaf), self.blocks)),
            }
        }
        blind.retain(|blocks| !blocks.is_empty());
        Ok(blind)
    }

    fn clear(&mut self, block: u64) {
        let zero = Entry { op: Op::Zero, key: block, length: 1, last: true };
        let _ = apply(&mut self.map, &mut self.space, &zero, Location::NONE);
    }
}

/// The directories that a root names, which tell what there was as of its checkpoint.
fn enter_directories(root: &Root, nodes: &mut Nodes) {
    for (number, place) in (0..).zip(&root.body.directories) {
        if !place.is_none() {
            newest(nodes, NodeId::Directory(number), root.body.checkpoint_seq, *place);
        }
    }
}

/// A node, if it can be read.
fn try_node(shell: &Shell, id: NodeId, place: Location) -> Result<Option<Box<Node>>> {
    match shell.workers.with(|worker| shell.map.read_node(id, place, worker)) {
        Ok(words) => Ok(Some(words)),
        Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Blocks that a node speaks for, of a drive that has so many.
fn blocks_of(id: NodeId, blocks: u64) -> Range<u64> {
    let (number, each) = match id {
        NodeId::Leaf(number) => (number, NODE_ENTRIES),
        NodeId::Directory(number) => (number, NODE_ENTRIES * NODE_ENTRIES),
    };
    (number * each).min(blocks)..((number + 1) * each).min(blocks)
}

/// What is told of blocks whose node is lost; `was` says what the node alone knew of.
pub(crate) fn tell_blind(blind: Vec<Range<u64>>, was: &str) -> Vec<String> {
    let text = |blocks: Range<u64>| {
        let (first, end) = (blocks.start * BLOCK_BYTES, blocks.end * BLOCK_BYTES);
        format!("the map is damaged: what was {was} from byte {first} to {end} may hold old data")
    };
    blind.into_iter().map(text).collect()
}

fn directories(nodes: &Nodes) -> Vec<(u64, (u64, Location))> {
    in_order(nodes, |id| if let NodeId::Directory(number) = id { Some(number) } else { None })
}

fn leaves(nodes: &Nodes) -> Vec<(u64, (u64, Location))> {
    in_order(nodes, |id| if let NodeId::Leaf(number) = id { Some(number) } else { None })
}

fn in_order(nodes: &Nodes, number: impl Fn(NodeId) -> Option<u64>) -> Vec<(u64, (u64, Location))> {
    let of_kind = nodes.iter().filter_map(|(id, newest)| Some((number(*id)?, *newest)));
    let mut all: Vec<_> = of_kind.collect();
    all.sort_unstable_by_key(|(number, _)| *number);
    all
}
