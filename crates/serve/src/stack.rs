//! A device's model as it is served: over a file, on a clock that real time drives.
//!
//! A model's media go through the page cache and are never synced: its time is the model's, not this machine's disk's.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::Result;
use assay_drive::{Disk, Drive};
use assay_models::in_hand::{self, Parts};
use assay_models::{Clock, CommandObserver, Time};
use assay_ports::clock::PacedClock;
use assay_ports::media::{Access, Condition, FileMedia};

use super::job::AttachOptions;
use super::open::in_words;
use super::recording::Recording;
use assay_presets::{Builder, Device, Preset, Top};

/// A clock that jumps ahead to whatever is waited for until it is started, and keeps real time from then on.
pub struct StartedClock {
    clock: PacedClock,
    is_started: AtomicBool,
    /// How far it has jumped, in nanoseconds.
    ahead_ns: AtomicU64,
}

impl StartedClock {
    fn new() -> StartedClock {
        let (is_started, ahead_ns) = (AtomicBool::new(false), AtomicU64::new(0));
        StartedClock { clock: PacedClock::default(), is_started, ahead_ns }
    }

    /// From now on who waits does.
    pub fn start(&self) {
        self.is_started.store(true, Ordering::Release);
    }

    /// Does background work, one part after another, and waits until the device would be done with it.
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
            // Rounded up, or it would not be due yet.
            let ahead = (due - self.clock.now()).as_ns() + 1;
            self.ahead_ns.fetch_max(ahead, Ordering::AcqRel);
        }
    }

    fn worked(&self) -> Time {
        self.clock.worked()
    }
}

/// A device's model that can be served.
pub struct Stack {
    /// What the host sees.
    pub top: Arc<Top>,
    /// Its time.
    pub clock: Arc<StartedClock>,
    /// The drive inside, where there is one.
    pub drive: Option<Arc<Drive>>,
    /// How the file is that it lies on.
    pub media: Arc<Condition>,
    /// Where its commands are recorded, if they are.
    pub recording: Option<Arc<Recording>>,
}

impl Stack {
    /// The model of `device`, which is `preset` at a scale, over `media`, a file that holds a drive of it already where the device has flash.
    ///
    /// # Errors
    /// One line: it is not there, in use, not a drive; the trace cannot be written.
    pub fn new(
        media: &Path,
        device: &Device,
        preset: &Preset,
        options: &AttachOptions,
    ) -> Result<Stack> {
        let file = FileMedia::open(media, Access::ReadWrite)?.in_memory_of_kernel()?;
        let condition = Arc::clone(file.condition());
        let file: Arc<dyn Disk> = match device.nand() {
            // The log writes every block before it reads it.
            Some(_) => Arc::new(file.discarding_loosely()),
            None => Arc::new(file),
        };
        let recording = options.trace.as_deref().map(Recording::create).transpose()?;
        let observer =
            recording.clone().map(|recording| Box::new(recording) as Box<dyn CommandObserver>);
        let clock = Arc::new(StartedClock::new());
        let builder = Builder {
            clock: Arc::clone(&clock) as _,
            preset,
            options: options.drive(),
            tears: options.tear,
            in_words: &|error| in_words(media, error).context(media.display().to_string()),
        };
        let built = builder.build(file, device, observer)?;
        Ok(Stack { top: built.top, clock, drive: built.drive, media: condition, recording })
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
