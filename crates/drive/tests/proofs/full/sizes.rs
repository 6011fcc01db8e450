//! Logical sizes: what a map takes that could name far more than there is, and which sizes cannot
//! be.

use std::sync::Arc;

use assay_drive::{
    BLOCK_BYTES, Codec, Disk, DiskError, Drive, DriveError, DriveOptions, Format,
    LOGICAL_PER_CAPACITY, MemoryDisk,
};

use super::host::Host;
use super::{SEGMENTS, kinds};
use crate::common::model::Flavour;

const CAPACITY: u64 = 32 << 20;

fn format(logical_bytes: u64) -> Format {
    Format {
        drive_id: 5,
        logical_bytes,
        codec: Codec::Zstd,
        units: false,
        dictionary: false,
        segment_bytes: Some(512 << 10),
    }
}

#[test]
fn a_size_that_the_capacity_cannot_bear_is_refused_when_the_drive_is_made() {
    let media = Arc::new(MemoryDisk::new(CAPACITY).unwrap());
    let most = CAPACITY * LOGICAL_PER_CAPACITY;
    let refused = Drive::format(media.clone(), &format(most + BLOCK_BYTES));
    assert!(
        matches!(&refused, Err(DriveError::Impossible(text)) if text.contains("at most")),
        "{refused:?}"
    );
    let mut block = [1; BLOCK_BYTES as usize];
    media.read(0, &mut block).unwrap();
    assert!(block.iter().all(|byte| *byte == 0), "it was refused, and written");
    Drive::format(media, &format(most)).unwrap();
}

#[test]
fn empty_space_takes_no_room() {
    let filled = |logical_bytes: Option<u64>| {
        let mut host = Host::new(Codec::None, false, SEGMENTS, 1);
        logical_bytes.into_iter().for_each(|bytes| host.drive.resize(bytes).unwrap());
        host.fill(Flavour::Hard).0
    };
    let (usual, large) = (filled(None), filled(Some(512 << 30)));
    assert!(large * 100 >= usual * 99, "{large} blocks of a large drive, {usual} of a small one");
}

#[test]
fn a_size_that_cannot_be_changes_nothing() {
    for kind in kinds() {
        let mut host = Host::new(kind.0, kind.1, SEGMENTS, 2);
        let (blocks, _) = host.fill(kind.2);
        let size = host.drive.size();
        for wrong in [0, BLOCK_BYTES + 1, 512 << 40, 1 << 60, blocks / 2 * BLOCK_BYTES] {
            let refused = host.drive.resize(wrong);
            assert!(matches!(refused, Err(DiskError::OutOfRange { .. })), "{wrong}: {refused:?}");
            assert_eq!(host.drive.size(), size);
        }
        // A full drive can be made larger and smaller again, and goes on working.
        for bytes in [256 << 30, 100 << 30, size] {
            host.drive.resize(bytes).unwrap();
            assert_eq!(host.drive.size(), bytes);
            assert!(host.write(0, 64, kind.2), "an overwrite is refused");
            host.check();
            host.reopen();
            host.check();
        }
    }
}

/// Directories of the map that were written and emptied are not booked for ever.
#[test]
fn a_drive_that_was_made_smaller_keeps_its_books() {
    let mut host = Host::new(Codec::None, false, SEGMENTS, 3);
    let size = host.drive.size();
    host.drive.resize(8 << 30).unwrap();
    for first in [size / BLOCK_BYTES, (7 << 30) / BLOCK_BYTES] {
        assert!(host.write(first, 64, Flavour::Hard));
    }
    host.reopen();
    for first in [size / BLOCK_BYTES, (7 << 30) / BLOCK_BYTES] {
        host.discard(first, 64);
    }
    host.drive.resize(size).unwrap();
    let damages = |host: &Host| host.drive.check(&mut |_, _| {}).unwrap().damages;
    assert_eq!(damages(&host), []);
    host.drive.close().unwrap();
    for _ in 0..2 {
        host.reopen();
        assert_eq!(damages(&host), []);
    }
}

/// A root tells what lies in segments that are open, also in that of the map's stream, where nodes
/// of a few bytes each are many.
#[test]
fn a_root_behind_very_many_small_nodes_is_read_again() {
    let media = Arc::new(MemoryDisk::new(2 << 30).unwrap());
    let format = Format {
        drive_id: 7,
        logical_bytes: 200 << 30,
        codec: Codec::Zstd,
        units: false,
        dictionary: false,
        segment_bytes: Some(32 << 20),
    };
    Drive::format(media.clone(), &format).unwrap();
    let drive = Drive::open(media.clone(), DriveOptions::default()).unwrap();
    let mut data = [0; BLOCK_BYTES as usize];
    for number in 0..250_000_u64 {
        data[..8].copy_from_slice(&(number + 1).to_le_bytes());
        let block = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (200 << 18);
        drive.write(block * BLOCK_BYTES, &data, false).unwrap();
    }
    drive.close().unwrap();
    let drive = Drive::open(media, DriveOptions::default()).unwrap();
    let status = drive.status();
    assert_eq!((status.recovery.rebuilt, status.problems), (false, vec![]));
}
