//! A drive on a sparse file whose file system runs out of space: it stops, reports why, and keeps
//! all flushed data.

use std::path::Path;
use std::sync::Arc;

use assay_disk::{Disk, DiskError};
use assay_drive::{Codec, Drive, DriveOptions, Format, State};
use assay_ports::media::{Access, Allocation, FileMedia};

use crate::common::MIB;
use crate::common::testing::{TestMount, is_root, run};

/// Incompressible data that depend on `number`.
fn mebibyte(number: u64) -> Vec<u8> {
    let mut state = number;
    let words = std::iter::repeat_with(|| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state ^ state >> 33).to_le_bytes()
    });
    words.take(MIB as usize / 8).flatten().collect()
}

fn open(path: &Path) -> Drive {
    let media = FileMedia::open(path, Access::ReadWrite).unwrap();
    Drive::open(Arc::new(media), DriveOptions::default()).unwrap()
}

/// Checks that the first `count` mebibytes are as written.
fn check(drive: &Drive, count: u64) {
    let mut data = vec![0; MIB as usize];
    for number in 0..count {
        drive.read(number * MIB, &mut data).unwrap();
        assert!(data == mebibyte(number), "mebibyte {number} is not what was written");
    }
}

#[test]
fn a_drive_whose_file_system_is_full_stops_and_loses_nothing_that_was_flushed() {
    if !is_root() {
        return;
    }
    let mount = TestMount::new("tmpfs", Path::new("tmpfs"), "size=24m");
    let path = mount.path().join("media");
    let media = FileMedia::create(&path, 96 * MIB, Allocation::Sparse).unwrap();
    let format = Format {
        drive_id: 1,
        logical_bytes: 256 * MIB,
        codec: Codec::Zstd,
        units: false,
        dictionary: false,
        segment_bytes: Some(MIB as u32),
    };
    Drive::format(Arc::new(media), &format).unwrap();

    let drive = open(&path);
    let mut flushed = 0;
    let error = loop {
        let written = drive.write(flushed * MIB, &mebibyte(flushed), false);
        match written.and_then(|()| drive.flush()) {
            Ok(()) => flushed += 1,
            Err(error) => break error,
        }
    };
    assert!((10..24).contains(&flushed), "{flushed} MiB were taken");
    let DiskError::Stopped { reason } = error else { panic!("{error}") };
    assert!(reason.contains("a write to the media failed"), "{reason}");
    assert!(
        matches!(drive.flush(), Err(DiskError::Stopped { .. })),
        "it goes on as if nothing was"
    );
    drop(drive);

    // With free space it works again.
    run("mount", &["-o", "remount,size=64m", mount.path().to_str().unwrap()]);
    let drive = open(&path);
    assert_eq!(drive.status().state, State::Healthy);
    check(&drive, flushed);
    for number in flushed..30 {
        drive.write(number * MIB, &mebibyte(number), false).unwrap();
    }
    drive.flush().unwrap();
    check(&drive, 30);
    drive.close().unwrap();
}
