//! `--memory`: the map's memory stays what was asked for, whatever is written and read.

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
