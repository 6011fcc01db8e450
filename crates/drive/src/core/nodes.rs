//! The nodes of the map: leaves of 512 locations, directories of 512 leaves, and their numbers.

use crate::format::NodeId;

/// Entries of a node.
pub(crate) const NODE_ENTRIES: u64 = 512;

/// Words of a leaf (locations of blocks) or of a directory (locations of leaves).
pub(crate) type Node = [u64; NODE_ENTRIES as usize];

/// Number of the leaf that holds a block.
pub(crate) const fn leaf_of(block: u64) -> u64 {
    block / NODE_ENTRIES
}

/// Number of the directory that holds a leaf.
pub(crate) const fn directory_of(leaf: u64) -> u64 {
    leaf / NODE_ENTRIES
}

/// Directories for `blocks` blocks.
pub(crate) const fn slots_for(blocks: u64) -> u64 {
    blocks.div_ceil(NODE_ENTRIES * NODE_ENTRIES)
}

/// Blocks that a node covers.
pub(crate) const fn blocks_of(node: NodeId) -> std::ops::Range<u64> {
    let (number, each) = match node {
        NodeId::Leaf(number) => (number, NODE_ENTRIES),
        NodeId::Directory(number) => (number, NODE_ENTRIES * NODE_ENTRIES),
    };
    number * each..(number + 1) * each
}

/// Number of nodes of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Nodes {
    pub(crate) leaves: u64,
    pub(crate) directories: u64,
    /// Directories that may exist: the root has a word for each.
    pub(crate) slots: u64,
}

impl Nodes {
    /// The sum of leaves and directories.
    pub(crate) fn and(self, more: Nodes) -> Nodes {
        Nodes {
            leaves: self.leaves + more.leaves,
            directories: self.directories + more.directories,
            ..self
        }
    }

    /// The difference of leaves and directories.
    pub(crate) fn without(self, fewer: Nodes) -> Nodes {
        Nodes {
            leaves: self.leaves.saturating_sub(fewer.leaves),
            directories: self.directories.saturating_sub(fewer.directories),
            ..self
        }
    }
}
