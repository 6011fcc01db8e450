//! The drive as a [`Disk`]: host requests are cut into commands of at most 256 KiB, each of which
//! is done whole or not at all.

use assay_disk::{BLOCK_BYTES, Disk, Guarantees, Result, check_range};

use crate::drive::Drive;
use crate::format::GROUP_BLOCKS;
use crate::options::Cache;
use crate::status::Counters;

impl Disk for Drive {
    fn size(&self) -> u64 {
        self.shell.map.logical_bytes()
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            atomic_write_bytes: GROUP_BLOCKS * BLOCK_BYTES,
            volatile_cache: self.options.cache == Cache::Volatile && !self.keeps_cache(),
        }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        check_range(offset, data.len() as u64, self.size())?;
        self.running()?;
        let group = (GROUP_BLOCKS * BLOCK_BYTES) as usize;
        for (piece, part) in (0_u64..).zip(data.chunks_mut(group)) {
            self.reader.read_blocks(offset / BLOCK_BYTES + piece * GROUP_BLOCKS, part)?;
        }
        Counters::add(&self.shell.media.counters.read_bytes_host, data.len() as u64);
        Ok(())
    }

    /// Writes atomically up to 256 KiB; a longer write is atomic in each piece of 256 KiB.
    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        check_range(offset, data.len() as u64, self.size())?;
        self.writable()?;
        let group = (GROUP_BLOCKS * BLOCK_BYTES) as usize;
        for (piece, part) in (0_u64..).zip(data.chunks(group)) {
            self.writer.write_blocks(offset / BLOCK_BYTES + piece * GROUP_BLOCKS, part)?;
        }
        self.shell.media.counters.host_write(data.len() as u64 / BLOCK_BYTES);
        Counters::add(&self.shell.media.counters.write_bytes_host, data.len() as u64);
        if force_unit_access || self.options.cache == Cache::Writethrough {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        self.running()?;
        Counters::add(&self.shell.media.counters.flushes, 1);
        let has_nothing_to_do = self.read_only.is_some() || self.keeps_cache();
        if has_nothing_to_do { Ok(()) } else { self.shell.log.make_durable(false) }
    }

    /// Discards in runs of at most 128 MiB, each of which is atomic.
    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        check_range(offset, length, self.size())?;
        self.writable()?;
        self.writer.discard_blocks(offset / BLOCK_BYTES, length / BLOCK_BYTES)?;
        Counters::add(&self.shell.media.counters.discard_bytes_host, length);
        if self.options.cache == Cache::Writethrough { self.flush() } else { Ok(()) }
    }
}
