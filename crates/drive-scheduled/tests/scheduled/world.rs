//! A drive at work: hosts side by side, and what is done in the background.
//!
//! Each host has blocks of its own, in the same leaves and units as those of the others.

use std::sync::{Arc, Mutex};

use assay_drive::{BLOCK_BYTES, Cache, Disk, DiskError, Drive, Rest, Result};

use crate::common::media::SimulatedMedia;
use crate::common::model::{BLOCK, Flavour, Model, content_of};
use crate::common::random::Random;
use crate::media::{Trouble, Troubled};
use crate::places::FEW;
use crate::shape::Shape;

/// Blocks that lie side by side and belong to one host.
const STRIPE: u64 = 22;

/// State that the threads of a seed share.
pub struct World {
    pub simulated: Arc<SimulatedMedia>,
    pub media: Arc<Troubled>,
    pub drive: Drive,
    /// The commands of each host.
    pub models: Vec<Mutex<Model>>,
    pub problems: Mutex<Vec<String>>,
    pub shape: Shape,
}

impl World {
    pub fn open(
        media: Troubled,
        shape: &Shape,
        models: Vec<Model>,
    ) -> std::result::Result<World, String> {
        let (simulated, media) = (media.inner(), Arc::new(media));
        let drive = Drive::open(media.clone(), shape.options.clone())
            .map_err(|error| format!("it does not open: {error}"))?;
        let models = models.into_iter().map(Mutex::new).collect();
        let (problems, shape) = (Mutex::default(), shape.clone());
        Ok(World { simulated, media, drive, models, problems, shape })
    }

    fn host_of(&self, block: u64) -> u64 {
        block / STRIPE % self.shape.hosts
    }

    /// Fills the drive as far as the shape says: all of its places first, then some of them again
    /// and again.
    pub fn fill(&self, random: &mut Random) -> std::result::Result<(), String> {
        let ranges = &self.shape.places.ranges[..self.shape.places.filled];
        let mut written = 0;
        for &(first, blocks) in ranges {
            let mut block = first;
            while block < first + blocks && written < self.shape.filled {
                match self.fill_stripe(block, first + blocks)? {
                    0 => return Ok(()),
                    more => (block, written) = (block + more, written + more),
                }
            }
        }
        while written < self.shape.filled {
            let (first, blocks) = *random.pick(ranges);
            match self.fill_stripe(first + random.below(blocks), first + blocks)? {
                0 => return Ok(()),
                more => written += more,
            }
        }
        Ok(())
    }

    /// Writes from a block to where the next host's begin, or to `end`; gives how many that were,
    /// none when the drive is full.
    fn fill_stripe(&self, block: u64, end: u64) -> std::result::Result<u64, String> {
        let blocks = ((block / STRIPE + 1) * STRIPE).min(end) - block;
        let flavour = self.shape.filled_flavour;
        match self.write_as(flavour, self.host_of(block), block, blocks, false) {
            Ok(()) => Ok(blocks),
            Err(DiskError::Full) => Ok(0),
            Err(error) => Err(format!("filling it failed: {error}")),
        }
    }

    fn model(&self, host: u64) -> std::sync::MutexGuard<'_, Model> {
        self.models[host as usize].lock().unwrap()
    }

    fn write(&self, host: u64, first: u64, blocks: u64, force: bool) -> Result<()> {
        self.write_as(self.shape.flavour, host, first, blocks, force)
    }

    fn write_as(
        &self,
        flavour: Option<Flavour>,
        host: u64,
        first: u64,
        blocks: u64,
        force: bool,
    ) -> Result<()> {
        let data = self.model(host).write_as(first, blocks, |block, command| {
            flavour.unwrap_or(Flavour::of(block, command))
        });
        let result = self.drive.write(first * BLOCK_BYTES, &data, force);
        let mut model = self.model(host);
        match &result {
            Ok(()) if force || self.shape.options.cache == Cache::Writethrough => model.flushed(),
            Err(DiskError::Full) => model.take_back(),
            _ => {}
        }
        result
    }

    fn discard(&self, host: u64, first: u64, blocks: u64) -> Result<()> {
        self.model(host).discard(first, blocks);
        let result = self.drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES);
        if matches!(result, Err(DiskError::Full)) && !self.has_bad_places() {
            self.fail("a discard was refused, which is how a full drive gets room again".into());
        }
        result
    }

    /// All threads of a round, until they are done.
    pub fn threads(self: &Arc<World>, random: &mut Random) {
        let mut threads = Vec::new();
        for host in 0..self.shape.hosts {
            let (world, seed) = (Arc::clone(self), random.next());
            threads.push(shuttle::thread::spawn(move || world.host(host, seed)));
        }
        let (world, seed) = (Arc::clone(self), random.next());
        let background = shuttle::thread::spawn(move || world.background(seed));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        background.join().unwrap();
    }

    fn fail(&self, problem: String) {
        self.problems.lock().unwrap().push(problem);
    }

    /// Whether a command may fail so: power is off, or the media are full and the drive has
    /// stopped.
    fn is_over(&self) -> bool {
        self.simulated.is_off() || self.media.has(Trouble::Full)
    }

    /// Whether some places may not be readable.
    fn has_bad_places(&self) -> bool {
        self.media.has(Trouble::Rot) || self.media.has(Trouble::Unreadable)
    }

    fn host(&self, host: u64, seed: u64) {
        let mut random = Random::new(seed);
        for _ in 0..self.shape.steps {
            match self.step(host, &mut random) {
                Ok(()) | Err(DiskError::Full) => {}
                Err(_) if self.is_over() => return,
                Err(error) => return self.fail(format!("a command failed: {error}")),
            }
            if self.simulated.is_off() {
                return;
            }
        }
    }

    /// Blocks of a host, somewhere.
    fn somewhere(&self, host: u64, random: &mut Random) -> (u64, u64) {
        let (first, blocks) = match random.chance(self.shape.places.heat) {
            true => self.shape.places.hot,
            false => *random.pick(&self.shape.places.ranges),
        };
        if blocks <= FEW {
            // Any host's block: the shared leaves are the point.
            let block = first + random.below(blocks);
            if self.host_of(block) == host {
                return (block, 1);
            }
        }
        let stripe = (first + random.below(blocks)) / STRIPE;
        let stripe = stripe / self.shape.hosts * self.shape.hosts + host;
        let (start, length) = (stripe * STRIPE, 1 + random.below(STRIPE));
        (start + random.below(STRIPE - length + 1), length)
    }

    /// Goes through many ranges, a block in each, one after the other or as they come: writes it,
    /// as rows of a table are updated, or discards it, as `fstrim` does on an aged file system.
    fn sweep(&self, host: u64, random: &mut Random) -> Result<()> {
        let ranges = &self.shape.places.ranges;
        let (start, number) = (random.below(ranges.len() as u64), 1 << random.below(11));
        let (discards, is_scattered) = (random.chance(20), random.chance(50));
        for index in start..start + number {
            let (first, blocks) = match is_scattered {
                true => *random.pick(ranges),
                false => ranges[index as usize % ranges.len()],
            };
            let block = first + random.below(blocks);
            if self.host_of(block) != host {
                continue;
            }
            let result = match discards {
                true => self.discard(host, block, 1),
                false => self.write(host, block, 1, false),
            };
            match result {
                Ok(()) | Err(DiskError::Full) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn step(&self, host: u64, random: &mut Random) -> Result<()> {
        if random.chance(self.shape.sweeps) {
            return self.sweep(host, random);
        }
        let (first, blocks) = self.somewhere(host, random);
        match random.below(100) {
            0..60 => self.write(host, first, blocks, random.chance(20)),
            60..70 => {
                self.drive.flush()?;
                self.model(host).flushed();
                Ok(())
            }
            70..80 => self.discard(host, first, blocks),
            80..90 => {
                self.check_own(host, first..first + blocks);
                Ok(())
            }
            _ => self.look_at_others(random),
        }
    }

    /// A host reads the data that it wrote last, whatever others do.
    fn check_own(&self, host: u64, blocks: std::ops::Range<u64>) {
        let model = self.model(host);
        let mut outcome = model.check_now(&self.drive, blocks.clone());
        if outcome.is_err() && self.has_bad_places() {
            outcome =
                blocks.into_iter().try_for_each(|block| self.check_if_readable(&model, block));
        }
        match outcome {
            Err(problem) if !self.is_over() => self.fail(problem),
            _ => {}
        }
    }

    fn check_if_readable(&self, model: &Model, block: u64) -> std::result::Result<(), String> {
        let mut data = [1; BLOCK];
        match self.drive.read(block * BLOCK_BYTES, &mut data) {
            Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
            Ok(()) => match (content_of(block, &data)?, model.now(block)) {
                (found, expected) if found == expected => Ok(()),
                (found, expected) => {
                    Err(format!("block {block} reads {found:?}, but {expected:?} was written"))
                }
            },
        }
    }

    /// Data are read whole, whatever others write.
    fn look_at_others(&self, random: &mut Random) -> Result<()> {
        let (first, blocks) = *random.pick(&self.shape.places.ranges);
        let first = first + random.below(blocks);
        let mut data = vec![0; 16 * BLOCK];
        match self.drive.read(first * BLOCK_BYTES, &mut data) {
            Err(DiskError::Corrupt { .. } | DiskError::Io(_)) if self.has_bad_places() => {
                return Ok(());
            }
            other => other?,
        }
        for (block, bytes) in (first..).zip(data.chunks(BLOCK)) {
            if let Err(problem) = content_of(block, bytes) {
                self.fail(problem);
            }
        }
        Ok(())
    }

    /// Collection, checkpoints, rest; now and then the drive is closed or its size changed under
    /// the hosts.
    fn background(&self, seed: u64) {
        let mut random = Random::new(seed);
        for _ in 0..self.shape.steps {
            let result = match random.below(40) {
                0 => self.drive.close(),
                1 => self.drive.resize(self.shape.places.logical_bytes + (random.below(3) << 30)),
                _ => self.drive.maintain().map(|rest| {
                    if rest == Rest::Idle {
                        shuttle::thread::yield_now();
                    }
                }),
            };
            match result {
                Ok(()) | Err(DiskError::Full | DiskError::OutOfRange { .. }) => {}
                Err(_) if self.is_over() => return,
                Err(error) => return self.fail(format!("the background failed: {error}")),
            }
            if self.simulated.is_off() {
                return;
            }
        }
    }

    /// The drive's own status is as it should be: nothing is wrong unless a fault was injected.
    pub fn check_health(&self) -> std::result::Result<(), String> {
        if let Some(problem) = self.problems.lock().unwrap().first() {
            return Err(problem.clone());
        }
        if self.simulated.is_off() || self.media.is_in_trouble() {
            return Ok(());
        }
        match self.drive.status().problems.iter().find(|problem| !problem.contains("superblock")) {
            Some(problem) => Err(format!("it says of itself: {problem}")),
            None => Ok(()),
        }
    }
}
