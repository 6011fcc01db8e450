//! Reconciles the map's remaining nodes with the segments' tables.
//!
//! A node lists the place of each of its blocks, or that the block was not mapped, when the node
//! was complete. So it knows discards whose entries are gone, and records whose chunk no longer
//! lists them. Later changes are in the tables. If the newest version of a node cannot be read,
//! discards in it are unknown, which is reported.

use std::collections::HashMap;
use std::ops::Range;

use crate::core::apply::apply;
use crate::core::map::Map;
use crate::core::nodes::{NODE_ENTRIES, Node};
use crate::core::space::{Space, State};
use crate::format::{Entry, Location, NodeId, Op, Root, UNIT_BLOCKS};
use crate::shell::parts::Shell;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// The chunk that first held a block's contents, and the chunk that holds them now.
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

/// The newest record of each node: the number up to which it is complete, and its place.
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

/// The map during a rebuild.
pub(crate) struct Rebuilt {
    /// Blocks of the drive. Blocks behind the end were given up when it was made smaller.
    pub(crate) blocks: u64,
    pub(crate) map: Map,
    pub(crate) space: Space,
    pub(crate) versions: Versions,
}

impl Rebuilt {
    /// Enters a record where it is newer than the map's.
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

    /// Maps one block; a unit is accounted for with the first of its blocks.
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

    /// Enters the blocks of a leaf that is complete up to `complete_seq`.
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
                // Its chunk cannot be read, or lists something else.
                if self.space.get(place.segment()).state == State::Free {
                    self.space.quarantine(place.segment());
                }
                *self.versions.of(block) = (complete_seq, complete_seq);
                self.put(block, place);
            }
        }
    }

    /// Unmaps the older blocks of a leaf that a directory does not have.
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

    /// Marks the older blocks of a lost leaf as lost until they are written anew.
    fn lose_leaf(&mut self, leaf: u64, complete_seq: u64) {
        let blocks = leaf * NODE_ENTRIES..((leaf + 1) * NODE_ENTRIES).min(self.blocks);
        for block in blocks {
            if self.versions.get(block).0 <= complete_seq {
                self.put(block, Location::LOST);
            }
        }
    }

    /// Reconciles the map with all nodes; `nodes` are those in the segments' tables. Returns the
    /// ranges of blocks whose newest node cannot be read.
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

/// Enters the directories of a root, which are complete up to its checkpoint.
fn enter_directories(root: &Root, nodes: &mut Nodes) {
    for (number, place) in (0..).zip(&root.body.directories) {
        if !place.is_none() {
            newest(nodes, NodeId::Directory(number), root.body.checkpoint_seq, *place);
        }
    }
}

/// Reads a node; `None` if it cannot be read.
fn try_node(shell: &Shell, id: NodeId, place: Location) -> Result<Option<Box<Node>>> {
    match shell.workers.with(|worker| shell.map.read_node(id, place, worker)) {
        Ok(words) => Ok(Some(words)),
        Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Blocks of a node, on a drive of `blocks` blocks.
fn blocks_of(id: NodeId, blocks: u64) -> Range<u64> {
    let (number, each) = match id {
        NodeId::Leaf(number) => (number, NODE_ENTRIES),
        NodeId::Directory(number) => (number, NODE_ENTRIES * NODE_ENTRIES),
    };
    (number * each).min(blocks)..((number + 1) * each).min(blocks)
}

/// The health-log lines for blocks whose node is lost; `was` names the changes that only the node
/// knew.
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
