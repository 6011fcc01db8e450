//! Readers against writers, collection, checkpoints, eviction, flushes and power cuts, all at once.
//!
//! Writers share ranges of 1 to 64 blocks and write each by one command. A reader must see every
//! range as one command left it, and none that was overwritten before it looked. Power cuts are
//! taken in between from the media, and opened afterwards: they must show a prefix that holds what
//! was flushed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use assay_drive::{BLOCK_BYTES, Codec, Disk, DiskError, Drive, DriveOptions, Format, Rest};
use assay_testing::count;

use super::history::{Floors, Found, History, Range};
use crate::common::media::{Fate, Moment, SimulatedMedia};
use crate::common::model::{Content, Flavour, bytes_of, content_of};
use crate::common::random::Random;

const SEGMENT_BYTES: u32 = 512 << 10;
const MEDIA_BYTES: u64 = (1 << 20) + BLOCK_BYTES + 30 * SEGMENT_BYTES as u64;
const WRITERS: u64 = 3;
const READERS: u64 = 2;
const POWER_CUTS: usize = 12;

/// Some lie across leaves of the map; together they are more leaves than may stay in memory.
fn ranges(count: usize) -> Vec<Range> {
    let lengths = [1, 64, 4, 17, 64, 2, 33, 64, 8, 64, 1, 40];
    let range = |number: usize| Range {
        first: 500 + 700 * number as u64,
        blocks: lengths[number % lengths.len()],
    };
    (0..count).map(range).collect()
}

struct Bench {
    media: Arc<SimulatedMedia>,
    drive: Drive,
    options: DriveOptions,
    history: History,
    is_over: AtomicBool,
    problem: Mutex<Option<String>>,
    reads: AtomicU64,
    tear: bool,
}

impl Bench {
    fn new(codec: Codec, ranges: Vec<Range>, tear: bool, commands: usize) -> Bench {
        let media = Arc::new(SimulatedMedia::new(MEDIA_BYTES));
        let format = Format {
            drive_id: 0xC0C0,
            logical_bytes: 256 << 20,
            codec,
            units: codec != Codec::None,
            dictionary: false,
            segment_bytes: Some(SEGMENT_BYTES),
        };
        Drive::format(media.clone(), &format).unwrap();
        let options = DriveOptions {
            map_bytes: Some(8 * 4200),
            checkpoint_bytes: Some(1 << 20),
            discard_media: true,
            ..DriveOptions::default()
        };
        let drive = Drive::open(media.clone(), options.clone()).unwrap();
        let history = History::new(ranges, commands);
        let (is_over, problem) = (AtomicBool::new(false), Mutex::new(None));
        Bench { media, drive, options, history, is_over, problem, reads: AtomicU64::new(0), tear }
    }

    /// Runs all threads until the commands are used up, or something was found.
    fn run(&self) -> Vec<(Floors, Moment)> {
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|seed| scope.spawn(move || self.until_over(seed, |random| self.write(random))))
                .collect();
            for seed in 0..READERS {
                scope.spawn(move || self.until_over(100 + seed, |random| self.read(random)));
            }
            scope.spawn(|| self.until_over(200, |random| self.discard(random)));
            scope.spawn(|| self.until_over(201, |_| self.flush()));
            scope.spawn(|| self.until_over(202, |random| self.maintain(random)));
            let cuts = scope.spawn(|| self.cut_power());
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            self.is_over.store(true, Ordering::SeqCst);
            cuts.join().unwrap()
        })
    }

    fn until_over(&self, seed: u64, mut step: impl FnMut(&mut Random) -> Result<bool, String>) {
        let mut random = Random::new(seed);
        while !self.is_over.load(Ordering::SeqCst) {
            match step(&mut random) {
                Ok(true) => {}
                Ok(false) => return,
                Err(problem) => {
                    self.problem.lock().unwrap().get_or_insert(problem);
                    self.is_over.store(true, Ordering::SeqCst);
                }
            }
        }
    }

    fn write(&self, random: &mut Random) -> Result<bool, String> {
        let range = random.below(self.history.ranges.len() as u64) as usize;
        let Range { first, blocks } = self.history.ranges[range];
        let Some(command) = self.history.begin(range, false) else { return Ok(false) };
        let data: Vec<u8> = (first..first + blocks)
            .flat_map(|block| bytes_of(block, command, Flavour::of(block, command)))
            .collect();
        let force = random.chance(5);
        let written = if self.tear {
            crate::common::torn::write_torn(&self.drive, first, &data, force)
        } else {
            self.drive.write(first * BLOCK_BYTES, &data, force)
        };
        written.map_err(|error| format!("a write failed: {error}"))?;
        self.history.end(command);
        Ok(true)
    }

    fn discard(&self, random: &mut Random) -> Result<bool, String> {
        let range = random.below(self.history.ranges.len() as u64) as usize;
        let Range { first, blocks } = self.history.ranges[range];
        // Few of them: one for every hundred reads.
        let reads = self.reads.load(Ordering::SeqCst);
        while self.reads.load(Ordering::SeqCst) < reads + 100 {
            if self.is_over.load(Ordering::SeqCst) {
                return Ok(false);
            }
            std::thread::yield_now();
        }
        let Some(command) = self.history.begin(range, true) else { return Ok(false) };
        let discarded = self.drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES);
        discarded.map_err(|error| format!("a discard failed: {error}"))?;
        self.history.end(command);
        Ok(true)
    }

    fn read(&self, random: &mut Random) -> Result<bool, String> {
        let range = random.below(self.history.ranges.len() as u64) as usize;
        let floor = self.history.floor(range);
        let found = found(&self.drive, self.history.ranges[range])?;
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.history.check(range, found, floor).map(|()| true)
    }

    fn flush(&self) -> Result<bool, String> {
        let floors = self.history.floors();
        self.drive.flush().map_err(|error| format!("a flush failed: {error}"))?;
        self.history.flushed(&floors);
        std::thread::yield_now();
        Ok(true)
    }

    fn maintain(&self, random: &mut Random) -> Result<bool, String> {
        let rest = self.drive.maintain().map_err(|error| format!("maintenance failed: {error}"))?;
        if random.chance(1) {
            let floors = self.history.floors();
            self.drive.close().map_err(|error| format!("closing failed: {error}"))?;
            self.history.flushed(&floors);
        }
        if rest == Rest::Idle {
            std::thread::yield_now();
        }
        Ok(true)
    }

    /// Moments of power cuts, spread over the run, with the durable state of each.
    fn cut_power(&self) -> Vec<(Floors, Moment)> {
        let mut cuts = Vec::new();
        let mut reads = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            if self.reads.load(Ordering::SeqCst) < reads {
                std::thread::yield_now();
                continue;
            }
            reads = self.reads.load(Ordering::SeqCst) + 400;
            cuts.push((self.history.durable(), self.media.moment()));
            if cuts.len() > POWER_CUTS {
                cuts.remove(cuts.len() / 2);
            }
        }
        cuts
    }

    /// Opens what a power cut left and holds it against the history.
    fn check_cut(&self, durable: &Floors, moment: &Moment, seed: u64) -> Result<(), String> {
        let mut random = Random::new(seed);
        let media = Arc::new(moment.after_power_cut(|_| match random.below(3) {
            0 => Fate::Lost,
            1 => Fate::Whole,
            _ => Fate::Torn(random.next()),
        }));
        let drive = Drive::open(media, self.options.clone());
        let drive = drive.map_err(|error| format!("it cannot be opened: {error}"))?;
        if let Some(problem) =
            drive.status().problems.iter().find(|problem| !problem.contains("superblock"))
        {
            return Err(format!("it opened with a problem: {problem}"));
        }
        let all = self.check_all(&drive, durable)?;
        self.history.check_prefix(&all)
    }

    /// Everything can be read, is at least as new as `floors`, and the books are in order.
    fn check_all(&self, drive: &Drive, floors: &Floors) -> Result<Vec<Found>, String> {
        let mut all = Vec::new();
        for (range, floor) in floors.iter().enumerate() {
            let found = found(drive, self.history.ranges[range])?;
            self.history.check(range, found, *floor)?;
            all.push(found);
        }
        let check = drive.check(&mut |_, _| {}).map_err(|error| error.to_string())?;
        match check.damages.first() {
            Some(damage) => Err(format!("the check finds: {}", damage.what)),
            None => Ok(all),
        }
    }

    /// Closes it and looks at everything, before and after it is opened again.
    fn check_end(&self) -> Result<(), String> {
        self.check_all(&self.drive, &self.history.floors())?;
        self.drive.close().map_err(|error| error.to_string())?;
        let drive = Drive::open(self.media.clone(), self.options.clone());
        let drive = drive.map_err(|error| error.to_string())?;
        let clean = drive.status().recovery.clean && drive.status().problems.is_empty();
        self.check_all(&drive, &self.history.floors())?;
        if clean { Ok(()) } else { Err("it was closed, but does not open clean".into()) }
    }
}

/// Contents of a range; an error unless one command left all of it.
fn found(drive: &Drive, range: Range) -> Result<Found, String> {
    let Range { first, blocks } = range;
    let mut data = vec![1; (blocks * BLOCK_BYTES) as usize];
    let read = drive.read(first * BLOCK_BYTES, &mut data);
    read.map_err(|error: DiskError| format!("a read of {range:?} failed: {error}"))?;
    let mut all = None;
    for (block, bytes) in (first..).zip(data.chunks(BLOCK_BYTES as usize)) {
        let found = match content_of(block, bytes)? {
            Content::Zero => Found::Zero,
            Content::Written(command) => Found::Command(command),
        };
        if *all.get_or_insert(found) != found {
            return Err(format!("{range:?} is torn: {all:?} and {found:?}"));
        }
    }
    all.ok_or_else(|| "an empty range".into())
}

fn prove(codec: Codec, ranges_count: usize) {
    // Fewer commands cause fewer collections.
    let (commands, least) = count((1500, 4), (6000, 20));
    let bench = Bench::new(codec, ranges(ranges_count), false, commands);
    let cuts = bench.run();
    assert_eq!(*bench.problem.lock().unwrap(), None);
    bench.check_end().unwrap();
    for (seed, (durable, moment)) in (0..).zip(&cuts) {
        bench.check_cut(durable, moment, seed).unwrap();
    }
    let counts = bench.drive.status().counts;
    let reads = bench.reads.load(Ordering::SeqCst);
    let (gc_segments, checkpoints) = (counts.gc_segments, counts.checkpoints);
    println!(
        "{codec}: {reads} reads, {gc_segments} segments collected, {checkpoints} checkpoints, \
         {} cuts",
        cuts.len()
    );
    assert!(reads > 25 * least && gc_segments > least && checkpoints > least && cuts.len() > 3);
}

#[test]
fn readers_see_whole_commands_of_raw_blocks_while_everything_goes_on() {
    prove(Codec::None, 30);
}

#[test]
fn readers_see_whole_commands_of_compressed_units_while_everything_goes_on() {
    prove(Codec::Zstd, 45);
}

#[test]
fn readers_notice_a_drive_that_tears_its_groups() {
    let bench = Bench::new(Codec::None, ranges(30), true, 20_000);
    bench.run();
    let problem = bench.problem.lock().unwrap().clone();
    assert!(problem.is_some_and(|problem| problem.contains("is torn")));
}
