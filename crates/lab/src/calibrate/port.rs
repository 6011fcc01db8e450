//! Throughput of the port: a device that answers at once, served as emulated devices are, and read
//! past the page cache.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_drive::BlockBuffer;
use assay_load::random::Rng;
use assay_presets::{Device, Preset, Scale, THREADS};
use assay_serve::{AttachOptions, Attached, Export, ModelJob, provide, round_trip};
use assay_study::Port;
use assay_system::ledger::Ledger;
use rustix::fs::{Mode, OFlags};

use super::PAGE_BYTES;

/// Any device does: until it is told to keep time, it answers at once.
const PRESET: &str = "gp3";
/// Leaves 64 MiB of it.
const CAPACITY_SCALE: f64 = 16_384.0;

/// Reads in flight, more than any small machine has CPUs.
const READERS: u64 = 16;
const READING: Duration = Duration::from_millis(1000);

/// Serves a device in `work` and reads it.
///
/// # Errors
/// One line, of whatever could not be made or read; nothing is left of it.
pub(super) fn calibrate(work: &Path, cpus: &[usize], ledger: &Arc<Ledger>) -> Result<Port> {
    let directory = work.join("calibration");
    let made = ledger.make_directory(&directory)?;
    let found = on_device(&directory.join("media.img"), cpus, ledger);
    made.remove()?;
    found.context("cannot try the port of emulated devices")
}

fn on_device(media: &Path, cpus: &[usize], ledger: &Arc<Ledger>) -> Result<Port> {
    let preset = Preset::find(PRESET)?;
    let scale = Scale { capacity: CAPACITY_SCALE, parallel: 1.0 };
    let device = Device::new(&preset, scale)?;
    provide(&device, media, None)?;
    let options = AttachOptions { threads: THREADS, ..AttachOptions::default() };
    let export = Export::Model {
        device: ModelJob::new(&preset, scale),
        keeps_time_when_told: true,
        trace: None,
    };
    let attached = Attached::start(&media.canonicalize()?, &options, &export, ledger, cpus)?;
    let found = read(&attached, device.user_bytes());
    attached.stop()?;
    found
}

fn read(attached: &Attached, bytes: u64) -> Result<Port> {
    let place = attached.health.attachment.device.as_ref();
    let place = place.context("it is served, but not as a block device")?;
    let round_trip_us = round_trip(place, bytes)?.as_us();
    Ok(Port { round_trip_us, reads_per_s: reads_per_s(place, bytes)? })
}

/// Random reads of whole pages by several threads at once.
fn reads_per_s(place: &Path, bytes: u64) -> Result<f64> {
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(place, flags, Mode::empty())?);
    let (done, began) = (AtomicU64::new(0), Instant::now());
    let until = began + READING;
    let one = |reader: u64| -> Result<()> {
        let (mut rng, mut page) = (Rng::new(1, reader), BlockBuffer::zeroed(PAGE_BYTES as usize));
        while Instant::now() < until {
            let offset = rng.below(bytes / PAGE_BYTES) * PAGE_BYTES;
            rustix::io::pread(&file, page.as_mut(), offset)?;
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|reader| scope.spawn(move || one(reader))).collect();
        readers.into_iter().try_for_each(|reader| {
            reader.join().unwrap_or_else(|_| anyhow::bail!("a reader ended early"))
        })
    })?;
    Ok(done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
}
