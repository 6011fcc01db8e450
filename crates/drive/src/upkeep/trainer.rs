//! Training of dictionaries, in the background, from the host's data.
//!
//! A block of 4 KiB is too short to learn from; a dictionary of 16 KiB from other blocks helps.
//! Each record names the version that it needs, so a new dictionary does not affect existing
//! records.

use std::sync::Arc;

use crate::codec::{Coder, DICTIONARY_BYTES, Dictionary};
use crate::core::budget::DICTIONARIES_MAX;
use crate::core::maintenance::Maintenance;
use crate::reading::read::Reader;
use crate::shell::map::SharedMap;
use crate::shell::media::Media;
use crate::shell::parts::Shell;
use crate::shell::records::Records;
use crate::upkeep::checkpoint::Checkpointer;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// Blocks to train with, and as many again to judge the result.
const SAMPLES: usize = 1024;

/// The least saving of a new dictionary over the current one, as a share.
const WORTHWHILE: f64 = 0.01;

/// Trains dictionaries.
pub(crate) struct Trainer {
    media: Arc<Media>,
    records: Arc<Records>,
    map: Arc<SharedMap>,
    reader: Arc<Reader>,
    checkpointer: Arc<Checkpointer>,
}

impl Trainer {
    pub(crate) fn new(
        shell: &Shell,
        reader: &Arc<Reader>,
        checkpointer: &Arc<Checkpointer>,
    ) -> Trainer {
        Trainer {
            media: Arc::clone(&shell.media),
            records: Arc::clone(&shell.records),
            map: Arc::clone(&shell.map),
            reader: Arc::clone(reader),
            checkpointer: Arc::clone(checkpointer),
        }
    }

    /// Tries a new dictionary if enough was written since the last; returns true if it did any
    /// work.
    pub(crate) fn train(&self, maintenance: &mut Maintenance) -> Result<bool> {
        let written = self.media.counters.counts().write_bytes_host;
        if !self.media.identity.dictionary || written < maintenance.training.after_bytes {
            return Ok(false);
        }
        maintenance.training.after_bytes = written.saturating_mul(4);
        let samples = self.sample_blocks()?;
        let version = self.records.dictionaries.next_version();
        let known = self.records.dictionaries.count() as u64;
        let (Ok(version), true) = (u8::try_from(version), samples.len() >= SAMPLES) else {
            return Ok(false);
        };
        if known >= DICTIONARIES_MAX {
            return Ok(false);
        }
        let (learn, judge) = samples.split_at(samples.len() / 2);
        let trained = Dictionary::train(version, learn, DICTIONARY_BYTES);
        let Ok(Some(dictionary)) = trained else { return Ok(true) };
        let present = self.records.dictionaries.in_use();
        let before = stored_bytes(&self.media.identity, judge, present.as_deref());
        let after = stored_bytes(&self.media.identity, judge, Some(&dictionary));
        if after as f64 <= before as f64 * (1.0 - WORTHWHILE) {
            self.keep_dictionary(dictionary, maintenance)?;
        }
        Ok(true)
    }

    /// Blocks sampled evenly from all written data.
    fn sample_blocks(&self) -> Result<Vec<Vec<u8>>> {
        let blocks = self.map.blocks();
        let leaves = blocks.div_ceil(crate::core::nodes::NODE_ENTRIES);
        let mut samples = Vec::new();
        let step = (leaves / (2 * SAMPLES as u64)).max(1);
        for leaf in (0..leaves).step_by(step as usize) {
            let range = leaf * crate::core::nodes::NODE_ENTRIES
                ..((leaf + 1) * crate::core::nodes::NODE_ENTRIES).min(blocks);
            if samples.len() >= 4 * SAMPLES || self.map.read()?.is_hole(range.clone()) {
                continue;
            }
            for block in range.step_by(7) {
                let mut data = vec![0; BLOCK_BYTES as usize];
                match self.reader.read_blocks(block, &mut data) {
                    Ok(()) if !crate::codec::is_zero(&data) => samples.push(data),
                    Ok(()) => {}
                    // All of the leaf may be lost; there are enough samples elsewhere.
                    Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => break,
                    Err(other) => return Err(other),
                }
            }
        }
        Ok(samples)
    }

    /// Stores a dictionary with a checkpoint, and then uses it. Its version is used up even if that
    /// fails.
    fn keep_dictionary(&self, dictionary: Dictionary, maintenance: &mut Maintenance) -> Result<()> {
        self.records.dictionaries.set_next_version(u64::from(dictionary.version()) + 1);
        maintenance.training.next = Some(dictionary);
        self.checkpointer.checkpoint(maintenance)
    }
}

fn stored_bytes(
    identity: &crate::format::Identity,
    blocks: &[Vec<u8>],
    dictionary: Option<&Dictionary>,
) -> usize {
    let mut coder = Coder::new(identity.codec);
    let mut out = Vec::new();
    blocks.iter().for_each(|block| {
        coder.encode(block, dictionary, &mut out);
    });
    out.len()
}
