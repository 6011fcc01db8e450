//! A drive without space: it refuses before it accepts, keeps what it accepted, and works again
//! when there is room.

mod host;
mod seeds;
mod sizes;

use std::panic::AssertUnwindSafe;

use assay_drive::{BLOCK_BYTES, Codec, Disk, DiskError, State};
use assay_testing::count;

use crate::common::model::Flavour;
use host::Host;

const SEGMENTS: u64 = 32;

/// Contents of the drives: codec, units, and data that compress not at all, by half, or well.
const KINDS: [(Codec, bool, Flavour); 7] = [
    (Codec::None, false, Flavour::Hard),
    (Codec::None, true, Flavour::Digits),
    (Codec::Zstd, false, Flavour::Digits),
    (Codec::Zstd, true, Flavour::Hard),
    (Codec::Zstd, true, Flavour::Digits),
    (Codec::Deflate, false, Flavour::Words),
    (Codec::Lz4, true, Flavour::Words),
];

/// Every kind in the full scope, else every third.
fn kinds() -> impl Iterator<Item = (Codec, bool, Flavour)> {
    KINDS.into_iter().step_by(count(3, 1))
}

fn full(kind: (Codec, bool, Flavour), seed: u64) -> (Host, u64) {
    let (codec, units, flavour) = kind;
    let mut host = Host::new(codec, units, SEGMENTS, seed);
    let (blocks, _) = host.fill(flavour);
    (host, blocks)
}

#[test]
fn a_drive_refuses_before_it_accepts_and_keeps_what_it_accepted() {
    for kind in kinds() {
        let mut host = Host::new(kind.0, kind.1, SEGMENTS, 1);
        let (blocks, states) = host.fill(kind.2);
        let status = host.drive.status();
        println!(
            "{kind:?}: {blocks} blocks, {} bytes used, {} of {} free",
            status.media_bytes_used, status.free_bytes, status.usable_bytes
        );
        assert_eq!(states, [State::Healthy, State::LowSpace, State::Full], "{kind:?}");
        // A 24th part of a drive as small as this is kept for overwriting and for rescue.
        assert!(status.media_bytes_used * 20 > status.usable_bytes * 17, "{status:?}");
        host.flush();
        host.check();
        host.maintain(50);
        host.flush();
        host.check();
        // In any order of openings, it stays as full as before.
        for round in 0..4 {
            if round % 2 == 0 {
                host.reopen()
            } else {
                host.crash()
            }
            assert!(!host.write(blocks + 64, 4, kind.2), "{kind:?}: there is room all at once");
            host.check();
        }
    }
}

#[test]
fn what_is_said_to_be_free_is_what_can_be_written() {
    for units in [false, true] {
        let mut host = Host::new(Codec::None, units, SEGMENTS, 8);
        let usable = host.drive.status().usable_bytes;
        let empty = host.drive.status().free_bytes;
        assert!(usable - empty < 2 * BLOCK_BYTES, "{empty} of {usable} free in an empty drive");
        let mut free = vec![(0, usable)];
        let mut blocks = 0;
        for count in [64, 4] {
            while host.write(blocks, count, Flavour::Hard) {
                blocks += count;
                free.push((blocks, host.drive.status().free_bytes));
            }
        }
        println!("units {units}: {} of {usable} bytes written", blocks * BLOCK_BYTES);
        let tolerance = usable / 100;
        for (before, free) in free {
            let written = (blocks - before) * BLOCK_BYTES;
            assert!(free.abs_diff(written) < tolerance, "{free} were free, {written} written");
        }
        assert!(host.drive.status().free_bytes < 5 * BLOCK_BYTES, "{:?}", host.drive.status());
    }
}

#[test]
fn a_drive_is_full_from_the_first_refusal_until_there_is_room() {
    let mut host = Host::new(Codec::None, false, SEGMENTS, 7);
    let mut blocks = 0;
    while host.write(blocks, 64, Flavour::Hard) {
        assert_ne!(host.drive.status().state, State::Full, "nothing was refused yet");
        blocks += 64;
    }
    assert_eq!(host.drive.status().state, State::Full, "64 blocks were refused");
    // Smaller data are still accepted, which makes no room.
    assert!(host.write(blocks, 1, Flavour::Hard));
    assert_eq!(host.drive.status().state, State::Full);
    host.discard(0, 1);
    assert_eq!(host.drive.status().state, State::Full, "64 blocks would be refused again");
    host.discard(1, 127);
    assert_eq!(host.drive.status().state, State::LowSpace);
    // The smallest of several refused sizes counts.
    for count in [64, 1] {
        blocks += 64;
        while host.write(blocks, count, Flavour::Hard) {
            blocks += count;
        }
        assert_eq!(host.drive.status().state, State::Full, "{count} blocks were refused");
    }
    host.discard(128, 2);
    assert_eq!(host.drive.status().state, State::LowSpace, "one block would be taken");
    host.flush();
    host.check();
}

#[test]
fn a_full_drive_takes_overwrites_that_compress_as_well() {
    for kind in kinds() {
        let (mut host, blocks) = full(kind, 2);
        let mut refused = 0;
        let mut written = 0;
        while written < 3 * blocks {
            // Parts of units too: the rest of each is written with them.
            let count = *host.random.pick(&[1, 3, 4, 16, 61, 64]);
            let first = host.random.below(blocks - count);
            refused += u64::from(!host.write(first, count, kind.2));
            written += count;
            if host.random.chance(3) {
                host.flush();
            }
        }
        println!("{kind:?}: refused {refused}");
        assert_eq!(refused, 0, "{kind:?}: a full drive no longer takes what it took");
        host.flush();
        host.check();
        host.reopen();
        host.check();
    }
}

#[test]
fn a_full_drive_refuses_overwrites_that_compress_worse_and_lives_on() {
    for units in [false, true] {
        let (mut host, blocks) = full((Codec::Zstd, units, Flavour::Digits), 3);
        let mut refused = 0;
        for _ in 0..200 {
            let first = host.random.below(blocks - 64);
            refused += u64::from(!host.write(first, 64, Flavour::Hard));
        }
        assert!(refused > 150, "data of twice the size was taken: {refused} refused");
        host.flush();
        host.check();
        host.crash();
        // Data that compress better make room, and the refused write is accepted then.
        for first in (0..blocks / 2).step_by(64) {
            assert!(host.write(first, 64, Flavour::Easy), "better data was refused");
        }
        assert!(host.write(blocks / 2, 64, Flavour::Hard), "there is room, and it is refused");
        host.flush();
        host.check();
    }
}

#[test]
fn what_is_discarded_can_be_written_again() {
    for kind in kinds() {
        let (mut host, blocks) = full(kind, 4);
        let most = host.drive.status().logical_bytes_used;
        for round in 0..3 {
            // From one end, in pieces all over, and everything.
            match round {
                0 => host.discard(0, blocks / 2),
                1 => (0..blocks).step_by(16).for_each(|first| host.discard(first, 7)),
                _ => host.discard(0, blocks),
            }
            if round == 1 {
                host.flush();
                host.crash();
            }
            let less = host.drive.status().logical_bytes_used;
            host.fill(kind.2);
            let again = host.drive.status().logical_bytes_used;
            assert!(less < most && again >= most - most / 50, "{kind:?}, round {round}: {again}");
            host.flush();
            host.check();
        }
    }
}

#[test]
fn a_full_drive_can_be_read_and_resized_and_refuses_without_waiting() {
    let (mut host, blocks) = full((Codec::None, false, Flavour::Hard), 5);
    let size = host.drive.size();
    host.drive.resize(2 * size).unwrap();
    assert!(!host.write(size / BLOCK_BYTES, 64, Flavour::Hard), "logical space is no space");
    // It gives back less than one of the writes below needs.
    let data = vec![0; 32 * BLOCK_BYTES as usize];
    host.model.discard(0, 32);
    host.drive.write(0, &data, false).unwrap();
    host.check();
    // Refusing takes no collection: nothing could be gained.
    let before = host.drive.status().counts;
    for _ in 0..1000 {
        let data = [1; BLOCK_BYTES as usize];
        let filled =
            host.drive.write((blocks + 70) * BLOCK_BYTES, &[data.as_slice(); 80].concat(), false);
        assert!(matches!(filled, Err(DiskError::Full)), "{filled:?}");
    }
    let after = host.drive.status().counts;
    assert_eq!(after.write_bytes_media(), before.write_bytes_media());
    host.check();
}

/// A file system that cannot be mounted for lack of space writes to fresh blocks, and deletes.
#[test]
fn a_full_drive_that_is_opened_for_rescue_takes_fresh_data_and_lives_on() {
    for kind in kinds() {
        let (mut host, blocks) = full(kind, 7);
        host.flush();
        assert!(!host.write(blocks + 64, 4, kind.2), "{kind:?}: it is not full");
        host.reopen_for_rescue(true);
        let mut fresh = 0;
        while host.write(blocks + 64 + fresh, 4, kind.2) {
            fresh += 4;
        }
        println!("{kind:?}: {fresh} fresh blocks beside {blocks}");
        assert!(fresh * 40 > blocks, "{kind:?}: {fresh} fresh blocks, and no more");
        // Also at the end of the reserve it takes overwrites, forgets nothing, and is as full when
        // it is opened again.
        for first in (0..blocks - 64).step_by(64) {
            assert!(host.write(first, 64, kind.2), "{kind:?}: an overwrite was refused");
        }
        host.check();
        host.crash();
        host.reopen_for_rescue(false);
        assert!(!host.write(blocks + 64 + fresh, 4, kind.2), "{kind:?}: there is room all at once");
        host.discard(0, blocks / 2);
        assert!(
            host.write(blocks + 64 + fresh, 4, kind.2),
            "{kind:?}: there is room, and it is refused"
        );
        host.flush();
        host.check();
    }
}

/// The checker itself: an accepted write that is not there, and a refused one that is.
#[test]
fn a_drive_that_loses_or_keeps_the_wrong_write_is_caught() {
    let fails = |host: &Host| std::panic::catch_unwind(AssertUnwindSafe(|| host.check())).is_err();
    let (mut host, _) = full(KINDS[0], 6);
    let data = host.model.write(0, 4);
    assert!(fails(&host), "a lost write went unnoticed");
    host.drive.write(0, &data, false).unwrap();
    assert!(!fails(&host));
    host.model.take_back();
    assert!(fails(&host), "a write that was said to be refused went unnoticed");
}
