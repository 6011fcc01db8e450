//! A full drive that compresses 16 KiB together, overwritten in part: the whole units are written anew.
//!
//! What is overwritten of a unit leaves the rest of it where it was, and so takes room before any is given back. Where there is
//! none, what lies beside the new data is read and written with them: then all of the old unit dies. That is one group, there
//! whole or not at all; what others write beside it meanwhile is noticed, and it is done again.

use std::ops::Range;

use assay_disk::{BLOCK_BYTES, DiskError, Result};

use crate::core::map::Map;
use crate::core::space::Space;
use crate::format::{Location, UNIT_BLOCKS};
use crate::shell::drive::Drive;

/// Where blocks beside a write lay when they were read. A place that was used again counts as another: its segment was opened
/// by another number.
#[derive(Debug, Default)]
pub(crate) struct Beside(Vec<(u64, Location, u64)>);

impl Beside {
    /// Whether they lie where they did.
    pub(crate) fn is_unmoved(&self, map: &Map, space: &Space) -> bool {
        self.0.iter().all(|(block, place, opened_seq)| {
            map.get(*block) == Ok(*place) && opened_seq_of(space, *place) == *opened_seq
        })
    }
}

fn opened_seq_of(space: &Space, place: Location) -> u64 {
    if place.is_record() { space.get(place.segment()).opened_seq } else { 0 }
}

impl Drive {
    /// Writes blocks with what else is in their units.
    ///
    /// # Errors
    /// [`DiskError::Full`] where that helps nothing, or what lies beside cannot be read.
    pub(crate) fn write_whole_units(&self, first: u64, data: &[u8]) -> Result<()> {
        let end = first + data.len() as u64 / BLOCK_BYTES;
        let start = first / UNIT_BLOCKS * UNIT_BLOCKS;
        let behind = end.next_multiple_of(UNIT_BLOCKS).min(self.blocks());
        if (start, behind) == (first, end) {
            return Err(DiskError::Full);
        }
        loop {
            let beside = self.places_of([start..first, end..behind])?;
            let mut whole = vec![0; ((behind - start) * BLOCK_BYTES) as usize];
            let (front, rest) = whole.split_at_mut(((first - start) * BLOCK_BYTES) as usize);
            let (middle, back) = rest.split_at_mut(data.len());
            middle.copy_from_slice(data);
            for (block, part) in [(start, front), (end, back)] {
                self.read_beside(block, part)?;
            }
            if self.write_group(start, &whole, Some(&beside))? {
                return Ok(());
            }
        }
    }

    fn read_beside(&self, block: u64, data: &mut [u8]) -> Result<()> {
        match self.read_blocks(block, data) {
            Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => Err(DiskError::Full),
            read => read,
        }
    }

    fn places_of(&self, ranges: [Range<u64>; 2]) -> Result<Beside> {
        let mut beside = Beside::default();
        for block in ranges.into_iter().flatten() {
            loop {
                self.load_nodes_to_change(block..block + 1)?;
                let log = self.log()?;
                if let Ok(place) = self.map()?.get(block) {
                    beside.0.push((block, place, opened_seq_of(&log.space, place)));
                    break;
                }
            }
        }
        Ok(beside)
    }
}
