//! Upkeep that a host overtakes at the one moment at which it can do harm.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, DriveOptions, Format, Rest};

use crate::common::gate::{GatedMedia, Kind};
use crate::common::media::SimulatedMedia;
use crate::common::model::{Flavour, bytes_of};

const SEGMENT_BYTES: u64 = 512 << 10;
const GIB: u64 = 1 << 30;

/// After so long a thread waits for ever.
const LIMIT: Duration = Duration::from_secs(60);

fn drive(
    segments: u64,
    logical_bytes: u64,
    codec: Codec,
    options: DriveOptions,
) -> (Arc<GatedMedia>, Arc<Drive>) {
    let bytes = (1 << 20) + BLOCK_BYTES + segments * SEGMENT_BYTES;
    let media = Arc::new(GatedMedia::new(Arc::new(SimulatedMedia::new(bytes))));
    let format = Format {
        drive_id: 0x0CCE,
        logical_bytes,
        codec,
        units: false,
        dictionary: codec == Codec::Zstd,
        segment_bytes: Some(SEGMENT_BYTES as u32),
    };
    Drive::format(media.clone(), &format).unwrap();
    let drive = Drive::open(media.clone(), options).unwrap();
    (media, Arc::new(drive))
}

fn data(block: u64, blocks: u64, flavour: Flavour) -> Vec<u8> {
    (block..block + blocks).flat_map(|block| bytes_of(block, 1, flavour)).collect()
}

/// A dictionary is learnt from what is read with maintenance in hand: where the host brings the map
/// to the end of its memory meanwhile, that must not wait for maintenance.
#[test]
fn learning_a_dictionary_does_not_wait_for_itself() {
    let options = DriveOptions { map_bytes: Some(64 << 10), ..DriveOptions::default() };
    let (media, drive) = drive(160, GIB, Codec::Zstd, options);
    // A dictionary is tried when 16 MiB were written: with the last of these, when nothing else is
    // left to do.
    for leaf in 0..64 {
        if leaf == 63 {
            while drive.maintain().unwrap() == Rest::More {}
        }
        let block = leaf * 512;
        drive.write(block * BLOCK_BYTES, &data(block, 64, Flavour::Words), false).unwrap();
    }
    let (done, ends) = mpsc::channel();
    let held = media.hold(Kind::Read, 1 << 20..u64::MAX);
    let (upkeep, told) = (drive.clone(), done.clone());
    std::thread::spawn(move || {
        while upkeep.maintain().unwrap() == Rest::More {}
        told.send(()).unwrap();
    });
    held.wait();
    let host = drive.clone();
    std::thread::spawn(move || {
        for leaf in 100..160_u64 {
            let block = leaf * 512;
            host.write(block * BLOCK_BYTES, &data(block, 1, Flavour::Words), false).unwrap();
        }
        done.send(()).unwrap();
    });
    // Until the host waits for maintenance, or is done.
    std::thread::sleep(Duration::from_millis(200));
    drop(held);
    for _ in 0..2 {
        ends.recv_timeout(LIMIT).expect("a thread waits for ever");
    }
}

/// Until a checkpoint has given back what it emptied there is less room than the next one needs.
/// That is as it should be, and nothing to complain of.
#[test]
fn a_checkpoint_that_gives_back_is_not_out_of_room() {
    let options = DriveOptions { discard_media: true, ..DriveOptions::default() };
    let (media, drive) = drive(46, 320 * GIB, Codec::None, options);
    let rows: Vec<u64> = (0..300).map(|row| row * GIB / BLOCK_BYTES).collect();
    let write_rows = || {
        for row in &rows {
            drive.write(row * BLOCK_BYTES, &data(*row, 1, Flavour::Hard), false).unwrap();
        }
    };
    write_rows();
    let mut block = 512;
    while drive.write(block * BLOCK_BYTES, &data(block, 16, Flavour::Hard), false).is_ok() {
        block += 16;
    }
    for round in 0..20 {
        write_rows();
        let held = media.hold(Kind::Discard, 0..u64::MAX);
        let closing = drive.clone();
        let closed = std::thread::spawn(move || closing.close().unwrap());
        held.wait();
        drive.discard((512 + round) * BLOCK_BYTES, BLOCK_BYTES).unwrap();
        drop(held);
        closed.join().unwrap();
    }
    assert_eq!(drive.status().problems, Vec::<String>::new());
}
