//! Brings a drive to its state after long use: filled, then overwritten at random until the cost of
//! that is steady. A new drive is faster than it will ever be again (SNIA Solid State Storage
//! Performance Test Specification 2.0.2, "steady state").

use super::random::Random;
use assay_disk::{BLOCK_BYTES, Disk, Result};
use assay_drive::Drive;
use assay_drive::Rest;
use assay_drive::{Codec, stand_in};

/// The wanted state of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preconditioning {
    /// Bytes with data, from the first on; whole pages of 16 KiB are overwritten.
    pub bytes: u64,
    /// Stored bytes for each byte of data, if the drive compresses: 0.5 is a ratio of 2 to 1.
    pub stored_share: f64,
    /// Seed for contents and for places of overwrites.
    pub seed: u64,
    /// Writes stand-ins instead of incompressible data, for media that store little of them.
    pub stands_in: bool,
}

/// The state that was reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preconditioned {
    /// Bytes written to media for each byte of the last overwrites.
    pub write_amplification: f64,
    /// Whether the write amplification was steady.
    pub is_steady: bool,
    /// Bytes that were overwritten.
    pub overwritten_bytes: u64,
}

/// Called with the share of the most work that is done, from 0 to 1.
pub type PreconditionProgress<'a> = &'a mut dyn FnMut(f64);

/// Bytes of the pages that are filled and overwritten: InnoDB's (MySQL manual, `innodb_page_size`).
pub const PAGE_BYTES: u64 = 16 << 10;

/// Bytes of one write while filling.
const FILL_BYTES: u64 = 128 << 10;

/// Windows of overwrites for each size of the data.
const WINDOWS_PER_DATA: u64 = 4;

/// Consecutive windows that must lie within [`STEADY_SHARE`] of their mean; SNIA's specification
/// has five rounds and 20 %.
const STEADY_WINDOWS: usize = 5;
const STEADY_SHARE: f64 = 0.05;

/// Most overwrites, in sizes of the data.
const DATA_TIMES_MAX: u64 = 6;

/// Writes between two calls of the drive's background work: more than fill a chunk, or the drive
/// would take itself for idle.
const WRITES_PER_MAINTENANCE: u64 = 128;

/// Fills and overwrites `drive`, at full speed; nothing else may use it.
///
/// # Errors
/// Those of the drive, also if the data do not fit.
pub fn precondition(
    drive: &Drive,
    plan: &Preconditioning,
    progress: PreconditionProgress<'_>,
) -> Result<Preconditioned> {
    let mut host = Host::new(drive, plan);
    let data_bytes = plan.bytes / PAGE_BYTES * PAGE_BYTES;
    let most = data_bytes * (1 + DATA_TIMES_MAX);
    for start in (0..data_bytes).step_by(FILL_BYTES as usize) {
        host.write(start, FILL_BYTES.min(data_bytes - start))?;
        progress(start as f64 / most as f64);
    }
    let window_bytes = (data_bytes / WINDOWS_PER_DATA).max(PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES;
    let mut recent = Vec::new();
    let mut overwritten_bytes = 0;
    let mut is_steady = data_bytes == 0;
    while !is_steady && overwritten_bytes < data_bytes * DATA_TIMES_MAX {
        recent.push(host.overwrite(data_bytes, window_bytes)?);
        overwritten_bytes += window_bytes;
        is_steady = has_settled(&recent);
        progress(((data_bytes + overwritten_bytes) as f64 / most as f64).min(1.0));
    }
    drive.flush()?;
    let write_amplification = recent.last().copied().unwrap_or(1.0);
    Ok(Preconditioned { write_amplification, is_steady, overwritten_bytes })
}

fn has_settled(recent: &[f64]) -> bool {
    let Some(last) = recent.len().checked_sub(STEADY_WINDOWS).map(|first| &recent[first..]) else {
        return false;
    };
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    last.iter().all(|cost| (cost / mean - 1.0).abs() <= STEADY_SHARE)
}

/// The writer.
struct Host<'a> {
    drive: &'a Drive,
    plan: &'a Preconditioning,
    random: Random,
    data: Vec<u8>,
    writes: u64,
}

impl<'a> Host<'a> {
    fn new(drive: &'a Drive, plan: &'a Preconditioning) -> Host<'a> {
        let random = Random::new(plan.seed);
        Host { drive, plan, random, data: vec![0; FILL_BYTES as usize], writes: 0 }
    }

    fn write(&mut self, start: u64, bytes: u64) -> Result<()> {
        let mut data = std::mem::take(&mut self.data);
        let part = &mut data[..bytes as usize];
        part.chunks_mut(BLOCK_BYTES as usize).for_each(|block| self.make_block(block));
        let result = self.drive.write(start, part, false);
        self.data = data;
        self.writes += 1;
        if self.writes.is_multiple_of(WRITES_PER_MAINTENANCE) {
            while self.drive.maintain()? == Rest::More {}
        }
        result
    }

    /// Overwrites pages at random; returns the bytes written to media for each byte.
    fn overwrite(&mut self, data_bytes: u64, bytes: u64) -> Result<f64> {
        let before = self.drive.status().counts.write_bytes_media();
        for _ in 0..bytes / PAGE_BYTES {
            let page = self.random.below(data_bytes / PAGE_BYTES);
            self.write(page * PAGE_BYTES, PAGE_BYTES)?;
        }
        let after = self.drive.status().counts.write_bytes_media();
        Ok((after - before) as f64 / bytes as f64)
    }

    fn make_block(&mut self, block: &mut [u8]) {
        let codec = self.drive.codec();
        let share = if codec == Codec::None { 1.0 } else { self.plan.stored_share.clamp(0.0, 1.0) };
        let stored_bytes = (share * block.len() as f64) as usize;
        if codec == Codec::Simulated || self.plan.stands_in {
            stand_in(stored_bytes, self.random.next(), block);
            return;
        }
        fill_block(block, stored_bytes, || self.random.next());
    }
}

/// Fills a block with data that every codec stores in about `stored_bytes`: words of `next` up to
/// there, at least 8 bytes, then zeroes.
pub fn fill_block(block: &mut [u8], stored_bytes: usize, mut next: impl FnMut() -> u64) {
    let (random, zeroes) = block.split_at_mut(stored_bytes.clamp(8, block.len()));
    for word in random.chunks_mut(8) {
        word.copy_from_slice(&next().to_le_bytes()[..word.len()]);
    }
    zeroes.fill(0);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use assay_disk::MemoryDisk;
    use assay_drive::{DriveOptions, Format, Policy};

    fn drive(media_bytes: u64, codec: Codec) -> Drive {
        let media = Arc::new(MemoryDisk::new(media_bytes).unwrap());
        let format = Format {
            drive_id: 1,
            logical_bytes: media_bytes,
            codec,
            units: false,
            dictionary: false,
            segment_bytes: Some(1 << 20),
        };
        Drive::format(media.clone(), &format).unwrap();
        let options = DriveOptions { policy: Policy::Greedy, ..DriveOptions::default() };
        Drive::open(media, options).unwrap()
    }

    fn preconditioned(
        media_bytes: u64,
        codec: Codec,
        stored_share: f64,
    ) -> (Preconditioned, Drive) {
        let drive = drive(media_bytes, codec);
        let plan = Preconditioning {
            bytes: media_bytes / 10 * 7,
            stored_share,
            seed: 3,
            stands_in: false,
        };
        let mut furthest = 0.0;
        let done = precondition(&drive, &plan, &mut |share| {
            assert!(share >= furthest && share <= 1.0);
            furthest = share;
        });
        (done.unwrap(), drive)
    }

    #[test]
    fn a_full_drive_is_overwritten_until_that_costs_what_the_law_says() {
        let (done, drive) = preconditioned(384 << 20, Codec::None, 0.3);
        assert!(done.is_steady, "{done:?}");
        assert_eq!(
            drive.status().logical_bytes_used,
            (384 << 20) / 10 * 7 / PAGE_BYTES * PAGE_BYTES
        );
        // Headers and tables take 2 % more; the reserves hold nothing.
        let status = drive.status();
        let kept = status.segments_free as f64 / status.segments as f64;
        let law = crate::nand::figures::write_amplification(0.7 * 1.02 / (1.0 - kept));
        println!("{done:?}, kept free {kept:.3}, by the law {law:.3}");
        let ratio = done.write_amplification / law;
        assert!((0.9..1.1).contains(&ratio), "{done:?} for {law}");
    }

    #[test]
    fn what_compresses_is_stored_as_small_as_asked() {
        for codec in [Codec::Deflate, Codec::Zstd, Codec::Simulated] {
            let (done, drive) = preconditioned(128 << 20, codec, 0.5);
            let ratio = drive.status().compression_ratio().unwrap();
            assert!((1.9..2.02).contains(&ratio), "{codec}: {ratio}");
            assert!(done.write_amplification < 0.8, "{codec}: {done:?}");
        }
    }

    #[test]
    fn one_seed_gives_one_drive() {
        let runs = [1, 2].map(|_| preconditioned(64 << 20, Codec::Simulated, 0.4));
        assert_eq!(runs[0].0, runs[1].0);
        assert_eq!(runs[0].1.status().counts, runs[1].1.status().counts);
    }
}
