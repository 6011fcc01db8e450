//! Repair: afterwards the check finds nothing but what was given up, and that is named by address.

use std::collections::BTreeSet;
use std::sync::Arc;

use assay_drive::{
    BLOCK_BYTES, Disk, Drive, DriveOptions, LossReason, Repair, State, UnreadableBlocks,
};
use assay_testing::count;

use super::case::{Seen, look};
use super::scarred::{Scar, Scarred};
use super::specimen::{Ending, Specimen, blocks_of, options};
use crate::common::anatomy::{Part, Piece, Stream};
use crate::common::model::Content;
use crate::common::random::Random;

fn repair(media: &Arc<Scarred>, unreadable: UnreadableBlocks) -> Repair {
    Drive::repair(media.clone(), DriveOptions::default(), unreadable, &mut |_, _| {}).unwrap()
}

fn lost_blocks(repair: &Repair) -> BTreeSet<u64> {
    let blocks = |range: &std::ops::Range<u64>| range.start / BLOCK_BYTES..range.end / BLOCK_BYTES;
    repair.lost.iter().flat_map(|lost| blocks(&lost.range)).collect()
}

/// A drive with bad places where it holds something: its superblock, records, footers, and parity.
fn hurt(specimen: &Specimen, seed: u64) -> Arc<Scarred> {
    let media = Arc::new(Scarred::new(specimen.image.clone()));
    let mut random = Random::new(seed);
    let scar = [Scar::Flipped(seed), Scar::Zeroed, Scar::Unreadable, Scar::Dead][seed as usize % 4];
    let mut homes: Vec<u64> = specimen.homes.keys().copied().collect();
    homes.sort_unstable();
    let records: Vec<u64> = (0..6).map(|_| *random.pick(&homes)).collect();
    let segment_of = |block: u64| specimen.segment_of(block * BLOCK_BYTES);
    let footers = specimen.pieces.iter().filter(|piece| {
        let is_used = |home: &u64| segment_of(*home) == specimen.segment_of(piece.owner);
        matches!(piece.part, Part::Footer(_)) && homes.iter().any(is_used)
    });
    let footers: Vec<u64> = footers.map(|footer| blocks_of(&footer.range).end - 1).collect();
    let footers: Vec<u64> = (0..2).map(|_| *random.pick(&footers)).collect();
    records.into_iter().chain(footers).chain([0]).for_each(|block| media.scar(block, scar));
    if scar != Scar::Dead {
        let parity = specimen.pieces.iter().filter(|piece| piece.part == Part::Parity);
        let parity: Vec<_> = parity.collect();
        media.scar(random.pick(&parity).range.start / BLOCK_BYTES, scar);
    }
    media
}

fn expect(specimen: &Specimen, seen: &Seen, gone: &BTreeSet<u64>, unreadable: UnreadableBlocks) {
    for block in &specimen.blocks {
        let expected = match (gone.contains(block), unreadable) {
            (true, UnreadableBlocks::Kept) => None,
            (true, UnreadableBlocks::Discarded) => Some(Content::Zero),
            (false, _) => Some(specimen.model.now(*block)),
        };
        assert_eq!(seen.contents.get(block).copied(), expected, "block {block}");
    }
}

#[test]
fn a_repaired_drive_is_whole_but_for_what_is_named() {
    let mut given_up = 0;
    let specimens = Specimen::all().iter().filter(|specimen| specimen.ending != Ending::Flushed);
    for (number, specimen) in specimens.enumerate() {
        // In turn, so that the specimens together see each.
        let stride = count(4, 1);
        for seed in (0..8).skip(number % stride).step_by(stride) {
            let unreadable =
                [UnreadableBlocks::Kept, UnreadableBlocks::Discarded][seed as usize / 4];
            let media = hurt(specimen, seed);
            // Readable blocks before the repair.
            let read_only = DriveOptions { read_only: true, ..options() };
            let drive = Drive::open(media.clone(), read_only).unwrap();
            let before = look(&drive, &media, &specimen.blocks).unwrap();
            drop(drive);
            let repaired = repair(&media, unreadable);
            let gone: BTreeSet<u64> = before.failed.keys().copied().collect();
            assert_eq!(lost_blocks(&repaired), gone, "{}, seed {seed}", specimen.name);
            assert!(repaired.lost.iter().all(|lost| lost.loss == LossReason::Unreadable));
            given_up += gone.len();
            let named: u64 = repaired.check.damages.iter().map(|damage| damage.bytes).sum();
            let kept = if unreadable == UnreadableBlocks::Kept { gone.len() as u64 } else { 0 };
            assert_eq!(named, kept * BLOCK_BYTES, "{:?}", repaired.check);
            let wrong = repaired.check.damages.iter().find(|damage| damage.offset.is_none());
            assert_eq!(wrong, None, "{}, seed {seed}: {repaired:?}", specimen.name);
            let drive = Drive::open(media.clone(), options()).unwrap();
            let status = drive.status();
            let is_dead = seed % 4 == 3;
            assert_eq!(status.segments_damaged, repaired.segments_retired);
            assert_eq!(repaired.segments_retired > 0, is_dead, "{repaired:?}");
            assert_eq!(repaired.segments_returned > 0, seed % 4 == 2, "{repaired:?}");
            assert!(
                is_dead || matches!(status.state, State::Healthy | State::LowSpace),
                "{status:?}"
            );
            expect(specimen, &look(&drive, &media, &specimen.blocks).unwrap(), &gone, unreadable);
            drop(drive);
            // A second time there is nothing to do but to name what stays unreadable.
            let again = repair(&media, UnreadableBlocks::Discarded);
            assert_eq!((again.blocks_moved, again.nodes_restored), (0, 0), "{again:?}");
            assert_eq!(lost_blocks(&again).len() as u64, kept);
            assert_eq!(again.check.damages, [], "{}, seed {seed}", specimen.name);
            let drive = Drive::open(media.clone(), options()).unwrap();
            let seen = look(&drive, &media, &specimen.blocks).unwrap();
            expect(specimen, &seen, &gone, UnreadableBlocks::Discarded);
        }
    }
    assert!(given_up > count(12, 50), "hardly anything was damaged: {given_up}");
}

/// A drive without damage is left as it is.
#[test]
fn a_whole_drive_is_left_alone() {
    for specimen in Specimen::all() {
        let media = Arc::new(Scarred::new(specimen.image.clone()));
        let repaired = repair(&media, UnreadableBlocks::Discarded);
        assert_eq!((&repaired.lost[..], &repaired.check.damages[..]), (&[][..], &[][..]));
        assert_eq!((repaired.blocks_moved, repaired.nodes_restored), (0, 0), "{repaired:?}");
        let drive = Drive::open(media.clone(), options()).unwrap();
        let seen = look(&drive, &media, &specimen.blocks).unwrap();
        expect(specimen, &seen, &BTreeSet::new(), UnreadableBlocks::Kept);
    }
}

/// Two chunks of the log in a row, of which each would have told of the other.
#[test]
fn a_log_with_a_gap_is_given_up_from_there() {
    let mut told = 0;
    for specimen in Specimen::all().iter().filter(|specimen| specimen.ending == Ending::Rested) {
        let is_header = |piece: &&Piece| match piece.part {
            Part::Header(stream) => stream != Stream::Map && piece.seq > specimen.checkpoint_seq(),
            _ => false,
        };
        let mut headers: Vec<_> = specimen.pieces.iter().filter(is_header).collect();
        headers.sort_by_key(|piece| piece.seq);
        for (seed, pair) in (0_u64..).zip(headers.windows(2)) {
            if pair[0].seq + 1 != pair[1].seq {
                continue;
            }
            let media = Arc::new(Scarred::new(specimen.image.clone()));
            let scar = [Scar::Zeroed, Scar::Unreadable, Scar::Dead][seed as usize % 3];
            pair.iter().for_each(|piece| media.scar(piece.range.start / BLOCK_BYTES, scar));
            let state = Drive::open(media.clone(), options()).unwrap().status().state;
            if state != State::ReadOnly {
                continue;
            }
            let repaired = repair(&media, UnreadableBlocks::Discarded);
            let given_up = repaired.recovery.given_up.as_ref().unwrap();
            assert_eq!(given_up.seq, pair[0].seq);
            told += given_up.ranges.len();
            assert_eq!(repaired.check.damages, []);
            let drive = Drive::open(media.clone(), options()).unwrap();
            assert!(
                !matches!(drive.status().state, State::ReadOnly | State::Damaged) || seed % 3 == 2
            );
            drive.write(0, &[1; 4096], true).unwrap();
            // An earlier state, but for what was lost with it: segments may have been filled anew
            // since.
            let mut seen = look(&drive, &media, &specimen.blocks[1..]).unwrap();
            assert!(seen.failed.is_empty());
            let lost = repaired.lost.iter().filter(|lost| lost.loss != LossReason::Reverted);
            let lost: Vec<_> = lost.map(|lost| lost.range.clone()).collect();
            seen.contents.retain(|block, _| {
                *block > 64 && !lost.iter().any(|range| range.contains(&(block * BLOCK_BYTES)))
            });
            let prefixes = specimen.model.prefixes(&seen.contents, 0);
            assert!(
                prefixes.is_ok(),
                "{}: {:?}",
                specimen.name,
                prefixes.err().map(|(block, _)| block)
            );
        }
    }
    assert!(told > 5, "hardly anything was given up: {told}");
}

/// The control: what is lost and not named is noticed.
#[test]
fn a_loss_that_is_not_named_is_noticed() {
    let specimen = &Specimen::all()[0];
    let media = Arc::new(Scarred::new(specimen.image.clone()));
    let home = *specimen.homes.keys().min().unwrap();
    media.scar(home, Scar::Zeroed);
    let repaired = repair(&media, UnreadableBlocks::Discarded);
    let drive = Drive::open(media.clone(), options()).unwrap();
    let seen = look(&drive, &media, &specimen.blocks).unwrap();
    expect(specimen, &seen, &lost_blocks(&repaired), UnreadableBlocks::Discarded);
    let silent = || expect(specimen, &seen, &BTreeSet::new(), UnreadableBlocks::Discarded);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(silent)).is_err());
}
