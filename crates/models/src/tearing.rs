//! A disk that gives up writing all or nothing, to show that what relies on that would notice.

use std::sync::Arc;

use assay_disk::{BLOCK_BYTES, Disk, Guarantees, Result, check_range};

/// Writes each block of a command by itself, and every second one, by its address, forced: a power cut between two, or a
/// reader, sees half of the command.
#[derive(Debug, Clone)]
pub struct Tearing<D: ?Sized> {
    below: Arc<D>,
}

impl<D: Disk + ?Sized> Tearing<D> {
    /// Over `below`.
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
        for (block, bytes) in (offset / BLOCK_BYTES..).zip(data.chunks(BLOCK_BYTES as usize)) {
            self.below.write(block * BLOCK_BYTES, bytes, force_unit_access || block % 2 == 1)?;
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

    /// Remembers what it was told to write: the block, how many, and whether forced.
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
    fn a_command_is_written_block_by_block_and_every_second_one_forced() {
        let below = MemoryDisk::new(16 * BLOCK_BYTES).unwrap();
        let below = Arc::new(Watched(below, Mutex::default()));
        let tearing = Tearing::new(Arc::clone(&below));
        assert_eq!(
            tearing.guarantees(),
            Guarantees { atomic_write_bytes: BLOCK_BYTES, volatile_cache: true }
        );
        tearing.write(BLOCK_BYTES, &[7; 4 * BLOCK], false).unwrap();
        let told = std::mem::take(&mut *below.1.lock());
        assert_eq!(told, [(1, 1, true), (2, 1, false), (3, 1, true), (4, 1, false)]);
        tearing.write(0, &[8; 2 * BLOCK], true).unwrap();
        assert_eq!(*below.1.lock(), [(0, 1, true), (1, 1, true)]);
        let mut data = [0; 6 * BLOCK];
        tearing.read(0, &mut data).unwrap();
        assert!(data.chunks(BLOCK).map(|block| block[0]).eq([8, 8, 7, 7, 7, 0]));
        assert!(tearing.write(15 * BLOCK_BYTES, &[1; 2 * BLOCK], false).is_err());
    }
}
