//! Mirrored pairs: reads by the freer side, writes to both.

use proptest::prelude::*;

use super::*;
use crate::testing::{ask, open_loop, per_s, submit};

proptest! {
    /// Both platters turn as the single one does; whatever comes, one of the two arms is where the
    /// single arm would be.
    #[test]
    fn a_mirrored_read_is_never_slower_than_on_one_disk(
        reads in prop::collection::vec((0..(4_u64 << 30) / PAGE - 4, 1..4_u64), 1..80)
    ) {
        let mut alone = rotating(&array(1, false));
        let mut pair = rotating(&array(2, true));
        pair.spindles = vec![alone.spindles[0].clone(), alone.spindles[0].clone()];
        let commands: Vec<Command> = reads.iter().enumerate()
            .map(|(i, &(page, pages))| read(page * PAGE, pages * PAGE, MS * 30 * i as u64))
            .collect();
        let alone = open_loop(&mut alone, &commands);
        let pair = open_loop(&mut pair, &commands);
        for (pair, alone) in pair.iter().zip(&alone) {
            prop_assert!(pair.latency() <= alone.latency(), "{pair:?} {alone:?}");
        }
    }
}

#[test]
fn a_pair_reads_almost_twice_as_fast_as_a_disk_and_writes_as_fast() {
    let rate =
        |spindles, mirrored, is_write: bool| {
            let array = array(spindles, mirrored);
            let mut pages = Pages::of(&array, 3);
            per_s(&mut rotating(&array), 8, 5000, |_| {
                if is_write { pages.write() } else { pages.read() }
            })
        };
    let (reads, writes) =
        (rate(2, true, false) / rate(1, false, false), rate(2, true, true) / rate(1, false, true));
    println!("a pair's reads are {reads:.2} of a disk's, its writes {writes:.2}");
    assert!((1.7..2.1).contains(&reads), "{reads}");
    assert!((0.85..1.01).contains(&writes), "{writes}");
}

/// Latencies of a read of each pair after a long command of chunk 0.
fn latencies_after(first: &Command) -> [Time; 3] {
    [0, 1, 2].map(|pair| {
        let quick_link = ArrayGeometry { link_bytes_per_s: Rate(60e9), ..array(6, true) };
        let mut array = rotating(&quick_link);
        submit(&mut array, first);
        ask(&mut array, read(pair * CHUNK, BLOCK, first.arrival + MS)).when() - first.arrival
    })
}

#[test]
fn a_write_keeps_both_sides_of_its_pair_busy_and_a_read_one() {
    let long = 128 * 3 * CHUNK;
    // 8 MiB on each side, 46 ms.
    let after_read = latencies_after(&read(0, long, Time::ZERO));
    let after_write = latencies_after(&write(0, long, Time::ZERO));
    assert!(after_read.iter().all(|&latency| latency < MS * 12), "{after_read:?}");
    assert!(after_write.iter().all(|&latency| latency > MS * 40), "{after_write:?}");
    // A write of one chunk leaves the other pairs alone.
    let one = latencies_after(&write(0, CHUNK, Time::ZERO));
    assert!(one[0] > one[1] && one[0] > one[2], "{one:?}");
}
