//! One seed: a drive of some shape, hosts that work on it side by side, what is done in the
//! background, what goes wrong, and what is left of it afterwards.
//!
//! What a host wrote has an order, so after a power cut its blocks must be what they were after
//! some beginning of its own commands. Where media lose what they guaranteed to keep, a block may
//! not be readable, but it is never what was not written there.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use assay_drive::{BLOCK_BYTES, Disk, DiskError, Drive, Rule, State, break_rule};

use crate::common::media::{Fate, Fault, SimulatedMedia};
use crate::common::model::{BLOCK, Content, Model, content_of};
use crate::common::random::Random;
use crate::coverage::Coverage;
use crate::media::Troubled;
use crate::scheduler::Paced;
use crate::shape::Shape;
use crate::world::World;

/// Turns of threads after which a seed is taken to be in a loop. A wide drive with hardly any
/// memory for its map makes hundreds of checkpoints and reads two hundred thousand nodes, which
/// takes more than five million.
const MAX_STEPS: usize = 20_000_000;

/// Runs one seed, with a rule broken or none; says what happened, or what went wrong.
pub fn run(seed: u64, broken: Option<Rule>) -> Result<Coverage, String> {
    let found = Arc::new(Mutex::new(Ok(Coverage::default())));
    let into = Arc::clone(&found);
    let mut config = shuttle::Config::new();
    config.stack_size = 512 << 10;
    config.max_steps = shuttle::MaxSteps::FailAfter(MAX_STEPS);
    config.failure_persistence = shuttle::FailurePersistence::None;
    let life = move || {
        break_rule(broken);
        *into.lock().unwrap() = live(seed);
        break_rule(None);
    };
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
        shuttle::Runner::new(Paced::new(seed), config).run(life)
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
    let shape = Shape::new(&mut random);
    let mut simulated = Arc::new(SimulatedMedia::new(shape.media_bytes()));
    Drive::format(simulated.clone(), &shape.format()).map_err(|error| error.to_string())?;
    let mut models: Vec<Model> =
        (0..shape.hosts).map(|host| Model::after_command(host * 1_000_000)).collect();
    let mut coverage = Coverage::default();
    for round in 0..shape.rounds {
        let trouble = shape.trouble.filter(|_| round + 1 == shape.rounds);
        let media = Troubled::new(simulated.clone(), shape.yields).with(trouble, &mut random);
        let world = Arc::new(World::open(media, &shape, models)?);
        if round == 0 {
            world.fill(&mut random)?;
        }
        world.media.begin();
        if let Some(command) = shape.cut_at.filter(|_| random.chance(70)) {
            world.simulated.inject(Fault::PowerCutAt(command));
        }
        world.threads(&mut random);
        coverage.count(&world.drive.status());
        world.check_health()?;
        let is_closed = random.chance(20) && world.drive.close().is_ok();
        if is_closed {
            world.models.iter().for_each(|model| model.lock().unwrap().flushed());
            coverage.closed += 1;
        }
        coverage.cuts += 1;
        // A killed process leaves what the kernel holds; a power cut does not.
        simulated = match random.chance(30) && !world.simulated.is_off() {
            true => Arc::new(world.simulated.killed()),
            false => Arc::new(cut(&world.simulated, &mut random)),
        };
        models = world.models.iter().map(|model| model.lock().unwrap().clone()).collect();
        let is_harmed =
            world.media.is_in_trouble() && trouble.is_some_and(|trouble| trouble.harms_data());
        coverage.troubles += u64::from(world.media.is_in_trouble());
        drop(world);
        if is_harmed {
            check_harmed(&simulated, &shape, &models, &mut coverage)?;
            return Ok(coverage);
        }
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

/// The media after a power cut while the drive opens: somewhere, or in the write of a superblock.
fn cut_while_it_opens(
    media: &Arc<SimulatedMedia>,
    shape: &Shape,
    random: &mut Random,
) -> Arc<SimulatedMedia> {
    let is_in_superblock = random.chance(50);
    if is_in_superblock {
        let superblocks = [0, media.size() / BLOCK_BYTES - 1];
        media.inject(Fault::PowerCutIn(*random.pick(&superblocks)));
    } else {
        media.inject(Fault::PowerCutAt(1 + random.below(60)));
    }
    let _ = Drive::open(media.clone(), shape.options.clone());
    Arc::new(match is_in_superblock {
        true => media.after_power_cut(|_| Fate::Torn(random.next())),
        false => cut(media, random),
    })
}

/// Opens what a power cut left, sometimes with more of them while it opens, and checks what every
/// host finds of its own.
fn check(
    media: &Arc<SimulatedMedia>,
    shape: &Shape,
    mut models: Vec<Model>,
    random: &mut Random,
    coverage: &mut Coverage,
) -> Result<(Arc<SimulatedMedia>, Vec<Model>), String> {
    let mut media = Arc::clone(media);
    while random.chance(40) {
        media = cut_while_it_opens(&media, shape, random);
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
    if random.chance(50) {
        let check = drive.check(&mut |_, _| {}).map_err(|error| error.to_string())?;
        if let Some(damage) = check.damages.first() {
            return Err(format!("the check finds: {}", damage.what));
        }
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

/// Opens what media left that lost something: it says so, and what can be read was written there at
/// some time.
fn check_harmed(
    media: &Arc<SimulatedMedia>,
    shape: &Shape,
    models: &[Model],
    coverage: &mut Coverage,
) -> Result<(), String> {
    let Ok(drive) = Drive::open(media.clone(), shape.options.clone()) else {
        coverage.unreadable += 1;
        return Ok(());
    };
    for model in models {
        for block in model.touched() {
            let mut data = [1; BLOCK];
            match drive.read(block * BLOCK_BYTES, &mut data) {
                Ok(()) => {}
                Err(DiskError::Corrupt { .. } | DiskError::Io(_)) => {
                    coverage.unreadable += 1;
                    continue;
                }
                Err(error) => return Err(format!("reading block {block}: {error}")),
            }
            match content_of(block, &data)? {
                Content::Written(command) if !model.wrote(block, command) => {
                    return Err(format!("block {block} reads {command}, which nobody wrote there"));
                }
                _ => {}
            }
        }
    }
    drive.check(&mut |_, _| {}).map_err(|error| error.to_string())?;
    if drive.status().state == State::ReadOnly {
        coverage.unreadable += 1;
        return Ok(());
    }
    // It goes on.
    let written = drive.discard(0, 64 * BLOCK_BYTES).and_then(|()| drive.close());
    written.map_err(|error| format!("a damaged drive does not go on: {error}"))
}
