//! Commands of the media that go wrong while the drive works: lost, misdirected, stale, short,
//! failed.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, DiskError, Drive, State};
use assay_testing::count;

use super::specimen::{Ending, Life, Specimen, media, options};
use super::verdict::{Outcome, judge, read_all};
use crate::common::anatomy::pieces;
use crate::common::faulty::{Fault, FaultyDisk};
use crate::common::media::{Fate, SimulatedMedia};
use crate::common::model::Model;

/// Everything on the media but the superblocks.
fn log_range(media: &dyn Disk) -> std::ops::Range<u64> {
    1 << 20..media.size() - BLOCK_BYTES
}

/// A drive with a past, over media that can go wrong.
struct Scene {
    media: Arc<SimulatedMedia>,
    faulty: Arc<FaultyDisk>,
    life: Life,
}

impl Scene {
    fn new(seed: u64) -> Scene {
        let media = media();
        let faulty = Arc::new(FaultyDisk::new(media.clone()));
        let (codec, units) = [(Codec::None, false), (Codec::Zstd, true)][seed as usize % 2];
        let mut life = Life::begin(&(faulty.clone() as Arc<dyn Disk>), codec, units, seed);
        life.work(120);
        life.rest();
        Scene { media, faulty, life }
    }

    /// The state after a power cut, with everything that reached the media.
    fn cut(self) -> (Arc<SimulatedMedia>, Model) {
        let Life { drive, model, .. } = self.life;
        drop(drive);
        (Arc::new(self.media.after_power_cut(|_| Fate::Whole)), model)
    }
}

/// Works on with one write of the log struck by `fault`, then either closes or cuts the power;
/// judges what is left.
fn with_bad_write(fault: Fault, seed: u64, closes: bool) -> Outcome {
    let mut scene = Scene::new(seed);
    scene.faulty.inject(fault, log_range(&*scene.media), seed % 12, 1);
    while scene.faulty.hits() == 0 {
        scene.life.work(1);
    }
    // Then a little more, or much, so that it is struck in an open segment and in a full one.
    scene.life.work(seed % 3 * 12);
    // Blocks that are in memory read right; all others report damage.
    let seen = read_all(&scene.life.drive, &scene.life.model).unwrap();
    let now = scene.life.model.prefixes(&seen.contents, scene.life.model.commands);
    now.unwrap_or_else(|problem| panic!("seed {seed}: wrong data while it works: {problem:?}"));
    scene.life.rest();
    if closes {
        scene.life.drive.close().unwrap();
    }
    let (media, model) = scene.cut();
    judge(media, &model).unwrap_or_else(|problem| panic!("seed {seed}: {problem}")).0
}

/// Number of each outcome, over seeds and endings.
fn outcomes(seeds: u64, mut run: impl FnMut(u64, bool) -> Outcome) -> Vec<(Outcome, usize)> {
    let mut seen = Vec::new();
    for seed in 0..seeds {
        seen.extend([run(seed, false), run(seed, true)]);
    }
    seen.sort_unstable();
    seen.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect()
}

fn has(outcomes: &[(Outcome, usize)], wanted: Outcome) -> bool {
    outcomes.iter().any(|(outcome, _)| *outcome == wanted)
}

#[test]
fn lost_writes_are_noticed() {
    let seen =
        outcomes(count(9, 24), |seed, closes| with_bad_write(Fault::LostWrite, seed, closes));
    println!("lost writes: {seen:?}");
    assert!(has(&seen, Outcome::Corrupt) && has(&seen, Outcome::Told), "{seen:?}");
}

#[test]
fn misdirected_writes_are_noticed() {
    let seen = outcomes(count(9, 24), |seed, closes| {
        let by = [4096, 64 << 10, 512 << 10][seed as usize % 3];
        with_bad_write(Fault::MisdirectedWrite(by), seed, closes)
    });
    println!("misdirected writes: {seen:?}");
    assert!(has(&seen, Outcome::Corrupt) && has(&seen, Outcome::Told), "{seen:?}");
}

#[test]
fn a_lost_superblock_leaves_the_other_and_is_told() {
    // The second is older after any power cut between the two.
    for (place, expected) in [(0, Outcome::Told), (1, Outcome::Unnoticed)] {
        let mut scene = Scene::new(0);
        let at = [0, scene.media.size() - BLOCK_BYTES][place];
        scene.faulty.inject(Fault::LostWrite, at..at + BLOCK_BYTES, 0, u64::MAX);
        scene.life.work(30);
        scene.life.rest();
        scene.life.drive.close().unwrap();
        assert!(scene.faulty.hits() > 0, "no superblock was written");
        let (media, model) = scene.cut();
        let (outcome, _) = judge(media, &model).unwrap();
        assert_eq!(outcome, expected, "superblock {place} is old");
    }
}

#[test]
fn without_superblocks_nothing_opens_and_nothing_is_written() {
    for specimen in Specimen::all() {
        let media = specimen.media.copy();
        media.flip(8 * 100);
        media.flip(8 * (media.size() - 100));
        let (outcome, _) = judge(Arc::new(media), &specimen.model).unwrap();
        assert_eq!(outcome, Outcome::Refused, "{}", specimen.name);
    }
}

/// A segment as it was some time ago: each of its structures is whole and fits this very place.
#[test]
fn a_segment_that_fell_back_in_time_is_noticed() {
    let mut seen = Vec::new();
    for (number, specimen) in Specimen::all().iter().enumerate() {
        let pieces = pieces(&specimen.media.image());
        // Only the log: the map's stream has its own count.
        let log = pieces.iter().filter(|piece| piece.seq < 1 << 63);
        let last = log.max_by_key(|piece| piece.seq).unwrap().owner;
        let starts = (1 << 20..specimen.media.size() - (512 << 10)).step_by(512 << 10);
        // Other segments of each specimen.
        let stride = count(4, 1);
        for start in starts.skip(number % stride).step_by(stride) {
            if (start..start + (512 << 10)).contains(&last) {
                // Nothing was written later that could tell.
                continue;
            }
            let media = specimen.media.copy();
            media.restore(start..start + (512 << 10), &specimen.older);
            let judged = judge(Arc::new(media), &specimen.model);
            let (outcome, _) = judged.unwrap_or_else(|problem| {
                panic!("{}: segment at byte {start} as it was: {problem}", specimen.name)
            });
            seen.push((outcome, 1));
        }
    }
    assert!(has(&seen, Outcome::Corrupt) && has(&seen, Outcome::ReadOnly), "{seen:?}");
}

#[test]
fn stale_reads_are_noticed() {
    let mut stale = 0;
    for specimen in Specimen::all().iter().filter(|specimen| specimen.ending == Ending::Closed) {
        let faulty = Arc::new(FaultyDisk::new(Arc::new(specimen.media.copy())));
        let drive = Drive::open(faulty.clone(), options()).unwrap();
        let older: Arc<dyn Disk> = Arc::new(specimen.older.copy());
        faulty.inject(Fault::StaleRead(older), log_range(&*faulty), 0, u64::MAX);
        let seen = read_all(&drive, &specimen.model).unwrap();
        let now = specimen.model.prefixes(&seen.contents, specimen.model.commands);
        now.unwrap_or_else(|problem| panic!("{}: stale data read: {problem:?}", specimen.name));
        stale += seen.corrupt.len();
        faulty.heal();
        let healed = read_all(&drive, &specimen.model).unwrap();
        let nodes = drive.check(&mut |_, _| {}).unwrap().damages;
        assert!(healed.corrupt.is_empty() && nodes.is_empty(), "{}: {nodes:?}", specimen.name);
    }
    assert!(stale > 0, "no read was stale");
}

/// Reading, writing or collecting: what fails once is asked for again, and nobody hears of it.
#[test]
fn reads_that_fail_once_fail_no_command() {
    for (seed, fault) in (0..).zip([Fault::FailedRead, Fault::ShortRead]) {
        let mut scene = Scene::new(seed);
        scene.life.work(250);
        let before = scene.faulty.hits();
        for round in 0..150 {
            scene.faulty.inject_once(fault.clone(), round % 3);
            let mut data = vec![0; 64 * 4096];
            let (first, _) = scene.life.somewhere();
            scene.life.drive.read(first * BLOCK_BYTES, &mut data).unwrap();
            scene.life.write().unwrap();
            scene.life.drive.maintain().unwrap();
        }
        assert!(scene.faulty.hits() > before + 50, "hardly any read failed");
        assert_eq!(scene.life.drive.status().state, State::Healthy);
        scene.faulty.heal();
        let seen = read_all(&scene.life.drive, &scene.life.model).unwrap();
        let now = scene.life.model.commands;
        scene.life.model.prefixes(&seen.contents, now).unwrap();
        scene.life.rest();
        let (media, model) = scene.cut();
        assert_eq!(judge(media, &model).unwrap().0, Outcome::Unnoticed);
    }
}

/// A disk may fail a read and give it the next time.
#[test]
fn a_read_that_fails_once_while_it_opens_costs_nothing() {
    let mut struck = 0;
    for specimen in Specimen::all().iter().filter(|specimen| specimen.ending != Ending::Closed) {
        for passes in (0..40).step_by(count(5, 1)) {
            let media = Arc::new(specimen.media.copy());
            let faulty = Arc::new(FaultyDisk::new(media.clone()));
            faulty.inject_once(Fault::FailedRead, passes);
            let drive = Drive::open(faulty.clone(), options()).unwrap();
            struck += faulty.hits();
            drop(drive);
            let (outcome, _) = judge(media, &specimen.model).unwrap();
            assert!(outcome <= Outcome::Told, "{}, read {passes}: {outcome:?}", specimen.name);
        }
    }
    assert!(struck > count(20, 100), "hardly any read failed: {struck}");
}

/// Media that go away while the drive opens must not pass for damage.
#[test]
fn media_that_die_while_it_opens_lose_nothing() {
    for specimen in Specimen::all() {
        for passes in (0..60).step_by(count(7, 1)) {
            let media = Arc::new(specimen.media.copy());
            let faulty = Arc::new(FaultyDisk::new(media.clone()));
            faulty.inject(Fault::FailedRead, 0..u64::MAX, passes, u64::MAX);
            let opened = Drive::open(faulty.clone(), options());
            if opened.is_ok() {
                assert_eq!(faulty.hits(), 0, "{}: it opened without its media", specimen.name);
                break;
            }
            // Everything that it wrote before they died is right.
            let (outcome, _) = judge(media, &specimen.model).unwrap();
            assert!(outcome <= Outcome::Told, "{}, read {passes}: {outcome:?}", specimen.name);
        }
    }
}

/// Every command that writes is answered with why the drive stopped, and reading is too.
fn assert_stopped(drive: &Drive, why: &str) {
    let stopped = |result| match result {
        Err(DiskError::Stopped { reason }) => reason.contains(why),
        _ => false,
    };
    assert!(stopped(drive.write(0, &[1; 4096], false)), "a write");
    assert!(stopped(drive.read(0, &mut [0; 4096])), "a read");
    assert!(stopped(drive.flush()), "a second flush must not say that all is well");
    assert!(stopped(drive.discard(0, 4096)), "a discard");
    assert!(stopped(drive.maintain().map(drop)), "maintenance");
    assert!(stopped(drive.close()), "closing");
    let status = drive.status();
    assert_eq!(status.state, State::Stopped);
    assert!(status.problems.iter().any(|problem| problem.contains(why)), "{status:?}");
}

#[test]
fn a_failed_flush_stops_the_drive_and_what_was_flushed_before_survives() {
    for seed in 0..count(6, 12) {
        let mut scene = Scene::new(seed);
        scene.life.write().unwrap();
        scene.faulty.inject_once(Fault::FailedFlush, seed % 2);
        // A flush, or the checkpoint of a close, or collection that needs one.
        let failed =
            (0..40).find_map(|_| scene.life.write().and_then(|()| scene.life.flush()).err());
        assert!(matches!(failed, Some(DiskError::Stopped { .. })), "{failed:?}");
        assert_stopped(&scene.life.drive, "a flush of the media failed");
        let Life { drive, mut model, .. } = scene.life;
        drop(drive);
        // Data of the failed flush may be lost to the last byte, and then power goes as well.
        let fate = if seed % 3 == 0 { Fate::Lost } else { Fate::Torn(seed) };
        let left = Arc::new(scene.media.after_power_cut(|_| fate));
        let drive = Drive::open(left, options()).unwrap();
        model.check_prefix(&drive).unwrap_or_else(|problem| panic!("seed {seed}: {problem}"));
    }
}

#[test]
fn full_media_stop_the_drive_before_it_lies() {
    let faults = [Fault::FailedWrite(std::io::ErrorKind::StorageFull), Fault::Full];
    for (seed, fault) in
        (0..count(6, 12)).flat_map(|seed| faults.iter().map(move |fault| (seed, fault)))
    {
        let mut scene = Scene::new(seed);
        scene.faulty.inject(fault.clone(), log_range(&*scene.media), seed, u64::MAX);
        let failed = (0..200).find_map(|_| scene.life.write().err());
        assert!(matches!(failed, Some(DiskError::Stopped { .. })), "{failed:?}");
        assert_stopped(&scene.life.drive, "a write to the media failed");
        let (media, mut model) = scene.cut();
        let drive = Drive::open(media, options()).unwrap();
        model.check_prefix(&drive).unwrap_or_else(|problem| panic!("seed {seed}: {problem}"));
        assert_eq!(drive.status().problems, Vec::<String>::new());
        drive.write(0, &model.write(0, 4), true).unwrap();
    }
}

#[test]
fn a_superblock_that_cannot_be_written_stops_the_drive() {
    for place in [0, 1] {
        let scene = Scene::new(1);
        let at = [0, scene.media.size() - BLOCK_BYTES][place];
        let full = Fault::FailedWrite(std::io::ErrorKind::StorageFull);
        scene.faulty.inject(full, at..at + BLOCK_BYTES, 0, u64::MAX);
        assert!(matches!(scene.life.drive.close(), Err(DiskError::Stopped { .. })));
        assert_stopped(&scene.life.drive, "writing the superblock failed");
        // Deleting data on the drive would free nothing where its media lie.
        let problems = scene.life.drive.status().problems.join("\n");
        assert!(problems.contains("that holds the media is full; free space there"), "{problems}");
        assert!(!problems.contains("discard or delete data"), "{problems}");
        let (media, model) = scene.cut();
        assert!(judge(media, &model).unwrap().0 <= Outcome::Told);
    }
}

#[test]
fn counts_go_back_to_a_checkpoint_after_a_crash_which_is_counted() {
    let scene = Scene::new(0);
    scene.life.drive.close().unwrap();
    let stored = scene.life.drive.status().counts;
    scene.life.drive.write(0, &[1; 4096], true).unwrap();
    let before = scene.life.drive.status().counts;
    assert!(before.write_bytes_host > stored.write_bytes_host && before.crashes == 0);
    let (media, _) = scene.cut();
    for _ in 0..2 {
        let drive = Drive::open(media.clone(), options()).unwrap();
        let after = drive.status().counts;
        assert_eq!((after.write_bytes_host, after.crashes), (stored.write_bytes_host, 1));
        drive.close().unwrap();
    }
}
