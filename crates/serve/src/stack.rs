//! A device's model, served over a file, on a clock driven by real time.
//!
//! A model's media go through the page cache and are never synced: its time is the model's, not
//! that of this machine's disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::Result;
use assay_drive::{Disk, Drive};
use assay_models::in_hand::{self, Parts};
use assay_models::{Clock, CommandObserver, Time};
use assay_ports::clock::PacedClock;
use assay_ports::media::{Access, FileMedia, MediaCondition};

use super::job::AttachOptions;
use super::open::in_words;
use super::recording::Recording;
use assay_presets::{Builder, Device, Preset, Top};

/// A clock that jumps ahead to each awaited time until it is started, and keeps real time from then
/// on.
pub struct StartedClock {
    clock: PacedClock,
    is_started: AtomicBool,
    /// Sum of the jumps, in nanoseconds.
    ahead_ns: AtomicU64,
}

impl StartedClock {
    fn new() -> StartedClock {
        let (is_started, ahead_ns) = (AtomicBool::new(false), AtomicU64::new(0));
        StartedClock { clock: PacedClock::default(), is_started, ahead_ns }
    }

    /// Keeps real time from now on.
    pub fn start(&self) {
        self.is_started.store(true, Ordering::Release);
    }

    /// Does background work, one part after another, and waits until the device would have
    /// finished.
    pub fn in_turn<T>(&self, work: impl FnOnce() -> T) -> T {
        let (value, due) = in_hand::with(self.now(), Parts::InTurn, work);
        self.wait_until(due.when());
        value
    }

    fn ahead(&self) -> Time {
        Time::from_ns(self.ahead_ns.load(Ordering::Acquire))
    }
}

impl Clock for StartedClock {
    fn now(&self) -> Time {
        self.clock.now() + self.ahead()
    }

    fn wait_until(&self, due: Time) {
        if self.is_started.load(Ordering::Acquire) {
            self.clock.wait_until(due - self.ahead());
        } else {
            // Rounded up, so that the time has come.
            let ahead = (due - self.clock.now()).as_ns() + 1;
            self.ahead_ns.fetch_max(ahead, Ordering::AcqRel);
        }
    }

    fn worked(&self) -> Time {
        self.clock.worked()
    }
}

/// A device's model that can be served.
pub struct ModelStack {
    /// The disk for the host.
    pub top: Arc<Top>,
    pub clock: Arc<StartedClock>,
    /// The drive inside, if there is one.
    pub drive: Option<Arc<Drive>>,
    pub media: Arc<MediaCondition>,
    pub recording: Option<Arc<Recording>>,
}

impl ModelStack {
    /// The model of `device`, which is `preset` at a scale, over `media`. If the device has flash,
    /// the file already holds a drive for it.
    pub fn new(
        media: &Path,
        device: &Device,
        preset: &Preset,
        options: &AttachOptions,
        trace: Option<&Path>,
    ) -> Result<ModelStack> {
        let file = FileMedia::open(media, Access::ReadWrite)?.in_memory_of_kernel()?;
        let condition = Arc::clone(file.condition());
        let file: Arc<dyn Disk> = match device.nand() {
            // The log writes every block before it reads it.
            Some(_) => Arc::new(file.discarding_loosely()),
            None => Arc::new(file),
        };
        let recording = trace.map(Recording::create).transpose()?;
        let observer =
            recording.clone().map(|recording| Box::new(recording) as Box<dyn CommandObserver>);
        let clock = Arc::new(StartedClock::new());
        let builder = Builder {
            clock: Arc::clone(&clock) as _,
            preset,
            options: options.drive(),
            tears: options.tears(),
            in_words: &|error| in_words(media, error).context(media.display().to_string()),
        };
        let built = builder.build(file, device, observer)?;
        Ok(ModelStack { top: built.top, clock, drive: built.drive, media: condition, recording })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_jumps_until_it_is_kept_and_never_goes_back() {
        let clock = StartedClock::new();
        let hour = Time::from_s(3600.0);
        clock.wait_until(hour);
        let jumped = clock.now();
        assert!(jumped >= hour && jumped < hour + Time::from_s(600.0), "{jumped:?}");
        clock.wait_until(Time::from_s(1.0));
        assert!(clock.now() >= jumped);
        clock.start();
        let due = clock.now() + Time::from_us(2000.0);
        clock.wait_until(due);
        assert!(clock.now() >= due && clock.now() < due + Time::from_s(600.0));
    }
}
