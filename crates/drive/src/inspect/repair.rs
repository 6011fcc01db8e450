//! Repair: a drive made whole again, without what cannot be read.
//!
//! Both superblocks are written anew, and parts of the map that only their parity could restore. What can be read moves out
//! of segments with bad places; those that hold again what is written to them are returned to use. What cannot be read is
//! given up, and so is a part of the log whose chunks are gone. The host must rest meanwhile.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_disk::{BLOCK_BYTES, BlockBuffer, Disk, DiskError, Result};

use crate::core::apply::put;
use crate::core::nodes::{NODE_ENTRIES, directory_of};
use crate::core::space::State;
use crate::format::{GROUP_BLOCKS, Location, NodeId, Stream};
use crate::inspect::check::Check;
use crate::opening::create::DriveError;
use crate::shell::commit::media_failure;
use crate::shell::drive::{Drive, DriveOptions};
use crate::status::Recovery;
use crate::sync::whole;

/// What becomes of blocks that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unreadable {
    /// They stay unreadable until they are written or discarded: nobody takes anything else for their data.
    #[default]
    Kept,
    /// They are discarded, and read as zeroes.
    Discarded,
}

/// Why data is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// The record cannot be read, or not decoded.
    Unreadable,
    /// The part of the map that knew where it lies cannot be read. It need not have been written at all.
    Unmapped,
    /// It was written with a part of the log that is given up: what it held before is there.
    Reverted,
    /// It may hold what it did before: the part of the map that knew is lost.
    Doubtful,
}

/// A range of bytes of the host's that is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Bytes of the drive as its host sees it.
    pub range: Range<u64>,
    /// Why.
    pub loss: Loss,
}

/// What a repair found and did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Repair {
    /// What was found when the drive was opened; also whether a part of the log was given up.
    pub recovery: Recovery,
    /// Parts of the map that were made whole from their parity, and are written anew.
    pub nodes_restored: u64,
    /// Blocks that were moved out of segments with something bad in them.
    pub blocks_moved: u64,
    /// Segments that were out of use, or could not be read, and hold again what is written to them.
    pub segments_returned: u64,
    /// Segments that do not, and are out of use.
    pub segments_retired: u64,
    /// Segments with something bad in them out of which not all could be moved, for want of room.
    pub segments_left: u64,
    /// What is lost, in order; what lies side by side and is lost for the same reason is one.
    pub lost: Vec<Lost>,
    /// What a check found afterwards.
    pub check: Check,
}

impl Repair {
    fn lose(&mut self, blocks: Range<u64>, loss: Loss) {
        let range = blocks.start * BLOCK_BYTES..blocks.end * BLOCK_BYTES;
        match self.lost.last_mut() {
            Some(last) if last.loss == loss && last.range.end == range.start => {
                last.range.end = range.end;
            }
            _ => self.lost.push(Lost { range, loss }),
        }
    }

    /// What opening gave up.
    fn enter_opening(&mut self, recovery: Recovery) {
        let reverted = recovery.given_up.iter().flat_map(|given_up| given_up.ranges.clone());
        let reverted = reverted.map(|range| Lost { range, loss: Loss::Reverted });
        let doubtful = recovery.doubtful.iter().cloned();
        let doubtful = doubtful.map(|range| Lost { range, loss: Loss::Doubtful });
        self.lost.extend(reverted.chain(doubtful));
        self.recovery = recovery;
    }
}

/// A segment that is to be emptied.
#[derive(Debug, Clone, Copy)]
struct Suspect {
    opened_seq: u64,
    /// Whether it may not hold what is written to it.
    must_be_tested: bool,
}

type Suspects = HashMap<u32, Suspect>;

impl Drive {
    /// Repairs the drive that `media` holds and closes it; `progress` is told how much of how much is done.
    ///
    /// # Errors
    /// [`DriveError`], as when it is opened; [`DiskError::ReadOnly`] where there is no room to write what must be; those of
    /// the media.
    pub fn repair(
        media: Arc<dyn Disk>,
        options: DriveOptions,
        unreadable: Unreadable,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Repair, DriveError> {
        let options = DriveOptions { read_only: false, ..options };
        let drive = Drive::open_for_use(media, options, true)?;
        drive.writable()?;
        drive.begin_incarnation()?;
        let mut repair = Repair::default();
        repair.enter_opening(drive.recovery.clone());
        drive.repair_all(unreadable, progress, &mut repair)?;
        drive.close()?;
        repair.check = drive.check(&mut |_, _| {})?;
        repair.lost.sort_unstable_by_key(|lost| (lost.range.start, lost.range.end));
        Ok(repair)
    }

    fn repair_all(
        &self,
        unreadable: Unreadable,
        progress: &mut dyn FnMut(u64, u64),
        repair: &mut Repair,
    ) -> Result<()> {
        let suspects = self.suspects()?;
        self.maintenance().to_empty = suspects.keys().copied().collect();
        let mut left = HashSet::new();
        let leaves = self.blocks().div_ceil(NODE_ENTRIES);
        let mut number = 0;
        while number < leaves {
            progress(number, leaves);
            number = self.repair_leaf(number, unreadable, &suspects, &mut left, repair)?;
        }
        for number in suspects.keys() {
            let is_of_map = self.log()?.space.get(*number).stream == Some(Stream::Map);
            if is_of_map {
                self.touch_nodes_in(*number)?;
            }
        }
        {
            let mut maintenance = self.maintenance();
            self.checkpoint(&mut maintenance)?;
            maintenance.to_empty.clear();
            maintenance.collecting = None;
        }
        repair.segments_left = left.len() as u64;
        for (number, suspect) in suspects.iter().filter(|(number, _)| !left.contains(number)) {
            self.settle_suspect(*number, *suspect, repair)?;
        }
        // It is whole again, and what is not was told.
        self.counters.damaged_records.store(0, Ordering::Relaxed);
        whole(self.problems.lock()).clear();
        Ok(())
    }

    /// Segments in which anything but a record is bad.
    fn suspects(&self) -> Result<Suspects> {
        let used: Vec<_> = {
            let log = self.log()?;
            let used = log.space.iter().filter(|(_, segment)| segment.state != State::Free);
            used.map(|(number, segment)| (number, segment.state, segment.opened_seq)).collect()
        };
        let mut suspects = Suspects::new();
        for (number, state, opened_seq) in used {
            let walked = self.walk_chunks(number, opened_seq, 0, 0..u64::MAX)?;
            let is_open = state == State::Open;
            let has_footer = is_open || self.read_footer(number, opened_seq)?.is_some();
            let must_be_tested = walked.is_unreadable || state == State::Damaged;
            if must_be_tested || !has_footer || !walked.holes.is_empty() {
                if is_open {
                    self.log()?.leave_segment(number, &self.chunks, &self.counters);
                }
                let mut log = self.log()?;
                let segment = log.space.get(number);
                let is_of_map = segment.stream == Some(Stream::Map);
                if must_be_tested && !is_of_map && segment.state == State::Sealed {
                    // Nobody fills it again before it is tested.
                    log.space.quarantine(number);
                }
                suspects.insert(number, Suspect { opened_seq, must_be_tested });
            }
        }
        self.write_sealed()?;
        Ok(suspects)
    }

    /// Repairs what a leaf of the map leads to; gives the next leaf to look at.
    fn repair_leaf(
        &self,
        number: u64,
        unreadable: Unreadable,
        suspects: &Suspects,
        left: &mut HashSet<u32>,
        repair: &mut Repair,
    ) -> Result<u64> {
        let end = self.blocks().min((number + 1) * NODE_ENTRIES);
        let blocks = number * NODE_ENTRIES..end;
        let restored = || self.counters.restored_records.load(Ordering::Relaxed);
        let before = restored();
        self.load_nodes_to_change(blocks.clone())?;
        if restored() > before {
            repair.nodes_restored += restored() - before;
            self.touch_node(NodeId::Directory(directory_of(number)))?;
            self.touch_node(NodeId::Leaf(number))?;
        }
        if self.map()?.is_hole(blocks.clone()) {
            return self.next_leaf_behind_hole(number);
        }
        for first in blocks.clone().step_by(GROUP_BLOCKS as usize) {
            let group = first..(first + GROUP_BLOCKS).min(blocks.end);
            self.repair_group(group, unreadable, suspects, left, repair)?;
        }
        Ok(number + 1)
    }

    /// Gives up what cannot be read of these blocks, and moves what lies in a suspect.
    fn repair_group(
        &self,
        group: Range<u64>,
        unreadable: Unreadable,
        suspects: &Suspects,
        left: &mut HashSet<u32>,
        repair: &mut Repair,
    ) -> Result<()> {
        let mut move_out = Vec::new();
        let is_whole = self.reads_well(group.clone())?;
        for block in group {
            self.load_nodes_to_change(block..block + 1)?;
            let Ok(place) = self.map()?.get(block) else { continue };
            if place.is_none() {
                continue;
            }
            let can_be_read = is_whole || self.reads_well(block..block + 1)?;
            if can_be_read {
                if suspects.contains_key(&place.segment()) {
                    move_out.push((block, place.segment()));
                }
                continue;
            }
            let is_mapped = place.is_record();
            let loss = if is_mapped { Loss::Unreadable } else { Loss::Unmapped };
            repair.lose(block..block + 1, loss);
            match unreadable {
                Unreadable::Discarded => self.discard_blocks(block, 1)?,
                Unreadable::Kept => self.lose_block(block)?,
            }
        }
        for run in move_out.chunk_by(|one, next| one.0 + 1 == next.0) {
            let mut data = vec![0; run.len() * BLOCK_BYTES as usize];
            self.read_blocks(run[0].0, &mut data)?;
            match self.write_blocks(run[0].0, &data) {
                Ok(()) => repair.blocks_moved += run.len() as u64,
                Err(DiskError::Full) => left.extend(run.iter().map(|(_, segment)| *segment)),
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// Gives a block up: it cannot be read before it is written or discarded. It is so on media with the next checkpoint.
    fn lose_block(&self, block: u64) -> Result<()> {
        loop {
            self.load_nodes_to_change(block..block + 1)?;
            let mut log = self.log()?;
            let mut map = self.map_mut()?;
            map.note_loss();
            if put(&mut map, &mut log.space, block, Location::LOST).is_ok() {
                return Ok(());
            }
        }
    }

    /// What becomes of a segment to which nothing leads any more.
    fn settle_suspect(&self, number: u32, suspect: Suspect, repair: &mut Repair) -> Result<()> {
        {
            let mut log = self.log()?;
            let segment = log.space.get(number);
            // Else it was given back meanwhile, and is filled anew.
            if segment.opened_seq != suspect.opened_seq || segment.state == State::Open {
                return Ok(());
            }
            log.space.settle(number);
            if !suspect.must_be_tested {
                return Ok(());
            }
            // Nobody takes it while it is tested.
            log.space.quarantine(number);
        }
        if self.holds(number)? {
            self.log()?.space.release(number);
            repair.segments_returned += 1;
        } else {
            repair.segments_retired += 1;
        }
        Ok(())
    }

    /// Whether a segment holds what is written to it. It ends with zeroes, as one that was never used.
    fn holds(&self, number: u32) -> Result<bool> {
        let start = self.identity.segment_start(number);
        for pattern in [0xA5, 0x5A, 0] {
            if !self.holds_pattern(start, pattern)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn holds_pattern(&self, start: u64, pattern: u8) -> Result<bool> {
        let length = self.identity.segment_bytes as usize;
        let mut written = BlockBuffer::zeroed(length.min(TEST_BYTES));
        written.as_mut().fill(pattern);
        let mut read = BlockBuffer::zeroed(length.min(TEST_BYTES));
        // The last is shorter where the segment is no multiple of it: what lies behind is another's.
        let places = || {
            let offsets = (0..length).step_by(TEST_BYTES);
            offsets.map(|offset| (start + offset as u64, (length - offset).min(TEST_BYTES)))
        };
        for (place, bytes) in places() {
            match self.media.write(place, &written.as_ref()[..bytes], false) {
                Ok(()) => {}
                Err(DiskError::Io(_)) => return Ok(false),
                Err(other) => {
                    let failure = media_failure(&other);
                    return Err(self.stop(format!("a write to the media failed: {failure}")));
                }
            }
        }
        self.sync_media()?;
        for (place, bytes) in places() {
            let read = &mut read.as_mut()[..bytes];
            match self.media.read(place, read) {
                Ok(()) if *read == written.as_ref()[..bytes] => {}
                Ok(()) | Err(DiskError::Io(_)) => return Ok(false),
                Err(other) => return Err(other),
            }
        }
        Ok(true)
    }
}

/// Bytes that are written at once to a segment that is tested.
const TEST_BYTES: usize = 512 << 10;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Codec, DriveOptions, Format, MemoryDisk};
    use assay_disk::Disk;

    #[test]
    fn a_test_of_a_segment_leaves_its_neighbours_alone() {
        let media = Arc::new(MemoryDisk::new(32 << 20).unwrap());
        let format = Format {
            drive_id: 7,
            logical_bytes: 16 << 20,
            codec: Codec::None,
            units: false,
            dictionary: false,
            segment_bytes: Some(528 << 10),
        };
        Drive::format(media.clone(), &format).unwrap();
        let drive = Drive::open(media.clone(), DriveOptions::default()).unwrap();
        let start = |segment| drive.identity.segment_start(segment);
        let mut mark = BlockBuffer::zeroed(BLOCK_BYTES as usize);
        mark.as_mut().fill(7);
        let neighbours = [start(20) - BLOCK_BYTES, start(21)];
        for place in neighbours {
            media.write(place, mark.as_ref(), false).unwrap();
        }
        assert!(drive.holds(20).unwrap());
        for place in neighbours {
            let mut read = BlockBuffer::zeroed(BLOCK_BYTES as usize);
            media.read(place, read.as_mut()).unwrap();
            assert!(read.as_ref() == mark.as_ref(), "byte {place} was overwritten");
        }
    }
}
