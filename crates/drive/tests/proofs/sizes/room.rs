//! The space that a drive reports as free: no more after it was reopened, and less by the segments
//! out of use.

use assay_drive::{BLOCK_BYTES, Disk, DiskError, DriveOptions};

use crate::common::faulty::Fault;
use crate::common::thin_host::{DIRECTORY, Host, LEAF, SEGMENT_BYTES, plain_format};

#[test]
fn opening_a_drive_again_makes_no_room() {
    for (stride, blocks) in [(LEAF, 2), (DIRECTORY, 2), (64, 64), (4 * LEAF, 1)] {
        let most = if stride == DIRECTORY { 2000 } else { 8000 };
        let format = plain_format((most + 10) * stride * BLOCK_BYTES);
        let mut host = Host::new(64, &format, DriveOptions::default(), stride);
        let mut places = 0;
        while host.write(places * stride, blocks).unwrap() {
            places += 1;
            assert!(places < most, "the drive is never full");
        }
        host.flush().unwrap();
        let free = host.drive.status().free_bytes;
        for round in 0..6 {
            if round % 2 == 0 {
                host.reopen().unwrap();
            } else {
                host.crash_and_go_on().unwrap();
            }
            let now = host.drive.status().free_bytes;
            assert!(now <= free + 4 * BLOCK_BYTES, "{stride}: {free} bytes were free, now {now}");
            let (block, mut more) = (places * stride, 0);
            while host.write(block + more * stride, blocks).unwrap() {
                more += 1;
                assert!(more < 10, "{stride}, round {round}: {places} fitted, now {more} more");
            }
            host.look_after_power_cut().unwrap();
        }
    }
}

#[test]
fn segments_that_cannot_be_read_are_not_counted_as_room() {
    let format = plain_format(1 << 30);
    let mut host = Host::new(96, &format, DriveOptions::default(), 7);
    let usable = host.drive.status().usable_bytes / BLOCK_BYTES;
    let fill = usable / 2 / 64 * 64;
    for first in (0..fill).step_by(64) {
        assert!(host.write(first, 64).unwrap());
    }
    host.reopen().unwrap();
    let before = host.drive.status();
    // Behind the four that a fresh drive has open lie data.
    for segment in 10..20_u64 {
        let start = (1 << 20) + segment * u64::from(SEGMENT_BYTES);
        let range = start + 4096..start + u64::from(SEGMENT_BYTES) - (64 << 10);
        host.faulty.inject(Fault::FailedRead, range, 0, u64::MAX);
    }
    for _ in 0..20_000 {
        let first = host.random.below(fill);
        host.write(first, 1).unwrap();
        let rest = host.drive.maintain();
        rest.map_err(|error| format!("maintenance failed: {error}")).unwrap();
    }
    let after = host.drive.status();
    println!("{} segments were taken out of use", after.segments_damaged);
    assert!(after.segments_damaged > 0, "{after:?}");
    let lost = before.usable_bytes - after.usable_bytes;
    let least = after.segments_damaged * u64::from(SEGMENT_BYTES) * 85 / 100;
    assert!(lost >= least, "{lost} bytes less are usable, {least} at least are lost");
    assert!(after.free_bytes + least <= before.free_bytes, "{after:?}");
    // It is filled to what it says, and then refuses without much ado.
    let mut next = fill;
    while host.write(next, 64).unwrap() {
        next += 64;
    }
    let written = (next - fill) * BLOCK_BYTES;
    let said = after.free_bytes;
    assert!(written + (2 << 20) > said, "{written} bytes were taken, {said} were said to be free");
    let before = host.drive.status().counts;
    for place in 0..200 {
        let data = vec![1; 64 * BLOCK_BYTES as usize];
        let refused = host.drive.write((next + 64 * place) * BLOCK_BYTES, &data, false);
        assert!(matches!(refused, Err(DiskError::Full)), "{refused:?}");
    }
    let counts = host.drive.status().counts;
    let moved = counts.write_bytes_media() - before.write_bytes_media();
    assert!(moved < 64 << 20, "{moved} bytes were moved to refuse 200 writes");
    let read = counts.read_bytes_media - before.read_bytes_media;
    assert!(read < 64 << 20, "{read} bytes were read to refuse 200 writes");
}
