//! The health log: how the drive is, in one look.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::disk::{BLOCK_BYTES, Disk};
use crate::engine::{Drive, OPENED_READ_ONLY};
use crate::space::State as SegmentState;
use crate::status::{State, Status};

/// Share of the space for fresh data that, once free, is little.
const LOW_SPACE_SHARE: u64 = 10;

impl Drive {
    /// How the drive is. Also tells of a drive that has stopped.
    #[must_use]
    pub fn status(&self) -> Status {
        let mut problems = self.recovery.problems.clone();
        problems.extend(self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone());
        problems.extend(self.stopped.get().cloned());
        let (mapped_blocks, node_bytes, map_bytes) = {
            let map = self.map_at_any_time();
            (map.mapped_blocks(), map.media_bytes(), map.memory_bytes())
        };
        let log = self.log_at_any_time();
        let (used, usable) = log.space.admission_bytes();
        let fresh = log.space.fresh_limit_bytes();
        let count = |state| log.space.iter().filter(|(_, segment)| segment.state == state).count();
        let damaged = count(SegmentState::Damaged) as u64;
        let is_low = (used + node_bytes) * LOW_SPACE_SHARE > fresh * (LOW_SPACE_SHARE - 1);
        let counts = self.counters.counts();
        Status {
            state: self.state(is_low, used + node_bytes + BLOCK_BYTES > fresh, damaged > 0),
            problems,
            capacity_bytes: self.identity.media_bytes,
            usable_bytes: usable,
            logical_bytes: self.size(),
            logical_bytes_used: mapped_blocks * BLOCK_BYTES,
            media_bytes_used: log.space.used_bytes(),
            codec: self.identity.codec.name(),
            unit_blocks: if self.identity.units { crate::layout::UNIT_BLOCKS } else { 1 },
            dictionary_versions: self.dictionary_places().len() as u64,
            segment_bytes: u64::from(self.identity.segment_bytes),
            segments: u64::from(self.identity.segments),
            segments_free: log.space.free_segments() as u64,
            segments_damaged: damaged,
            map_bytes,
            recovery: self.recovery.clone(),
            counts,
        }
    }

    fn state(&self, is_low: bool, is_full: bool, has_damage: bool) -> State {
        if self.stopped.get().is_some() {
            State::Stopped
        } else if self.must_not_write() {
            State::ReadOnly
        } else if has_damage || self.counters.damaged_records.load(Ordering::Relaxed) > 0 {
            State::Damaged
        } else if is_full {
            State::Full
        } else if is_low {
            State::LowSpace
        } else {
            State::Healthy
        }
    }

    /// Whether it takes no writes because of what was found, not because it was asked not to.
    fn must_not_write(&self) -> bool {
        self.read_only.as_ref().is_some_and(|reason| reason != OPENED_READ_ONLY)
    }
}
