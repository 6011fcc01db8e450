//! Speed of reading and verifying everything on a drive, on media in memory, and the sizes of the
//! reads.
//!
//! The drive was written in order and then overwritten at random, as databases do: neighbours for
//! the host are scattered over the media. The time on a device follows from the sizes of the reads.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, DriveOptions, Format, MemoryDisk};

const MEDIA_BYTES: u64 = 2 << 30;
const LOGICAL_BYTES: u64 = 1 << 30;
const PAGE_BYTES: u64 = 16 << 10;

fn main() {
    println!(
        "{:<8} {:>9} {:>9} {:>10} {:>14}",
        "codec", "seconds", "MB/s", "reads", "KiB per read"
    );
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let media = Arc::new(MemoryDisk::new(MEDIA_BYTES).unwrap());
        let format = Format {
            drive_id: 1,
            logical_bytes: LOGICAL_BYTES,
            codec,
            units: false,
            dictionary: false,
            segment_bytes: None,
        };
        Drive::format(media.clone(), &format).unwrap();
        fill(&Drive::open(media.clone(), DriveOptions::default()).unwrap());
        let options = DriveOptions { read_only: true, ..DriveOptions::default() };
        let drive = Drive::open(media, options).unwrap();
        let before = drive.status().counts;
        let start = Instant::now();
        let check = drive.check(&mut |_, _| {}).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!((check.damages.len(), check.blocks), (0, LOGICAL_BYTES / BLOCK_BYTES));
        let after = drive.status().counts;
        let reads = after.reads_media - before.reads_media;
        let bytes = after.read_bytes_media - before.read_bytes_media;
        println!(
            "{:<8} {seconds:>9.2} {:>9.0} {reads:>10} {:>14.0}",
            codec.name(),
            LOGICAL_BYTES as f64 / seconds / 1e6,
            bytes as f64 / reads as f64 / 1024.0
        );
    }
}

/// Pages of random digits: in order, and then half as many again anywhere.
fn fill(drive: &Drive) {
    let mut state = 1_u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let pages = LOGICAL_BYTES / PAGE_BYTES;
    for number in 0..pages * 3 / 2 {
        let page = if number < pages { number } else { random() % pages };
        let data: Vec<u8> = (0..PAGE_BYTES / 4)
            .flat_map(|_| (random() as u32).to_le_bytes().map(|byte| b'0' + byte % 10))
            .collect();
        drive.write(page * PAGE_BYTES, &data, false).unwrap();
        if number % 64 == 0 {
            drive.maintain().unwrap();
        }
    }
    drive.close().unwrap();
}
