//! Dictionaries: learnt in the background from what the host writes, kept in the log, never taken back.
//!
//! A block of 4 KiB is little to learn its own language from; a dictionary of 16 KiB from other blocks helps. Records
//! say which version they need, so that a new one changes nothing for the old.

use std::sync::{Arc, PoisonError};

use crate::codec::{Coder, DICTIONARY_BYTES, Dictionary};
use assay_disk::{BLOCK_BYTES, DiskError, Result};
use crate::shell::drive::Drive;
use crate::core::group::Group;
use crate::format::{Location, Op, Stream};
use crate::upkeep::maintain::Maintenance;
use crate::shell::tables::SegmentRecord;
use crate::shell::worker::Worker;

/// Blocks to learn from, and as many more to judge by.
const SAMPLES: usize = 1024;

/// Host writes, in bytes, after which a first dictionary is tried; each further one after four times as much.
const FIRST_AFTER_BYTES: u64 = 16 << 20;

/// What a new dictionary must save over the one in use, as a share.
const WORTHWHILE: f64 = 0.01;

/// When the next dictionary is tried.
#[derive(Debug)]
pub(crate) struct Trainer {
    after_bytes: u64,
}

impl Default for Trainer {
    fn default() -> Trainer {
        Trainer { after_bytes: FIRST_AFTER_BYTES }
    }
}

impl Drive {
    /// The dictionary that new records use.
    pub(crate) fn dictionary_in_use(&self) -> Option<Arc<Dictionary>> {
        let dictionaries = self.dictionaries.read().unwrap_or_else(PoisonError::into_inner);
        dictionaries.last().map(|(_, _, dictionary)| Arc::clone(dictionary))
    }

    /// A dictionary by its version.
    pub(crate) fn dictionary(&self, version: u8) -> Option<Arc<Dictionary>> {
        let dictionaries = self.dictionaries.read().unwrap_or_else(PoisonError::into_inner);
        let found = dictionaries.iter().find(|(number, _, _)| *number == version);
        found.map(|(_, _, dictionary)| Arc::clone(dictionary))
    }

    pub(crate) fn dictionary_places(&self) -> Vec<(u8, Location)> {
        let dictionaries = self.dictionaries.read().unwrap_or_else(PoisonError::into_inner);
        dictionaries.iter().map(|(version, place, _)| (*version, *place)).collect()
    }

    /// Tries a new dictionary when enough was written since the last; true if it did something.
    pub(crate) fn train(&self, maintenance: &mut Maintenance) -> Result<bool> {
        let written = self.counters.counts().write_bytes_host;
        if !self.identity.dictionary || written < maintenance.trainer.after_bytes {
            return Ok(false);
        }
        maintenance.trainer.after_bytes = written.saturating_mul(4);
        let samples = self.sample_blocks()?;
        let version = self.dictionaries.read().unwrap_or_else(PoisonError::into_inner).len() + 1;
        let (Ok(version), true) = (u8::try_from(version), samples.len() >= SAMPLES) else {
            return Ok(false);
        };
        let (learn, judge) = samples.split_at(samples.len() / 2);
        let trained = Dictionary::train(version, learn, DICTIONARY_BYTES);
        let Ok(Some(dictionary)) = trained else { return Ok(true) };
        let present = self.dictionary_in_use();
        let before = stored_bytes(&self.identity, judge, present.as_deref());
        let after = stored_bytes(&self.identity, judge, Some(&dictionary));
        if after as f64 <= before as f64 * (1.0 - WORTHWHILE) {
            self.keep_dictionary(dictionary)?;
        }
        Ok(true)
    }

    /// Blocks from all over what is written, evenly.
    fn sample_blocks(&self) -> Result<Vec<Vec<u8>>> {
        use assay_disk::Disk;
        let blocks = self.size() / BLOCK_BYTES;
        let leaves = blocks.div_ceil(crate::core::map::NODE_ENTRIES);
        let mut samples = Vec::new();
        let step = (leaves / (2 * SAMPLES as u64)).max(1);
        for leaf in (0..leaves).step_by(step as usize) {
            let range = leaf * crate::core::map::NODE_ENTRIES
                ..((leaf + 1) * crate::core::map::NODE_ENTRIES).min(blocks);
            if samples.len() >= 4 * SAMPLES || self.map()?.is_hole(range.clone()) {
                continue;
            }
            for block in range.step_by(7) {
                let mut data = vec![0; BLOCK_BYTES as usize];
                match self.read_blocks(block, &mut data) {
                    Ok(()) if !crate::codec::is_zero(&data) => samples.push(data),
                    Ok(()) => {}
                    // Perhaps all of the leaf is lost; there is enough to learn from elsewhere.
                    Err(DiskError::Corrupt { .. }) => break,
                    Err(other) => return Err(other),
                }
            }
        }
        Ok(samples)
    }

    /// Puts a dictionary into the log, on stable media, and then to use.
    fn keep_dictionary(&self, dictionary: Dictionary) -> Result<()> {
        let mut group = Group::default();
        group.push(Op::Dictionary, u64::from(dictionary.version()), |out| {
            out.extend_from_slice(dictionary.bytes());
            0
        });
        let place = self.append_dictionary(&group)?;
        self.make_durable(true)?;
        let mut dictionaries = self.dictionaries.write().unwrap_or_else(PoisonError::into_inner);
        dictionaries.push((dictionary.version(), place, Arc::new(dictionary)));
        Ok(())
    }

    fn append_dictionary(&self, group: &Group) -> Result<Location> {
        let mut places = Vec::new();
        let mut log = self.log()?;
        let (payload, words) = (group.payload_bytes(), group.words_at_most());
        log.make_room(Stream::Cold, payload, words, &self.chunks, &self.counters)
            .map_err(|_| DiskError::Full)?;
        log.place(Stream::Cold, group, |_| true, &mut places);
        let place = places.first().copied().unwrap_or_default();
        log.space.add(place);
        Ok(place)
    }

    /// Takes a dictionary out of a segment that is collected.
    pub(crate) fn move_dictionary(&self, record: &SegmentRecord) -> Result<()> {
        let version = record.entry.key as u8;
        let lives = self.dictionary_places().contains(&(version, record.place));
        let Some(dictionary) = self.dictionary(version).filter(|_| lives) else { return Ok(()) };
        let mut group = Group::default();
        group.push(Op::Dictionary, u64::from(version), |out| {
            out.extend_from_slice(dictionary.bytes());
            0
        });
        let place = self.append_dictionary(&group)?;
        self.log()?.space.remove(record.place);
        let mut dictionaries = self.dictionaries.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = dictionaries.iter_mut().find(|(number, _, _)| *number == version) {
            slot.1 = place;
        }
        Ok(())
    }

    /// Reads a dictionary's record; none if it is damaged.
    pub(crate) fn read_dictionary(
        &self,
        version: u8,
        place: Location,
        worker: &mut Worker,
    ) -> Result<Option<Dictionary>> {
        if !self.is_possible(place) || place.is_none() {
            return Ok(None);
        }
        let bytes = (place.length() as usize).saturating_sub(crate::format::RECORD_HEADER_BYTES);
        let mut data = vec![0; bytes];
        let key = Op::Dictionary.context_key(u64::from(version));
        match self.read_record(place, key, &mut data, worker) {
            Ok(()) => Ok(Dictionary::from_bytes(version, &data).ok()),
            Err(DiskError::Corrupt { .. }) => Ok(None),
            Err(other) => Err(other),
        }
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
