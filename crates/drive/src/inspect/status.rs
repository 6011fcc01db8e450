//! The state of a drive with its health log.

use std::sync::atomic::Ordering;

use crate::core::nodes::Nodes;
use crate::core::space::State as SegmentState;
use crate::drive::Drive;
use crate::format::UNIT_BLOCKS;
use crate::options::OPENED_READ_ONLY;
use crate::status::{State, Status};
use assay_disk::{BLOCK_BYTES, Disk};

/// Divisor of the usable space below which free space counts as low.
const LOW_SPACE_SHARE: u64 = 10;

impl Drive {
    /// The state of the drive, also if it has stopped.
    #[must_use]
    pub fn status(&self) -> Status {
        let mut recovery = self.recovery.clone();
        let mut problems = recovery.problems.clone();
        if self.shell.superblocks.are_rewritten() {
            recovery.mended.iter_mut().for_each(|found| *found += "; rewritten since");
        } else if self.shell.superblocks.has_power_cut_copy() {
            let when = "; opening the drive for writing rewrites it";
            recovery.mended.iter_mut().for_each(|found| *found += when);
        } else {
            let unmended = recovery.mended.drain(..);
            problems.extend(unmended.map(|problem| problem + "; the next write mends it"));
        }
        problems.extend(self.shell.media.health.problems());
        let has_problems = !problems.is_empty();
        problems.extend(self.shell.media.health.stop_reason().cloned());
        // Lock order: the log before the map.
        let log = self.shell.log.lock_unchecked();
        let space = &log.space;
        let (mapped_blocks, map_bytes, kept_bytes, least_bytes) = {
            let map = self.shell.map.read_unchecked();
            let kept = space.map_bytes(map.nodes());
            let least = space.map_bytes(Nodes { leaves: 0, directories: 0, ..map.nodes() });
            (map.mapped_blocks(), map.memory_bytes(), kept, least)
        };
        let unit_blocks = if self.shell.media.identity.units { UNIT_BLOCKS } else { 1 };
        let usable_bytes = space.free_bytes(least_bytes, unit_blocks);
        let free_bytes = space.free_bytes(space.taken_bytes(kept_bytes), unit_blocks);
        let count = |state| space.iter().filter(|(_, segment)| segment.state == state).count();
        let damaged = count(SegmentState::Damaged) as u64;
        let is_low = free_bytes * LOW_SPACE_SHARE < usable_bytes;
        let counts = self.shell.media.counters.counts();
        Status {
            state: self.state(is_low, space.is_full(kept_bytes), has_problems || damaged > 0),
            problems,
            capacity_bytes: self.shell.media.identity.media_bytes,
            usable_bytes,
            free_bytes,
            logical_bytes: self.size(),
            logical_bytes_used: mapped_blocks * BLOCK_BYTES,
            media_bytes_used: space.used_bytes(),
            codec: self.shell.media.identity.codec.name(),
            unit_blocks,
            dictionary_versions: self.shell.records.dictionaries.count() as u64,
            segment_bytes: u64::from(self.shell.media.identity.segment_bytes),
            segments: u64::from(self.shell.media.identity.segments),
            segments_free: space.free_segments() as u64,
            segments_damaged: damaged,
            map_bytes,
            recovery,
            counts,
        }
    }

    fn state(&self, is_low: bool, is_full: bool, has_damage: bool) -> State {
        if self.shell.media.health.stop_reason().is_some() {
            State::Stopped
        } else if self.must_not_write() {
            State::ReadOnly
        } else if has_damage
            || self.shell.media.counters.damaged_records.load(Ordering::Relaxed) > 0
        {
            State::Damaged
        } else if is_full {
            State::Full
        } else if is_low {
            State::LowSpace
        } else {
            State::Healthy
        }
    }

    /// Whether the drive takes no writes because of damage, and not because it was opened
    /// read-only.
    fn must_not_write(&self) -> bool {
        self.read_only.as_ref().is_some_and(|reason| reason != OPENED_READ_ONLY)
    }
}
