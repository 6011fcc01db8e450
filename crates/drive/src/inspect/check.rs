//! Checking: everything is read and verified, and the segments' accounts are compared with the map.
//!
//! The live records are read and decoded segment by segment. A mapped block that was damaged or not
//! found there is read by itself. The footer of each sealed segment is read, and the live bytes in
//! the segments' rows are compared with the map. The host must be idle meanwhile.

use std::collections::HashMap;
use std::ops::Range;

use crate::core::log::root_weight;
use crate::core::nodes::{NODE_ENTRIES, directory_of};
use crate::core::space::State;
use crate::drive::Drive;
use crate::format::{GROUP_BLOCKS, Location, NodeId, UNIT_BLOCKS};
use crate::inspect::verify::{Verified, verify_segments};
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// A damaged part of the drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// First byte that the host cannot read, as a logical address; `None` if no data is lost.
    pub offset: Option<u64>,
    /// Number of bytes that the host cannot read; for a damaged part of the map, all bytes that it
    /// covers, written or not.
    pub bytes: u64,
    /// A description for the drive's owner.
    pub what: String,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// Blocks that are whole.
    pub blocks: u64,
    /// Sealed segments with live records whose footer is whole.
    pub segments: u64,
    /// Damages. Adjacent ones with the same description are joined.
    pub damages: Vec<Damage>,
}

impl CheckReport {
    /// Adds blocks that cannot be read.
    fn lost(&mut self, blocks: Range<u64>, what: String) {
        let offset = blocks.start * BLOCK_BYTES;
        let bytes = (blocks.end - blocks.start) * BLOCK_BYTES;
        match self.damages.last_mut() {
            Some(last)
                if last.what == what && last.offset.map(|at| at + last.bytes) == Some(offset) =>
            {
                last.bytes += bytes;
            }
            _ => self.damages.push(Damage { offset: Some(offset), bytes, what }),
        }
    }

    /// Adds a damage that loses no data.
    fn wrong(&mut self, what: String) {
        self.damages.push(Damage { offset: None, bytes: 0, what });
    }
}

/// Live bytes and records of each segment, counted from the map.
type Books = HashMap<u32, (u64, u64)>;

/// Checks the parts of a drive one after the other.
struct Checker<'a> {
    drive: &'a Drive,
    verified: Verified,
    check: CheckReport,
    books: Books,
}

impl Drive {
    /// Reads and verifies everything; calls `progress` with the number of segments that are done
    /// and of all.
    ///
    /// # Errors
    /// Those of the media; damage is a result.
    pub fn check(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<CheckReport> {
        let verified = verify_segments(&self.shell, progress)?;
        let (check, books) = (CheckReport::default(), Books::new());
        let mut checker = Checker { drive: self, verified, check, books };
        checker.check_all()?;
        Ok(checker.check)
    }
}

impl Checker<'_> {
    fn check_all(&mut self) -> Result<()> {
        let leaves = self.drive.shell.map.blocks().div_ceil(NODE_ENTRIES);
        let mut number = 0;
        while number < leaves {
            number = self.check_leaf(number)?;
        }
        self.check_segments()?;
        // If blocks are lost, the accounts cannot balance.
        if self.check.damages.iter().all(|damage| damage.offset.is_none()) {
            self.enter_nodes()?;
            self.compare()?;
        }
        Ok(())
    }

    /// Checks the blocks of a leaf and returns the next leaf to check.
    fn check_leaf(&mut self, number: u64) -> Result<u64> {
        let end = self.drive.shell.map.blocks().min((number + 1) * NODE_ENTRIES);
        let blocks = number * NODE_ENTRIES..end;
        match self.drive.shell.map.load(blocks.clone()) {
            Ok(()) => {}
            Err(error @ (DiskError::Corrupt { .. } | DiskError::Io(_))) => {
                let next = self.next_readable_leaf(number)?;
                let end = self.drive.shell.map.blocks().min(next * NODE_ENTRIES);
                self.check.lost(blocks.start..end, error.to_string());
                return Ok(next);
            }
            Err(other) => return Err(other),
        }
        if self.drive.shell.map.read()?.is_hole(blocks.clone()) {
            return self.drive.shell.map.next_leaf_behind_hole(number);
        }
        self.enter_blocks(blocks.clone())?;
        for first in blocks.clone().step_by(GROUP_BLOCKS as usize) {
            let group = first..(first + GROUP_BLOCKS).min(blocks.end);
            let mapped = self.mapped(group.clone())?;
            if mapped.iter().all(|block| self.verified.has(*block))
                || self.drive.reader.reads_well(group)?
            {
                self.check.blocks += mapped.len() as u64;
            } else {
                self.check_blocks(&mapped)?;
            }
        }
        Ok(number + 1)
    }

    /// The next leaf; the first one behind the directory if the directory is damaged.
    fn next_readable_leaf(&self, number: u64) -> Result<u64> {
        let leaf = self.drive.shell.map.read()?.stored(NodeId::Leaf(number));
        Ok(if leaf.is_err() { (directory_of(number) + 1) * NODE_ENTRIES } else { number + 1 })
    }

    /// Reads each block by itself and adds damages.
    fn check_blocks(&mut self, blocks: &[u64]) -> Result<()> {
        for block in blocks {
            match self.drive.reader.read_blocks(*block, &mut [0; BLOCK_BYTES as usize]) {
                Ok(()) => self.check.blocks += 1,
                Err(DiskError::Corrupt { what, .. }) => self.check.lost(*block..block + 1, what),
                Err(DiskError::Io(error)) => self.check.lost(*block..block + 1, error.to_string()),
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// The mapped ones of these blocks.
    fn mapped(&self, blocks: Range<u64>) -> Result<Vec<u64>> {
        let map = self.drive.shell.map.read()?;
        Ok(blocks.filter(|block| map.get(*block).is_ok_and(|at| !at.is_none())).collect())
    }

    fn enter_blocks(&mut self, blocks: Range<u64>) -> Result<()> {
        let map = self.drive.shell.map.read()?;
        for block in blocks {
            let Ok(place) = map.get(block) else { continue };
            // A unit is entered with the last of its blocks.
            let is_entered = place.is_unit()
                && (place.index() + 1..UNIT_BLOCKS).any(|index| {
                    map.get(block + index - place.index()) == Ok(place.at_index(index))
                });
            if place.is_record() && !is_entered {
                enter(&mut self.books, place);
            }
        }
        Ok(())
    }

    /// Enters the live records other than data: nodes, roots and dictionaries.
    fn enter_nodes(&mut self) -> Result<()> {
        let directories = self.drive.shell.map.read()?.stored_directories();
        for (number, place) in (0..).zip(directories) {
            if !place.is_record() {
                continue;
            }
            enter(&mut self.books, place);
            self.drive.shell.map.load_node(NodeId::Directory(number))?;
            let map = self.drive.shell.map.read()?;
            for leaf in number * NODE_ENTRIES..(number + 1) * NODE_ENTRIES {
                if let Ok(place) = map.stored(NodeId::Leaf(leaf))
                    && place.is_record()
                {
                    enter(&mut self.books, place);
                }
            }
        }
        let roots = self.drive.shell.superblocks.lock().root.clone();
        roots.iter().for_each(|part| enter(&mut self.books, root_weight(*part)));
        self.drive
            .shell
            .records
            .dictionaries
            .places()
            .iter()
            .for_each(|(_, place)| enter(&mut self.books, *place));
        Ok(())
    }

    fn compare(&mut self) -> Result<()> {
        let log = self.drive.shell.log.lock()?;
        for (number, segment) in log.space.iter() {
            let counted = self.books.get(&number).copied().unwrap_or_default();
            let booked = (u64::from(segment.live_bytes), u64::from(segment.live_records));
            if counted != booked {
                let what = format!(
                    "segment {number} is booked with {} bytes in {} live records, but has {} in {}",
                    booked.0, booked.1, counted.0, counted.1
                );
                self.check.wrong(what);
            }
        }
        Ok(())
    }

    fn check_segments(&mut self) -> Result<()> {
        let sealed: Vec<_> = {
            let log = self.drive.shell.log.lock()?;
            let sealed = log.space.iter().filter(|(_, segment)| {
                segment.state == State::Sealed
                    && segment.live_records > 0
                    && segment.sealed_seq <= log.durable_seq
            });
            sealed.map(|(number, segment)| (number, segment.opened_seq)).collect()
        };
        for (number, opened_seq) in sealed {
            if self.drive.shell.segments.read_footer(number, opened_seq)?.is_some() {
                self.check.segments += 1;
            } else {
                let what = format!("the footer of segment {number} is damaged; no data is lost");
                self.check.wrong(what);
            }
        }
        Ok(())
    }
}

fn enter(books: &mut Books, place: Location) {
    let (bytes, records) = books.entry(place.segment()).or_default();
    *bytes += u64::from(place.length());
    *records += 1;
}
