//! Drives that were made smaller or larger, and what was beyond their end.

use assay_drive::{BLOCK_BYTES, Codec, Disk, DiskError, DriveOptions, Format};

use super::host::{Host, SEGMENT_BYTES, format, rot, wrong};

/// A unit may cross the new end. It still moves, and replay must follow it.
#[test]
fn a_unit_across_the_end_survives_its_moves() {
    let unit = 1000;
    let options = DriveOptions::default();
    let mut host =
        Host::new(40, &Format { units: true, ..format(Codec::Zstd, 256 << 20) }, options);
    let data = vec![7; 4 * BLOCK_BYTES as usize];
    host.drive.write(unit * BLOCK_BYTES, &data, false).unwrap();
    host.write(0, 64);
    host.drive.discard((unit + 2) * BLOCK_BYTES, 2 * BLOCK_BYTES).unwrap();
    host.drive.resize((unit + 2) * BLOCK_BYTES).unwrap();
    (0..960).step_by(32).for_each(|first| host.write(first, 32));
    let collected = host.drive.status().counts.gc_segments;
    for round in 0..800 {
        let first = host.random.below(960 - 8);
        host.write(first, 8);
        if round % 8 != 0 {
            continue;
        }
        let drive = host.after_a_kill();
        let mut read = vec![0; 2 * BLOCK_BYTES as usize];
        drive.read(unit * BLOCK_BYTES, &mut read).unwrap();
        assert!(read.iter().all(|byte| *byte == 7), "round {round}");
        assert_eq!(wrong(&drive, &host.truth), [], "round {round}");
        assert_eq!(drive.check(&mut |_, _| {}).unwrap().damages, [], "round {round}");
    }
    assert!(host.drive.status().counts.gc_segments > collected, "nothing ever moved");
}

/// A root has a word for each gibibyte, and a superblock names so many parts of a root.
#[test]
fn a_size_whose_root_no_superblock_can_name_is_refused() {
    let host = Host::new(400_000, &format(Codec::None, 1 << 30), DriveOptions::default());
    // A multiple of the capacity, far below all other limits of a size.
    let refused = host.drive.resize(2 << 50);
    assert!(matches!(refused, Err(DiskError::OutOfRange { .. })), "{refused:?}");
    host.drive.write(0, &[1; BLOCK_BYTES as usize], true).unwrap();
    host.drive.resize(1 << 40).unwrap();
    host.drive.close().unwrap();
    let status = host.after_a_kill().status();
    assert_eq!((status.logical_bytes, status.problems), (1 << 40, vec![]));
    assert!(status.segments > 10 * SEGMENT_BYTES / BLOCK_BYTES);
}

/// The node of the last blocks also speaks for those that come when the drive grows.
#[test]
fn what_grows_behind_a_lost_end_is_fresh() {
    let end = 512 + 100;
    for is_directory in [false, true] {
        let format = format(Codec::None, end * BLOCK_BYTES);
        let mut host = Host::new(40, &format, DriveOptions::default());
        host.write(600, 1);
        host.drive.close().unwrap();
        rot(&host.media, if is_directory { 0 } else { 1 }, is_directory);
        host.reopen();
        let mut data = vec![1; BLOCK_BYTES as usize];
        assert!(host.drive.read(600 * BLOCK_BYTES, &mut data).is_err());
        host.drive.resize(2 * end * BLOCK_BYTES).unwrap();
        host.drive.read((end + 10) * BLOCK_BYTES, &mut data).unwrap();
        assert_eq!(data, [0; BLOCK_BYTES as usize]);
        assert!(host.drive.read(600 * BLOCK_BYTES, &mut data).is_err(), "that is still lost");
        host.reopen();
        host.drive.read((end + 10) * BLOCK_BYTES, &mut data).unwrap();
    }
}

/// Shrinking keeps what the map has beyond its end until the drive is opened again, however often
/// it is done.
#[test]
fn a_drive_can_be_made_smaller_twice() {
    let gib = 1 << 30;
    let mut host = Host::new(40, &format(Codec::None, 3 * gib), DriveOptions::default());
    host.write(0, 8);
    host.write(2 * gib / BLOCK_BYTES, 8);
    host.discard(2 * gib / BLOCK_BYTES, 8).unwrap();
    host.drive.resize(2 * gib).unwrap();
    host.drive.resize(gib).unwrap();
    host.write(8, 8);
    host.drive.resize(3 * gib).unwrap();
    host.write(2 * gib / BLOCK_BYTES, 8);
    host.reopen();
    host.assert_right();
    assert_eq!(host.drive.check(&mut |_, _| {}).unwrap().damages, []);
}
