//! Media in memory that count what a drive does to them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use assay_drive::{BLOCK_BYTES, Disk, Guarantees, Result, check_range};

/// The media.
pub struct Counted {
    image: Mutex<Vec<u8>>,
    size: u64,
    commands: AtomicU64,
    bytes: AtomicU64,
}

impl Counted {
    pub fn new(image: Vec<u8>) -> Counted {
        let size = image.len() as u64;
        let (commands, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        Counted { image: Mutex::new(image), size, commands, bytes }
    }

    /// Commands, and bytes that they moved, so far.
    pub fn work(&self) -> (u64, u64) {
        (self.commands.load(Ordering::SeqCst), self.bytes.load(Ordering::SeqCst))
    }

    fn count(&self, bytes: u64) {
        self.commands.fetch_add(1, Ordering::SeqCst);
        self.bytes.fetch_add(bytes, Ordering::SeqCst);
    }

    fn check(&self, offset: u64, length: u64) -> Result<()> {
        check_range(offset, length, self.size / BLOCK_BYTES * BLOCK_BYTES)
    }
}

impl Disk for Counted {
    fn size(&self) -> u64 {
        self.size
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: 512, volatile_cache: true }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.check(offset, data.len() as u64)?;
        self.count(data.len() as u64);
        let image = self.image.lock().unwrap_or_else(PoisonError::into_inner);
        data.copy_from_slice(&image[offset as usize..][..data.len()]);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8], _force_unit_access: bool) -> Result<()> {
        self.check(offset, data.len() as u64)?;
        self.count(data.len() as u64);
        let mut image = self.image.lock().unwrap_or_else(PoisonError::into_inner);
        image[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        self.count(0);
        Ok(())
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.check(offset, length)?;
        self.count(0);
        Ok(())
    }
}
