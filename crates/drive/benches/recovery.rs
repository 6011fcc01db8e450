//! Speed of the replay after a crash, on media in memory, and the memory of the map.
//!
//! Blocks all over a logical space are written once and then again at random, without a checkpoint,
//! and flushed; the drive is dropped as a crash would leave it, and opened. Compressible blocks
//! make many entries of little log.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, DriveOptions, Format, MemoryDisk};

/// Log entries a second that recovery is to reach.
const TARGET_ENTRIES_PER_S: f64 = 3e6;

/// Bytes of memory for each written block that the map may take.
const TARGET_BYTES_PER_BLOCK: f64 = 9.0;

const ROUNDS: usize = 3;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let millions: f64 = arguments.next().map_or(4.0, |text| text.parse().unwrap());
    let blocks = (millions * 1e6) as u64;
    let media = Arc::new(MemoryDisk::new(2 << 30).unwrap());
    let format = Format {
        drive_id: 1,
        logical_bytes: blocks * BLOCK_BYTES,
        codec: Codec::Lz4,
        units: false,
        dictionary: false,
        segment_bytes: Some(8 << 20),
    };
    Drive::format(media.clone(), &format).unwrap();
    let options = DriveOptions { checkpoint_bytes: Some(u64::MAX), ..DriveOptions::default() };
    println!(
        "{:>12} {:>9} {:>13} {:>10} {:>7}",
        "entries", "seconds", "entries per s", "target", "ratio"
    );
    for round in 0..ROUNDS {
        write_all(&Drive::open(media.clone(), options.clone()).unwrap(), blocks, round as u64);
        let start = Instant::now();
        let drive = Drive::open(media.clone(), options.clone()).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let status = drive.status();
        let entries = status.recovery.entries as f64;
        let rate = entries / seconds;
        println!(
            "{entries:>12} {seconds:>9.3} {rate:>13.0} {TARGET_ENTRIES_PER_S:>10.0} {:>7.2}",
            rate / TARGET_ENTRIES_PER_S
        );
        let written = status.logical_bytes_used / BLOCK_BYTES;
        let bytes = status.map_bytes as f64 / written as f64;
        println!(
            "map: {bytes:.2} bytes of memory for each of {written} written blocks, \
             target {TARGET_BYTES_PER_BLOCK}, ratio {:.2}",
            bytes / TARGET_BYTES_PER_BLOCK
        );
        drive.close().unwrap();
    }
}

/// Writes every block once in the first round, and as many at random in each.
fn write_all(drive: &Drive, blocks: u64, round: u64) {
    let mut data = vec![0; 16 * BLOCK_BYTES as usize];
    let mut random = round;
    for number in 0..blocks / 16 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let group = if round == 0 { number } else { (random >> 20) % (blocks / 16) };
        data.chunks_mut(BLOCK_BYTES as usize)
            .for_each(|block| block[..8].copy_from_slice(&random.to_le_bytes()));
        drive.write(group * 16 * BLOCK_BYTES, &data, false).unwrap();
    }
    drive.flush().unwrap();
}
