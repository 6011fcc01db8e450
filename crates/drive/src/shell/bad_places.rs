//! Bad places of the media: a chunk of the map's stream restores one lost block from its parity,
//! and a segment with a bad place is remembered until it is opened anew.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use assay_disk::BLOCK_BYTES;

use crate::format::parity_of;
use crate::sync::{Mutex, whole};

const BLOCK: usize = BLOCK_BYTES as usize;

/// A chunk's bytes, and the numbers of its blocks that could not be read.
pub(crate) struct ReadChunk {
    pub(crate) bytes: Vec<u8>,
    pub(crate) unreadable: Vec<usize>,
}

impl ReadChunk {
    pub(crate) fn blocks(&self) -> usize {
        self.bytes.len() / BLOCK
    }

    /// Restores one block from the others: the unreadable one, or the first of `candidates` with
    /// which the chunk `fits`.
    pub(crate) fn restore(
        &mut self,
        candidates: Range<usize>,
        fits: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<u8>> {
        let candidates: Vec<usize> = match self.unreadable[..] {
            [] => candidates.collect(),
            [one] => vec![one],
            _ => return None,
        };
        candidates.into_iter().find_map(|block| {
            let mut bytes = self.bytes.clone();
            let place = block * BLOCK..(block + 1) * BLOCK;
            bytes.get_mut(place.clone())?.fill(0);
            let mut restored = [0; BLOCK];
            parity_of(&bytes, &mut restored);
            bytes[place].copy_from_slice(&restored);
            fits(&bytes).then_some(bytes)
        })
    }
}

/// Segments with a place that could not be read, each with the number by which it was opened.
/// Shared by all attempts to open one drive.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unreadable(Arc<Mutex<HashSet<(u32, u64)>>>);

impl Unreadable {
    pub(crate) fn note(&self, segment: u32, opened_seq: u64) {
        whole(self.0.lock()).insert((segment, opened_seq));
    }

    pub(crate) fn has(&self, segment: u32, opened_seq: u64) -> bool {
        whole(self.0.lock()).contains(&(segment, opened_seq))
    }
}
