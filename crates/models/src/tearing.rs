//! A disk without atomic writes, to show that code that relies on them would notice.

use std::sync::Arc;

use assay_disk::{BLOCK_BYTES, Disk, Guarantees, Result, check_range};

/// Writes each block of a command by itself: first every second one, by its address, forced, then
/// the others, unforced. A power cut after a command, or a reader within it, sees half of it.
#[derive(Debug, Clone)]
pub struct Tearing<D: ?Sized> {
    below: Arc<D>,
}

impl<D: Disk + ?Sized> Tearing<D> {
    /// Tears writes to `below`.
    #[must_use]
    pub fn new(below: Arc<D>) -> Tearing<D> {
        Tearing { below }
    }
}

impl<D: Disk + ?Sized> Disk for Tearing<D> {
    fn size(&self) -> u64 {
        self.below.size()
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: BLOCK_BYTES, ..self.below.guarantees() }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.below.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        check_range(offset, data.len() as u64, self.size())?;
        let blocks = || (offset / BLOCK_BYTES..).zip(data.chunks(BLOCK_BYTES as usize));
        for (block, bytes) in blocks().filter(|(block, _)| block % 2 == 1) {
            self.below.write(block * BLOCK_BYTES, bytes, true)?;
        }
        for (block, bytes) in blocks().filter(|(block, _)| block % 2 == 0) {
            self.below.write(block * BLOCK_BYTES, bytes, force_unit_access)?;
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        self.below.flush()
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.below.discard(offset, length)
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use assay_disk::MemoryDisk;

    use super::*;

    const BLOCK: usize = BLOCK_BYTES as usize;

    /// Records the writes that it got: the block, the number of blocks, and whether forced.
    struct Watched(MemoryDisk, Mutex<Vec<(u64, usize, bool)>>);

    impl Disk for Watched {
        fn size(&self) -> u64 {
            self.0.size()
        }

        fn guarantees(&self) -> Guarantees {
            Guarantees { atomic_write_bytes: 1 << 18, volatile_cache: true }
        }

        fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
            self.0.read(offset, data)
        }

        fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
            let told = (offset / BLOCK_BYTES, data.len() / BLOCK, force_unit_access);
            self.1.lock().push(told);
            self.0.write(offset, data, force_unit_access)
        }

        fn flush(&self) -> Result<()> {
            self.0.flush()
        }

        fn discard(&self, offset: u64, length: u64) -> Result<()> {
            self.0.discard(offset, length)
        }
    }

    #[test]
    fn every_second_block_of_a_command_is_written_first_and_forced() {
        let below = MemoryDisk::new(16 * BLOCK_BYTES).unwrap();
        let below = Arc::new(Watched(below, Mutex::default()));
        let tearing = Tearing::new(Arc::clone(&below));
        assert_eq!(
            tearing.guarantees(),
            Guarantees { atomic_write_bytes: BLOCK_BYTES, volatile_cache: true }
        );
        tearing.write(BLOCK_BYTES, &[7; 4 * BLOCK], false).unwrap();
        let told = std::mem::take(&mut *below.1.lock());
        assert_eq!(told, [(1, 1, true), (3, 1, true), (2, 1, false), (4, 1, false)]);
        tearing.write(0, &[8; 2 * BLOCK], true).unwrap();
        assert_eq!(*below.1.lock(), [(1, 1, true), (0, 1, true)]);
        let mut data = [0; 6 * BLOCK];
        tearing.read(0, &mut data).unwrap();
        assert!(data.chunks(BLOCK).map(|block| block[0]).eq([8, 8, 7, 7, 7, 0]));
        assert!(tearing.write(15 * BLOCK_BYTES, &[1; 2 * BLOCK], false).is_err());
    }
}
