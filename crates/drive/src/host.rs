//! The drive as a disk: what a host asks for, cut into commands of up to 256 KiB that the modules do whole or not at all.

use std::sync::atomic::Ordering;

use assay_disk::{BLOCK_BYTES, Disk, Guarantees, Result, check_range};

use crate::format::GROUP_BLOCKS;
use crate::shell::drive::{Cache, Drive};
use crate::status::Counters;

impl Disk for Drive {
    fn size(&self) -> u64 {
        self.logical_bytes.load(Ordering::Acquire)
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            atomic_write_bytes: GROUP_BLOCKS * BLOCK_BYTES,
            volatile_cache: self.options.cache == Cache::Volatile && !self.emulation.keeps_cache,
        }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        check_range(offset, data.len() as u64, self.size())?;
        self.running()?;
        let group = (GROUP_BLOCKS * BLOCK_BYTES) as usize;
        for (piece, part) in (0_u64..).zip(data.chunks_mut(group)) {
            self.read_blocks(offset / BLOCK_BYTES + piece * GROUP_BLOCKS, part)?;
        }
        Counters::add(&self.counters.read_bytes_host, data.len() as u64);
        Ok(())
    }

    /// Up to 256 KiB all or nothing; of a longer write each 256 KiB.
    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        check_range(offset, data.len() as u64, self.size())?;
        self.writable()?;
        let group = (GROUP_BLOCKS * BLOCK_BYTES) as usize;
        for (piece, part) in (0_u64..).zip(data.chunks(group)) {
            self.write_blocks(offset / BLOCK_BYTES + piece * GROUP_BLOCKS, part)?;
        }
        self.counters.host_write(data.len() as u64 / BLOCK_BYTES);
        Counters::add(&self.counters.write_bytes_host, data.len() as u64);
        if force_unit_access || self.options.cache == Cache::Writethrough {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        self.running()?;
        Counters::add(&self.counters.flushes, 1);
        let has_nothing_to_do = self.read_only.is_some() || self.emulation.keeps_cache;
        if has_nothing_to_do { Ok(()) } else { self.make_durable(false) }
    }

    /// A discard is an entry of the log, in runs of up to 128 MiB, each all or nothing.
    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        check_range(offset, length, self.size())?;
        self.writable()?;
        self.discard_blocks(offset / BLOCK_BYTES, length / BLOCK_BYTES)?;
        Counters::add(&self.counters.discard_bytes_host, length);
        if self.options.cache == Cache::Writethrough { self.flush() } else { Ok(()) }
    }
}
