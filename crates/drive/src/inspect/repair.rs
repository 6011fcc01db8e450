//! Repair: makes a drive whole again, without the parts that cannot be read.
//!
//! Both superblocks are rewritten, and the parts of the map that only their parity could restore.
//! Readable data move out of segments with bad places, and segments that pass a write test are
//! returned to use. Data that cannot be read are given up, and so is a part of the log whose chunks
//! are gone. The host must be idle meanwhile.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_disk::{BLOCK_BYTES, BlockBuffer, Disk, DiskError, Result};

use crate::core::apply::put;
use crate::core::nodes::{NODE_ENTRIES, directory_of};
use crate::core::space::State;
use crate::drive::Drive;
use crate::format::{GROUP_BLOCKS, Location, NodeId, Stream};
use crate::inspect::check::CheckReport;
use crate::opening::create::DriveError;
use crate::options::DriveOptions;
use crate::shell::media::Media;
use crate::status::Recovery;

/// The treatment of blocks that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnreadableBlocks {
    /// Stay unreadable until they are written or discarded, so that nothing else passes for their
    /// data.
    #[default]
    Kept,
    /// Are discarded, and read as zeroes.
    Discarded,
}

/// The reason for which data are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossReason {
    /// The record cannot be read or decoded.
    Unreadable,
    /// The part of the map with its place cannot be read. The block may never have been written.
    Unmapped,
    /// It was written in a part of the log that is given up: the data from before are there.
    Reverted,
    /// It may hold old data: a part of the map is lost.
    Doubtful,
}

/// A range of the host's bytes that is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Logical bytes of the drive.
    pub range: Range<u64>,
    /// The reason.
    pub loss: LossReason,
}

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Repair {
    /// Findings when the drive was opened, including a part of the log that was given up.
    pub recovery: Recovery,
    /// Parts of the map that were restored from their parity, and rewritten.
    pub nodes_restored: u64,
    /// Blocks that were moved out of segments with bad places.
    pub blocks_moved: u64,
    /// Segments that were out of use or could not be read, passed the write test, and are in use
    /// again.
    pub segments_returned: u64,
    /// Segments that failed the write test, and are out of use.
    pub segments_retired: u64,
    /// Segments with bad places that could not be emptied for lack of room.
    pub segments_left: u64,
    /// Lost ranges, in order. Adjacent ones with the same reason are joined.
    pub lost: Vec<Lost>,
    /// Result of a check after the repair.
    pub check: CheckReport,
}

impl Repair {
    fn lose(&mut self, blocks: Range<u64>, loss: LossReason) {
        let range = blocks.start * BLOCK_BYTES..blocks.end * BLOCK_BYTES;
        match self.lost.last_mut() {
            Some(last) if last.loss == loss && last.range.end == range.start => {
                last.range.end = range.end;
            }
            _ => self.lost.push(Lost { range, loss }),
        }
    }

    /// Adds the losses of opening the drive.
    fn enter_opening(&mut self, recovery: Recovery) {
        let reverted = recovery.given_up.iter().flat_map(|given_up| given_up.ranges.clone());
        let reverted = reverted.map(|range| Lost { range, loss: LossReason::Reverted });
        let doubtful = recovery.doubtful.iter().cloned();
        let doubtful = doubtful.map(|range| Lost { range, loss: LossReason::Doubtful });
        self.lost.extend(reverted.chain(doubtful));
        self.recovery = recovery;
    }
}

/// A segment that is to be emptied.
#[derive(Debug, Clone, Copy)]
struct Suspect {
    opened_seq: u64,
    /// Whether the segment may not return data that are written to it.
    must_be_tested: bool,
}

type Suspects = HashMap<u32, Suspect>;

impl Drive {
    /// Repairs the drive on `media` and closes it; calls `progress` with the work done and the
    /// whole work.
    ///
    /// # Errors
    /// [`DriveError`], as when it is opened; [`DiskError::ReadOnly`] if there is no room to write;
    /// those of the media.
    pub fn repair(
        media: Arc<dyn Disk>,
        options: DriveOptions,
        unreadable: UnreadableBlocks,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Repair, DriveError> {
        let options = DriveOptions { read_only: false, ..options };
        let drive = Drive::open_for_use(media, options, true)?;
        drive.writable()?;
        drive.upkeep.begin_incarnation()?;
        let mut repairer = Repairer {
            drive: &drive,
            unreadable,
            suspects: Suspects::new(),
            left: HashSet::new(),
            repair: Repair::default(),
        };
        repairer.repair.enter_opening(drive.recovery.clone());
        repairer.repair_all(progress)?;
        let mut repair = repairer.repair;
        drive.close()?;
        repair.check = drive.check(&mut |_, _| {})?;
        repair.lost.sort_unstable_by_key(|lost| (lost.range.start, lost.range.end));
        Ok(repair)
    }
}

/// Repairs the parts of a drive one after the other.
struct Repairer<'a> {
    drive: &'a Drive,
    unreadable: UnreadableBlocks,
    suspects: Suspects,
    /// Segments that could not be emptied for lack of room.
    left: HashSet<u32>,
    repair: Repair,
}

impl Repairer<'_> {
    fn repair_all(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        self.suspects = self.find_suspects()?;
        self.drive.upkeep.begin_emptying(self.suspects.keys().copied().collect());
        let leaves = self.drive.shell.map.blocks().div_ceil(NODE_ENTRIES);
        let mut number = 0;
        while number < leaves {
            progress(number, leaves);
            number = self.repair_leaf(number)?;
        }
        for number in self.suspects.keys() {
            let is_of_map =
                self.drive.shell.log.lock()?.space.get(*number).stream == Some(Stream::Map);
            if is_of_map {
                self.drive.shell.map.touch_nodes_in(*number)?;
            }
        }
        self.drive.upkeep.finish_emptying()?;
        self.repair.segments_left = self.left.len() as u64;
        let mut suspects = std::mem::take(&mut self.suspects);
        suspects.retain(|number, _| !self.left.contains(number));
        for (number, suspect) in suspects {
            self.settle_suspect(number, suspect)?;
        }
        // The drive is whole again, and the losses are reported.
        self.drive.shell.media.counters.damaged_records.store(0, Ordering::Relaxed);
        self.drive.shell.media.health.forget_problems();
        Ok(())
    }

    /// Segments with damage outside records.
    fn find_suspects(&self) -> Result<Suspects> {
        let used: Vec<_> = {
            let log = self.drive.shell.log.lock()?;
            let used = log.space.iter().filter(|(_, segment)| segment.state != State::Free);
            used.map(|(number, segment)| (number, segment.state, segment.opened_seq)).collect()
        };
        let mut suspects = Suspects::new();
        for (number, state, opened_seq) in used {
            let walked =
                self.drive.shell.segments.walk_chunks(number, opened_seq, 0, 0..u64::MAX)?;
            let is_open = state == State::Open;
            let has_footer =
                is_open || self.drive.shell.segments.read_footer(number, opened_seq)?.is_some();
            let must_be_tested = walked.is_unreadable || state == State::Damaged;
            if must_be_tested || !has_footer || !walked.holes.is_empty() {
                if is_open {
                    self.drive.shell.log.lock()?.leave_segment(
                        number,
                        &self.drive.shell.log.chunks,
                        &self.drive.shell.media.counters,
                    );
                }
                let mut log = self.drive.shell.log.lock()?;
                let segment = log.space.get(number);
                let is_of_map = segment.stream == Some(Stream::Map);
                if must_be_tested && !is_of_map && segment.state == State::Sealed {
                    // Keeps the segment from being filled before its test.
                    log.space.quarantine(number);
                }
                suspects.insert(number, Suspect { opened_seq, must_be_tested });
            }
        }
        self.drive.shell.log.write_sealed()?;
        Ok(suspects)
    }

    /// Repairs the blocks of a leaf and returns the next leaf to repair.
    fn repair_leaf(&mut self, number: u64) -> Result<u64> {
        let end = self.drive.shell.map.blocks().min((number + 1) * NODE_ENTRIES);
        let blocks = number * NODE_ENTRIES..end;
        let restored = || self.drive.shell.media.counters.restored_records.load(Ordering::Relaxed);
        let before = restored();
        self.drive.shell.map.load_to_change(blocks.clone())?;
        if restored() > before {
            self.repair.nodes_restored += restored() - before;
            self.drive.shell.map.touch_node(NodeId::Directory(directory_of(number)))?;
            self.drive.shell.map.touch_node(NodeId::Leaf(number))?;
        }
        if self.drive.shell.map.read()?.is_hole(blocks.clone()) {
            return self.drive.shell.map.next_leaf_behind_hole(number);
        }
        for first in blocks.clone().step_by(GROUP_BLOCKS as usize) {
            let group = first..(first + GROUP_BLOCKS).min(blocks.end);
            self.repair_group(group)?;
        }
        Ok(number + 1)
    }

    /// Gives up blocks that cannot be read, and moves those in a suspect segment.
    fn repair_group(&mut self, group: Range<u64>) -> Result<()> {
        let mut move_out = Vec::new();
        let is_whole = self.drive.reader.reads_well(group.clone())?;
        for block in group {
            self.drive.shell.map.load_to_change(block..block + 1)?;
            let Ok(place) = self.drive.shell.map.read()?.get(block) else { continue };
            if place.is_none() {
                continue;
            }
            let can_be_read = is_whole || self.drive.reader.reads_well(block..block + 1)?;
            if can_be_read {
                if self.suspects.contains_key(&place.segment()) {
                    move_out.push((block, place.segment()));
                }
                continue;
            }
            let is_mapped = place.is_record();
            let loss = if is_mapped { LossReason::Unreadable } else { LossReason::Unmapped };
            self.repair.lose(block..block + 1, loss);
            match self.unreadable {
                UnreadableBlocks::Discarded => self.drive.writer.discard_blocks(block, 1)?,
                UnreadableBlocks::Kept => self.lose_block(block)?,
            }
        }
        for run in move_out.chunk_by(|one, next| one.0 + 1 == next.0) {
            let mut data = vec![0; run.len() * BLOCK_BYTES as usize];
            self.drive.reader.read_blocks(run[0].0, &mut data)?;
            match self.drive.writer.write_blocks(run[0].0, &data) {
                Ok(()) => self.repair.blocks_moved += run.len() as u64,
                Err(DiskError::Full) => self.left.extend(run.iter().map(|(_, segment)| *segment)),
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// Gives a block up: it cannot be read before it is written or discarded. The next checkpoint
    /// stores that.
    fn lose_block(&self, block: u64) -> Result<()> {
        loop {
            self.drive.shell.map.load_to_change(block..block + 1)?;
            let mut log = self.drive.shell.log.lock()?;
            let mut map = self.drive.shell.map.write()?;
            map.note_loss();
            if put(&mut map, &mut log.space, block, Location::LOST).is_ok() {
                return Ok(());
            }
        }
    }

    /// Returns a segment without live records to use, after a test if necessary.
    fn settle_suspect(&mut self, number: u32, suspect: Suspect) -> Result<()> {
        {
            let mut log = self.drive.shell.log.lock()?;
            let segment = log.space.get(number);
            // Otherwise it was given back meanwhile, and is filled anew.
            if segment.opened_seq != suspect.opened_seq || segment.state == State::Open {
                return Ok(());
            }
            log.space.settle(number);
            if !suspect.must_be_tested {
                return Ok(());
            }
            // Keeps the segment from being filled during its test.
            log.space.quarantine(number);
        }
        if holds(&self.drive.shell.media, number)? {
            self.drive.shell.log.lock()?.space.release(number);
            self.repair.segments_returned += 1;
        } else {
            self.repair.segments_retired += 1;
        }
        Ok(())
    }
}

/// Whether a segment returns data that are written to it. It is left with zeroes, like one that was
/// never used.
fn holds(media: &Media, number: u32) -> Result<bool> {
    let start = media.identity.segment_start(number);
    for pattern in [0xA5, 0x5A, 0] {
        if !holds_pattern(media, start, pattern)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn holds_pattern(media: &Media, start: u64, pattern: u8) -> Result<bool> {
    let length = media.identity.segment_bytes as usize;
    let mut written = BlockBuffer::zeroed(length.min(TEST_BYTES));
    written.as_mut().fill(pattern);
    let mut read = BlockBuffer::zeroed(length.min(TEST_BYTES));
    // The last piece is shorter if the segment is no multiple of it; the bytes behind it belong to
    // the next segment.
    let places = || {
        let offsets = (0..length).step_by(TEST_BYTES);
        offsets.map(|offset| (start + offset as u64, (length - offset).min(TEST_BYTES)))
    };
    for (place, bytes) in places() {
        match media.disk().write(place, &written.as_ref()[..bytes], false) {
            Ok(()) => {}
            Err(DiskError::Io(_)) => return Ok(false),
            Err(other) => return Err(media.stop_writing(&other)),
        }
    }
    media.sync()?;
    for (place, bytes) in places() {
        let read = &mut read.as_mut()[..bytes];
        match media.disk().read(place, read) {
            Ok(()) if *read == written.as_ref()[..bytes] => {}
            Ok(()) | Err(DiskError::Io(_)) => return Ok(false),
            Err(other) => return Err(other),
        }
    }
    Ok(true)
}

/// Bytes of one write to a segment under test.
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
        let start = |segment| drive.shell.media.identity.segment_start(segment);
        let mut mark = BlockBuffer::zeroed(BLOCK_BYTES as usize);
        mark.as_mut().fill(7);
        let neighbours = [start(20) - BLOCK_BYTES, start(21)];
        for place in neighbours {
            media.write(place, mark.as_ref(), false).unwrap();
        }
        assert!(holds(&drive.shell.media, 20).unwrap());
        for place in neighbours {
            let mut read = BlockBuffer::zeroed(BLOCK_BYTES as usize);
            media.read(place, read.as_mut()).unwrap();
            assert!(read.as_ref() == mark.as_ref(), "byte {place} was overwritten");
        }
    }
}
