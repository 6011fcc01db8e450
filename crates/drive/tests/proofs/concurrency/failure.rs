//! Media that fail under many threads: everyone is told, nobody waits for ever.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use assay_drive::{BLOCK_BYTES, Codec, Disk, DiskError, Drive, DriveOptions, Format};
use assay_testing::count;

use crate::common::media::{Fault, SimulatedMedia};

const SEGMENT_BYTES: u32 = 512 << 10;
const MEDIA_BYTES: u64 = (1 << 20) + BLOCK_BYTES + 24 * SEGMENT_BYTES as u64;
const THREADS: u64 = 4;

/// After so long a thread waits for ever.
const LIMIT: Duration = Duration::from_secs(60);

fn round(fresh: &SimulatedMedia, fault: Fault) {
    let media = Arc::new(fresh.copy());
    let drive = Arc::new(Drive::open(media.clone(), DriveOptions::default()).unwrap());
    media.inject(fault);
    let (done, ends) = mpsc::channel();
    for thread in 0..THREADS {
        let (drive, done) = (drive.clone(), done.clone());
        std::thread::spawn(move || {
            let data = vec![thread as u8 + 1; 64 * BLOCK_BYTES as usize];
            let error = loop {
                let result = if thread % 2 == 0 {
                    drive.write(thread * 64 * BLOCK_BYTES, &data, false)
                } else {
                    drive.write(thread * 64 * BLOCK_BYTES, &data[..4096], true)
                };
                if let Err(error) = result {
                    break error;
                }
            };
            done.send(error).unwrap();
        });
    }
    for _ in 0..THREADS {
        let error = ends.recv_timeout(LIMIT).expect("a thread waits for ever");
        assert!(matches!(error, DiskError::Stopped { .. }), "{error}");
    }
}

#[test]
fn everyone_who_waits_for_failed_media_is_told() {
    let fresh = Arc::new(SimulatedMedia::new(MEDIA_BYTES));
    let format = Format {
        drive_id: 0xFA11,
        logical_bytes: 64 << 20,
        codec: Codec::None,
        units: false,
        dictionary: false,
        segment_bytes: Some(SEGMENT_BYTES),
    };
    Drive::format(fresh.clone(), &format).unwrap();
    for number in 0..count(60, 300) {
        round(&fresh, Fault::PowerCutAt(5 + 5 * number % 97));
    }
}
