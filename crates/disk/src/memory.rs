//! A disk in memory, for tests and as the reference for others.

use parking_lot::RwLock;

use crate::{Disk, DiskError, Guarantees, Result, check_range};

/// Blocks in memory. Every write is atomic, and none is lost while the process lives.
#[derive(Debug)]
pub struct MemoryDisk {
    bytes: RwLock<Vec<u8>>,
}

impl MemoryDisk {
    /// A disk of `size` bytes, all zero.
    ///
    /// # Errors
    /// [`DiskError::OutOfRange`] if `size` is not a multiple of a block.
    pub fn new(size: u64) -> Result<MemoryDisk> {
        check_range(0, size, size)?;
        let length = usize::try_from(size).map_err(|_| DiskError::OutOfRange {
            offset: 0,
            length: size,
            size: usize::MAX as u64,
        })?;
        Ok(MemoryDisk { bytes: RwLock::new(vec![0; length]) })
    }
}

impl Disk for MemoryDisk {
    fn size(&self) -> u64 {
        self.bytes.read().len() as u64
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: self.size(), volatile_cache: false }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        let bytes = self.bytes.read();
        check_range(offset, data.len() as u64, bytes.len() as u64)?;
        data.copy_from_slice(&bytes[offset as usize..][..data.len()]);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8], _force_unit_access: bool) -> Result<()> {
        let mut bytes = self.bytes.write();
        check_range(offset, data.len() as u64, bytes.len() as u64)?;
        bytes[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        let mut bytes = self.bytes.write();
        check_range(offset, length, bytes.len() as u64)?;
        bytes[offset as usize..][..length as usize].fill(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BLOCK_BYTES;

    #[test]
    fn what_was_written_is_read_and_what_was_discarded_is_zero() {
        let disk = MemoryDisk::new(8 * BLOCK_BYTES).unwrap();
        disk.write(BLOCK_BYTES, &[7; 8192], false).unwrap();
        disk.discard(2 * BLOCK_BYTES, BLOCK_BYTES).unwrap();
        let mut data = vec![1; 3 * 4096];
        disk.read(BLOCK_BYTES, &mut data).unwrap();
        assert!(data[..4096].iter().all(|&byte| byte == 7));
        assert!(data[4096..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn ranges_off_the_disk_or_off_the_blocks_change_nothing() {
        let disk = MemoryDisk::new(2 * BLOCK_BYTES).unwrap();
        for (offset, length) in [(0, 100), (1, 4096), (8192, 4096), (u64::MAX - 4095, 4096)] {
            let data = vec![1; length as usize];
            let error = disk.write(offset, &data, true).unwrap_err();
            assert!(matches!(error, DiskError::OutOfRange { .. }), "{offset} {length}");
            assert!(disk.discard(offset, length).is_err());
        }
        let mut all = vec![1; 8192];
        disk.read(0, &mut all).unwrap();
        assert!(all.iter().all(|&byte| byte == 0));
        assert!(MemoryDisk::new(100).is_err());
    }
}
