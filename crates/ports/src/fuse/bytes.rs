//! Reads and writes a disk at any byte.
//!
//! Guarantees: requests aligned to blocks go to the disk unchanged, one command each, concurrently.
//! A request that begins or ends within a block is read, changed and written back as one command,
//! while no other write runs. Parts beyond the end are cut off.

use parking_lot::RwLock;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use assay_disk::{BLOCK_BYTES, BlockBuffer, Disk, DiskError, Result};

pub(super) struct Bytes {
    disk: Arc<dyn Disk>,
    /// Held exclusively from reading a block to writing it back, and shared by writes of whole
    /// blocks.
    changing: RwLock<()>,
}

impl Bytes {
    pub(super) fn new(disk: Arc<dyn Disk>) -> Bytes {
        Bytes { disk, changing: RwLock::new(()) }
    }

    pub(super) fn size(&self) -> u64 {
        self.disk.size()
    }

    /// Reads up to `length` bytes from `offset` into `buffer` and returns the part with the data:
    /// fewer bytes at the end.
    pub(super) fn read<'a>(
        &self,
        offset: u64,
        length: u64,
        buffer: &'a mut BlockBuffer,
    ) -> Result<&'a [u8]> {
        let end = offset.saturating_add(length).min(self.size());
        if offset >= end {
            return Ok(&[]);
        }
        let (first, past) = around(offset, end);
        let blocks = buffer.first((past - first) as usize);
        guarded(|| self.disk.read(first, blocks))?;
        Ok(&blocks[(offset - first) as usize..(end - first) as usize])
    }

    /// Writes `data` at `offset` and returns the number of bytes written: fewer at the end.
    pub(super) fn write(&self, offset: u64, data: &[u8], is_durable: bool) -> Result<usize> {
        let room = self.size().saturating_sub(offset);
        let data = &data[..data.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        if offset.is_multiple_of(BLOCK_BYTES) && (data.len() as u64).is_multiple_of(BLOCK_BYTES) {
            let _others = self.changing.read();
            guarded(|| self.disk.write(offset, data, is_durable))?;
        } else {
            let place = |part: &mut [u8]| part.copy_from_slice(data);
            self.change(offset, offset + data.len() as u64, is_durable, place)?;
        }
        Ok(data.len())
    }

    /// Makes bytes read as zeroes; whole blocks are discarded.
    pub(super) fn zero(&self, offset: u64, length: u64) -> Result<()> {
        let end = offset.saturating_add(length).min(self.size());
        let (first, past) = (offset.next_multiple_of(BLOCK_BYTES), end / BLOCK_BYTES * BLOCK_BYTES);
        let zero = |offset, end| self.change(offset, end, false, |part| part.fill(0));
        if offset >= end {
            return Ok(());
        }
        if first > past {
            return zero(offset, end);
        }
        if offset < first {
            zero(offset, first)?;
        }
        if first < past {
            let _others = self.changing.read();
            guarded(|| self.disk.discard(first, past - first))?;
        }
        if past < end { zero(past, end) } else { Ok(()) }
    }

    pub(super) fn flush(&self) -> Result<()> {
        guarded(|| self.disk.flush())
    }

    fn change(
        &self,
        offset: u64,
        end: u64,
        is_durable: bool,
        change: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let (first, past) = around(offset, end);
        let mut buffer = BlockBuffer::zeroed((past - first) as usize);
        let blocks = buffer.as_mut();
        let _alone = self.changing.write();
        guarded(|| self.disk.read(first, blocks))?;
        change(&mut blocks[(offset - first) as usize..(end - first) as usize]);
        guarded(|| self.disk.write(first, blocks, is_durable))
    }
}

/// The whole blocks that cover `offset..end`.
fn around(offset: u64, end: u64) -> (u64, u64) {
    (offset / BLOCK_BYTES * BLOCK_BYTES, end.next_multiple_of(BLOCK_BYTES))
}

/// A panic of the disk does not end a thread of the server.
fn guarded(command: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(command))
        .unwrap_or_else(|_| Err(DiskError::Stopped { reason: "it panicked; this is a bug".into() }))
}

#[cfg(test)]
mod tests {
    use assay_disk::MemoryDisk;

    use super::*;

    const SIZE: u64 = 8 * BLOCK_BYTES;

    /// A disk with numbered bytes, and the same in plain memory.
    fn numbered() -> (Bytes, Vec<u8>) {
        let plain: Vec<u8> = (0..SIZE).map(|index| (index % 251) as u8 + 1).collect();
        let disk = MemoryDisk::new(SIZE).unwrap();
        disk.write(0, &plain, false).unwrap();
        (Bytes::new(Arc::new(disk)), plain)
    }

    fn all(bytes: &Bytes) -> Vec<u8> {
        bytes.read(0, u64::MAX, &mut BlockBuffer::default()).unwrap().to_vec()
    }

    const RANGES: [(u64, u64); 9] = [
        (0, SIZE),
        (0, 1),
        (4095, 2),
        (5000, 10),
        (4096, 4096),
        (100, 9000),
        (8192, 5000),
        (SIZE - 1, 1),
        (SIZE - 5000, 5000),
    ];

    #[test]
    fn any_range_is_read_written_and_zeroed_and_nothing_beside_it() {
        for (offset, length) in RANGES {
            let (bytes, mut plain) = numbered();
            let range = offset as usize..(offset + length) as usize;
            let mut buffer = BlockBuffer::default();
            assert!(bytes.read(offset, length, &mut buffer).unwrap() == &plain[range.clone()]);
            let data: Vec<u8> = (0..length).map(|index| (index % 13) as u8).collect();
            assert_eq!(bytes.write(offset, &data, false).unwrap() as u64, length);
            plain[range.clone()].copy_from_slice(&data);
            assert!(all(&bytes) == plain, "write {offset} {length}");
            bytes.zero(offset, length).unwrap();
            plain[range].fill(0);
            assert!(all(&bytes) == plain, "zero {offset} {length}");
        }
    }

    #[test]
    fn what_lies_beyond_the_end_is_cut_off() {
        let (bytes, plain) = numbered();
        let mut buffer = BlockBuffer::default();
        assert_eq!(bytes.read(SIZE - 10, 100, &mut buffer).unwrap().len(), 10);
        assert_eq!(bytes.read(SIZE, 100, &mut buffer).unwrap().len(), 0);
        assert_eq!(bytes.read(u64::MAX, 100, &mut buffer).unwrap().len(), 0);
        assert_eq!(bytes.write(SIZE, &[0; 4096], false).unwrap(), 0);
        bytes.zero(SIZE, u64::MAX).unwrap();
        assert!(all(&bytes) == plain);
        assert_eq!(bytes.write(SIZE - 4096, &[0; 8192], false).unwrap(), 4096);
        bytes.zero(0, u64::MAX).unwrap();
        assert!(all(&bytes).iter().all(|&byte| byte == 0));
    }

    #[test]
    fn parts_of_one_block_changed_at_once_are_all_there() {
        let (bytes, _) = numbered();
        std::thread::scope(|scope| {
            for part in 0..4_u8 {
                let bytes = &bytes;
                scope.spawn(move || {
                    for round in 0..200_u8 {
                        bytes.write(u64::from(part) * 1024, &[round ^ part; 1024], false).unwrap();
                    }
                });
            }
        });
        let block = all(&bytes);
        let last =
            |part: usize| block[part * 1024..][..1024].iter().all(|&byte| byte == 199 ^ part as u8);
        assert!((0..4).all(last));
    }

    #[test]
    fn a_disk_that_panics_has_stopped() {
        struct Broken;
        impl Disk for Broken {
            fn size(&self) -> u64 {
                SIZE
            }
            fn guarantees(&self) -> assay_disk::Guarantees {
                assay_disk::Guarantees { atomic_write_bytes: 0, volatile_cache: true }
            }
            fn read(&self, _: u64, _: &mut [u8]) -> Result<()> {
                panic!("broken")
            }
            fn write(&self, _: u64, _: &[u8], _: bool) -> Result<()> {
                panic!("broken")
            }
            fn flush(&self) -> Result<()> {
                panic!("broken")
            }
            fn discard(&self, _: u64, _: u64) -> Result<()> {
                panic!("broken")
            }
        }
        let bytes = Bytes::new(Arc::new(Broken));
        let stopped = |result: Result<()>| matches!(result, Err(DiskError::Stopped { .. }));
        assert!(stopped(bytes.write(0, &[0; 4096], false).map(drop)));
        assert!(stopped(bytes.write(1, &[0; 1], false).map(drop)));
        assert!(stopped(bytes.zero(0, 4096)) && stopped(bytes.flush()));
    }
}
