//! Changing the logical size: no written data is given up, and a map of the new size always fits
//! its checkpoints.

use std::ops::Range;

use assay_disk::{BLOCK_BYTES, DiskError, Result};

use crate::core::budget::Budget;
use crate::core::nodes::{NODE_ENTRIES, slots_for};
use crate::format::{Identity, Location};
use crate::writing::write::Writer;

impl Writer {
    /// Changes the logical size.
    ///
    /// # Errors
    /// [`DiskError::OutOfRange`] if blocks beyond the new end are in use, or the drive cannot have
    /// this size; [`DiskError::Full`] if there is no room for the larger map. The drive is
    /// unchanged then.
    pub(crate) fn resize(&self, logical_bytes: u64) -> Result<()> {
        let former = self.map.logical_bytes();
        let grows = logical_bytes > former;
        let resized = Identity { logical_bytes, ..self.media.identity };
        let may_grow = || {
            logical_bytes <= self.media.identity.logical_bytes_most()
                && Budget::new(&resized).has_nameable_root(slots_for(logical_bytes / BLOCK_BYTES))
        };
        let possible = resized.is_possible() && logical_bytes > 0 && (!grows || may_grow());
        if !possible || !(grows || self.is_free_beyond(logical_bytes)?) {
            return Err(DiskError::OutOfRange { offset: logical_bytes, length: 0, size: former });
        }
        self.upkeep.begin_incarnation()?;
        {
            let mut log = self.log.lock()?;
            let mut map = self.map.write()?;
            let blocks = logical_bytes.max(former) / BLOCK_BYTES;
            if grows && !log.space.admits_map(map.nodes_for(blocks)) {
                return Err(DiskError::Full);
            }
            map.resize(blocks);
            log.space.note_nodes(map.nodes());
            self.map.set_logical_bytes(logical_bytes);
        }
        self.forget_lost_behind(former / BLOCK_BYTES)?;
        self.upkeep.checkpoint()
    }

    /// Discards the blocks behind the former end whose node was lost: they were never written.
    fn forget_lost_behind(&self, former_blocks: u64) -> Result<()> {
        let directory = NODE_ENTRIES * NODE_ENTRIES;
        let end = (former_blocks.div_ceil(directory) * directory).min(self.map.blocks());
        self.discard_blocks(former_blocks, end.saturating_sub(former_blocks))
    }

    /// Whether no block from `logical_bytes` on is mapped.
    fn is_free_beyond(&self, logical_bytes: u64) -> Result<bool> {
        Ok(self.highest_block()?.is_none_or(|block| (block + 1) * BLOCK_BYTES <= logical_bytes))
    }

    /// The last mapped block.
    fn highest_block(&self) -> Result<Option<u64>> {
        let blocks = self.map.blocks();
        let directories = blocks.div_ceil(NODE_ENTRIES * NODE_ENTRIES);
        for number in (0..directories).rev() {
            if self.map.read()?.has_directory(number)
                && let Some(block) = self.highest_block_in(number, blocks)?
            {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// The last mapped block of a directory, on a drive of `blocks` blocks.
    fn highest_block_in(&self, directory: u64, blocks: u64) -> Result<Option<u64>> {
        let leaf = NODE_ENTRIES;
        let leaves = directory * NODE_ENTRIES..(directory + 1) * NODE_ENTRIES;
        for number in (leaves.start..leaves.end.min(blocks.div_ceil(leaf))).rev() {
            let range = number * leaf..((number + 1) * leaf).min(blocks);
            if self.map.read()?.is_hole(range.clone()) {
                continue;
            }
            if let Some(block) = self.highest_block_of(range)? {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// The last mapped block of a leaf. A leaf that cannot be read, or was lost, may hold data
    /// until it is written or discarded.
    fn highest_block_of(&self, leaf: Range<u64>) -> Result<Option<u64>> {
        loop {
            match self.map.load(leaf.clone()) {
                Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => {
                    self.media.check_alive()?;
                    return Ok(leaf.last());
                }
                loaded => loaded?,
            }
            let map = self.map.read()?;
            // Otherwise it was dropped again for lack of memory.
            if map.missing(leaf.clone()).is_none() {
                return Ok(leaf.rev().find(|block| map.get(*block) != Ok(Location::NONE)));
            }
        }
    }
}
