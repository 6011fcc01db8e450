//! Memory of the map: with `--memory` what was asked for, whatever is written and read; without it
//! what docs/drive.md says.

use assay_drive::{BLOCK_BYTES, Disk, DriveOptions};

use crate::common::thin_host::{Host, plain_format};

const MAP_BYTES: u64 = 1 << 20;

/// Beyond what was asked for: a slot for each GiB of the drive, and what one command loads.
const BESIDE_BYTES: u64 = 2048 * 64 + (256 << 10);

#[test]
fn a_map_keeps_to_its_memory_whatever_is_written_and_read() {
    let format = plain_format(2 << 40);
    let options = DriveOptions { map_bytes: Some(MAP_BYTES), ..DriveOptions::default() };
    let blocks = format.logical_bytes / BLOCK_BYTES;
    let mut host = Host::new(1024, &format, options, 11);
    let mut most = (0, 0, 0);
    let measure = |host: &Host| host.drive.status().map_bytes;
    let mut written = Vec::new();
    for command in 0..6000_u64 {
        let block = host.random.below(blocks);
        assert!(host.write(block, 1).unwrap(), "it is full after {command} writes");
        written.push(block);
        most.0 = most.0.max(measure(&host));
        if command % 16 == 0 {
            host.maintain(1).unwrap();
        }
    }
    let mut data = [0; BLOCK_BYTES as usize];
    for block in &written {
        host.drive.read(block * BLOCK_BYTES, &mut data).unwrap();
        most.1 = most.1.max(measure(&host));
        host.drive.read(host.random.below(blocks) * BLOCK_BYTES, &mut data).unwrap();
    }
    for block in &written {
        assert!(host.discard(*block, 1).unwrap());
        most.2 = most.2.max(measure(&host));
    }
    println!("at most {} bytes by writes, {} by reads, {} by discards", most.0, most.1, most.2);
    let limit = 2 * MAP_BYTES + BESIDE_BYTES;
    assert!(most.0.max(most.1).max(most.2) <= limit, "{most:?}, {limit} at most");
    for block in written.iter().step_by(20) {
        host.check_now(*block).unwrap();
    }
    host.reopen().unwrap();
    host.look_after_power_cut().unwrap();
    assert!(measure(&host) <= limit);
}

/// docs/drive.md has these figures: blocks next to each other, blocks each far from the next, and
/// after they were discarded.
#[test]
fn the_maps_memory_is_that_of_the_addresses_that_hold_data() {
    const GIB: u64 = 1 << 30;
    let format = plain_format(16 << 40);
    let mut host = Host::new(1024, &format, DriveOptions::default(), 12);
    let measure = |host: &Host| host.drive.status().map_bytes;
    let empty = measure(&host);
    let dense = 16_384;
    for first in (0..dense).step_by(64) {
        assert!(host.write(first, 64).unwrap());
    }
    let of_dense = measure(&host) - empty;
    println!(
        "{dense} blocks next to each other: {:.2} bytes a block",
        of_dense as f64 / dense as f64
    );
    assert!(of_dense / dense < 9);

    let scattered = assay_testing::count(2000, 16_000) as u64;
    let place = |number: u64| 2 * GIB / BLOCK_BYTES + number * GIB / 2 / BLOCK_BYTES;
    for number in 0..scattered {
        assert!(host.write(place(number), 1).unwrap(), "it is full after {number}");
        if number % 64 == 0 {
            host.maintain(8).unwrap();
        }
    }
    let of_scattered = measure(&host) - empty - of_dense;
    let a_block = of_scattered as f64 / scattered as f64;
    println!(
        "{scattered} blocks, one in each 512 MiB: {:.1} MB, {a_block:.0} bytes a block",
        of_scattered as f64 / 1e6
    );
    assert!(
        (10_000.0..11_000.0).contains(&a_block),
        "half a directory of 12 KiB and a leaf of 4.1 KiB"
    );

    for number in 0..scattered {
        assert!(host.discard(place(number), 1).unwrap());
        if number % 64 == 0 {
            host.maintain(8).unwrap();
        }
    }
    host.drive.close().unwrap();
    let left = measure(&host).saturating_sub(empty + of_dense);
    println!("after they were discarded: {:.1} MB", left as f64 / 1e6);
    assert!(left < of_scattered / 20, "{left} bytes stay");
    assert!(host.write(place(3), 1).unwrap());
    host.check_now(place(3)).unwrap();
    host.check_now(place(4)).unwrap();
    host.reopen().unwrap();
    host.look_after_power_cut().unwrap();
}
