//! One bad place that stays under a busy host: a half-full drive takes every write, however often
//! it must collect.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, DiskError, Drive, DriveOptions, Format, State};
use assay_testing::is_full;

use super::scarred::{Scar, Scarred};
use super::specimen::blocks_of;
use crate::common::anatomy::{Part, Piece, Stream, pieces};
use crate::common::model::{Flavour, Model};
use crate::common::random::Random;

const SEGMENT_BYTES: u64 = 512 << 10;
const SEGMENTS: u64 = 64;

/// Range that the host goes on writing, about half of what the drive takes.
const BUSY: u64 = 2300;

/// A leaf of the map that it leaves alone.
const QUIET: std::ops::Range<u64> = 200 * 512..201 * 512;

const OVERWRITES: u64 = 12_000;

struct Scene {
    media: Arc<Scarred>,
    drive: Drive,
    model: Model,
    random: Random,
}

fn open(media: &Arc<Scarred>) -> Drive {
    Drive::open(media.clone(), DriveOptions::default()).unwrap()
}

impl Scene {
    /// A half-full drive at rest, with its past; its quiet blocks lie among the others.
    fn new() -> Scene {
        let bytes = (1 << 20) + BLOCK_BYTES + SEGMENTS * SEGMENT_BYTES;
        let media = Arc::new(Scarred::new(vec![0; bytes as usize].into()));
        let format = Format {
            drive_id: 0x3ED6_E000,
            logical_bytes: 1 << 30,
            codec: Codec::None,
            units: false,
            dictionary: false,
            segment_bytes: Some(SEGMENT_BYTES as u32),
        };
        Drive::format(media.clone(), &format).unwrap();
        let drive = open(&media);
        let mut scene = Scene { media, drive, model: Model::new(), random: Random::new(5) };
        for block in 0..BUSY {
            scene.write(block, 1);
            if block % 4 == 0 && block / 4 < QUIET.end - QUIET.start {
                scene.write(QUIET.start + block / 4, 1);
            }
        }
        // The busy leaves are written again elsewhere: none of them lies in a block with the quiet
        // one.
        scene.drive.close().unwrap();
        scene.drive = open(&scene.media);
        (0..3000).for_each(|_| scene.overwrite());
        scene.drive.close().unwrap();
        scene
    }

    fn write(&mut self, first: u64, blocks: u64) {
        let data = self.model.write_as(first, blocks, |_, _| Flavour::Hard);
        let written = self.drive.write(first * BLOCK_BYTES, &data, false);
        written.unwrap_or_else(|error| panic!("writing block {first}: {error}"));
    }

    fn overwrite(&mut self) {
        let block = self.random.below(BUSY);
        self.write(block, 1);
    }

    fn pieces(&self) -> Vec<Piece> {
        pieces(&self.media.image())
    }

    /// The newest piece of a kind.
    fn newest(&self, is_it: impl Fn(&Piece) -> bool) -> Piece {
        let all = self.pieces().into_iter().filter(|piece| is_it(piece));
        all.max_by_key(|piece| piece.seq).unwrap()
    }

    /// Blocks that are lost or cannot be read; all others are as written.
    fn unreadable(&self) -> Vec<u64> {
        let is_bad = |block: &u64| match self.model.check_now(&self.drive, *block..block + 1) {
            Ok(()) => false,
            Err(problem) => {
                assert!(!problem.contains("reads") && !problem.contains("holds"), "{problem}");
                true
            }
        };
        (0..BUSY).chain(QUIET).filter(is_bad).collect()
    }

    /// Hurts the media behind the back of a drive that is opened again.
    fn hurt(&mut self, places: &[u64], scar: Scar) {
        places.iter().for_each(|block| self.media.scar(*block, scar));
        self.drive = open(&self.media);
    }

    fn segment_of(at: u64) -> std::ops::Range<u64> {
        let start = at - (at - (1 << 20)) % SEGMENT_BYTES;
        start..start + SEGMENT_BYTES
    }
}

/// The busy host goes on, with the background or without it.
fn overwrite_all(scene: &mut Scene, with_background: bool) {
    for number in 0..OVERWRITES {
        scene.overwrite();
        if with_background && number % 8 == 0 {
            scene.drive.maintain().unwrap();
        }
    }
}

/// The sealed segment of the host's with most in it, by one of its records that lives.
fn a_record(scene: &Scene) -> Piece {
    let pieces = scene.pieces();
    let footers: Vec<_> =
        pieces.iter().filter(|piece| piece.part == Part::Footer(Stream::Host)).collect();
    let sealed =
        |piece: &&Piece| footers.iter().any(|footer| footer.opened_seq == piece.opened_seq);
    let records = pieces.iter().filter(|piece| piece.part == Part::Record(Stream::Host));
    records.filter(sealed).max_by_key(|piece| piece.seq).unwrap().clone()
}

fn with_each_scar(run: impl Fn(Scar, bool)) {
    for (scar, with_background) in [
        (Scar::Unreadable, true),
        (Scar::Unreadable, false),
        (Scar::Dead, true),
        (Scar::Dead, false),
    ] {
        if !is_full() && with_background != (scar == Scar::Dead) {
            continue;
        }
        run(scar, with_background);
    }
}

#[test]
fn an_unreadable_block_refuses_no_write() {
    with_each_scar(|scar, with_background| {
        let mut scene = Scene::new();
        let bad = blocks_of(&a_record(&scene).range).start;
        scene.hurt(&[bad], scar);
        let before = scene.unreadable();
        assert!((1..=3).contains(&before.len()), "{before:?}");
        overwrite_all(&mut scene, with_background);
        let after = scene.unreadable();
        assert!(after.len() <= 3, "{scar:?}: {before:?} became {after:?}");
        assert!(scene.drive.status().segments_damaged <= 1);
    });
}

#[test]
fn an_unreadable_footer_refuses_no_write() {
    with_each_scar(|scar, with_background| {
        let mut scene = Scene::new();
        let footer = scene.newest(|piece| piece.part == Part::Footer(Stream::Host));
        scene.hurt(&[blocks_of(&footer.range).end - 1], scar);
        assert_eq!(scene.unreadable(), [], "{scar:?}");
        overwrite_all(&mut scene, with_background);
        assert_eq!(scene.unreadable(), [], "{scar:?}");
    });
}

#[test]
fn an_unreadable_segment_refuses_no_write() {
    with_each_scar(|scar, with_background| {
        let mut scene = Scene::new();
        let segment = Scene::segment_of(a_record(&scene).owner);
        scene.hurt(&blocks_of(&segment).collect::<Vec<_>>(), scar);
        let before = scene.unreadable();
        assert!(before.len() > 20, "hardly anything lived there: {before:?}");
        overwrite_all(&mut scene, with_background);
        let after = scene.unreadable();
        let is_lost = |block: &u64| before.contains(block);
        assert!(after.iter().all(is_lost), "{scar:?}: {before:?} became {after:?}");
        assert_eq!(scene.drive.status().segments_damaged, 1);
    });
}

/// Two bad blocks in one chunk of the map's stream, which is more than parity bears.
fn lose_quiet_leaf(scene: &mut Scene, scar: Scar) {
    let quiet = QUIET.start / 512;
    let node = scene.newest(|piece| {
        piece.part == Part::Node && piece.key & ((1 << 39) - 1) == quiet && piece.key >> 39 & 1 == 0
    });
    let parity =
        scene.newest(|piece| piece.part == Part::Parity && piece.owner == node.owner).range;
    let places = [blocks_of(&node.range).start, blocks_of(&parity).start];
    scene.hurt(&places, scar);
}

#[test]
fn a_rotten_leaf_refuses_no_write() {
    for scar in [Scar::Zeroed, Scar::Unreadable, Scar::Dead] {
        for with_background in [true, false] {
            if !is_full() && with_background != (scar == Scar::Dead) {
                continue;
            }
            let mut scene = Scene::new();
            lose_quiet_leaf(&mut scene, scar);
            overwrite_all(&mut scene, with_background);
            assert_eq!(scene.unreadable(), QUIET.collect::<Vec<_>>(), "{scar:?}");
            assert_eq!(scene.drive.status().state, State::Damaged);
        }
    }
}

/// Unreadable blocks may hold data, so the drive cannot end before them until they are discarded.
#[test]
fn a_drive_is_not_made_smaller_than_a_rotten_leaf() {
    for scar in [Scar::Zeroed, Scar::Unreadable, Scar::Dead] {
        let mut scene = Scene::new();
        let size = scene.drive.size();
        let end = QUIET.start * BLOCK_BYTES;
        let behind = QUIET.end * BLOCK_BYTES..size;
        scene.model.discard(QUIET.end, (size / BLOCK_BYTES) - QUIET.end);
        scene.drive.discard(behind.start, behind.end - behind.start).unwrap();
        lose_quiet_leaf(&mut scene, scar);
        for _ in 0..2 {
            let refused = scene.drive.resize(end);
            assert!(matches!(refused, Err(DiskError::OutOfRange { .. })), "{scar:?}: {refused:?}");
            assert_eq!(scene.unreadable().len(), 512, "{scar:?}");
        }
        let quiet = (QUIET.end - QUIET.start) * BLOCK_BYTES;
        scene.drive.discard(end, quiet).unwrap();
        scene.drive.resize(end).unwrap();
        assert_eq!(scene.drive.size(), end);
    }
}

#[test]
fn writing_or_discarding_a_rotten_leaf_heals_it() {
    for (scar, is_read_first) in [(Scar::Zeroed, true), (Scar::Unreadable, false)] {
        let mut scene = Scene::new();
        lose_quiet_leaf(&mut scene, scar);
        if is_read_first {
            assert_eq!(scene.unreadable().len(), 512);
        }
        // A part, and the rest is still lost; not what was there before, and no zeroes.
        scene.write(QUIET.start, 8);
        let middle = (QUIET.start + 8) * BLOCK_BYTES;
        scene.model.discard(QUIET.start + 8, 8);
        scene.drive.discard(middle, 8 * BLOCK_BYTES).unwrap();
        let lost = (QUIET.start + 16..QUIET.end).collect::<Vec<_>>();
        assert_eq!(scene.unreadable(), lost);
        let mut data = [0; BLOCK_BYTES as usize];
        let read = scene.drive.read(QUIET.start * BLOCK_BYTES + 20 * BLOCK_BYTES, &mut data);
        assert!(matches!(read, Err(DiskError::Corrupt { .. })), "{read:?}");
        // So it is when it is opened again.
        scene.drive.close().unwrap();
        scene.drive = open(&scene.media);
        assert_eq!(scene.unreadable(), lost);
        let check = scene.drive.check(&mut |_, _| {}).unwrap();
        let named: u64 = check.damages.iter().map(|damage| damage.bytes).sum();
        assert_eq!(named, lost.len() as u64 * BLOCK_BYTES, "{check:?}");
        let half = QUIET.start + 256;
        for first in (QUIET.start + 16..half).step_by(16) {
            scene.write(first, 16);
        }
        scene.model.discard(half, 256);
        scene.drive.discard(half * BLOCK_BYTES, 256 * BLOCK_BYTES).unwrap();
        assert_eq!(scene.unreadable(), []);
        overwrite_all(&mut scene, true);
        scene.drive.close().unwrap();
        scene.drive = open(&scene.media);
        assert_eq!(scene.unreadable(), []);
        assert_eq!(scene.drive.check(&mut |_, _| {}).unwrap().damages, []);
    }
}

/// Blocks that were reported as lost stay so when the map is rebuilt: they must not read as before.
#[test]
fn a_rebuild_remembers_what_is_lost() {
    for scar in [Scar::Zeroed, Scar::Unreadable, Scar::Dead] {
        let mut scene = Scene::new();
        lose_quiet_leaf(&mut scene, scar);
        overwrite_all(&mut scene, true);
        scene.write(QUIET.start, 8);
        scene.drive.close().unwrap();
        scene.media.destroy_roots();
        scene.drive = open(&scene.media);
        assert!(scene.drive.status().recovery.rebuilt);
        assert_eq!(
            scene.unreadable(),
            (QUIET.start + 8..QUIET.end).collect::<Vec<_>>(),
            "{scar:?}"
        );
        overwrite_all(&mut scene, true);
        scene.drive.close().unwrap();
        scene.drive = open(&scene.media);
        // Only the roots knew that the media stays bad; it takes data written there since.
        let of_the_media = |block: &u64| scar == Scar::Dead && *block < BUSY;
        let lost: Vec<u64> =
            scene.unreadable().into_iter().filter(|at| !of_the_media(at)).collect();
        assert_eq!(lost, (QUIET.start + 8..QUIET.end).collect::<Vec<_>>(), "{scar:?}");
    }
}

/// A leaf that is in memory when its media goes bad is written elsewhere from there.
#[test]
fn what_is_in_memory_is_not_lost() {
    for scar in [Scar::Zeroed, Scar::Unreadable, Scar::Dead] {
        let mut scene = Scene::new();
        scene.drive = open(&scene.media);
        assert_eq!(scene.unreadable(), []);
        let drive = std::mem::replace(&mut scene.drive, open(&scene.media));
        lose_quiet_leaf(&mut scene, scar);
        scene.drive = drive;
        overwrite_all(&mut scene, true);
        // If the media stays bad, it takes data written there since.
        let is_quiet = |block: &u64| QUIET.contains(block);
        assert!(!scene.unreadable().iter().any(is_quiet), "{scar:?}");
        scene.drive.close().unwrap();
        scene.drive = open(&scene.media);
        assert!(!scene.unreadable().iter().any(is_quiet), "{scar:?}");
    }
}

/// Replay needs the leaf, and finds in the segments what it said.
#[test]
fn a_crash_brings_a_rotten_leaf_back() {
    for scar in [Scar::Zeroed, Scar::Unreadable, Scar::Dead] {
        let mut scene = Scene::new();
        lose_quiet_leaf(&mut scene, scar);
        scene.write(QUIET.start, 8);
        scene.drive.flush().unwrap();
        scene.drive = open(&scene.media);
        assert!(scene.drive.status().recovery.rebuilt);
        assert_eq!(scene.unreadable(), []);
        overwrite_all(&mut scene, true);
        assert_eq!(scene.unreadable(), []);
    }
}

/// The control: on media where every place is bad, writes do fail, and that is noticed.
#[test]
fn a_drive_without_any_media_left_is_noticed() {
    let mut scene = Scene::new();
    let all = (1 << 20) / BLOCK_BYTES..scene.media.size() / BLOCK_BYTES - 1;
    scene.hurt(&[], Scar::Dead);
    all.for_each(|block| scene.media.scar(block, Scar::Dead));
    assert_eq!(scene.unreadable().len() as u64, BUSY + QUIET.end - QUIET.start);
    let work = std::panic::AssertUnwindSafe(|| overwrite_all(&mut scene, true));
    assert!(std::panic::catch_unwind(work).is_err());
}
