//! Dictionaries in memory, by version: records name the one that they need, new records use the
//! newest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::codec::Dictionary;
use crate::format::Location;
use crate::sync::{RwLock, whole};

/// A dictionary that has its place on media.
struct Stored {
    version: u8,
    place: Location,
    dictionary: Arc<Dictionary>,
}

/// All dictionaries of a drive, by version.
pub(crate) struct Dictionaries {
    stored: RwLock<Vec<Stored>>,
    next_version: AtomicU64,
}

impl Dictionaries {
    /// No dictionaries yet; the next one to be trained gets `next_version`, which was never used.
    pub(crate) fn new(next_version: u64) -> Dictionaries {
        Dictionaries { stored: RwLock::default(), next_version: AtomicU64::new(next_version) }
    }

    /// The dictionary that new records use.
    pub(crate) fn in_use(&self) -> Option<Arc<Dictionary>> {
        let stored = whole(self.stored.read());
        stored.last().map(|newest| Arc::clone(&newest.dictionary))
    }

    /// The dictionary of a version.
    pub(crate) fn get(&self, version: u8) -> Option<Arc<Dictionary>> {
        let stored = whole(self.stored.read());
        let found = stored.iter().find(|stored| stored.version == version);
        found.map(|stored| Arc::clone(&stored.dictionary))
    }

    /// Version and place of each dictionary.
    pub(crate) fn places(&self) -> Vec<(u8, Location)> {
        let stored = whole(self.stored.read());
        stored.iter().map(|stored| (stored.version, stored.place)).collect()
    }

    pub(crate) fn count(&self) -> usize {
        whole(self.stored.read()).len()
    }

    /// Adds a dictionary, in place of an earlier one of its version.
    pub(crate) fn insert(&self, place: Location, dictionary: Dictionary) {
        let version = dictionary.version();
        let mut stored = whole(self.stored.write());
        stored.retain(|stored| stored.version != version);
        stored.push(Stored { version, place, dictionary: Arc::new(dictionary) });
        stored.sort_by_key(|stored| stored.version);
    }

    /// Notes the new place of a dictionary.
    pub(crate) fn relocate(&self, version: u8, place: Location) {
        let mut stored = whole(self.stored.write());
        if let Some(slot) = stored.iter_mut().find(|stored| stored.version == version) {
            slot.place = place;
        }
    }

    /// The version that the next dictionary gets; none is ever used twice.
    pub(crate) fn next_version(&self) -> u64 {
        self.next_version.load(Ordering::Relaxed)
    }

    pub(crate) fn set_next_version(&self, version: u64) {
        self.next_version.store(version, Ordering::Relaxed);
    }
}
