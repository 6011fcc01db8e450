//! Measures a model with fio, for a comparison with the figures that follow from its numbers.
//!
//! Sequential writes are measured on a fresh device, everything else after preconditioning. The
//! media are in a directory of their own, which is removed however the measurement ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use assay_drive::BLOCK_BYTES;
use assay_models::Preconditioning;
use serde::Serialize;

use super::fio::{self, FioFigures, FioJob};
use super::fio_result::{FioResult, MeasuredFigure, Request};
use crate::print::Living;
use assay_base::text::size;
use assay_presets::Device;
use assay_presets::Scale;
use assay_presets::closed::{ClosedConditions, DEPTH, DEPTH_OF_WRITES, SEQUENTIAL_BYTES};
use assay_presets::preset::Preset;
use assay_serve::provide;
use assay_serve::{AttachOptions, Attached, Export, Health, ModelJob};
use assay_system::free_bytes;
use assay_system::interrupt::Interrupt;
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::{new_name, state};

/// Settings of a measurement.
#[derive(Debug)]
pub(crate) struct MeasureOptions {
    pub scale: Scale,
    /// Share of the device that holds data.
    pub fill: f64,
    /// Compression ratio of the data, for a device that compresses.
    pub ratio: Option<f64>,
    /// Length of each job.
    pub seconds: u32,
    /// Maximum I/Os in flight.
    pub threads: u16,
    /// Parent of the directory with the model's media; `None`: the state directory.
    pub directory: Option<PathBuf>,
}

impl MeasureOptions {
    /// Bytes that hold data, a multiple of the largest command.
    fn data_bytes(&self, device: &Device) -> u64 {
        let bytes = (device.user_bytes() as f64 * self.fill) as u64;
        (bytes / SEQUENTIAL_BYTES).max(1) * SEQUENTIAL_BYTES
    }

    /// Largest size that the media grow to.
    fn media_bytes(&self, device: &Device) -> u64 {
        device.nand().map_or_else(|| self.data_bytes(device), |nand| nand.raw_bytes)
    }
}

/// Figures of a measured model.
#[derive(Debug, Serialize)]
pub(crate) struct MeasuredModel {
    /// Round trip of the port without the model.
    pub port_us: f64,
    /// Bytes written to media per byte of the host in steady state.
    pub write_amplification: Option<f64>,
    /// Compression ratio of the stored data, for a device that compresses.
    pub ratio: Option<f64>,
    pub figures: Vec<MeasuredFigure>,
}

/// A job, the figure that it measures, and how that is read from fio's result.
#[derive(Debug, Clone, Copy)]
struct Step {
    name: &'static str,
    pattern: &'static str,
    bytes: u64,
    depth: u32,
    take: fn(&FioFigures) -> f64,
}

const fn step(
    name: &'static str,
    pattern: &'static str,
    bytes: u64,
    depth: u32,
    take: fn(&FioFigures) -> f64,
) -> Step {
    Step { name, pattern, bytes, depth, take }
}

/// Steps on a fresh device.
const FRESH: [Step; 1] =
    [step("write_bytes_per_s", "write", SEQUENTIAL_BYTES, SEQUENTIAL_DEPTH, |f| f.bytes_per_s)];

/// Steps on a preconditioned device.
const PRECONDITIONED: [Step; 5] = [
    step("read_latency_us", "randread", BLOCK_BYTES, 1, |found| found.latency_us),
    step("random_read_per_s", "randread", BLOCK_BYTES, DEPTH, |found| found.per_s),
    step("read_bytes_per_s", "read", SEQUENTIAL_BYTES, SEQUENTIAL_DEPTH, |f| f.bytes_per_s),
    step("write_latency_us", "randwrite", BLOCK_BYTES, 1, |found| found.latency_us),
    step("random_write_per_s", "randwrite", BLOCK_BYTES, DEPTH_OF_WRITES, |found| found.per_s),
];

/// Large commands in flight: several for each disk of a stripe.
const SEQUENTIAL_DEPTH: u32 = 32;

/// Rate of single writes, as a share of the steady-state rate: low enough that they do not queue.
const RATE_SHARE: f64 = 0.1;

/// Share of the data that is overwritten before steady-state writes are measured, since an idle
/// drive has collected garbage.
const RAMP_SHARE: f64 = 0.5;

/// Longest ramp, in measurement lengths.
const RAMP_TIMES_MAX: u32 = 4;

/// Measures the device of `preset`.
///
/// # Errors
/// fio is missing, the model cannot be attached, or Ctrl-C.
pub(crate) fn measure(
    preset: &Preset,
    device: &Device,
    options: &MeasureOptions,
) -> Result<MeasuredModel> {
    let interrupt = Interrupt::listen()?;
    let ledger = Ledger::open()?;
    let (directory, made) = make_directory(&ledger, options, preset, device)?;
    let bench = Bench {
        preset,
        device,
        options,
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
    options: &MeasureOptions,
    preset: &Preset,
    device: &Device,
) -> Result<(PathBuf, LedgerGuard)> {
    let parent = match &options.directory {
        Some(named) => {
            std::fs::create_dir_all(named).with_context(|| named.display().to_string())?;
            named.canonicalize()?
        }
        None => state::below("models")?,
    };
    check_room(&parent, options, preset, device)?;
    let path = parent.join(new_name("model"));
    let made = ledger.make_directory(&path)?;
    Ok((path, made))
}

/// Checks that the media fit. Flash fills its raw capacity in the long run; other media only hold
/// the data.
fn check_room(
    directory: &Path,
    options: &MeasureOptions,
    preset: &Preset,
    device: &Device,
) -> Result<()> {
    let media_bytes = options.media_bytes(device);
    let free_bytes = free_bytes(directory)?;
    if media_bytes < free_bytes {
        return Ok(());
    }
    let least_scale = options.scale.capacity * media_bytes as f64 / free_bytes.max(1) as f64;
    bail!(
        "its media take up to {} of {}, which has {} free; {}",
        size(media_bytes as f64),
        directory.display(),
        size(free_bytes as f64),
        remedy(options, preset, (least_scale * 1.1).ceil())
    )
}

/// Suggests the capacity scale at which the media fit, if the device can be modelled at it.
fn remedy(options: &MeasureOptions, preset: &Preset, scale: f64) -> String {
    let at = |capacity| Device::new(preset, Scale { capacity, ..options.scale });
    if at(scale).is_ok() {
        return format!("give --capacity-scale {scale:.0} or more, or another --work");
    }
    let mut larger = std::iter::successors(Some(scale), |scale| Some(scale / 1.1))
        .take_while(|scale| *scale > options.scale.capacity);
    let smallest = larger.find_map(|scale| at(scale).ok());
    let needed = smallest.map_or_else(
        || String::from("that much"),
        |device| size(options.media_bytes(&device) as f64),
    );
    format!(
        "no capacity scale makes it fit: the smallest model takes {needed}; give another --work"
    )
}

struct Bench<'a> {
    preset: &'a Preset,
    device: &'a Device,
    options: &'a MeasureOptions,
    ledger: &'a Arc<Ledger>,
    media: PathBuf,
    interrupt: Interrupt,
}

impl Bench<'_> {
    fn run(&self) -> Result<MeasuredModel> {
        provide(self.device, &self.media, None)?;
        let mut results = Vec::new();
        self.attached(&FRESH, &mut results)?;
        self.precondition()?;
        let health = self.attached(&PRECONDITIONED, &mut results)?;
        let ratio = health.status.compression_ratio().filter(|_| self.device.compresses());
        let conditions =
            ClosedConditions { fill: self.options.fill, ratio, ..ClosedConditions::default() };
        let closed = self.device.closed(self.preset, conditions)?;
        let port_us = health.model.map_or(0.0, |model| model.port_us);
        let named = |name: &str| results.iter().find(|result: &&FioResult| result.name() == name);
        let steady = named("random_write_per_s");
        let write_amplification = steady.and_then(FioResult::write_amplification);
        let figures = closed
            .into_iter()
            .filter_map(|closed| named(closed.name).map(|result| result.compared_with(closed)));
        let figures = figures.collect();
        Ok(MeasuredModel { port_us, write_amplification, ratio, figures })
    }

    /// Attaches the model, runs the steps and detaches it. Returns its health from before the
    /// steps.
    fn attached(&self, steps: &[Step], results: &mut Vec<FioResult>) -> Result<Health> {
        let options = AttachOptions { threads: self.options.threads, ..AttachOptions::default() };
        let export = Export::model(ModelJob::new(self.preset, self.options.scale));
        let attached = Attached::start(&self.media, &options, &export, self.ledger, &[])?;
        let health = Health::read(&attached.status_file)?;
        for step in steps {
            self.interrupt.check()?;
            results.push(self.step(&attached, *step)?);
        }
        attached.stop()?;
        Ok(health)
    }

    fn step(&self, attached: &Attached, step: Step) -> Result<FioResult> {
        let Step { name, pattern, bytes, depth, take } = step;
        let device = attached.health.attachment.device.as_ref().context("it has no device")?;
        let zero_share = self.options.ratio.map_or(0.0, |ratio| 1.0 - 1.0 / ratio);
        let job = FioJob {
            pattern,
            bytes,
            depth: depth.min(self.options.threads.into()),
            area_bytes: self.data_bytes(),
            seconds: self.options.seconds,
            repeats: pattern != "write",
            ramp_seconds: if name == "random_write_per_s" { self.ramp_seconds()? } else { 0 },
            rate_per_s: (name == "write_latency_us").then(|| self.single_rate()).transpose()?,
            zero_percent: (zero_share * 100.0) as u32,
        };
        let line = Living::new();
        line.step(format_args!("measuring {name}"));
        let before = Health::read(&attached.status_file)?;
        let figures = fio::measure(device, job);
        line.end();
        self.interrupt.check()?;
        let after = Health::read(&attached.status_file)?;
        let kind = if pattern.ends_with("read") { "read" } else { "write" };
        let request = Request { name, kind, is_latency: depth == 1 };
        FioResult::new(request, take(&figures?), &before, &after)
    }

    /// Steady-state random writes per second that follow from the device's numbers.
    fn steady_writes_per_s(&self) -> Result<f64> {
        let conditions = ClosedConditions {
            fill: self.options.fill,
            ratio: self.options.ratio,
            ..ClosedConditions::default()
        };
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
        Ok(if needed { wanted.min(self.options.seconds * RAMP_TIMES_MAX) } else { 0 })
    }

    fn data_bytes(&self) -> u64 {
        self.options.data_bytes(self.device)
    }

    fn precondition(&self) -> Result<()> {
        let line = Living::new();
        line.step("filling and overwriting");
        let stored_share = self.options.ratio.map_or(1.0, f64::recip);
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
