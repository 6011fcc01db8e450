//! A disk in memory that stores only what is not zero: for media that are mostly holes, or
//! stand-ins for data.
//!
//! A block is stored as a map of its 64 cells of 64 bytes, one bit for each that is not all zeroes,
//! and those cells. Blocks of zeroes and regions that were never written take no memory: the disk
//! may be of any size.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;

use assay_disk::{BLOCK_BYTES, Disk, Guarantees, Result, check_range};

const BLOCK: usize = BLOCK_BYTES as usize;
const CELL: usize = 64;
const MAP: usize = 8;

/// Blocks of a region, whose table is created by its first write.
const REGION: u64 = 1024;

/// Blocks in memory, packed. Every write is atomic, and none is lost while the process lives.
#[derive(Debug)]
pub struct PackedDisk {
    size: u64,
    regions: Mutex<Regions>,
}

/// One region's blocks, each packed.
type Region = Vec<Box<[u8]>>;

/// Regions that were written, by number.
type Regions = HashMap<u64, Region>;

impl PackedDisk {
    /// A disk of zeroes.
    ///
    /// # Errors
    /// [`assay_disk::DiskError::OutOfRange`] if the size is not a multiple of a block.
    pub fn new(size: u64) -> Result<PackedDisk> {
        check_range(0, size, size)?;
        Ok(PackedDisk { size, regions: Mutex::default() })
    }

    /// Bytes of memory of the blocks.
    #[must_use]
    pub fn packed_bytes(&self) -> u64 {
        self.regions().values().flatten().map(|block| block.len() as u64).sum()
    }

    fn regions(&self) -> MutexGuard<'_, Regions> {
        self.regions.lock()
    }
}

/// The region of a block, and its index there.
fn place(number: u64) -> (u64, usize) {
    (number / REGION, (number % REGION) as usize)
}

fn pack(block: &[u8]) -> Box<[u8]> {
    let is_used = |cell: &&[u8]| cell.iter().any(|&byte| byte != 0);
    let cells = block.chunks(CELL);
    let used = cells.enumerate().filter(|(_, cell)| is_used(cell));
    let map = used.clone().fold(0, |map: u64, (index, _)| map | 1 << index);
    if map == 0 {
        return Box::default();
    }
    let mut packed = Vec::with_capacity(MAP + CELL * map.count_ones() as usize);
    packed.extend_from_slice(&map.to_le_bytes());
    used.for_each(|(_, cell)| packed.extend_from_slice(cell));
    packed.into()
}

fn unpack(packed: &[u8], block: &mut [u8]) {
    block.fill(0);
    let Some((map, cells)) = packed.split_first_chunk::<MAP>() else { return };
    let map = u64::from_le_bytes(*map);
    let places = (0..u64::BITS as usize).filter(|index| map & 1 << index != 0);
    for (index, cell) in places.zip(cells.chunks(CELL)) {
        block[index * CELL..][..CELL].copy_from_slice(cell);
    }
}

impl Disk for PackedDisk {
    fn size(&self) -> u64 {
        self.size
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: self.size, volatile_cache: false }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        let regions = self.regions();
        for (number, block) in (offset / BLOCK_BYTES..).zip(data.chunks_mut(BLOCK)) {
            let (region, index) = place(number);
            let packed = regions.get(&region).and_then(|region| region.get(index));
            unpack(packed.map_or(&[], |packed| packed), block);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8], _force_unit_access: bool) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        let mut regions = self.regions();
        for (number, block) in (offset / BLOCK_BYTES..).zip(data.chunks(BLOCK)) {
            let (region, index) = place(number);
            let blocks = || vec![Box::default(); REGION as usize];
            regions.entry(region).or_insert_with(blocks)[index] = pack(block);
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        check_range(offset, length, self.size)?;
        let mut regions = self.regions();
        for number in offset / BLOCK_BYTES..(offset + length) / BLOCK_BYTES {
            let (region, index) = place(number);
            if let Some(packed) = regions.get_mut(&region).and_then(|blocks| blocks.get_mut(index))
            {
                *packed = Box::default();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use assay_disk::MemoryDisk;
    use assay_drive::stand_in;

    #[test]
    fn it_is_the_disk_in_memory_whatever_is_done_to_it() {
        let bytes = 3000 * BLOCK_BYTES;
        let (packed, plain) = (PackedDisk::new(bytes).unwrap(), MemoryDisk::new(bytes).unwrap());
        let mut random = Random::new(3);
        for _ in 0..2000 {
            let length = (1 + random.below(64)) * BLOCK_BYTES;
            let offset = random.below((bytes - length) / BLOCK_BYTES) * BLOCK_BYTES;
            let mut data = vec![0; length as usize];
            match random.below(3) {
                0 => {
                    data.iter_mut().step_by(97).for_each(|byte| *byte = random.next() as u8);
                    let all_zero = random.below(data.len() as u64) as usize;
                    data[all_zero..].fill(0);
                    packed.write(offset, &data, false).unwrap();
                    plain.write(offset, &data, false).unwrap();
                }
                1 => {
                    packed.discard(offset, length).unwrap();
                    plain.discard(offset, length).unwrap();
                }
                _ => {
                    let mut other = vec![1; data.len()];
                    packed.read(offset, &mut data).unwrap();
                    plain.read(offset, &mut other).unwrap();
                    assert!(data == other, "{offset} {length}");
                }
            }
        }
        assert!(packed.write(bytes, &[0; BLOCK], false).is_err());
        assert!(PackedDisk::new(100).is_err());
    }

    #[test]
    fn stand_ins_take_little_and_data_take_their_size() {
        // A table of its regions alone would take more memory than there is.
        let disk = PackedDisk::new(1 << 60).unwrap();
        let mut data = vec![0; 256 * BLOCK];
        data.chunks_mut(BLOCK).for_each(|block| stand_in(BLOCK, 1, block));
        disk.write(1 << 39, &data, false).unwrap();
        assert_eq!(disk.packed_bytes(), 256 * 72);
        data.fill(7);
        disk.write(1 << 39, &data, false).unwrap();
        assert_eq!(disk.packed_bytes(), 256 * (8 + BLOCK_BYTES));
        disk.discard(1 << 39, data.len() as u64).unwrap();
        assert_eq!(disk.packed_bytes(), 0);
    }
}
