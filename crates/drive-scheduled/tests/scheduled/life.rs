//! One seed: a drive of some shape, hosts that work on it side by side, what is done in the background, what goes wrong,
//! and what is left of it afterwards.
//!
//! Each host has blocks of its own, in the same leaves and units as those of the others. What it wrote has an order, so
//! after a power cut its blocks must be what they were after some beginning of its own commands.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use assay_drive::{
    BLOCK_BYTES, Cache, Codec, Disk, DiskError, Drive, DriveOptions, Format, Policy, Rest, Rule,
    State, break_rule,
};
use shuttle::scheduler::{PctScheduler, RandomScheduler};

use crate::common::media::{Fate, Fault, SimulatedMedia};
use crate::common::model::{Flavour, Model, content_of};
use crate::common::random::Random;
use crate::media::Yielding;

const SEGMENT_BYTES: u32 = 512 << 10;

/// Blocks that lie side by side and belong to one host.
const STRIPE: u64 = 22;

/// How often what is rare happened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Coverage {
    collections: u64,
    checkpoints: u64,
    stalls: u64,
    refused: u64,
    cuts: u64,
    replayed: u64,
    torn: u64,
    closed: u64,
}

impl Coverage {
    pub fn add(mut self, other: Coverage) -> Coverage {
        self.collections += other.collections;
        self.checkpoints += other.checkpoints;
        self.stalls += other.stalls;
        self.refused += other.refused;
        self.cuts += other.cuts;
        self.replayed += other.replayed;
        self.torn += other.torn;
        self.closed += other.closed;
        self
    }

    pub fn all(&self) -> [u64; 8] {
        [
            self.collections,
            self.checkpoints,
            self.stalls,
            self.refused,
            self.cuts,
            self.replayed,
            self.torn,
            self.closed,
        ]
    }
}

/// What a seed is about.
#[derive(Clone)]
struct Shape {
    segments: u64,
    codec: Codec,
    units: bool,
    options: DriveOptions,
    hosts: u64,
    steps: u64,
    /// Where the hosts write: first block, blocks.
    ranges: Vec<(u64, u64)>,
    /// Part of what it takes that is filled first, in percent.
    fill: u64,
    flavour: Option<Flavour>,
    cut_at: Option<u64>,
    rounds: u64,
    /// Whether threads give way around commands of the media.
    yields: bool,
}

impl Shape {
    fn new(random: &mut Random) -> Shape {
        let wide = random.chance(40);
        let ranges = match wide {
            // A leaf each: the map is most of what lies on media.
            true => {
                let (leaves, blocks) = (200 + random.below(1400), 1 + random.below(4));
                (0..leaves).map(|leaf| (leaf * 512 + random.below(480), blocks)).collect()
            }
            false => vec![(0, 600), (500, 700), (262_100, 90), (1500, 200 + random.below(3000))],
        };
        Shape {
            segments: 28 + random.below(20),
            codec: *random.pick(&[Codec::None, Codec::None, Codec::Lz4, Codec::Zstd]),
            units: random.chance(40),
            options: DriveOptions {
                checkpoint_bytes: *random.pick(&[
                    None,
                    Some(200_000),
                    Some(1 << 20),
                    Some(u64::MAX),
                ]),
                policy: *random.pick(&[Policy::CostBenefit, Policy::Greedy]),
                map_bytes: random.chance(30).then(|| 40_000 + random.below(200_000)),
                cache: if random.chance(10) { Cache::Writethrough } else { Cache::Volatile },
                discard_media: random.chance(30),
                read_ahead_bytes: *random.pick(&[0, 0, 64 << 10]),
                ..DriveOptions::default()
            },
            hosts: 1 + random.below(3),
            steps: 20 + random.below(120),
            ranges,
            fill: *random.pick(&[0, 50, 80, 90, 95, 100]),
            flavour: *random.pick(&[None, Some(Flavour::Hard), Some(Flavour::Easy)]),
            cut_at: random.chance(60).then(|| 1 + random.below(1500)),
            rounds: 1 + random.below(3),
            yields: true,
        }
    }
}

/// What the threads of a seed share.
struct World {
    simulated: Arc<SimulatedMedia>,
    drive: Drive,
    /// Of each host what it did.
    models: Vec<Mutex<Model>>,
    problems: Mutex<Vec<String>>,
    shape: Shape,
}

/// Runs one seed, with a rule broken or none; says what happened, or what went wrong.
pub fn run(seed: u64, broken: Option<Rule>) -> Result<Coverage, String> {
    let found = Arc::new(Mutex::new(Ok(Coverage::default())));
    let into = Arc::clone(&found);
    let mut config = shuttle::Config::new();
    config.stack_size = 512 << 10;
    config.max_steps = shuttle::MaxSteps::FailAfter(3_000_000);
    config.failure_persistence = shuttle::FailurePersistence::None;
    let life = move || {
        break_rule(broken);
        *into.lock().unwrap() = live(seed);
        break_rule(None);
    };
    // Half of them let a thread rest while the others do much, the rest let all go on side by side.
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| match seed % 2 {
        0 => shuttle::Runner::new(RandomScheduler::new_from_seed(seed, 1), config).run(life),
        _ => shuttle::Runner::new(PctScheduler::new_from_seed(seed, 4, 1), config).run(life),
    }));
    break_rule(None);
    match outcome {
        Ok(_) => found.lock().unwrap_or_else(|poison| poison.into_inner()).clone(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            Err(format!("it panicked: {}", text.unwrap_or_default()))
        }
    }
}

fn live(seed: u64) -> Result<Coverage, String> {
    let mut random = Random::new(seed);
    let mut shape = Shape::new(&mut random);
    shape.yields = seed.is_multiple_of(2);
    let bytes = (1 << 20) + BLOCK_BYTES + shape.segments * u64::from(SEGMENT_BYTES);
    let mut simulated = Arc::new(SimulatedMedia::new(bytes));
    let format = Format {
        drive_id: 0x5C4E_D01E,
        logical_bytes: 4 << 30,
        codec: shape.codec,
        units: shape.units,
        dictionary: false,
        segment_bytes: Some(SEGMENT_BYTES),
    };
    Drive::format(simulated.clone(), &format).map_err(|error| error.to_string())?;
    let mut models: Vec<Model> =
        (0..shape.hosts).map(|host| Model::after_command(host * 1_000_000)).collect();
    let mut coverage = Coverage::default();
    for round in 0..shape.rounds {
        let world = World::open(&simulated, &shape, models)?;
        let world = Arc::new(world);
        if round == 0 {
            world.fill(&mut random)?;
        }
        if let Some(command) = shape.cut_at.filter(|_| random.chance(70)) {
            world.simulated.inject(Fault::PowerCutAt(command));
        }
        world.threads(&mut random);
        world.coverage(&mut coverage);
        let is_closed = random.chance(20) && world.drive.close().is_ok();
        if is_closed {
            world.models.iter().for_each(|model| model.lock().unwrap().flushed());
            coverage.closed += 1;
        }
        if let Some(problem) = world.problems.lock().unwrap().first() {
            return Err(problem.clone());
        }
        coverage.cuts += 1;
        // A killed process leaves what the kernel holds; a power cut does not.
        simulated = match random.chance(30) && !world.simulated.is_off() {
            true => Arc::new(world.simulated.killed()),
            false => Arc::new(cut(&world.simulated, &mut random)),
        };
        models = world.models.iter().map(|model| model.lock().unwrap().clone()).collect();
        drop(world);
        (simulated, models) = check(&simulated, &shape, models, &mut random, &mut coverage)?;
    }
    Ok(coverage)
}

/// The media after a power cut.
fn cut(media: &SimulatedMedia, random: &mut Random) -> SimulatedMedia {
    let mood = random.below(4);
    media.after_power_cut(|_| match mood {
        0 => Fate::Lost,
        1 => Fate::Whole,
        2 if random.chance(50) => Fate::Whole,
        2 => Fate::Lost,
        _ => match random.below(4) {
            0 => Fate::Lost,
            1 => Fate::Whole,
            _ => Fate::Torn(random.next()),
        },
    })
}

/// Opens what a power cut left, sometimes with another while it opens, and checks what every host finds of its own.
fn check(
    media: &Arc<SimulatedMedia>,
    shape: &Shape,
    mut models: Vec<Model>,
    random: &mut Random,
    coverage: &mut Coverage,
) -> Result<(Arc<SimulatedMedia>, Vec<Model>), String> {
    let mut media = Arc::clone(media);
    if random.chance(40) {
        media.inject(Fault::PowerCutAt(1 + random.below(60)));
        let _ = Drive::open(media.clone(), shape.options.clone());
        media = Arc::new(cut(&media, random));
    }
    let drive = Drive::open(media.clone(), shape.options.clone());
    let drive = drive.map_err(|error| format!("it does not open: {error}"))?;
    let status = drive.status();
    coverage.replayed += status.recovery.chunks;
    coverage.torn += status.recovery.torn_chunks;
    if let Some(problem) = status.problems.iter().find(|problem| !problem.contains("superblock")) {
        return Err(format!("it opened with a problem: {problem}"));
    }
    if matches!(status.state, State::Stopped | State::ReadOnly) {
        return Err(format!("it opened {}", status.state.name()));
    }
    for model in &mut models {
        model.check_prefix(&drive)?;
    }
    let check = drive.check(&mut |_, _| {}).map_err(|error| error.to_string())?;
    if let Some(damage) = check.damages.first() {
        return Err(format!("the check finds: {}", damage.what));
    }
    // It can be left: a discard is always taken, and everything can be given back.
    match drive.discard(0, 64 * BLOCK_BYTES) {
        Ok(()) => {}
        Err(error) => return Err(format!("a discard failed after opening: {error}")),
    }
    for model in &mut models {
        discard_model(model, 0, 64);
    }
    drive.close().map_err(|error| format!("it does not close: {error}"))?;
    models.iter_mut().for_each(Model::flushed);
    Ok((media, models))
}

/// Notes a discard of those of these blocks that the model knows.
fn discard_model(model: &mut Model, first: u64, blocks: u64) {
    let known: Vec<u64> = model
        .touched()
        .into_iter()
        .filter(|block| (first..first + blocks).contains(block))
        .collect();
    known.into_iter().for_each(|block| model.discard(block, 1));
}

impl World {
    fn open(
        simulated: &Arc<SimulatedMedia>,
        shape: &Shape,
        models: Vec<Model>,
    ) -> Result<World, String> {
        let media = Arc::new(Yielding::new(simulated.clone(), shape.yields));
        let drive = Drive::open(media, shape.options.clone())
            .map_err(|error| format!("it does not open: {error}"))?;
        let models = models.into_iter().map(Mutex::new).collect();
        let (simulated, problems, shape) = (simulated.clone(), Mutex::default(), shape.clone());
        Ok(World { simulated, drive, models, problems, shape })
    }

    fn host_of(&self, block: u64) -> u64 {
        block / STRIPE % self.shape.hosts
    }

    /// Fills the drive as far as the shape says.
    fn fill(&self, random: &mut Random) -> Result<(), String> {
        let usable = self.drive.status().usable_bytes / BLOCK_BYTES;
        let wanted = usable * self.shape.fill / 100;
        let mut written = 0;
        'ranges: for (first, blocks) in self.shape.ranges.clone().into_iter().cycle().take(4000) {
            let mut block = first + random.below(3);
            while block < first + blocks {
                if written >= wanted {
                    break 'ranges;
                }
                let end = ((block / STRIPE + 1) * STRIPE).min(first + blocks);
                match self.write(self.host_of(block), block, end - block, false) {
                    Ok(()) => written += end - block,
                    Err(DiskError::Full) => break 'ranges,
                    Err(error) => return Err(format!("filling it failed: {error}")),
                }
                block = end;
            }
        }
        Ok(())
    }

    fn write(&self, host: u64, first: u64, blocks: u64, force: bool) -> assay_drive::Result<()> {
        let flavour = self.shape.flavour;
        let data =
            self.models[host as usize].lock().unwrap().write_as(first, blocks, |block, command| {
                flavour.unwrap_or(Flavour::of(block, command))
            });
        let result = self.drive.write(first * BLOCK_BYTES, &data, force);
        let mut model = self.models[host as usize].lock().unwrap();
        match &result {
            Ok(()) if force || self.shape.options.cache == Cache::Writethrough => model.flushed(),
            Err(DiskError::Full) => model.take_back(),
            _ => {}
        }
        result
    }

    /// All threads of a round, until they are done.
    fn threads(self: &Arc<World>, random: &mut Random) {
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

    fn host(&self, host: u64, seed: u64) {
        let mut random = Random::new(seed);
        for _ in 0..self.shape.steps {
            let result = self.step(host, &mut random);
            if self.simulated.is_off() {
                return;
            }
            match result {
                Ok(()) | Err(DiskError::Full) => {}
                Err(error) => return self.fail(format!("a command failed: {error}")),
            }
        }
    }

    /// Blocks of a host, somewhere.
    fn somewhere(&self, host: u64, random: &mut Random) -> (u64, u64) {
        let (first, blocks) = *random.pick(&self.shape.ranges);
        if blocks <= 4 {
            // Whoever it belongs to: there it is the leaves that are shared.
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

    /// Discards a block in each leaf, one after the other, as `fstrim` does on an aged file system.
    fn trim(&self, host: u64, random: &mut Random) -> assay_drive::Result<()> {
        for (start, length) in &self.shape.ranges {
            let block = start + random.below(*length);
            if self.host_of(block) == host {
                self.models[host as usize].lock().unwrap().discard(block, 1);
                self.drive.discard(block * BLOCK_BYTES, BLOCK_BYTES)?;
            }
        }
        Ok(())
    }

    fn step(&self, host: u64, random: &mut Random) -> assay_drive::Result<()> {
        if random.chance(1) {
            return self.trim(host, random);
        }
        let (first, blocks) = self.somewhere(host, random);
        match random.below(100) {
            0..60 => self.write(host, first, blocks, random.chance(20)),
            60..70 => {
                self.drive.flush()?;
                self.models[host as usize].lock().unwrap().flushed();
                Ok(())
            }
            70..80 => {
                self.models[host as usize].lock().unwrap().discard(first, blocks);
                self.drive.discard(first * BLOCK_BYTES, blocks * BLOCK_BYTES)
            }
            80..90 => self.check_own(host, first..first + blocks),
            _ => self.look_at_others(random),
        }
    }

    fn check_own(&self, host: u64, blocks: std::ops::Range<u64>) -> assay_drive::Result<()> {
        let model = self.models[host as usize].lock().unwrap().clone();
        match model.check_now(&self.drive, blocks) {
            Err(problem) if !self.simulated.is_off() => self.fail(problem),
            _ => {}
        }
        Ok(())
    }

    /// Whatever others write, it is read whole.
    fn look_at_others(&self, random: &mut Random) -> assay_drive::Result<()> {
        let (first, blocks) = *random.pick(&self.shape.ranges);
        let first = first + random.below(blocks);
        let mut data = vec![0; 16 * BLOCK_BYTES as usize];
        self.drive.read(first * BLOCK_BYTES, &mut data)?;
        for (block, bytes) in (first..).zip(data.chunks(BLOCK_BYTES as usize)) {
            if let Err(problem) = content_of(block, bytes) {
                self.fail(problem);
            }
        }
        Ok(())
    }

    /// Collection, checkpoints, rest; now and then the drive is closed or its size changed under the hosts.
    fn background(&self, seed: u64) {
        let mut random = Random::new(seed);
        for _ in 0..self.shape.steps {
            let result = match random.below(40) {
                0 => self.drive.close(),
                1 => self.drive.resize((4 + random.below(3)) << 30),
                _ => self.drive.maintain().map(|rest| {
                    if rest == Rest::Idle {
                        shuttle::thread::yield_now();
                    }
                }),
            };
            if self.simulated.is_off() {
                return;
            }
            match result {
                Ok(()) | Err(DiskError::Full | DiskError::OutOfRange { .. }) => {}
                Err(error) => return self.fail(format!("the background failed: {error}")),
            }
        }
    }

    fn coverage(&self, coverage: &mut Coverage) {
        let counts = self.drive.status().counts;
        coverage.collections += counts.collections;
        coverage.checkpoints += counts.checkpoints;
        coverage.stalls += counts.collection_stalls;
        coverage.refused += counts.refused_writes;
    }
}
