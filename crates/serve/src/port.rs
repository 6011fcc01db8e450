//! What the port takes by itself: from a reader through the kernel to this process and back.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_drive::{BLOCK_BYTES, BlockBuffer};
use assay_models::Time;
use rustix::fs::{Mode, OFlags};

/// Rounds of reads, and reads of each, whose median is taken: the least of all rounds counts, for a machine that does other
/// things for a moment would pass for a slow port, and models that take it off would be too fast.
const ROUNDS: usize = 5;
const READS: usize = 100;

/// Reads before them, which find everything cold.
const READS_BEFORE: usize = 100;

/// The least median of reads of one block at depth 1 from the disk that is shown as `place`, while whoever serves it answers at
/// once. It is the last block, which file systems leave alone, so that finding it takes the server no time.
///
/// # Errors
/// What the system answered.
pub fn round_trip(place: &Path, disk_bytes: u64) -> Result<Time> {
    let what = || format!("cannot read {}", place.display());
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(place, flags, Mode::empty()).with_context(what)?);
    let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
    let mut read = || {
        let began = Instant::now();
        rustix::io::pread(&file, block.as_mut(), disk_bytes - BLOCK_BYTES).with_context(what)?;
        anyhow::Ok(began.elapsed())
    };
    for _ in 0..READS_BEFORE {
        read()?;
    }
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        let mut spans = (0..READS).map(|_| read()).collect::<Result<Vec<_>>>()?;
        spans.sort_unstable();
        least = least.min(spans[READS / 2]);
    }
    Ok(Time::from(least))
}
