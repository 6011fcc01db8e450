//! What the work in the background remembers between its pieces.

use std::collections::HashSet;

use crate::codec::Dictionary;
use crate::core::tables::SegmentRecord;
use crate::core::victims::Victims;
use crate::format::Location;

/// What maintenance remembers between calls.
#[derive(Debug)]
pub(crate) struct Maintenance {
    /// Segments sealed after this are still part of the log that recovery would replay.
    pub(crate) checkpoint_seq: u64,
    pub(crate) checkpoint_log_bytes: u64,
    /// What the last checkpoint covers, as the log counts it.
    pub(crate) checkpoint_replay_blocks: u64,
    /// Segments of the map's stream that the next checkpoint takes dictionaries out of.
    pub(crate) to_empty: HashSet<u32>,
    pub(crate) victims: Victims,
    /// The segment in hand.
    pub(crate) collecting: Option<Collecting>,
    /// Steps towards free segments since the host's last chunk.
    pub(crate) steps: u64,
    pub(crate) host_seq: u64,
    /// What the log had come to when maintenance last looked.
    pub(crate) seen_seq: u64,
    pub(crate) seen_open: bool,
    pub(crate) training: Training,
}

impl Maintenance {
    pub(crate) fn new(checkpoint_seq: u64, log_bytes: u64) -> Maintenance {
        Maintenance {
            checkpoint_seq,
            checkpoint_log_bytes: log_bytes,
            checkpoint_replay_blocks: 0,
            to_empty: HashSet::new(),
            victims: Victims::default(),
            collecting: None,
            steps: 0,
            host_seq: 0,
            seen_seq: 0,
            seen_open: false,
            training: Training::default(),
        }
    }
}

/// A segment that is being collected, one run of records after another: whoever waits for room need not wait for all.
#[derive(Debug)]
pub(crate) struct Collecting {
    pub(crate) victim: u32,
    /// What lived in it when it was chosen.
    pub(crate) live: Vec<SegmentRecord>,
    /// The first of these that has not moved.
    pub(crate) next: usize,
    /// Whether everything in it is known.
    pub(crate) is_complete: bool,
    /// Whether a record of it is damaged and stays.
    pub(crate) is_damaged: bool,
    /// Whether the media cannot be read somewhere in it.
    pub(crate) is_unreadable: bool,
}

/// Host writes, in bytes, after which a first dictionary is tried; each further one after four times as much.
const FIRST_AFTER_BYTES: u64 = 16 << 20;

/// When the next dictionary is tried.
#[derive(Debug)]
pub(crate) struct Training {
    pub(crate) after_bytes: u64,
    /// Trained, and on its way to media with the next checkpoint; nothing uses it before that is complete.
    pub(crate) next: Option<Dictionary>,
    /// The same once it has its place.
    pub(crate) stored: Option<(Location, Dictionary)>,
}

impl Default for Training {
    fn default() -> Training {
        Training { after_bytes: FIRST_AFTER_BYTES, next: None, stored: None }
    }
}

impl Training {
    /// Version and place of the dictionary that the checkpoint in hand has stored.
    pub(crate) fn stored(&self) -> Option<(u8, Location)> {
        self.stored.as_ref().map(|(place, dictionary)| (dictionary.version(), *place))
    }
}
