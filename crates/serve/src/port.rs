//! Measures the round trip of the port: from a reader through the kernel to this process and back.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_drive::{BLOCK_BYTES, BlockBuffer};
use assay_models::Time;
use rustix::fs::{Mode, OFlags};

/// Rounds, and reads in each. The median of a round counts, and the smallest of all rounds: a
/// disturbance of the machine would otherwise pass for a slow port, and models, which subtract the
/// port's time, would be too fast.
const ROUNDS: usize = 5;
const READS: usize = 100;

/// Unmeasured reads at the start, with cold caches.
const READS_BEFORE: usize = 100;

/// The round trip for a read of one block at depth 1 from the disk shown as `place`, while its
/// server answers immediately. Reads the last block, which file systems do not use, so that the
/// server needs no time to find it.
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
