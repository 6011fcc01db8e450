//! A drive of 8 TiB in segments of 32 MiB: what counts segments or directories must bear as many.

use std::time::Instant;

use assay_drive::{BLOCK_BYTES, DriveOptions};

use crate::common::thin_host::{Host, plain_format};

#[test]
fn a_drive_of_8_tib_opens_in_seconds_after_a_power_cut() {
    let logical_bytes = 8 << 40;
    let mut format = plain_format(logical_bytes);
    format.segment_bytes = Some(32 << 20);
    let start = Instant::now();
    let options = DriveOptions { map_bytes: Some(16 << 20), ..DriveOptions::default() };
    let mut host = Host::new(262_144 - 1, &format, options, 8);
    let mut times = vec![("format and open", start.elapsed())];
    let mut time = |what, start: Instant| times.push((what, start.elapsed()));
    let blocks = logical_bytes / BLOCK_BYTES;
    let start = Instant::now();
    for command in 0..4000_u64 {
        let first = host.random.below(blocks - 64);
        assert!(host.write(first, 1 + command % 64).unwrap());
        if command % 500 == 0 {
            host.maintain(4).unwrap();
        }
    }
    time("4000 writes", start);
    let start = Instant::now();
    host.reopen().unwrap();
    time("close and open", start);
    for _ in 0..500 {
        let first = host.random.below(blocks - 64);
        assert!(host.write(first, 8).unwrap());
    }
    host.flush().unwrap();
    for _ in 0..100 {
        let first = host.random.below(blocks - 64);
        assert!(host.write(first, 8).unwrap());
    }
    let start = Instant::now();
    host.crash_and_go_on().unwrap();
    time("open after a power cut", start);
    let start = Instant::now();
    host.look_after_power_cut().unwrap();
    time("three more power cuts", start);
    let status = host.drive.status();
    println!(
        "{times:?}, {} bytes of map, {} of media",
        status.map_bytes,
        host.media.memory_bytes()
    );
    assert!(status.map_bytes < 64 << 20, "{} bytes of map", status.map_bytes);
    let slow = times.iter().find(|(_, took)| took.as_secs() > 60);
    assert!(slow.is_none(), "{slow:?}");
}
