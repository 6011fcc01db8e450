//! A full drive that compresses 16 KiB together, overwritten in part: the whole units are written
//! anew.
//!
//! A write to a part of a unit leaves the old unit alive, so it takes room before any is given
//! back. If there is no room, the neighbours in the unit are read and written with the new data:
//! then all of the old unit dies. Both are one group, there whole or not at all. If another thread
//! writes a neighbour meanwhile, it is done again.

use std::ops::Range;

use assay_disk::{BLOCK_BYTES, DiskError, Result};

use crate::core::map::Map;
use crate::core::space::Space;
use crate::format::{Location, UNIT_BLOCKS};
use crate::writing::write::Writer;

/// The neighbours of a write in its units: block, place when it was read, and the number by which
/// that segment was opened. A place that was used again has another number.
#[derive(Debug, Default)]
pub(crate) struct Neighbours(Vec<(u64, Location, u64)>);

impl Neighbours {
    /// Whether all of them lie where they did.
    pub(crate) fn are_unmoved(&self, map: &Map, space: &Space) -> bool {
        self.0.iter().all(|(block, place, opened_seq)| {
            map.get(*block) == Ok(*place) && opened_seq_of(space, *place) == *opened_seq
        })
    }
}

fn opened_seq_of(space: &Space, place: Location) -> u64 {
    if place.is_record() { space.get(place.segment()).opened_seq } else { 0 }
}

impl Writer {
    /// Writes blocks together with their neighbours.
    ///
    /// # Errors
    /// [`DiskError::Full`] if they have no neighbours, or these cannot be read.
    pub(crate) fn write_whole_units(&self, first: u64, data: &[u8]) -> Result<()> {
        let end = first + data.len() as u64 / BLOCK_BYTES;
        let start = first / UNIT_BLOCKS * UNIT_BLOCKS;
        let behind = end.next_multiple_of(UNIT_BLOCKS).min(self.map.blocks());
        if (start, behind) == (first, end) {
            return Err(DiskError::Full);
        }
        loop {
            let neighbours = self.neighbours_of([start..first, end..behind])?;
            let mut whole = vec![0; ((behind - start) * BLOCK_BYTES) as usize];
            let (front, rest) = whole.split_at_mut(((first - start) * BLOCK_BYTES) as usize);
            let (middle, back) = rest.split_at_mut(data.len());
            middle.copy_from_slice(data);
            for (block, part) in [(start, front), (end, back)] {
                self.read_neighbours(block, part)?;
            }
            if self.write_group(start, &whole, Some(&neighbours))? {
                return Ok(());
            }
        }
    }

    fn read_neighbours(&self, block: u64, data: &mut [u8]) -> Result<()> {
        match self.reader.read_blocks(block, data) {
            Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => Err(DiskError::Full),
            read => read,
        }
    }

    fn neighbours_of(&self, ranges: [Range<u64>; 2]) -> Result<Neighbours> {
        let mut neighbours = Neighbours::default();
        for block in ranges.into_iter().flatten() {
            loop {
                self.map.load_to_change(block..block + 1)?;
                let log = self.log.lock()?;
                if let Ok(place) = self.map.read()?.get(block) {
                    neighbours.0.push((block, place, opened_seq_of(&log.space, place)));
                    break;
                }
            }
        }
        Ok(neighbours)
    }
}
