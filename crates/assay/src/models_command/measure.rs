//! Measures a model with fio, next to the figures derived from its numbers.
//!
//! Sequential writes are measured on a fresh device; then it is preconditioned, and the rest is
//! measured. All files are in a directory that is removed at the end, however the measurement ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use assay_drive::BLOCK_BYTES;
use assay_models::Preconditioning;
use serde::Serialize;

use super::fio::{self, Found, Job};
use super::taken::{Asked, Measured, Taken};
use crate::print::Living;
use assay_base::text::size;
use assay_presets::Device;
use assay_presets::Scale;
use assay_presets::closed::{Conditions, DEPTH, DEPTH_OF_WRITES, SEQUENTIAL_BYTES};
use assay_presets::preset::Preset;
use assay_serve::provide;
use assay_serve::{AttachOptions, Attached, Export, Health, ModelJob};
use assay_system::free_bytes;
use assay_system::interrupt::Interrupt;
use assay_system::ledger::{Ledger, Made};
use assay_system::{new_name, state};

/// The parameters of a measurement.
#[derive(Debug)]
pub struct Plan {
    pub scale: Scale,
    /// Share of the device that holds data.
    pub fill: f64,
    /// Bytes of data per stored byte, for a device that compresses.
    pub ratio: Option<f64>,
    /// Length of each job.
    pub seconds: u32,
    /// Maximum I/Os in flight.
    pub threads: u16,
    /// Directory for the model's media.
    pub directory: Option<PathBuf>,
}

impl Plan {
    /// Bytes that hold data: whole commands of the largest kind.
    fn data_bytes(&self, device: &Device) -> u64 {
        let bytes = (device.user_bytes() as f64 * self.fill) as u64;
        (bytes / SEQUENTIAL_BYTES).max(1) * SEQUENTIAL_BYTES
    }

    /// Maximum size of the media.
    fn media_bytes(&self, device: &Device) -> u64 {
        device.nand().map_or_else(|| self.data_bytes(device), |nand| nand.raw_bytes)
    }
}

/// The result of a measurement.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Round trip of the port alone.
    pub port_us: f64,
    /// Bytes written to media per byte of the host, in the steady state.
    pub write_amplification: Option<f64>,
    /// Bytes of data per stored byte, for a device that compresses.
    pub ratio: Option<f64>,
    pub figures: Vec<Measured>,
}

/// A job: its figure, its shape, and the value to take from its result.
#[derive(Debug, Clone, Copy)]
struct Step {
    name: &'static str,
    pattern: &'static str,
    bytes: u64,
    depth: u32,
    take: fn(&Found) -> f64,
}

const fn step(
    name: &'static str,
    pattern: &'static str,
    bytes: u64,
    depth: u32,
    take: fn(&Found) -> f64,
) -> Step {
    Step { name, pattern, bytes, depth, take }
}

/// Jobs for a new device.
const FRESH: [Step; 1] =
    [step("write_bytes_per_s", "write", SEQUENTIAL_BYTES, SEQUENTIAL_DEPTH, |f| f.bytes_per_s)];

/// Jobs for a preconditioned device.
const PRECONDITIONED: [Step; 5] = [
    step("read_latency_us", "randread", BLOCK_BYTES, 1, |found| found.latency_us),
    step("random_read_per_s", "randread", BLOCK_BYTES, DEPTH, |found| found.per_s),
    step("read_bytes_per_s", "read", SEQUENTIAL_BYTES, SEQUENTIAL_DEPTH, |f| f.bytes_per_s),
    step("write_latency_us", "randwrite", BLOCK_BYTES, 1, |found| found.latency_us),
    step("random_write_per_s", "randwrite", BLOCK_BYTES, DEPTH_OF_WRITES, |found| found.per_s),
];

/// Large commands in flight: several for each of some disks.
const SEQUENTIAL_DEPTH: u32 = 32;

/// Rate of single writes as a share of the device's steady rate; faster ones would queue.
const RATE_SHARE: f64 = 0.1;

/// Share of the data overwritten before steady writes are measured: an idle drive has free
/// segments.
const RAMP_SHARE: f64 = 0.5;

/// Upper bound of that time, in lengths of the measurement.
const RAMP_TIMES_MAX: u32 = 4;

/// Measures the device of `preset`.
pub fn measure(preset: &Preset, device: &Device, plan: &Plan) -> Result<Outcome> {
    let interrupt = Interrupt::listen()?;
    let ledger = Ledger::open()?;
    let (directory, made) = make_directory(&ledger, plan, preset, device)?;
    let bench = Bench {
        preset,
        device,
        plan,
        ledger: &ledger,
        media: directory.join("model.img"),
        interrupt,
    };
    let outcome = bench.run();
    made.remove()?;
    outcome
}

fn make_directory(
    ledger: &Arc<Ledger>,
    plan: &Plan,
    preset: &Preset,
    device: &Device,
) -> Result<(PathBuf, Made)> {
    let parent = match &plan.directory {
        Some(named) => {
            std::fs::create_dir_all(named).with_context(|| named.display().to_string())?;
            named.canonicalize()?
        }
        None => state::below("models")?,
    };
    check_room(&parent, plan, preset, device)?;
    let path = parent.join(new_name("model"));
    let made = ledger.make_directory(&path)?;
    Ok((path, made))
}

/// In the long run all of the flash is written, independent of the data; a device that stores
/// blocks in place is written where there are data.
fn check_room(directory: &Path, plan: &Plan, preset: &Preset, device: &Device) -> Result<()> {
    let media_bytes = plan.media_bytes(device);
    let free_bytes = free_bytes(directory)?;
    if media_bytes < free_bytes {
        return Ok(());
    }
    let least_scale = plan.scale.capacity * media_bytes as f64 / free_bytes.max(1) as f64;
    bail!(
        "its media take up to {} of {}, which has {} free; {}",
        size(media_bytes as f64),
        directory.display(),
        size(free_bytes as f64),
        remedy(plan, preset, (least_scale * 1.1).ceil())
    )
}

/// The advice: a capacity scale that fits, if the device exists at that scale.
fn remedy(plan: &Plan, preset: &Preset, scale: f64) -> String {
    let at = |capacity| Device::new(preset, Scale { capacity, ..plan.scale });
    if at(scale).is_ok() {
        return format!("give --capacity-scale {scale:.0} or more, or another --work");
    }
    let mut larger = std::iter::successors(Some(scale), |scale| Some(scale / 1.1))
        .take_while(|scale| *scale > plan.scale.capacity);
    let smallest = larger.find_map(|scale| at(scale).ok());
    let needed = smallest
        .map_or_else(|| String::from("that much"), |device| size(plan.media_bytes(&device) as f64));
    format!(
        "no capacity scale makes it fit: the smallest model takes {needed}; give another --work"
    )
}

struct Bench<'a> {
    preset: &'a Preset,
    device: &'a Device,
    plan: &'a Plan,
    ledger: &'a Arc<Ledger>,
    media: PathBuf,
    interrupt: Interrupt,
}

impl Bench<'_> {
    fn run(&self) -> Result<Outcome> {
        provide(self.device, &self.media, None)?;
        let mut taken = Vec::new();
        self.attached(&FRESH, &mut taken)?;
        self.precondition()?;
        let health = self.attached(&PRECONDITIONED, &mut taken)?;
        let ratio = health.status.compression_ratio().filter(|_| self.device.compresses());
        let conditions = Conditions { fill: self.plan.fill, ratio, ..Conditions::default() };
        let closed = self.device.closed(self.preset, conditions)?;
        let port_us = health.model.map_or(0.0, |model| model.port_us);
        let steady = taken.iter().find(|taken: &&Taken| taken.name() == "random_write_per_s");
        let write_amplification = steady.and_then(Taken::write_amplification);
        let figures = closed.into_iter().filter_map(|closed| {
            taken
                .iter()
                .find(|taken: &&Taken| taken.name() == closed.name)
                .map(|taken| taken.beside(closed))
        });
        Ok(Outcome { port_us, write_amplification, ratio, figures: figures.collect() })
    }

    /// Attaches the model, runs the steps, and detaches it; returns its health before the steps.
    fn attached(&self, steps: &[Step], taken: &mut Vec<Taken>) -> Result<Health> {
        let options = AttachOptions { threads: self.plan.threads, ..AttachOptions::default() };
        let export = Export::model(ModelJob::new(self.preset, self.plan.scale));
        let attached = Attached::start(&self.media, &options, &export, self.ledger, &[])?;
        let health = Health::read(&attached.status_file)?;
        for step in steps {
            self.interrupt.check()?;
            taken.push(self.step(&attached, *step)?);
        }
        attached.stop()?;
        Ok(health)
    }

    fn step(&self, attached: &Attached, step: Step) -> Result<Taken> {
        let Step { name, pattern, bytes, depth, take } = step;
        let device = attached.health.attachment.device.as_ref().context("it has no device")?;
        let zero_share = self.plan.ratio.map_or(0.0, |ratio| 1.0 - 1.0 / ratio);
        let job = Job {
            pattern,
            bytes,
            depth: depth.min(self.plan.threads.into()),
            area_bytes: self.data_bytes(),
            seconds: self.plan.seconds,
            repeats: pattern != "write",
            ramp_seconds: if name == "random_write_per_s" { self.ramp_seconds()? } else { 0 },
            rate_per_s: (name == "write_latency_us").then(|| self.single_rate()).transpose()?,
            zero_percent: (zero_share * 100.0) as u32,
        };
        let line = Living::new();
        line.step(format_args!("measuring {name}"));
        let before = Health::read(&attached.status_file)?;
        let found = fio::measure(device, job);
        line.end();
        self.interrupt.check()?;
        let after = Health::read(&attached.status_file)?;
        let kind = if pattern.ends_with("read") { "read" } else { "write" };
        Taken::new(Asked { name, kind, is_latency: depth == 1 }, take(&found?), &before, &after)
    }

    /// Steady writes per second, derived from the numbers.
    fn steady_writes_per_s(&self) -> Result<f64> {
        let conditions =
            Conditions { fill: self.plan.fill, ratio: self.plan.ratio, ..Conditions::default() };
        let closed = self.device.closed(self.preset, conditions)?;
        let steady = closed.iter().find(|figure| figure.name == "random_write_per_s");
        Ok(steady.context("no figure of random writes")?.value)
    }

    fn single_rate(&self) -> Result<u32> {
        Ok((self.steady_writes_per_s()? * RATE_SHARE).clamp(1.0, 1e6) as u32)
    }

    fn ramp_seconds(&self) -> Result<u32> {
        let bytes_per_s = self.steady_writes_per_s()? * BLOCK_BYTES as f64;
        let wanted = (self.data_bytes() as f64 * RAMP_SHARE / bytes_per_s).ceil() as u32;
        let needed = self.device.nand().is_some();
        Ok(if needed { wanted.min(self.plan.seconds * RAMP_TIMES_MAX) } else { 0 })
    }

    fn data_bytes(&self) -> u64 {
        self.plan.data_bytes(self.device)
    }

    fn precondition(&self) -> Result<()> {
        let line = Living::new();
        line.step("filling and overwriting");
        let stored_share = self.plan.ratio.map_or(1.0, f64::recip);
        let plan =
            Preconditioning { bytes: self.data_bytes(), stored_share, seed: 1, stands_in: false };
        let mut shown = 0;
        assay_serve::precondition(self.device, &self.media, &plan, &mut |share| {
            let percent = (share * 100.0) as u32;
            if percent > shown {
                shown = percent;
                line.live(format_args!("filling and overwriting: {percent} % at most"));
            }
        })?;
        line.end();
        Ok(())
    }
}
