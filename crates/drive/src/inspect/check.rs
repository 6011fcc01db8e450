//! Checking: everything is read and verified, and the books are balanced.
//!
//! What the segments hold is read and decoded segment by segment; each mapped block that was not whole there, or was not
//! found, is asked for by itself. Each sealed segment's footer is read, and what the segments' rows count as live is
//! compared with what the map says. The host must rest meanwhile.

use std::collections::HashMap;
use std::ops::Range;

use crate::core::nodes::{NODE_ENTRIES, directory_of};
use crate::core::space::State;
use crate::format::{GROUP_BLOCKS, Location, NodeId, UNIT_BLOCKS};
use crate::inspect::verify::Verified;
use crate::shell::drive::Drive;
use assay_disk::{BLOCK_BYTES, DiskError, Result};

/// Something that is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// First byte that the host cannot read, in the drive's logical addresses; none where no data is lost.
    pub offset: Option<u64>,
    /// Bytes from there on that it cannot read; of a damaged part of the map what that part is for, written or not.
    pub bytes: u64,
    /// What is wrong.
    pub what: String,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Check {
    /// Blocks that were read and are whole.
    pub blocks: u64,
    /// Sealed segments with anything live whose footer was read and is whole.
    pub segments: u64,
    /// Everything that is not as it should be; what lies side by side and is wrong in the same way is one.
    pub damages: Vec<Damage>,
}

impl Check {
    /// Enters blocks that cannot be read.
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

    /// Enters what is wrong though no data is lost.
    fn wrong(&mut self, what: String) {
        self.damages.push(Damage { offset: None, bytes: 0, what });
    }
}

/// Live bytes and records of each segment, counted from the map.
type Books = HashMap<u32, (u64, u64)>;

impl Drive {
    /// Reads and verifies everything; `progress` is told how many of how many segments are done.
    ///
    /// # Errors
    /// Those of the media; damage is a result.
    pub fn check(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Check> {
        let mut check = Check::default();
        let mut books = Books::new();
        let leaves = self.blocks().div_ceil(NODE_ENTRIES);
        let verified = self.verify_segments(progress)?;
        let mut number = 0;
        while number < leaves {
            number = self.check_leaf(number, &verified, &mut check, &mut books)?;
        }
        self.check_segments(&mut check)?;
        // Where blocks are lost the books cannot balance.
        if check.damages.iter().all(|damage| damage.offset.is_none()) {
            self.enter_nodes(&mut books)?;
            self.compare(&books, &mut check)?;
        }
        Ok(check)
    }

    /// Checks the blocks of a leaf; gives the next leaf to look at.
    fn check_leaf(
        &self,
        number: u64,
        verified: &Verified,
        check: &mut Check,
        books: &mut Books,
    ) -> Result<u64> {
        let end = self.blocks().min((number + 1) * NODE_ENTRIES);
        let blocks = number * NODE_ENTRIES..end;
        match self.load_nodes(blocks.clone()) {
            Ok(()) => {}
            Err(error @ (DiskError::Corrupt { .. } | DiskError::Io(_))) => {
                let next = self.next_readable_leaf(number)?;
                let end = self.blocks().min(next * NODE_ENTRIES);
                check.lost(blocks.start..end, error.to_string());
                return Ok(next);
            }
            Err(other) => return Err(other),
        }
        if self.map()?.is_hole(blocks.clone()) {
            return self.next_leaf_behind_hole(number);
        }
        self.enter_blocks(blocks.clone(), books)?;
        for first in blocks.clone().step_by(GROUP_BLOCKS as usize) {
            let group = first..(first + GROUP_BLOCKS).min(blocks.end);
            let mapped = self.mapped(group.clone())?;
            if mapped.iter().all(|block| verified.has(*block)) || self.reads_well(group)? {
                check.blocks += mapped.len() as u64;
            } else {
                self.check_blocks(&mapped, check)?;
            }
        }
        Ok(number + 1)
    }

    /// Skips a directory that holds nothing in one step.
    pub(crate) fn next_leaf_behind_hole(&self, number: u64) -> Result<u64> {
        let behind = (directory_of(number) + 1) * NODE_ENTRIES;
        let rest = number * NODE_ENTRIES..behind * NODE_ENTRIES;
        let map = self.map()?;
        let is_empty = !map.has_directory(directory_of(number)) || map.is_hole(rest);
        Ok(if is_empty { behind } else { number + 1 })
    }

    /// Behind a damaged directory if it is that which is damaged.
    fn next_readable_leaf(&self, number: u64) -> Result<u64> {
        let leaf = self.map()?.stored(NodeId::Leaf(number));
        Ok(if leaf.is_err() { (directory_of(number) + 1) * NODE_ENTRIES } else { number + 1 })
    }

    /// Asks for each of these blocks by itself and enters what is wrong.
    fn check_blocks(&self, blocks: &[u64], check: &mut Check) -> Result<()> {
        for block in blocks {
            match self.read_blocks(*block, &mut [0; BLOCK_BYTES as usize]) {
                Ok(()) => check.blocks += 1,
                Err(DiskError::Corrupt { what, .. }) => check.lost(*block..block + 1, what),
                Err(DiskError::Io(error)) => check.lost(*block..block + 1, error.to_string()),
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// Whether these blocks can be read, all at once.
    pub(crate) fn reads_well(&self, blocks: Range<u64>) -> Result<bool> {
        let mut data = vec![0; ((blocks.end - blocks.start) * BLOCK_BYTES) as usize];
        match self.read_blocks(blocks.start, &mut data) {
            Ok(()) => Ok(true),
            Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Those of these blocks that hold anything.
    fn mapped(&self, blocks: Range<u64>) -> Result<Vec<u64>> {
        let map = self.map()?;
        Ok(blocks.filter(|block| map.get(*block).is_ok_and(|at| !at.is_none())).collect())
    }

    fn enter_blocks(&self, blocks: Range<u64>, books: &mut Books) -> Result<()> {
        let map = self.map()?;
        for block in blocks {
            let Ok(place) = map.get(block) else { continue };
            // A unit is entered with the last of its blocks.
            let is_entered = place.is_unit()
                && (place.index() + 1..UNIT_BLOCKS).any(|index| {
                    map.get(block + index - place.index()) == Ok(place.at_index(index))
                });
            if place.is_record() && !is_entered {
                enter(books, place);
            }
        }
        Ok(())
    }

    /// Enters what lives beside the blocks: nodes, roots and dictionaries.
    fn enter_nodes(&self, books: &mut Books) -> Result<()> {
        let directories = self.map()?.stored_directories();
        for (number, place) in (0..).zip(directories) {
            if !place.is_record() {
                continue;
            }
            enter(books, place);
            self.load_node(NodeId::Directory(number))?;
            let map = self.map()?;
            for leaf in number * NODE_ENTRIES..(number + 1) * NODE_ENTRIES {
                if let Ok(place) = map.stored(NodeId::Leaf(leaf))
                    && place.is_record()
                {
                    enter(books, place);
                }
            }
        }
        let roots = self.superblock().root.clone();
        roots.iter().for_each(|part| enter(books, crate::upkeep::checkpoint::root_weight(*part)));
        self.dictionary_places().iter().for_each(|(_, place)| enter(books, *place));
        Ok(())
    }

    fn compare(&self, books: &Books, check: &mut Check) -> Result<()> {
        let log = self.log()?;
        for (number, segment) in log.space.iter() {
            let counted = books.get(&number).copied().unwrap_or_default();
            let booked = (u64::from(segment.live_bytes), u64::from(segment.live_records));
            if counted != booked {
                let what = format!(
                    "segment {number} is booked with {} bytes in {} live records, but has {} in {}",
                    booked.0, booked.1, counted.0, counted.1
                );
                check.wrong(what);
            }
        }
        Ok(())
    }

    fn check_segments(&self, check: &mut Check) -> Result<()> {
        let sealed: Vec<_> = {
            let log = self.log()?;
            let sealed = log.space.iter().filter(|(_, segment)| {
                segment.state == State::Sealed
                    && segment.live_records > 0
                    && segment.sealed_seq <= log.durable_seq
            });
            sealed.map(|(number, segment)| (number, segment.opened_seq)).collect()
        };
        for (number, opened_seq) in sealed {
            if self.read_footer(number, opened_seq)?.is_some() {
                check.segments += 1;
            } else {
                let what = format!("the footer of segment {number} is damaged; no data is lost");
                check.wrong(what);
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
