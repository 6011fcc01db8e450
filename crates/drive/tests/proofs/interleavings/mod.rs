//! Interleavings that threads meet once in a blue moon, forced: media hold one command back while
//! the rest goes on.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Codec, Disk, Drive, DriveOptions, Format, Rest};

use crate::common::gate::{GatedMedia, Kind};
use crate::common::media::{Fate, SimulatedMedia};
use crate::common::model::Model;
use crate::common::random::Random;

const SEGMENT_BYTES: u32 = 512 << 10;
const SEGMENTS_START: u64 = 1 << 20;
const MEDIA_BYTES: u64 = SEGMENTS_START + BLOCK_BYTES + 40 * SEGMENT_BYTES as u64;
const LOGICAL_BYTES: u64 = 64 << 20;
const EVERYWHERE: std::ops::Range<u64> = 0..u64::MAX;

/// Free segments of this drive below which maintenance frees some, but a host write takes one
/// without asking.
const FREE_BEFORE_COLLECTION: u64 = 10;

struct Bench {
    simulated: Arc<SimulatedMedia>,
    media: Arc<GatedMedia>,
    drive: Drive,
    model: Model,
}

impl Bench {
    fn new(options: DriveOptions) -> Bench {
        let simulated = Arc::new(SimulatedMedia::new(MEDIA_BYTES));
        let format = Format {
            drive_id: 0x6A7E,
            logical_bytes: LOGICAL_BYTES,
            codec: Codec::None,
            units: false,
            dictionary: false,
            segment_bytes: Some(SEGMENT_BYTES),
        };
        Drive::format(simulated.clone(), &format).unwrap();
        let media = Arc::new(GatedMedia::new(simulated.clone()));
        let drive = Drive::open(media.clone(), options).unwrap();
        Bench { simulated, media, drive, model: Model::new() }
    }

    fn write(&mut self, first: u64, blocks: u64) {
        let data = self.model.write(first, blocks);
        self.drive.write(first * BLOCK_BYTES, &data, false).unwrap();
    }

    fn flush(&mut self) {
        self.drive.flush().unwrap();
        self.model.flushed();
    }

    fn rest(&self) {
        while self.drive.maintain().unwrap() == Rest::More {}
    }

    fn check(&self, blocks: std::ops::Range<u64>) {
        self.model.check_now(&self.drive, blocks).unwrap();
    }
}

fn read(drive: &Drive, block: u64) -> assay_drive::Result<Vec<u8>> {
    let mut data = vec![0; BLOCK_BYTES as usize];
    drive.read(block * BLOCK_BYTES, &mut data).map(|()| data)
}

/// A reader fetches a part of the map; before it is back, that part was changed, stored anew and
/// evicted.
#[test]
fn a_node_that_comes_late_does_not_bring_old_places_back() {
    let options =
        DriveOptions { map_bytes: Some(0), checkpoint_bytes: Some(1), ..DriveOptions::default() };
    let mut bench = Bench::new(options);
    bench.write(0, 1);
    bench.flush();
    bench.rest();
    let held = bench.media.hold(Kind::Read, EVERYWHERE);
    std::thread::scope(|scope| {
        let drive = &bench.drive;
        let reader = scope.spawn(|| read(drive, 0).unwrap());
        held.wait();
        let data = bench.model.write(0, 1);
        drive.write(0, &data, true).unwrap();
        while drive.maintain().unwrap() == Rest::More {}
        drop(held);
        reader.join().unwrap();
    });
    bench.check(0..1);
}

/// Freed segments are discarded on media; the host may take one of them at once.
#[test]
fn discarding_a_freed_segment_takes_nothing_that_is_written_there_next() {
    let mut bench = Bench::new(DriveOptions { discard_media: true, ..DriveOptions::default() });
    // Each group fills a segment and leaves a dead one behind.
    while bench.drive.status().segments_free > FREE_BEFORE_COLLECTION {
        bench.write(0, 64);
    }
    let held = bench.media.hold(Kind::Discard, EVERYWHERE);
    std::thread::scope(|scope| {
        let drive = &bench.drive;
        // A checkpoint gives back what it finds empty.
        let maintenance = scope.spawn(|| drive.resize(LOGICAL_BYTES).unwrap());
        held.wait();
        let data = bench.model.write(0, 64);
        drive.write(0, &data, true).unwrap();
        drop(held);
        maintenance.join().unwrap();
    });
    bench.check(0..64);
}

/// A reader holds on to a segment that is dead otherwise; others can be collected meanwhile.
#[test]
fn a_slow_reader_does_not_make_the_drive_full() {
    let mut bench = Bench::new(DriveOptions::default());
    for first in (0..1280).step_by(64) {
        bench.write(first, 64);
    }
    bench.flush();
    let held = bench.media.hold(Kind::Read, EVERYWHERE);
    std::thread::scope(|scope| {
        let drive = &bench.drive;
        let reader = scope.spawn(|| read(drive, 0).unwrap());
        held.wait();
        bench.model.discard(0, 64);
        drive.discard(0, 64 * BLOCK_BYTES).unwrap();
        let mut random = Random::new(1);
        for _ in 0..4000 {
            let block = 64 + random.below(1280 - 64);
            let data = bench.model.write(block, 1);
            drive.write(block * BLOCK_BYTES, &data, false).unwrap();
        }
        drop(held);
        reader.join().unwrap();
    });
    bench.check(0..1280);
}

/// A port closes the drive while a command is still on its way.
#[test]
fn a_write_during_close_is_as_durable_as_any() {
    let mut bench = Bench::new(DriveOptions::default());
    bench.write(0, 1);
    let held = bench.media.hold(Kind::Write, 0..BLOCK_BYTES);
    std::thread::scope(|scope| {
        let drive = &bench.drive;
        let closing = scope.spawn(|| drive.close().unwrap());
        held.wait();
        let data = bench.model.write(1, 1);
        drive.write(BLOCK_BYTES, &data, true).unwrap();
        drop(held);
        closing.join().unwrap();
    });
    bench.check(0..2);
    bench.write(2, 1);
    bench.flush();
    let media = Arc::new(bench.simulated.after_power_cut(|_| Fate::Lost));
    let drive = Drive::open(media, DriveOptions::default()).unwrap();
    assert_eq!(drive.status().problems, [""; 0]);
    bench.model.check_prefix(&drive).unwrap();
}

/// A checkpoint keeps its room until it is written: a host that comes to the end of its segment
/// just then must wait, or it takes what collection needs afterwards.
#[test]
fn a_host_in_the_midst_of_a_checkpoint_leaves_it_its_room() {
    let mut bench = Bench::new(DriveOptions::default());
    // Each group fills a segment; the last one that the host may have is in use, and full, in the
    // end.
    while bench.drive.status().segments_free >= FREE_BEFORE_COLLECTION {
        bench.write(0, 64);
    }
    let data = bench.model.write(0, 64);
    let held = bench.media.hold(Kind::Write, EVERYWHERE);
    std::thread::scope(|scope| {
        let drive = &bench.drive;
        let stalls = || drive.status().counts.gc_stalls;
        let before = stalls();
        let checkpoint = scope.spawn(|| drive.resize(LOGICAL_BYTES).unwrap());
        held.wait();
        let host = scope.spawn(|| drive.write(0, &data, false));
        // It is done, or waits until the checkpoint is.
        while !host.is_finished() && stalls() == before {
            std::thread::yield_now();
        }
        let waits = stalls() > before;
        drop(held);
        checkpoint.join().unwrap();
        host.join().unwrap().unwrap();
        assert!(waits, "the host took what is kept for the checkpoint");
    });
    bench.check(0..64);
}
