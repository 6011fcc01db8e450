//! `assay models`: lists device presets, and attaches or measures emulated devices.

mod fio;
mod fio_result;
mod measure;
mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use self::measure::{MeasureOptions, MeasuredModel};
use self::show::DeviceView;
use crate::drive_command::show_attached;
use crate::print;
use assay_base::Size;
use assay_ports::file_id::FileId;
use assay_presets::closed::ClosedConditions;
use assay_presets::preset::{PRESETS, Preset};
use assay_presets::{Device, Scale, THREADS, mark, parse_ratio};
use assay_serve::{
    AttachOptions, Export, ModelJob, attach, check_right, detach, is_attached, provide,
};
use assay_system::interrupt::Interrupt;

/// Device presets, and emulated devices
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay models                       list the devices
  assay models p4610-3.2             its numbers, sources and derived figures
  assay models p4610-3.2 --capacity-scale 6400 --parallel-scale 72 --measure
                                     the same, measured with fio
  assay models gp3 --capacity-scale 100 --attach gp3.img
                                     the last line is the device, /dev/loop0
  assay drive status gp3.img         how well the emulation keeps time
  assay drive detach gp3.img
  assay models gp3 --capacity-scale 100 --attach gp3.img --trace gp3.trace
                                     records its I/Os, for assay replay
  assay models ./mine.toml           a device of your own

Scales divide: at --capacity-scale 100 a drive of 3.2 TB has 32 GB. --parallel-scale divides \
channels, dies, link rate, IOPS and buffers. Latencies do not change.")]
pub(crate) struct ModelsArgs {
    /// A preset, or a TOML file with one [default: list all]
    model: Option<String>,
    /// Divide its capacity by this
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = Scale::parse_one)]
    capacity_scale: f64,
    /// Divide its parallelism by this
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = Scale::parse_one)]
    parallel_scale: f64,
    /// Share of the device in use, for steady-state random writes
    #[arg(long, value_name = "SHARE", default_value_t = 0.8, value_parser = parse_fill)]
    fill: f64,
    /// Compression ratio, for a device that compresses [default: incompressible data]
    #[arg(long, value_name = "RATIO", value_parser = parse_ratio)]
    ratio: Option<f64>,
    /// Attach the model, run fio on it, and print measured beside derived figures
    #[arg(long, conflicts_with = "attach", requires = "model")]
    measure: bool,
    /// Length of each fio job, with --measure
    #[arg(long, default_value_t = 10, requires = "measure", value_parser = parse_seconds())]
    seconds: u32,
    /// Directory for the media of a measured model [default: the state directory]
    #[arg(long, value_name = "DIR", requires = "measure")]
    work: Option<PathBuf>,
    /// Attach the model as a block device over this file, which is created sparse if it does not
    /// exist
    #[arg(long, value_name = "FILE")]
    attach: Option<PathBuf>,
    /// Logical size of a device that compresses, e.g. 6T [default: its sold capacity]
    #[arg(long, value_name = "SIZE", value_parser = Size::parse, requires = "attach")]
    logical: Option<Size>,
    /// Maximum I/Os in flight
    #[arg(long, default_value_t = THREADS, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Expose the model as the file `disk` in this empty directory, without a loop device; works
    /// without root
    #[arg(long, value_name = "DIR", requires = "attach")]
    directory: Option<PathBuf>,
    /// Record every I/O to this new file until detached: 40 bytes each, 2 more per block written
    #[arg(long, value_name = "FILE", requires = "attach")]
    trace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn parse_seconds() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=3600)
}

fn parse_fill(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok().filter(|share| (0.01..=1.0).contains(share));
    share.ok_or_else(|| {
        format!("`{text}` is not a share; give a number from 0.01 to 1, such as 0.8")
    })
}

/// Lists the presets, or shows, measures or attaches one.
pub(crate) fn run(args: &ModelsArgs) -> Result<ExitCode> {
    let Some(named) = &args.model else {
        ensure!(args.attach.is_none(), "name a device; `assay models` lists them");
        list(args.json)?;
        return Ok(ExitCode::SUCCESS);
    };
    let preset = Preset::find(named)?;
    let scale = Scale { capacity: args.capacity_scale, parallel: args.parallel_scale };
    let device = Device::new(&preset, scale)?;
    match &args.attach {
        Some(file) => attach_to(args, &preset, scale, &device, file)?,
        None => show_device(args, &preset, scale, &device)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(as_json: bool) -> Result<()> {
    let presets = PRESETS.iter().map(|(name, text)| Preset::parse(name, text));
    let presets = presets.collect::<Result<Vec<_>>>()?;
    match as_json {
        true => print::line(show::list_json(&presets)),
        false => show::list(&presets),
    }
    Ok(())
}

fn show_device(args: &ModelsArgs, preset: &Preset, scale: Scale, device: &Device) -> Result<()> {
    if args.ratio.is_some() && !device.compresses() {
        bail!("{} does not compress; omit --ratio", preset.name);
    }
    let conditions =
        ClosedConditions { fill: args.fill, ratio: args.ratio, ..ClosedConditions::default() };
    let view = DeviceView {
        preset,
        rows: preset.rows()?,
        scale,
        device,
        fill: args.fill,
        closed: device.closed(preset, conditions)?,
        measured: args.measure.then(|| measure(args, preset, scale, device)).transpose()?,
    };
    match args.json {
        true => print::line(view.json()),
        false => view.print(),
    }
    Ok(())
}

fn measure(
    args: &ModelsArgs,
    preset: &Preset,
    scale: Scale,
    device: &Device,
) -> Result<MeasuredModel> {
    ensure!(rustix::process::geteuid().is_root(), "measuring a block device needs root");
    let options = MeasureOptions {
        scale,
        fill: args.fill,
        ratio: args.ratio,
        seconds: args.seconds,
        threads: args.threads,
        directory: args.work.clone(),
    };
    measure::measure(preset, device, &options)
}

fn attach_to(
    args: &ModelsArgs,
    preset: &Preset,
    scale: Scale,
    device: &Device,
    file: &Path,
) -> Result<()> {
    let options = AttachOptions {
        directory: args.directory.clone(),
        threads: args.threads,
        ..AttachOptions::default()
    };
    let export = Export::Model {
        device: ModelJob::new(preset, scale),
        keeps_time_when_told: false,
        trace: args.trace.as_ref().map(std::path::absolute).transpose()?,
    };
    check_right(&options)?;
    if let Some(trace) = &args.trace {
        // Checked before anything is created.
        ensure!(!trace.exists(), "{} already exists; give a new file", trace.display());
    }
    let interrupt = Interrupt::listen()?;
    let is_new = !file.exists();
    provide(device, file, args.logical)?;
    let made = is_new.then(|| FileId::named(file)).transpose()?;
    let attached = attach(file, &options, &export).and_then(|health| match interrupt.check() {
        Ok(()) => Ok(health),
        Err(interrupted) => detach(file).and(Err(interrupted)),
    });
    let is_ours = made.is_some_and(|made| FileId::named(file).is_ok_and(|found| found == made));
    if attached.is_err() && is_ours && !is_attached(file) {
        // The media were created by this command and hold nothing.
        std::fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    let attached = attached?;

    mark(file, args.model.as_deref().unwrap_or(&preset.name), scale);
    show_attached(&attached, args.json)
}
