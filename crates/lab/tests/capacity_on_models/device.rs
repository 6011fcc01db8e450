//! A device's model in virtual time that commands come to at a rate, in Poisson's way, as a prober
//! of the search.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Disk, Drive, DriveOptions, stand_in};
use assay_load::capacity::{Capacity, Objective, Prober, Purpose, Search, Tried, search};
use assay_load::random::Rng;
use assay_load::{Error, Result};
use assay_models::{
    PAGE_BYTES, PackedDisk, Preconditioning, Time, Timing, VirtualClock, VirtualDisk, precondition,
};
use assay_presets::{Builder, Device, Preset, Scale, WEAR_SEED, drive_options, inside};

/// A question to a device.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// The preset.
    pub preset: &'static str,
    /// Its scale.
    pub scale: Scale,
    /// Bytes that hold data; commands go to these.
    pub bytes: u64,
    /// Whether it is brought to its steady state; else it is filled once.
    pub is_worn: bool,
    /// Commands that are reads, of all.
    pub read_share: f64,
    /// Length of a run.
    pub seconds: f64,
    /// Objective that rates must keep.
    pub objective: Objective,
}

/// A rate is done if so much of it was.
const DONE_SHARE_MIN: f64 = 0.98;

/// A device that goes on from run to run.
pub struct Loaded {
    asked: Asked,
    disk: VirtualDisk<Box<dyn Timing>>,
    drive: Option<Arc<Drive>>,
    rng: Rng,
    now: Time,
    page: Vec<u8>,
    writes: u64,
}

impl Loaded {
    /// The device, filled or worn, and what comes to it drawn from `seed`.
    pub fn new(asked: Asked, seed: u64) -> Loaded {
        let preset = Preset::find(asked.preset).unwrap();
        let device = Device::new(&preset, asked.scale).unwrap();
        let media: Arc<dyn Disk> = Arc::new(PackedDisk::new(device.media_bytes()).unwrap());
        if let Some(nand) = device.nand() {
            Drive::format(Arc::clone(&media), &nand.format(device.user_bytes())).unwrap();
            let options = drive_options(DriveOptions::default());
            let drive = inside(nand).open(Arc::clone(&media), options).unwrap();
            fill(&drive, &asked);
            drive.close().unwrap();
        }
        let clock = Arc::new(VirtualClock::default());
        let builder = Builder {
            clock: Arc::clone(&clock) as _,
            preset: &preset,
            options: DriveOptions::default(),
            tears: false,
            in_words: &|error| error.into(),
        };
        let stack = builder.build(media, &device, None).unwrap();
        let disk = VirtualDisk::new(clock, stack.top, stack.drive.clone());
        let page = vec![0; PAGE_BYTES as usize];
        let rng = Rng::new(seed, 7);
        Loaded { asked, disk, drive: stack.drive, rng, now: Time::ZERO, page, writes: 0 }
    }

    /// Bytes written to media so far, and by the host; of a device without a drive nothing.
    pub fn written(&self) -> (u64, u64) {
        let counts = self.drive.as_ref().map(|drive| drive.status().counts);
        counts.map_or((0, 0), |counts| (counts.write_bytes_media(), counts.write_bytes_host))
    }

    /// The percentile in ms, and commands that ended per second, of a run at `rate`.
    pub fn load(&mut self, rate: f64) -> Result<(f64, f64)> {
        let (began, seconds) = (self.now, self.asked.seconds);
        let end = began + Time::from_s(seconds);
        let (mut latencies, mut ended, mut last) = (Vec::new(), 0.0, end);
        let mut at = began;
        loop {
            at += Time::from_s(-(1.0 - self.rng.unit()).ln() / rate);
            if at >= end {
                break;
            }
            let done = self.command(at)?;
            ended += f64::from(u8::from(done <= end));
            last = last.max(done);
            latencies.push((done - at).as_us());
        }
        // The next run begins when the last command of this one is answered.
        self.now = last;
        let place = latencies.len() * (self.asked.objective.percentile * 10.0) as usize / 1000;
        let latency_us = match latencies.is_empty() {
            true => 0.0,
            false => *latencies.select_nth_unstable_by(place, f64::total_cmp).1,
        };
        Ok((latency_us / 1e3, ended / seconds))
    }

    /// One page is read or written at `at`; gives when that is answered.
    fn command(&mut self, at: Time) -> Result<Time> {
        let offset = self.rng.below(self.asked.bytes / PAGE_BYTES) * PAGE_BYTES;
        let is_read = self.rng.unit() < self.asked.read_share;
        if !is_read {
            self.writes += 1;
            stand_in_page(self.writes, &mut self.page);
        }
        let page = &mut self.page;
        let due = self.disk.run(at, |disk| match is_read {
            true => disk.read(offset, page),
            false => disk.write(offset, page, false),
        });
        Ok(due.map_err(|error| Error::Config(error.to_string()))?.when())
    }

    /// Lets everything that was asked for be done, and the device's background.
    fn rest(&mut self) {
        self.now += Time::from_s(0.2);
    }

    /// Result of a run at `rate`.
    pub fn tried(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        let (latency_ms, achieved) = self.load(rate)?;
        // Of few commands, chance alone decides how many come.
        let chance = 3.0 / (rate * self.asked.seconds).max(1.0).sqrt();
        let is_met =
            latency_ms <= self.asked.objective.ms && achieved >= (DONE_SHARE_MIN - chance) * rate;
        Ok(Tried { purpose, rate, achieved, latency_ms, is_met })
    }

    /// The rate at which this share of runs meets the objective in the present state of the
    /// device, by `runs` runs at each of 8 rates. Rests lie between, so that one rate's
    /// backlog is not the next one's.
    pub fn met_by(&mut self, share: f64, [mut low, mut high]: [f64; 2], runs: u32) -> f64 {
        for _ in 0..8 {
            let rate = f64::sqrt(low * high);
            let met = (0..runs).filter(|_| {
                self.rest();
                self.tried(rate, Purpose::Probe).unwrap().is_met
            });
            if met.count() as f64 >= share * f64::from(runs) { low = rate } else { high = rate }
        }
        f64::sqrt(low * high)
    }
}

impl Prober for Loaded {
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        self.tried(rate, purpose)
    }
}

/// Searches on `prober`.
pub fn searched(prober: &mut dyn Prober, asked: &Asked, options: &Search) -> Capacity {
    search(prober, asked.objective, options, &|_| {}).unwrap()
}

fn fill(drive: &Drive, asked: &Asked) {
    if asked.is_worn {
        let plan = Preconditioning {
            bytes: asked.bytes,
            stored_share: 1.0,
            seed: WEAR_SEED,
            stands_in: true,
        };
        let done = precondition(drive, &plan, &mut |_| {}).unwrap();
        assert!(done.is_steady, "{done:?}");
        return;
    }
    let mut page = vec![0; PAGE_BYTES as usize];
    for number in 0..asked.bytes / PAGE_BYTES {
        stand_in_page(number, &mut page);
        drive.write(number * PAGE_BYTES, &page, false).unwrap();
        drive.maintain().unwrap();
    }
}

/// Data that do not compress, as media that keep little of them hold them.
fn stand_in_page(number: u64, page: &mut [u8]) {
    let blocks = page.chunks_mut(BLOCK_BYTES as usize);
    for (seed, block) in (number * PAGE_BYTES / BLOCK_BYTES..).zip(blocks) {
        stand_in(block.len(), seed, block);
    }
}
