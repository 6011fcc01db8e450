//! Drives that are rebuilt from their segments, after a history that left misleading ones behind.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, DriveOptions, Format};

use super::host::{
    Host, LEAF, SEGMENT_BYTES, format, noise, not_zero, open, rot, segment_of, wrong,
};
use crate::common::anatomy::{Part, Piece, Stream, pieces};
use crate::common::media::{Fate, Fault, Moment, SimulatedMedia};
use crate::common::random::Random;
use crate::common::roots::destroy_roots;

/// The checkpoint that an opening makes tells of what was discarded; the chunks that told it may be
/// gone.
#[test]
fn a_rebuild_knows_what_an_opening_wrote() {
    for crashes in [false, true] {
        let mut host = Host::new(40, &format(Codec::None, 64 << 20), DriveOptions::default());
        (0..320).step_by(32).for_each(|first| host.write(first, 32));
        host.reopen();
        // All of it is overwritten again: nothing lives in the segment with the discards.
        let temporary = |host: &mut Host, rounds: u64| {
            for _ in 0..rounds {
                (1000..1064).step_by(16).for_each(|first| host.write(first, 16));
            }
        };
        temporary(&mut host, 3);
        host.discard(0, 16).unwrap();
        temporary(&mut host, 6);
        host.drive.flush().unwrap();
        match crashes {
            true => host.drive = open(&host.media, &host.options),
            false => host.reopen(),
        }
        temporary(&mut host, 20);
        host.drive.flush().unwrap();
        let copy = Arc::new(host.media.killed());
        destroy_roots(&copy);
        let rebuilt = open(&copy, &host.options);
        assert!(rebuilt.status().recovery.rebuilt);
        assert_eq!(not_zero(&rebuilt, 0..16), [], "crashes {crashes}");
        assert_eq!(wrong(&rebuilt, &host.truth), [], "crashes {crashes}");
    }
}

/// A checkpoint that was cut short may have closed the segment where the next one then went on: its
/// footer knows nothing of that.
#[test]
fn a_footer_of_a_checkpoint_that_was_cut_short_is_not_believed() {
    const LEAVES: u64 = 150;
    for keeps_map_writes in [false, true] {
        let mut host = Host::new(64, &format(Codec::None, 1 << 30), DriveOptions::default());
        for leaf in 0..LEAVES {
            host.write(leaf * LEAF, 1);
            host.write(leaf * LEAF + 5, 1);
        }
        host.reopen();
        let before = host.truth.clone();
        (0..LEAVES).for_each(|leaf| host.write(leaf * LEAF + 1, 1));
        // At rest everything is written, and nothing flushed.
        host.maintain(3);
        let of_host = host.media.unflushed();
        let checkpoint = |host: &Host| host.drive.resize(host.drive.size()).unwrap();
        host.media.keep_moments();
        checkpoint(&host);
        let moments = host.media.take_moments();
        let most = moments.iter().max_by_key(|moment| moment.unflushed()).unwrap();
        let cut = most.after_power_cut(|index| match index >= of_host && keeps_map_writes {
            true => Fate::Whole,
            false => Fate::Lost,
        });
        host.media = Arc::new(cut);
        host.drive = open(&host.media, &host.options);
        host.truth = before;
        host.assert_right();
        let gone: Vec<u64> = (10..15).map(|leaf| leaf * LEAF).collect();
        let temporary = |host: &mut Host, rounds: u64| {
            for _ in 0..rounds {
                (10..110).for_each(|block| host.write(149 * LEAF + block, 1));
            }
            host.drive.flush().unwrap();
        };
        temporary(&mut host, 2);
        gone.iter().for_each(|block| host.discard(*block, 1).unwrap());
        temporary(&mut host, 0);
        checkpoint(&host);
        temporary(&mut host, 3);
        checkpoint(&host);
        temporary(&mut host, 30);
        let copy = Arc::new(host.media.killed());
        destroy_roots(&copy);
        let rebuilt = open(&copy, &host.options);
        assert_eq!(wrong(&rebuilt, &host.truth), [], "keeps {keeps_map_writes}");
        assert_eq!(not_zero(&rebuilt, gone), [], "keeps {keeps_map_writes}");
    }
}

/// A page in a language of few words, for which a dictionary is trained.
fn spoken(block: u64) -> Vec<u8> {
    let mut random = Random::new(block << 8);
    let word = |_| {
        let word = Random::new(1000 + random.below(24)).next();
        [word.to_le_bytes(), word.rotate_left(17).to_le_bytes()].concat()
    };
    (0..BLOCK_BYTES / 16).flat_map(word).collect()
}

fn speak(host: &Host, blocks: std::ops::Range<u64>) {
    for first in blocks.step_by(64) {
        let data: Vec<u8> = (first..first + 64).flat_map(spoken).collect();
        host.drive.write(first * BLOCK_BYTES, &data, false).unwrap();
    }
}

fn dictionaries(media: &SimulatedMedia) -> Vec<Piece> {
    let all = pieces(&media.image());
    all.into_iter().filter(|piece| piece.part == Part::Dictionary).collect()
}

/// A nearly full drive that overwrites until a checkpoint moves the dictionary: the moments of
/// that, and the copy.
fn while_the_dictionary_moves(host: &mut Host) -> (Vec<Moment>, Piece) {
    speak(host, 1 << 16..(1 << 16) + 8192);
    host.maintain(500);
    speak(host, 0..256);
    host.drive.discard(1 << 28, 8192 * BLOCK_BYTES).unwrap();
    let mut end = 1024;
    while host.try_write(end, 1).is_ok() {
        end += 1;
    }
    host.rest();
    host.drive.flush().unwrap();
    let before = dictionaries(&host.media);
    let is_new =
        |piece: &Piece| !before.iter().any(|old| old.range == piece.range && old.seq == piece.seq);
    for _ in 0..400 {
        for _ in 0..16 {
            let block = 1024 + host.random.below(end - 1024);
            host.write(block, 1);
        }
        host.drive.flush().unwrap();
        host.media.keep_moments();
        host.rest();
        let moments = host.media.take_moments();
        if let Some(copy) = dictionaries(&host.media).into_iter().find(is_new) {
            return (moments, copy);
        }
    }
    panic!("the dictionary was never moved");
}

/// Power cuts that tear this copy of the dictionary.
fn torn(moments: &[Moment], copy: &Piece, whole: &[u8]) -> Vec<SimulatedMedia> {
    let range = copy.range.start as usize..copy.range.end as usize;
    let mut found = Vec::new();
    for moment in moments.iter().filter(|moment| moment.unflushed() > 0) {
        for (index, sector) in (0..moment.unflushed()).flat_map(|i| (0..40).map(move |s| (i, s))) {
            let cut = moment.after_power_cut(|each| match each == index {
                true => Fate::Torn(sector),
                false => Fate::Whole,
            });
            let is_it = |piece: &Piece| piece.range == copy.range && piece.seq == copy.seq;
            let is_there = dictionaries(&cut).iter().any(is_it);
            if is_there && cut.image()[range.clone()] != whole[range.clone()] {
                found.push(cut);
            }
            if found.len() == 2 {
                return found;
            }
        }
    }
    found
}

/// The checkpoint that moved it was cut short: the older copy is whole, and everything that needs
/// it can be read.
#[test]
fn a_torn_copy_of_a_dictionary_costs_nothing() {
    let options = DriveOptions { checkpoint_bytes: Some(32 << 10), ..DriveOptions::default() };
    let format = Format { dictionary: true, ..format(Codec::Zstd, 1 << 30) };
    let mut host = Host::new(64, &format, options);
    let (moments, copy) = while_the_dictionary_moves(&mut host);
    let cuts = torn(&moments, &copy, &host.media.image());
    assert!(!cuts.is_empty(), "no power cut tore it");
    for cut in cuts {
        for has_root in [true, false] {
            let media = Arc::new(cut.killed());
            if !has_root {
                destroy_roots(&media);
            }
            let drive = open(&media, &host.options);
            let mut data = vec![0; BLOCK_BYTES as usize];
            let lost = (0..256).filter(|block| {
                drive.read(block * BLOCK_BYTES, &mut data).is_err() || data != spoken(*block)
            });
            assert_eq!(lost.count(), 0, "has root {has_root}: {:?}", drive.status().problems);
        }
    }
}

/// A segment with places that cannot be read is not used again, also by a drive that was rebuilt.
#[test]
fn a_rebuild_leaves_bad_segments_alone() {
    let mut host = Host::new(48, &format(Codec::None, 1 << 30), DriveOptions::default());
    (0..1500).step_by(50).for_each(|first| host.write(first, 50));
    // A leaf for itself, which the log needs later.
    host.write(100 * LEAF, 1);
    host.drive.flush().unwrap();
    let all = pieces(&host.media.image());
    let is_there = |piece: &&Piece| {
        piece.part == Part::Record(Stream::Host) && segment_of(piece.range.start) == 8
    };
    let record = all.iter().find(is_there).unwrap();
    let bad: Vec<u64> =
        (0..6).map(|index| record.range.start / BLOCK_BYTES + 10 + 12 * index).collect();
    let spoil = |media: &SimulatedMedia| {
        bad.iter().for_each(|block| media.inject(Fault::UnreadableAt(*block)));
    };
    spoil(&host.media);
    for round in 0..12_000 {
        let block = host.random.below(1500);
        host.write(block, 1);
        if round % 4 == 0 {
            host.drive.maintain().unwrap();
        }
    }
    assert_eq!(host.drive.status().segments_damaged, 1);
    host.drive.close().unwrap();
    let media = Arc::new(host.media.copy());
    let drive = open(&media, &host.options);
    rot(&media, 100, false);
    drive.write((100 * LEAF + 1) * BLOCK_BYTES, &noise(1, 1), true).unwrap();
    drop(drive);
    spoil(&media);
    host.media = Arc::clone(&media);
    host.drive = open(&media, &host.options);
    let status = host.drive.status();
    assert!(status.recovery.rebuilt);
    assert_eq!(status.segments_damaged, 1);
    host.truth.clear();
    let mut next = 3000;
    while host.try_write(next, 16).is_ok() {
        next += 16;
    }
    assert!((next - 3000) * BLOCK_BYTES > 10 * SEGMENT_BYTES, "there was hardly any room");
    host.assert_right();
}
