//! The state of the background work between its pieces.

use std::collections::HashSet;

use crate::codec::Dictionary;
use crate::core::tables::SegmentRecord;
use crate::core::victims::Victims;
use crate::format::Location;

/// The state of the background work between calls.
#[derive(Debug)]
pub(crate) struct Maintenance {
    /// Segments sealed after this number belong to the log that recovery would replay.
    pub(crate) checkpoint_seq: u64,
    pub(crate) checkpoint_log_bytes: u64,
    /// Replay cost of the log up to the last checkpoint, in blocks.
    pub(crate) checkpoint_replay_blocks: u64,
    /// Segments of the map's stream out of which the next checkpoint moves dictionaries.
    pub(crate) to_empty: HashSet<u32>,
    pub(crate) victims: Victims,
    /// The segment that is being collected.
    pub(crate) collecting: Option<Collecting>,
    /// Steps towards free segments since the host's last chunk.
    pub(crate) steps: u64,
    pub(crate) host_seq: u64,
    /// The log's next number at the last look.
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

/// A segment that is being collected, one run of records at a time, so that a thread that waits for
/// room does not wait for all of it.
#[derive(Debug)]
pub(crate) struct Collecting {
    pub(crate) victim: u32,
    /// The live records when it was chosen.
    pub(crate) live: Vec<SegmentRecord>,
    /// The first of these that has not moved.
    pub(crate) next: usize,
    /// Whether all its records are known.
    pub(crate) is_complete: bool,
    /// Whether a damaged record stays in it.
    pub(crate) is_damaged: bool,
    /// Whether the media cannot be read somewhere in it.
    pub(crate) is_unreadable: bool,
}

/// Host writes, in bytes, after which the first dictionary is tried; each later one after four
/// times as many.
const FIRST_AFTER_BYTES: u64 = 16 << 20;

/// The state of the training of dictionaries.
#[derive(Debug)]
pub(crate) struct Training {
    pub(crate) after_bytes: u64,
    /// A trained dictionary that the next checkpoint stores; unused until that is complete.
    pub(crate) next: Option<Dictionary>,
    /// The same with its place, once it has one.
    pub(crate) stored: Option<(Location, Dictionary)>,
}

impl Default for Training {
    fn default() -> Training {
        Training { after_bytes: FIRST_AFTER_BYTES, next: None, stored: None }
    }
}

impl Training {
    /// Version and place of the dictionary that the checkpoint in progress has stored.
    pub(crate) fn stored(&self) -> Option<(u8, Location)> {
        self.stored.as_ref().map(|(place, dictionary)| (dictionary.version(), *place))
    }
}
