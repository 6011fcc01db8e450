//! Writing as a drive does not: each block by itself, so that a power cut leaves half a command.

use assay_drive::{BLOCK_BYTES, Disk, Result};

/// Writes each block by itself, every second one forced to media.
pub fn write_torn(disk: &dyn Disk, first: u64, data: &[u8], force: bool) -> Result<()> {
    for (block, bytes) in (first..).zip(data.chunks(BLOCK_BYTES as usize)) {
        disk.write(block * BLOCK_BYTES, bytes, block % 2 == 1)?;
    }
    if force { disk.flush() } else { Ok(()) }
}
