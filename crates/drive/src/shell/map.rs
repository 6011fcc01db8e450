//! The map that threads share: its lock, and the nodes that are loaded when needed and dropped
//! beyond the memory limit.
//!
//! If a node cannot be read or restored from the parity of its chunk, a reader gets an error. A
//! writer gives the node up: its blocks are lost one by one until they are written.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_disk::{BLOCK_BYTES, DiskError, Result};

use crate::core::map::{Map, Missing};
use crate::core::nodes::{NODE_ENTRIES, Node, blocks_of, directory_of};
use crate::format::{Location, NodeId, Op, UNIT_BLOCKS};
use crate::shell::log::SharedLog;
use crate::shell::media::Media;
use crate::shell::pins::Pins;
use crate::shell::records::Records;
use crate::shell::worker::{Worker, Workers};
use crate::status::Counters;
use crate::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, whole};

/// The map under its lock. Loads nodes from media.
pub(crate) struct SharedMap {
    media: Arc<Media>,
    log: Arc<SharedLog>,
    records: Arc<Records>,
    pins: Arc<Pins>,
    workers: Arc<Workers>,
    state: RwLock<Map>,
    /// Size that the host sees, in bytes.
    logical_bytes: AtomicU64,
    /// Memory for nodes, in bytes; `None`: no limit.
    memory_bytes: Option<u64>,
}

impl SharedMap {
    pub(crate) fn new(
        media: Arc<Media>,
        log: Arc<SharedLog>,
        records: Arc<Records>,
        pins: Arc<Pins>,
        workers: Arc<Workers>,
        state: Map,
        memory_bytes: Option<u64>,
    ) -> SharedMap {
        let logical_bytes = AtomicU64::new(media.identity.logical_bytes);
        let state = RwLock::new(state);
        SharedMap { media, log, records, pins, workers, state, logical_bytes, memory_bytes }
    }

    /// Locks the map for reading.
    pub(crate) fn read(&self) -> Result<RwLockReadGuard<'_, Map>> {
        self.state.read().map_err(|_| self.media.health.stop_after_panic())
    }

    /// Locks the map for writing.
    pub(crate) fn write(&self) -> Result<RwLockWriteGuard<'_, Map>> {
        self.state.write().map_err(|_| self.media.health.stop_after_panic())
    }

    /// Locks the map for reading, also after a panic.
    pub(crate) fn read_unchecked(&self) -> RwLockReadGuard<'_, Map> {
        whole(self.state.read())
    }

    /// Size that the host sees, in bytes.
    pub(crate) fn logical_bytes(&self) -> u64 {
        self.logical_bytes.load(Ordering::Acquire)
    }

    pub(crate) fn set_logical_bytes(&self, bytes: u64) {
        self.logical_bytes.store(bytes, Ordering::Release);
    }

    /// Blocks that the host sees.
    pub(crate) fn blocks(&self) -> u64 {
        self.logical_bytes() / BLOCK_BYTES
    }

    /// Loads the nodes for `blocks`.
    ///
    /// # Errors
    /// [`DiskError::Corrupt`] if a node cannot be read; the map is unchanged then.
    pub(crate) fn load(&self, blocks: Range<u64>) -> Result<()> {
        loop {
            let missing = self.read()?.missing(blocks.clone());
            match missing {
                Some(Missing(node)) => self.load_node(node)?,
                None => return Ok(()),
            }
        }
    }

    /// Loads the nodes for blocks that are about to change. A node that cannot be read is given up,
    /// so that its blocks can be written.
    pub(crate) fn load_to_change(&self, blocks: Range<u64>) -> Result<()> {
        loop {
            let missing = self.read()?.missing(blocks.clone());
            match missing {
                Some(Missing(node)) => self.load_or_lose(node)?,
                None => return Ok(()),
            }
        }
    }

    /// Reads a stored node, and its directory if needed.
    pub(crate) fn load_node(&self, node: NodeId) -> Result<()> {
        self.try_load_node(node).map_err(|failure| failure.error)
    }

    /// Like [`SharedMap::load_node`], but gives up a node that cannot be read.
    pub(crate) fn load_or_lose(&self, node: NodeId) -> Result<()> {
        match self.try_load_node(node) {
            Err(Failure { at: Some((node, place)), error }) => {
                if matches!(error, DiskError::Io(_)) {
                    self.media.check_alive()?;
                }
                self.lose_node(node, place, &error.to_string())
            }
            Err(Failure { error, .. }) => Err(error),
            Ok(()) => Ok(()),
        }
    }

    fn try_load_node(&self, node: NodeId) -> Result<(), Failure> {
        let stored = {
            let map = self.read()?;
            let stored = map.stored(node);
            if let Ok(place) = stored
                && place.is_record()
            {
                self.pins.pin(place);
            }
            stored
        };
        let place = match stored {
            Ok(place) if !place.is_record() => return Ok(()),
            Ok(place) => place,
            Err(Missing(directory)) => return self.try_load_node(directory),
        };
        let words = self.workers.with(|worker| self.read_node(node, place, worker));
        self.pins.unpin(place);
        match words {
            Ok(words) => {
                self.write()?.load(node, place, words);
                Ok(())
            }
            Err(error @ (DiskError::Corrupt { .. } | DiskError::Io(_))) => {
                Err(Failure { at: Some((node, place)), error })
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn read_node(
        &self,
        node: NodeId,
        place: Location,
        worker: &mut Worker,
    ) -> Result<Box<Node>> {
        let mut bytes = vec![0; BLOCK_BYTES as usize];
        let key = Op::Node { complete_seq: 0 }.context_key(node.word());
        match self.records.read(place, key, &mut bytes, worker) {
            Ok(()) => {}
            Err(DiskError::Io(_)) if self.records.read(place, key, &mut bytes, worker).is_ok() => {}
            Err(error @ (DiskError::Corrupt { .. } | DiskError::Io(_))) => {
                let Some(record) = self.records.restored(place, key)? else {
                    return Err(self.unreadable_node(node, error));
                };
                self.records
                    .decode(&record, place, key, &mut bytes, &mut worker.coder)
                    .map_err(|what| DiskError::Corrupt { offset: 0, what })?;
            }
            Err(other) => return Err(other),
        }
        let words = self.node_of(node, &bytes);
        let what = "it points outside the drive".into();
        words.ok_or_else(|| self.unreadable_node(node, DiskError::Corrupt { offset: 0, what }))
    }

    /// Decodes a node; `None` if one of its words cannot be a place on this drive.
    pub(crate) fn node_of(&self, node: NodeId, bytes: &[u8]) -> Option<Box<Node>> {
        let mut words = Box::new([0; NODE_ENTRIES as usize]);
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let is_leaf = matches!(node, NodeId::Leaf(_));
        let fits = |(index, word): (u64, &u64)| {
            let place = Location::from_word(*word);
            if place == Location::LOST {
                return true;
            }
            let in_its_unit = !place.is_unit() || (is_leaf && place.index() == index % UNIT_BLOCKS);
            self.media.identity.can_hold(place) && in_its_unit
        };
        (0..).zip(words.iter()).all(fits).then_some(words)
    }

    /// The error for a node that cannot be read, at the first byte of its range.
    fn unreadable_node(&self, node: NodeId, error: DiskError) -> DiskError {
        let DiskError::Corrupt { what, .. } = error else { return error };
        let offset = blocks_of(node).start * BLOCK_BYTES;
        self.records.damaged(offset, &format!("the map's node for it: {what}"))
    }

    /// Makes the next checkpoint rewrite all nodes that lie in a segment. They are found in the
    /// map, because some of the segment's tables cannot be read.
    pub(crate) fn touch_nodes_in(&self, number: u32) -> Result<()> {
        let directories = self.read()?.stored_directories();
        for (directory, place) in (0..).zip(directories).filter(|(_, place)| place.is_record()) {
            if place.segment() == number {
                self.touch_node(NodeId::Directory(directory))?;
            }
            for leaf in directory * NODE_ENTRIES..(directory + 1) * NODE_ENTRIES {
                let place = self.place_of(NodeId::Leaf(leaf))?;
                if place.is_record() && place.segment() == number {
                    self.touch_node(NodeId::Leaf(leaf))?;
                }
            }
        }
        Ok(())
    }

    /// Makes the next checkpoint rewrite a node, or gives the node up. A directory is rewritten by
    /// the checkpoint in progress, if there is one.
    pub(crate) fn touch_node(&self, node: NodeId) -> Result<()> {
        loop {
            self.load_or_lose(node)?;
            // The log's lock keeps the loaded node in memory.
            let _log = self.log.lock()?;
            let mut map = self.write()?;
            if map.touch(node) || !map.stored(node).is_ok_and(Location::is_record) {
                return Ok(());
            }
        }
    }

    /// The place of the newest version of a node.
    pub(crate) fn place_of(&self, node: NodeId) -> Result<Location> {
        loop {
            let stored = self.read()?.stored(node);
            match stored {
                Ok(place) => return Ok(place),
                Err(Missing(directory)) => self.load_or_lose(directory)?,
            }
        }
    }

    /// The next leaf behind `number`, which is a hole; skips a directory without content in one
    /// step.
    pub(crate) fn next_leaf_behind_hole(&self, number: u64) -> Result<u64> {
        let behind = (directory_of(number) + 1) * NODE_ENTRIES;
        let rest = number * NODE_ENTRIES..behind * NODE_ENTRIES;
        let map = self.read()?;
        let is_empty = !map.has_directory(directory_of(number)) || map.is_hole(rest);
        Ok(if is_empty { behind } else { number + 1 })
    }

    /// Gives up a node that cannot be read: its blocks are lost until they are overwritten or
    /// discarded.
    pub(crate) fn lose_node(&self, node: NodeId, place: Location, what: &str) -> Result<()> {
        Counters::add(&self.media.counters.damaged_records, 1);
        let blocks = blocks_of(node);
        let (first, end) = (blocks.start * BLOCK_BYTES, blocks.end * BLOCK_BYTES);
        self.media.health.report(format!(
            "the map is damaged: data written from byte {first} to {end} is lost \
             until it is overwritten ({what})"
        ));
        let _log = self.log.lock()?;
        self.write()?.lose(node, place);
        Ok(())
    }
    /// Drops clean nodes beyond the memory limit.
    pub(crate) fn evict(&self) -> Result<()> {
        let Some(bytes) = self.memory_bytes else { return Ok(()) };
        if self.read()?.node_bytes() > bytes {
            // The log's lock keeps leaves in memory while a host write uses them.
            let _log = self.log.lock()?;
            self.write()?.evict(bytes);
        }
        Ok(())
    }
}

/// The reason for a node not being loaded, with its place if the node itself cannot be read.
struct Failure {
    at: Option<(NodeId, Location)>,
    error: DiskError,
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Failure {
        Failure { at: None, error }
    }
}
