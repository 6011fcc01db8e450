//! Writes that are not durable yet, in order.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use assay_disk::{BLOCK_BYTES, Disk, Result};

/// Bytes of a block, for slices.
pub(super) const BLOCK: usize = BLOCK_BYTES as usize;

/// One command that changed blocks.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Written data; `None` for a discard, after which the blocks read as zeroes.
    pub(super) data: Option<Arc<[u8]>>,
    /// Whether it was durable when it was answered.
    pub(super) is_forced: bool,
}

impl Entry {
    fn blocks(&self) -> std::ops::Range<u64> {
        self.offset / BLOCK_BYTES..(self.offset + self.length) / BLOCK_BYTES
    }

    /// The new contents of a block.
    pub(super) fn block(&self, block: u64) -> Option<&[u8]> {
        let at = (block * BLOCK_BYTES - self.offset) as usize;
        self.data.as_ref().map(|data| &data[at..at + BLOCK])
    }

    /// Makes the command durable.
    pub(super) fn write_to(&self, below: &dyn Disk) -> Result<()> {
        match &self.data {
            Some(data) => below.write(self.offset, data, false),
            None => below.discard(self.offset, self.length),
        }
    }
}

/// The commands that are not durable yet.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: VecDeque<Entry>,
    /// The last command that changed each block, counted from the first there ever was.
    newest: HashMap<u64, u64>,
    /// Number of commands before the first of `entries`.
    gone: u64,
    bytes: u64,
}

impl Cache {
    /// Bytes in the cache.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn put(&mut self, entry: Entry) {
        let number = self.gone + self.entries.len() as u64;
        self.newest.extend(entry.blocks().map(|block| (block, number)));
        self.bytes += entry.data.as_ref().map_or(0, |data| data.len() as u64);
        self.entries.push_back(entry);
    }

    /// Puts cached data over `data`, which were read from below.
    pub(super) fn overlay(&self, offset: u64, data: &mut [u8]) {
        if self.entries.is_empty() {
            return;
        }
        for (block, out) in (offset / BLOCK_BYTES..).zip(data.chunks_mut(BLOCK)) {
            let Some(number) = self.newest.get(&block) else { continue };
            match self.entries[(number - self.gone) as usize].block(block) {
                Some(bytes) => out.copy_from_slice(bytes),
                None => out.fill(0),
            }
        }
    }

    /// Makes the oldest command durable.
    pub(super) fn retire(&mut self, below: &dyn Disk) -> Result<()> {
        let Some(entry) = self.entries.pop_front() else { return Ok(()) };
        for block in entry.blocks() {
            if self.newest.get(&block) == Some(&self.gone) {
                self.newest.remove(&block);
            }
        }
        self.gone += 1;
        self.bytes -= entry.data.as_ref().map_or(0, |data| data.len() as u64);
        entry.write_to(below)
    }

    /// Makes all commands durable.
    pub(super) fn retire_all(&mut self, below: &dyn Disk) -> Result<()> {
        while !self.entries.is_empty() {
            self.retire(below)?;
        }
        Ok(())
    }

    /// Takes all commands, in order.
    pub(super) fn take(&mut self) -> VecDeque<Entry> {
        std::mem::take(self).entries
    }
}
