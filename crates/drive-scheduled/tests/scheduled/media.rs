//! Media for threads that a scheduler switches: before and after each command another may go on.

use std::sync::Arc;

use assay_drive::{Disk, Promise, Result};

/// A disk over a disk that lets others go on around each of its commands.
pub struct Yielding {
    inner: Arc<dyn Disk>,
    yields: bool,
}

impl Yielding {
    pub fn new(inner: Arc<dyn Disk>, yields: bool) -> Yielding {
        Yielding { inner, yields }
    }

    fn around<T>(&self, command: impl FnOnce(&dyn Disk) -> Result<T>) -> Result<T> {
        let give_way = || {
            if self.yields {
                shuttle::thread::yield_now()
            }
        };
        give_way();
        let result = command(&*self.inner);
        give_way();
        result
    }
}

impl Disk for Yielding {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn promise(&self) -> Promise {
        self.inner.promise()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.around(|disk| disk.read(offset, data))
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        self.around(|disk| disk.write(offset, data, force_unit_access))
    }

    fn flush(&self) -> Result<()> {
        self.around(|disk| disk.flush())
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.around(|disk| disk.discard(offset, length))
    }
}
