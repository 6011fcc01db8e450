//! Dictionaries: learnt in the background from what the host writes, kept in the map's stream, never taken back.
//!
//! A block of 4 KiB is little to learn its own language from; a dictionary of 16 KiB from other blocks helps. Records
//! say which version they need, so that a new one changes nothing for the old.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::codec::{Coder, DICTIONARY_BYTES, Dictionary};
use crate::core::budget::DICTIONARIES_MAX;
use crate::core::group::Group;
use crate::core::maintenance::Maintenance;
use crate::core::tables::SegmentRecord;
use crate::format::{Location, Op};
use crate::shell::drive::Drive;
use crate::sync::whole;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// Blocks to learn from, and as many more to judge by.
const SAMPLES: usize = 1024;

/// What a new dictionary must save over the one in use, as a share.
const WORTHWHILE: f64 = 0.01;

impl Drive {
    /// Tries a new dictionary when enough was written since the last; true if it did something.
    pub(crate) fn train(&self, maintenance: &mut Maintenance) -> Result<bool> {
        let written = self.counters.counts().write_bytes_host;
        if !self.identity.dictionary || written < maintenance.trainer.after_bytes {
            return Ok(false);
        }
        maintenance.trainer.after_bytes = written.saturating_mul(4);
        let samples = self.sample_blocks()?;
        let version = self.next_dictionary.load(Ordering::Relaxed);
        let known = whole(self.dictionaries.read()).len() as u64;
        let (Ok(version), true) = (u8::try_from(version), samples.len() >= SAMPLES) else {
            return Ok(false);
        };
        if known >= DICTIONARIES_MAX {
            return Ok(false);
        }
        let (learn, judge) = samples.split_at(samples.len() / 2);
        let trained = Dictionary::train(version, learn, DICTIONARY_BYTES);
        let Ok(Some(dictionary)) = trained else { return Ok(true) };
        let present = self.dictionary_in_use();
        let before = stored_bytes(&self.identity, judge, present.as_deref());
        let after = stored_bytes(&self.identity, judge, Some(&dictionary));
        if after as f64 <= before as f64 * (1.0 - WORTHWHILE) {
            self.keep_dictionary(dictionary, maintenance)?;
        }
        Ok(true)
    }

    /// Blocks from all over what is written, evenly.
    fn sample_blocks(&self) -> Result<Vec<Vec<u8>>> {
        let blocks = self.blocks();
        let leaves = blocks.div_ceil(crate::core::nodes::NODE_ENTRIES);
        let mut samples = Vec::new();
        let step = (leaves / (2 * SAMPLES as u64)).max(1);
        for leaf in (0..leaves).step_by(step as usize) {
            let range = leaf * crate::core::nodes::NODE_ENTRIES
                ..((leaf + 1) * crate::core::nodes::NODE_ENTRIES).min(blocks);
            if samples.len() >= 4 * SAMPLES || self.map()?.is_hole(range.clone()) {
                continue;
            }
            for block in range.step_by(7) {
                let mut data = vec![0; BLOCK_BYTES as usize];
                match self.read_blocks(block, &mut data) {
                    Ok(()) if !crate::codec::is_zero(&data) => samples.push(data),
                    Ok(()) => {}
                    // Perhaps all of the leaf is lost; there is enough to learn from elsewhere.
                    Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => break,
                    Err(other) => return Err(other),
                }
            }
        }
        Ok(samples)
    }

    /// Stores a dictionary with a checkpoint, and then uses it. Its version is used up whatever becomes of it.
    fn keep_dictionary(&self, dictionary: Dictionary, maintenance: &mut Maintenance) -> Result<()> {
        self.next_dictionary.store(u64::from(dictionary.version()) + 1, Ordering::Relaxed);
        maintenance.trainer.next = Some(dictionary);
        self.checkpoint(maintenance)
    }

    /// Appends the dictionary that was trained to the map's stream.
    pub(crate) fn write_new_dictionary(&self, maintenance: &mut Maintenance) -> Result<()> {
        let Some(dictionary) = maintenance.trainer.next.take() else { return Ok(()) };
        let place = self.append_dictionary(&dictionary)?;
        maintenance.trainer.stored = Some((place, dictionary));
        Ok(())
    }

    /// From here on new records use what was stored.
    pub(crate) fn use_new_dictionary(&self, maintenance: &mut Maintenance) {
        if let Some((place, dictionary)) = maintenance.trainer.stored.take() {
            let mut all = whole(self.dictionaries.write());
            all.push((dictionary.version(), place, Arc::new(dictionary)));
        }
    }

    fn append_dictionary(&self, dictionary: &Dictionary) -> Result<Location> {
        let mut group = Group::default();
        group.push(Op::Dictionary, u64::from(dictionary.version()), |out| {
            out.extend_from_slice(dictionary.bytes());
            0
        });
        let mut places = Vec::new();
        self.append_to_map_stream(&group, &mut Vec::new(), &mut places)?;
        Ok(places.first().copied().unwrap_or_default())
    }

    /// Takes a dictionary out of a segment of the map's stream that is given back; gives its former place if it lay there.
    pub(crate) fn move_dictionary(&self, record: &SegmentRecord) -> Result<Option<Location>> {
        let version = record.entry.key as u8;
        let lives = self.dictionary_places().contains(&(version, record.place));
        if lives { self.store_again(version, record.place) } else { Ok(None) }
    }

    /// The same for all that lie in these segments.
    pub(crate) fn move_dictionaries_out_of(
        &self,
        segments: &HashSet<u32>,
    ) -> Result<Vec<Location>> {
        let mut superseded = Vec::new();
        for (version, place) in self.dictionary_places() {
            if segments.contains(&place.segment()) {
                superseded.extend(self.store_again(version, place)?);
            }
        }
        Ok(superseded)
    }

    /// Stores a dictionary at another place; gives the former one.
    fn store_again(&self, version: u8, former: Location) -> Result<Option<Location>> {
        let Some(dictionary) = self.dictionary(version) else { return Ok(None) };
        let place = self.append_dictionary(&dictionary)?;
        let mut dictionaries = whole(self.dictionaries.write());
        if let Some(slot) = dictionaries.iter_mut().find(|(number, _, _)| *number == version) {
            slot.1 = place;
        }
        Ok(Some(former))
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
