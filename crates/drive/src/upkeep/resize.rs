//! Changing the logical size: nothing that is written is given up, and a map for the new size always fits its checkpoints.

use std::ops::Range;
use std::sync::atomic::Ordering;

use assay_disk::{BLOCK_BYTES, Disk, DiskError, Result};

use crate::core::budget::Budget;
use crate::core::nodes::{NODE_ENTRIES, slots_for};
use crate::format::{Identity, Location};
use crate::shell::drive::Drive;

impl Drive {
    /// Changes the logical size.
    ///
    /// # Errors
    /// [`DiskError::OutOfRange`] when blocks beyond the new end are in use, or the size cannot be; [`DiskError::Full`] when
    /// there is no room for what the larger map takes. Nothing has changed then.
    pub fn resize(&self, logical_bytes: u64) -> Result<()> {
        self.writable()?;
        let former = self.size();
        let grows = logical_bytes > former;
        let resized = Identity { logical_bytes, ..self.identity };
        let may_grow = || {
            logical_bytes <= self.identity.logical_bytes_most()
                && Budget::new(&resized).has_nameable_root(slots_for(logical_bytes / BLOCK_BYTES))
        };
        let possible = resized.is_possible() && logical_bytes > 0 && (!grows || may_grow());
        if !possible || !(grows || self.is_free_beyond(logical_bytes)?) {
            return Err(DiskError::OutOfRange { offset: logical_bytes, length: 0, size: former });
        }
        self.begin_incarnation()?;
        {
            let mut log = self.log()?;
            let mut map = self.map_mut()?;
            let blocks = logical_bytes.max(former) / BLOCK_BYTES;
            if grows && !log.space.admits_map(map.nodes_for(blocks)) {
                return Err(DiskError::Full);
            }
            map.resize(blocks);
            log.space.note_nodes(map.nodes());
            self.logical_bytes.store(logical_bytes, Ordering::Release);
        }
        self.forget_lost_behind(former / BLOCK_BYTES)?;
        self.checkpoint(&mut self.maintenance())
    }

    /// A node that was lost at the drive's former end speaks for blocks behind it, too: they were never written.
    fn forget_lost_behind(&self, former_blocks: u64) -> Result<()> {
        let directory = NODE_ENTRIES * NODE_ENTRIES;
        let end = (former_blocks.div_ceil(directory) * directory).min(self.blocks());
        self.discard_blocks(former_blocks, end.saturating_sub(former_blocks))
    }

    /// Whether nothing is written from `logical_bytes` on.
    fn is_free_beyond(&self, logical_bytes: u64) -> Result<bool> {
        Ok(self.highest_block()?.is_none_or(|block| (block + 1) * BLOCK_BYTES <= logical_bytes))
    }

    /// The last block that is mapped.
    fn highest_block(&self) -> Result<Option<u64>> {
        let blocks = self.blocks();
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
            if let Some(block) = self.highest_block_of(range)? {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// The last block of a leaf that is mapped. What cannot be read, or was lost, may hold something until it is written or
    /// discarded.
    fn highest_block_of(&self, leaf: Range<u64>) -> Result<Option<u64>> {
        loop {
            match self.load_nodes(leaf.clone()) {
                Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => {
                    self.media_lives()?;
                    return Ok(leaf.last());
                }
                loaded => loaded?,
            }
            let map = self.map()?;
            // Else it was dropped again, for the memory it takes.
            if map.missing(leaf.clone()).is_none() {
                return Ok(leaf.rev().find(|block| map.get(*block) != Ok(Location::NONE)));
            }
        }
    }
}
