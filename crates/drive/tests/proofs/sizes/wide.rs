//! Maps that are large for their drive: all of it may have changed when a checkpoint is due.

use assay_drive::{BLOCK_BYTES, DriveOptions};
use assay_testing::{count, is_full};

use crate::common::thin_host::{DIRECTORY, Host, LEAF, plain_format};
use crate::common::versions::Versions;

/// Places that a host writes: a number of blocks at regular distances.
#[derive(Debug, Clone, Copy)]
struct Spread {
    segments: u64,
    stride: u64,
    blocks: u64,
    most: u64,
}

impl Spread {
    /// A drive with as many of these places written as it takes, or as there are to be.
    fn host(self, seed: u64) -> Host {
        let logical_bytes = (self.most + 1) * self.stride * BLOCK_BYTES;
        Host::new(self.segments, &plain_format(logical_bytes), DriveOptions::default(), seed)
    }

    fn fill(self, host: &mut Host) -> u64 {
        for place in 0..self.most {
            if !host.write(place * self.stride, self.blocks).unwrap() {
                return place;
            }
            if host.background {
                host.maintain(2).unwrap();
            }
        }
        self.most
    }
}

/// Everything that may happen next to a drive whose map has changed.
fn look_all_round(host: &mut Host) {
    host.look_after_power_cut().unwrap();
    host.maintain(50).unwrap();
    host.look_after_power_cut().unwrap();
    host.reopen().unwrap();
    host.look_after_power_cut().unwrap();
    // An opened drive works, and can be closed again.
    for _ in 0..3 {
        let leaves = host.model.leaves(&host.drive);
        let block = Versions::any_block(&host.drive, &leaves, &mut host.random);
        if !host.write(block, 1).unwrap() {
            assert!(host.discard(block, 1).unwrap(), "it takes neither a write nor a discard");
        }
        host.reopen().unwrap();
    }
}

fn trims(spread: Spread, background: bool, seed: u64) {
    let mut host = spread.host(seed);
    host.background = background;
    let places = spread.fill(&mut host);
    assert!(places > spread.most / 3, "{spread:?}: {places} places, and it is full");
    host.reopen().unwrap();
    host.look_after_power_cut().unwrap();
    // Until little is free.
    for _ in 0..spread.segments * 128 {
        host.write(0, 1).unwrap();
    }
    host.flush().unwrap();
    for place in 0..places {
        assert!(
            host.discard(place * spread.stride, 1).unwrap(),
            "{spread:?}: a discard is refused"
        );
        if background {
            host.maintain(3).unwrap();
        }
        if place % 200 == 199 {
            host.look_after_a_power_cut().unwrap();
        }
    }
    println!(
        "{spread:?}, background {background}: {places} places, {} segments free, {} checkpoints",
        host.drive.status().segments_free,
        host.drive.status().counts.checkpoints
    );
    look_all_round(&mut host);
    // The rest goes too: then there is room, though not what emptied directories take.
    for place in 0..places {
        assert!(host.discard(place * spread.stride, spread.blocks).unwrap());
    }
    for first in (0..places.min(4) * LEAF).step_by(64) {
        assert!(
            host.write(first, 64).unwrap(),
            "{spread:?}: everything was discarded, and block {first} is refused: {:?}",
            host.drive.status()
        );
    }
    look_all_round(&mut host);
}

const WIDE: Spread = Spread { segments: 64, stride: LEAF, blocks: 2, most: 1500 };

#[test]
fn a_trim_of_one_block_in_every_leaf_leaves_a_drive_that_works() {
    for background in [false, true] {
        trims(WIDE, background, 1);
        if background && !is_full() {
            continue;
        }
        trims(Spread { segments: 256, stride: 2 * LEAF, blocks: 4, most: 9000 }, background, 2);
    }
}

#[test]
fn a_trim_of_leaves_a_gib_apart_leaves_a_drive_that_works() {
    for background in [false, true] {
        trims(Spread { stride: DIRECTORY, most: 700, ..WIDE }, background, 3);
    }
}

/// Every leaf is written anew again and again, each time in another order.
#[test]
fn overwrites_all_over_a_wide_map_never_stop_a_drive() {
    for seed in 0..count(1, 4) {
        let spread = Spread { segments: 256, stride: LEAF, blocks: 8, most: 2400 };
        let mut host = spread.host(seed);
        let places = spread.fill(&mut host);
        assert_eq!(places, spread.most, "it does not take them");
        host.look_after_power_cut().unwrap();
        for command in 0..6000 {
            let place = host.random.below(places);
            let block = place * spread.stride + host.random.below(8);
            assert!(host.write(block, 1).unwrap(), "an overwrite is refused");
            host.maintain(3).unwrap();
            if command % 1500 == 1499 {
                host.look_after_power_cut().unwrap();
            }
        }
        look_all_round(&mut host);
    }
}

/// A sequential fill fills the map's stream with leaves that are rewritten again and again.
#[test]
fn a_large_fresh_drive_takes_all_that_it_says_is_free() {
    let segments = count(1000, 6000);
    for background in [false, true] {
        let spread = Spread { segments, stride: 64, blocks: 64, most: 12 * segments };
        let mut host = spread.host(5);
        let mut places = 0;
        while host.write(places * 64, 64).unwrap() {
            places += 1;
            if background && places % 4 == 0 {
                host.maintain(3).unwrap();
            }
            if places % count(4000, 8000) == 0 {
                host.look_after_a_power_cut().unwrap();
            }
        }
        let status = host.drive.status();
        let written = places * 64 * BLOCK_BYTES;
        println!("background {background}: {written} of {} bytes usable", status.usable_bytes);
        assert!(status.free_bytes < 1 << 20, "refused with {} bytes free", status.free_bytes);
        assert!(written * 100 > status.usable_bytes * 99);
        look_all_round(&mut host);
    }
}

/// As an aged file system does it: most of the drive was written once, much of that is no longer in
/// use, and one day all of it is trimmed at once.
#[test]
fn a_file_system_that_trims_what_it_freed_keeps_its_drive() {
    let large = count(256, 1024);
    for (segments, background) in [(128, true), (large, false), (1024, true)] {
        if segments > large {
            continue;
        }
        let logical_bytes = 2 * segments * (512 << 10);
        let format = plain_format(logical_bytes);
        let mut host = Host::new(segments, &format, DriveOptions::default(), segments);
        let usable = host.drive.status().usable_bytes / BLOCK_BYTES;
        let fill = usable * 9 / 10 / 64 * 64;
        for first in (0..fill).step_by(64) {
            assert!(host.write(first, 64).unwrap());
        }
        for _ in 0..segments * 20 {
            let first = host.random.below(fill - 8);
            let blocks = 1 + host.random.below(8);
            assert!(host.write(first, blocks).unwrap());
            if background {
                host.maintain(2).unwrap();
            }
        }
        host.look_after_power_cut().unwrap();
        // Every leaf has some runs that are free.
        let mut trimmed = 0;
        let mut block = 0;
        while block < fill {
            let run = (1 + host.random.below(40)).min(fill - block);
            assert!(host.discard(block, run).unwrap());
            trimmed += run;
            block += run + 1 + host.random.below(120);
            if background && host.random.chance(20) {
                host.maintain(1).unwrap();
            }
            if host.random.below(segments * 10) == 0 {
                host.look_after_a_power_cut().unwrap();
            }
        }
        println!("{segments} segments: {trimmed} of {fill} blocks trimmed, {:?}", host.found);
        host.look_after_power_cut().unwrap();
        host.flush().unwrap();
        look_all_round(&mut host);
        for first in (fill..fill + trimmed / 2 / 64 * 64).step_by(64) {
            assert!(host.write(first, 64).unwrap(), "what was trimmed is not free");
        }
        look_all_round(&mut host);
    }
}
