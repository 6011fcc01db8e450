//! Nodes of the map in memory: loaded when they are first asked for, dropped beyond the memory that the map may take.
//!
//! A node that cannot be read, and that its chunk's parity does not restore, is an error to who reads, and given up for who
//! writes: its blocks are lost one by one until they are written.

use std::ops::Range;

use assay_disk::{BLOCK_BYTES, DiskError, Result};

use crate::core::map::Missing;
use crate::core::nodes::{NODE_ENTRIES, Node, blocks_of};
use crate::format::{Location, NodeId, Op, UNIT_BLOCKS};
use crate::shell::drive::Drive;
use crate::shell::worker::Worker;

impl Drive {
    /// Loads what is missing of the map for `blocks`.
    ///
    /// # Errors
    /// [`DiskError::Corrupt`] where a node cannot be read, which changes nothing.
    pub(crate) fn load_nodes(&self, blocks: Range<u64>) -> Result<()> {
        loop {
            let missing = self.map()?.missing(blocks.clone());
            match missing {
                Some(Missing(node)) => self.load_node(node)?,
                None => return Ok(()),
            }
        }
    }

    /// The same for what is about to change: a node that cannot be read is given up, so that its blocks can be written.
    pub(crate) fn load_nodes_to_change(&self, blocks: Range<u64>) -> Result<()> {
        loop {
            let missing = self.map()?.missing(blocks.clone());
            match missing {
                Some(Missing(node)) => self.load_or_lose(node)?,
                None => return Ok(()),
            }
        }
    }

    /// Reads a node of the map that was stored, and the directory above it if need be.
    pub(crate) fn load_node(&self, node: NodeId) -> Result<()> {
        self.try_load_node(node).map_err(|failure| failure.error)
    }

    /// The same, but gives up what cannot be read.
    pub(crate) fn load_or_lose(&self, node: NodeId) -> Result<()> {
        match self.try_load_node(node) {
            Err(Failure { at: Some((node, place)), error }) => {
                if matches!(error, DiskError::Io(_)) {
                    self.media_lives()?;
                }
                self.lose_node(node, place, &error.to_string())
            }
            Err(Failure { error, .. }) => Err(error),
            Ok(()) => Ok(()),
        }
    }

    fn try_load_node(&self, node: NodeId) -> Result<(), Failure> {
        let stored = {
            let map = self.map()?;
            let stored = map.stored(node);
            if let Ok(place) = stored
                && place.is_record()
            {
                self.pin(place);
            }
            stored
        };
        let place = match stored {
            Ok(place) if !place.is_record() => return Ok(()),
            Ok(place) => place,
            Err(Missing(directory)) => return self.try_load_node(directory),
        };
        let words = self.workers.with(|worker| self.read_node(node, place, worker));
        self.unpin(place);
        match words {
            Ok(words) => {
                self.map_mut()?.load(node, place, words);
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
        match self.read_record(place, key, &mut bytes, worker) {
            Ok(()) => {}
            Err(DiskError::Io(_)) if self.read_record(place, key, &mut bytes, worker).is_ok() => {}
            Err(error @ (DiskError::Corrupt { .. } | DiskError::Io(_))) => {
                let Some(record) = self.restored_record(place, key)? else {
                    return Err(self.unreadable_node(node, error));
                };
                self.decode_record(&record, place, key, &mut bytes, &mut worker.coder)
                    .map_err(|what| DiskError::Corrupt { offset: 0, what })?;
            }
            Err(other) => return Err(other),
        }
        let words = self.node_of(node, &bytes);
        let what = "it points outside the drive".into();
        words.ok_or_else(|| self.unreadable_node(node, DiskError::Corrupt { offset: 0, what }))
    }

    /// A node from its bytes; nothing if one of its words cannot be a place on this drive.
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
            self.is_possible(place) && in_its_unit
        };
        (0..).zip(words.iter()).all(fits).then_some(words)
    }

    /// What is said of a node that cannot be read, by the first byte that it is for.
    fn unreadable_node(&self, node: NodeId, error: DiskError) -> DiskError {
        let DiskError::Corrupt { what, .. } = error else { return error };
        let offset = blocks_of(node).start * BLOCK_BYTES;
        self.damaged(offset, &format!("the map's node for it: {what}"))
    }

    /// Drops clean nodes beyond the memory that the map may take.
    pub(crate) fn evict_map(&self) -> Result<()> {
        let Some(bytes) = self.options.map_bytes else { return Ok(()) };
        if self.map()?.node_bytes() > bytes {
            // The log's lock keeps leaves in place while a host write uses them.
            let _log = self.log()?;
            self.map_mut()?.evict(bytes);
        }
        Ok(())
    }
}

/// Why a node is not loaded: where it lies, if it is that which cannot be read.
struct Failure {
    at: Option<(NodeId, Location)>,
    error: DiskError,
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Failure {
        Failure { at: None, error }
    }
}
