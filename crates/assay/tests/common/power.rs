//! Media that lose power under a drive, shown as a file; unflushed blocks are kept apart from
//! flushed ones.
//!
//! Killing a process loses nothing that it wrote to a file, since the kernel has it. Here a power
//! cut affects unflushed writes: each is kept whole, torn at sectors of 512 bytes, or lost.

#![allow(dead_code, reason = "each test program uses a part of this")]

use std::path::PathBuf;
use std::sync::Arc;

use assay_drive::{BlockBuffer, Disk, Drive, Format, Guarantees, Result};
use assay_ports::fuse::{FuseMount, FuseOptions};

pub use super::simulated::media::Fault;
use super::simulated::media::{Fate, SimulatedMedia};
use super::simulated::random::Random;

/// The media and their mount.
pub struct Power {
    media: Arc<SimulatedMedia>,
    mount: Option<FuseMount>,
    // Removed last.
    directory: tempfile::TempDir,
}

impl Power {
    /// Media of `bytes` with an empty drive.
    pub fn with_drive(bytes: u64, format: &Format) -> Power {
        let media = Arc::new(SimulatedMedia::new(bytes));
        Drive::format(Arc::new(Aligned(Arc::clone(&media))), format).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mut power = Power { media, mount: None, directory };
        power.show();
        power
    }

    /// Path of the media as a file.
    pub fn file(&self) -> PathBuf {
        self.mount.as_ref().unwrap().disk_path()
    }

    /// Injects a fault from now on.
    pub fn inject(&self, fault: Fault) {
        self.media.inject(fault);
    }

    /// Cuts the power and restores it: unflushed writes are kept up to a random one, and later ones
    /// are each kept, torn or lost. The writing process must have ended.
    pub fn cut(&mut self, random: &mut Random) {
        self.hide();
        let moment = self.media.moment();
        let kept = random.below(moment.unflushed() as u64 + 1) as usize;
        let after = moment.after_power_cut(|write| match random.below(3) {
            _ if write < kept => Fate::Whole,
            0 => Fate::Lost,
            1 => Fate::Whole,
            _ => Fate::Torn(random.next()),
        });
        self.media = Arc::new(after);
        self.show();
    }

    /// Cuts the power and loses all unflushed writes.
    pub fn cut_losing_all(&mut self) {
        self.hide();
        self.media = Arc::new(self.media.after_power_cut(|_| Fate::Lost));
        self.show();
    }

    /// Unmounts the media, so that writes of a killed process that are in flight arrive before the
    /// cut.
    fn hide(&mut self) {
        self.mount.take().unwrap().unmount().unwrap();
    }

    fn show(&mut self) {
        let options = FuseOptions {
            mount_point: self.directory.path().into(),
            name: "media".into(),
            threads: 4,
            asked_by: None,
        };
        let disk = Arc::new(Aligned(Arc::clone(&self.media)));
        self.mount = Some(FuseMount::serve(options, disk, vec![], None).unwrap());
    }
}

/// Copies writes to buffers aligned to blocks, which the media require and FUSE does not provide.
struct Aligned(Arc<SimulatedMedia>);

impl Disk for Aligned {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn guarantees(&self) -> Guarantees {
        self.0.guarantees()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.0.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        let mut buffer = BlockBuffer::zeroed(data.len());
        let aligned = buffer.first(data.len());
        aligned.copy_from_slice(data);
        self.0.write(offset, aligned, force_unit_access)
    }

    fn flush(&self) -> Result<()> {
        self.0.flush()
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.0.discard(offset, length)
    }
}
