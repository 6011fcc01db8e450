//! A host of a drive on thin media: it knows what it wrote, and looks at what a power cut would
//! leave.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_drive::{
    BLOCK_BYTES, Codec, Disk, DiskError, Drive, DriveOptions, Format, Rest, State, Status,
};

use super::faulty::{Fault, FaultyDisk};
use super::media::Fate;
use super::random::Random;
use super::thin_media::ThinMedia;
use super::versions::{Samples, Stuff, Versions};

pub const SEGMENT_BYTES: u32 = 512 << 10;

/// Blocks of a leaf and of a directory of the map.
pub const LEAF: u64 = 512;
pub const DIRECTORY: u64 = 512 * 512;

/// Media for so many segments.
pub fn media_bytes(segments: u64, segment_bytes: u32) -> u64 {
    (1 << 20) + 4096 + segments * u64::from(segment_bytes)
}

/// A drive with the smallest segments, whose data are stored as they are.
pub fn plain_format(logical_bytes: u64) -> Format {
    Format {
        drive_id: 0x512E5,
        logical_bytes,
        codec: Codec::None,
        units: false,
        dictionary: false,
        segment_bytes: Some(SEGMENT_BYTES),
    }
}

/// Findings after power cuts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Found {
    pub cuts: u64,
    /// Drives among them that first were full, and the most blocks that had to be discarded until
    /// one took new data.
    pub full: u64,
    pub discarded_most: u64,
    pub chunks: u64,
}

impl Found {
    pub fn add(self, other: Found) -> Found {
        Found {
            cuts: self.cuts + other.cuts,
            full: self.full + other.full,
            discarded_most: self.discarded_most.max(other.discarded_most),
            chunks: self.chunks + other.chunks,
        }
    }
}

pub struct Host {
    pub media: Arc<ThinMedia>,
    /// The media as the drive sees them.
    pub faulty: Arc<FaultyDisk>,
    pub drive: Drive,
    pub options: DriveOptions,
    pub model: Versions,
    pub random: Random,
    pub stuff: Stuff,
    pub found: Found,
    /// Whether `maintain` is called between commands.
    pub background: bool,
    /// Unreadable bytes of media.
    pub bad_places: Vec<Range<u64>>,
    /// Bad places took what the model knows of, and the drive says so.
    is_lost: bool,
    data: Vec<u8>,
}

/// Whether a problem is told that nothing but a power cut explains.
fn is_expected(problem: &str) -> bool {
    problem.contains("superblock")
}

/// A problem of a drive that had nothing but power cuts.
pub fn ailment(status: &Status) -> Option<String> {
    let works = !matches!(status.state, State::Stopped | State::ReadOnly);
    let problem = status.problems.iter().find(|problem| !is_expected(problem));
    match (works, problem) {
        (true, None) => None,
        (true, Some(problem)) => Some(problem.clone()),
        _ => Some(format!("it is {}: {:?}", status.state.name(), status.problems)),
    }
}

impl Host {
    pub fn new(segments: u64, format: &Format, options: DriveOptions, seed: u64) -> Host {
        let segment_bytes = format.segment_bytes.unwrap_or(SEGMENT_BYTES);
        let media = Arc::new(ThinMedia::new(media_bytes(segments, segment_bytes)));
        Drive::format(media.clone(), format).unwrap();
        let faulty = Arc::new(FaultyDisk::new(media.clone()));
        let drive = Drive::open(faulty.clone(), options.clone()).unwrap();
        Host {
            media,
            faulty,
            drive,
            options,
            model: Versions::default(),
            random: Random::new(seed),
            stuff: Stuff::THIN,
            found: Found::default(),
            background: false,
            bad_places: Vec::new(),
            is_lost: false,
            data: Vec::new(),
        }
    }

    /// Writes up to 64 blocks; false if the drive is full.
    pub fn write(&mut self, first: u64, blocks: u64) -> Result<bool, String> {
        self.model.write(first, blocks, self.stuff, &mut self.data);
        let written = self.drive.write(first * BLOCK_BYTES, &self.data, false);
        self.taken("a write", written)
    }

    pub fn discard(&mut self, first: u64, blocks: u64) -> Result<bool, String> {
        self.model.discard(first, blocks);
        let discarded = self.drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES);
        self.taken("a discard", discarded)
    }

    fn taken(&mut self, what: &str, result: assay_drive::Result<()>) -> Result<bool, String> {
        match result {
            Ok(()) => Ok(true),
            Err(DiskError::Full) => {
                self.model.take_back();
                Ok(false)
            }
            Err(error) => Err(format!("{what} failed: {error}")),
        }
    }

    pub fn flush(&mut self) -> Result<(), String> {
        self.drive.flush().map_err(|error| format!("a flush failed: {error}"))?;
        self.model.flushed();
        Ok(())
    }

    /// Lets the background work, at most so many steps.
    pub fn maintain(&mut self, steps: u64) -> Result<(), String> {
        for _ in 0..steps {
            let rest = self.drive.maintain();
            if rest.map_err(|error| format!("maintenance failed: {error}"))? == Rest::Idle {
                break;
            }
        }
        self.healthy()
    }

    /// Neither has stopped nor, without bad places, found anything wrong.
    pub fn healthy(&self) -> Result<(), String> {
        let status = self.drive.status();
        if self.bad_places.is_empty() {
            return ailment(&status).map_or(Ok(()), Err);
        }
        let has_stopped = status.state == State::Stopped;
        if has_stopped { Err(format!("it has stopped: {:?}", status.problems)) } else { Ok(()) }
    }

    /// Whether bad places cost more than the blocks that lie there, as the drive says: it reads
    /// only, or had to be rebuilt from what its segments tell.
    pub fn is_over(&self) -> bool {
        let status = self.drive.status();
        let gave_up = status.state == State::ReadOnly || status.recovery.rebuilt;
        !self.bad_places.is_empty() && (self.is_lost || gave_up)
    }

    /// From now on the media cannot be read there.
    pub fn spoil(&mut self, place: Range<u64>) {
        self.faulty.inject(Fault::FailedRead, place.clone(), 0, u64::MAX);
        self.bad_places.push(place);
    }

    /// Whether a block reads as what was last written, or is in a bad place.
    pub fn check_now(&self, block: u64) -> Result<(), String> {
        if block >= self.drive.size() / BLOCK_BYTES {
            return Ok(());
        }
        self.model.check_now(&self.drive, block, !self.bad_places.is_empty())
    }

    /// Closes and opens it.
    pub fn reopen(&mut self) -> Result<(), String> {
        self.drive.close().map_err(|error| format!("it cannot be closed: {error}"))?;
        self.look_at_moment()?;
        self.model.flushed();
        self.drive = Drive::open(self.faulty.clone(), self.options.clone())
            .map_err(|error| format!("it cannot be opened after it was closed: {error}"))?;
        // One that wrote nothing since a power cut is as it was left by that.
        let recovery = self.drive.status().recovery;
        if self.bad_places.is_empty() && !recovery.clean && recovery.chunks > 0 {
            return Err("it was closed, and opens as if it were not".into());
        }
        self.healthy()
    }

    /// Power goes, and comes back; what the drive holds now is what counts.
    pub fn crash_and_go_on(&mut self) -> Result<(), String> {
        let mood = self.random.below(4);
        let media = {
            let fate = fates(&mut self.random, mood);
            self.media.after_power_cut(fate)
        };
        self.media = Arc::new(media);
        self.faulty = Arc::new(FaultyDisk::new(self.media.clone()));
        for place in &self.bad_places {
            self.faulty.inject(Fault::FailedRead, place.clone(), 0, u64::MAX);
        }
        self.drive = Drive::open(self.faulty.clone(), self.options.clone())
            .map_err(|error| format!("it does not open after a power cut: {error}"))?;
        self.healthy()?;
        let has_bad_places = !self.bad_places.is_empty();
        let is_excused = |_| has_bad_places;
        // A bad place where the log ends takes what was flushed, too, and is told: nothing goes on
        // from that.
        let is_told = has_bad_places && !self.drive.status().problems.is_empty();
        let which = if is_told { Samples::All } else { Samples::Recent };
        let prefix = self.model.check_prefix(&self.drive, &mut self.random, which, is_excused);
        match prefix {
            Ok(prefix) => self.model.go_on_from(*prefix.start()),
            Err(_) if is_told => {
                self.is_lost = true;
            }
            Err(problem) => return Err(problem),
        }
        self.found.cuts += 1;
        Ok(())
    }

    /// Opens a drive as a power cut now would leave it, several ways, and looks at it; this one
    /// goes on untouched.
    pub fn look_after_power_cut(&mut self) -> Result<(), String> {
        for mood in [0, 1, 2] {
            let media = {
                let fate = fates(&mut self.random, mood);
                self.media.after_power_cut(fate)
            };
            self.look_at(media)?;
        }
        Ok(())
    }

    /// Looks after a power cut of a drawn kind.
    pub fn look_after_a_power_cut(&mut self) -> Result<(), String> {
        let mood = self.random.below(4);
        let media = {
            let fate = fates(&mut self.random, mood);
            self.media.after_power_cut(fate)
        };
        self.look_at(media)
    }

    /// Looks at the moment that was kept, if it came.
    pub fn look_at_moment(&mut self) -> Result<bool, String> {
        let mood = self.random.below(4);
        let media = {
            let fate = fates(&mut self.random, mood);
            self.media.take_moment(fate)
        };
        media.map_or(Ok(false), |media| self.look_at(media).map(|()| true))
    }

    /// Opens what a power cut left, sometimes after another one while it was opened, and holds it
    /// to what it guarantees.
    fn look_at(&mut self, media: ThinMedia) -> Result<(), String> {
        let mut media = Arc::new(media);
        if self.random.chance(25) {
            media.keep_moment(1 + self.random.below(12));
            let first = Drive::open(media.clone(), self.options.clone());
            drop(first.map_err(|error| format!("it does not open after a power cut: {error}"))?);
            let mood = self.random.below(4);
            let fate = fates(&mut self.random, mood);
            media = media.take_moment(fate).map_or(media, Arc::new);
        }
        let drive = Drive::open(media, self.options.clone())
            .map_err(|error| format!("it does not open after a power cut: {error}"))?;
        let found = alive(&drive, &self.model, &mut self.random, !self.bad_places.is_empty())
            .map_err(|problem| format!("after a power cut: {problem}"))?;
        self.found = self.found.add(found);
        Ok(())
    }
}

/// Holds a drive after a power cut to what it guarantees; it is not to be used any more.
fn alive(
    drive: &Drive,
    model: &Versions,
    random: &mut Random,
    has_bad_places: bool,
) -> Result<Found, String> {
    let status = drive.status();
    if has_bad_places {
        // Lost data stay lost, and are reported; readable data are right.
        let checked = model.check_prefix(drive, random, Samples::Few, |_| true);
        return checked.map(|_| Found { cuts: 1, ..Found::default() });
    }
    if let Some(problem) = ailment(&status) {
        return Err(problem);
    }
    model.check_prefix(drive, random, Samples::Few, |_| false)?;
    let (free, leaves) = (status.free_bytes, model.leaves(drive));
    let mut found = Found { cuts: 1, chunks: status.recovery.chunks, ..Found::default() };
    if leaves.is_empty() {
        return Ok(found);
    }
    let mut data = Vec::new();
    let mut own = Versions::default();
    let mut try_write = |block: u64, blocks: u64| {
        own.write(block, blocks, Stuff::THIN, &mut data);
        match drive.write(block * BLOCK_BYTES, &data, false) {
            Ok(()) => Ok(true),
            Err(DiskError::Full) => Ok(false),
            Err(error) => Err(format!("a write fails: {error}")),
        }
    };
    let try_discard = |block: u64, blocks: u64| {
        let discarded = drive.discard(block * BLOCK_BYTES, blocks * BLOCK_BYTES);
        discarded.map_err(|error| format!("a discard fails with {free} bytes free: {error}"))
    };
    // Overwrites, or at least discards.
    let mut is_full = false;
    for _ in 0..8 {
        let block = Versions::any_block(drive, &leaves, random);
        if !try_write(block, 1)? {
            is_full = true;
            try_discard(block, 1)?;
        }
    }
    drive.flush().map_err(|error| format!("a flush fails: {error}"))?;
    drive.maintain().map_err(|error| format!("maintenance fails: {error}"))?;
    // New data, when enough was discarded.
    let (mut discarded, mut run) = (0, 64);
    let end = (drive.size() / BLOCK_BYTES).min(leaves.last().unwrap_or(&0) * LEAF + 2 * LEAF);
    let mut next = leaves.iter().copied();
    let mut is_last = false;
    loop {
        let fresh = (0..20).map(|_| random.below(end)).find(|block| !model.is_written(*block));
        let block = fresh.unwrap_or(end - 1);
        if try_write(block, 1)? {
            break;
        }
        is_full = true;
        for leaf in next.by_ref().take(run as usize / 64) {
            let written = (leaf * LEAF..(leaf + 1) * LEAF).filter(|each| model.is_written(*each));
            discarded += written.count() as u64;
            let end = drive.size() / BLOCK_BYTES;
            try_discard(leaf * LEAF, LEAF.min(end - leaf * LEAF))?;
        }
        if is_last {
            let status = drive.status();
            return Err(format!("everything was discarded, and it takes nothing: {status:?}"));
        }
        is_last = next.len() == 0;
        run *= 2;
    }
    (found.full, found.discarded_most) = (u64::from(is_full), discarded);
    ailment(&drive.status()).map_or(Ok(found), Err)
}

/// Fates of the unflushed writes: all lost, all kept, either, or torn too.
pub fn fates(random: &mut Random, mood: u64) -> impl FnMut(usize) -> Fate {
    move |_| match mood {
        0 => Fate::Lost,
        1 => Fate::Whole,
        2 => *random.pick(&[Fate::Lost, Fate::Whole]),
        _ => match random.below(4) {
            0 => Fate::Lost,
            1 => Fate::Whole,
            _ => Fate::Torn(random.next()),
        },
    }
}

/// A number from the environment, or the default.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Runs jobs on as many threads as there are CPUs; gives what they gave, in order.
pub fn in_parallel<Job: Sync, Out: Send>(
    jobs: &[Job],
    run: impl Fn(&Job) -> Out + Sync,
) -> Vec<Out> {
    let next = AtomicU64::new(0);
    let worker = || {
        let mut done = Vec::new();
        while let Some((index, job)) = {
            let index = next.fetch_add(1, Ordering::Relaxed) as usize;
            jobs.get(index).map(|job| (index, job))
        } {
            done.push((index, run(job)));
        }
        done
    };
    let mut all = std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads.min(jobs.len())).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, out)| out).collect()
}
