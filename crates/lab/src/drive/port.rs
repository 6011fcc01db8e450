//! What the port takes by itself: from a reader through the kernel to this process and back.

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use assay_drive::model::Time;
use assay_drive::{BLOCK_BYTES, BlockBuffer};
use rustix::fs::{Mode, OFlags};

/// Reads whose median is taken, and those before them, which find everything cold.
const READS: usize = 500;
const READS_BEFORE: usize = 100;

/// The median of reads of one block at depth 1 from the disk that is shown as `place`, while whoever serves it answers at
/// once. It is the last block, which file systems leave alone, so that finding it takes the server no time.
///
/// # Errors
/// What the system answered.
pub(super) fn round_trip(place: &Path, disk_bytes: u64) -> Result<Time> {
    let what = || format!("cannot read {}", place.display());
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(place, flags, Mode::empty()).with_context(what)?);
    let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
    let mut spans = Vec::with_capacity(READS);
    for number in 0..READS_BEFORE + READS {
        let began = Instant::now();
        rustix::io::pread(&file, block.as_mut(), disk_bytes - BLOCK_BYTES).with_context(what)?;
        if number >= READS_BEFORE {
            spans.push(began.elapsed());
        }
    }
    spans.sort_unstable();
    Ok(Time::from(spans[READS / 2]))
}
