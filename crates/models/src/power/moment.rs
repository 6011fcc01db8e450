//! The moment of a power cut: at a command of the host, or at a write to the media.

use std::sync::Arc;

use assay_disk::{Disk, Guarantees, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::page::pages_of;
use super::volatile::VolatileDisk;

/// A moment, counted from 1 from the time at which it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// In the last of this many host commands that write InnoDB pages.
    PageWrite(u64),
    /// Before the last of this many host flushes does anything.
    Flush(u64),
    /// In the last of this many host commands that write.
    Write(u64),
    /// In the last of this many writes to the media.
    MediaWrite(u64),
}

/// A disk that sees all commands of the host, and cuts the power at the set moment.
pub struct PowerWatch {
    below: Arc<dyn Disk>,
    media: Arc<VolatileDisk>,
    set: Mutex<Option<(Moment, u64)>>,
}

impl PowerWatch {
    /// Watches `below`, which stands over `media`.
    #[must_use]
    pub fn new(below: Arc<dyn Disk>, media: Arc<VolatileDisk>) -> PowerWatch {
        PowerWatch { below, media, set: Mutex::default() }
    }

    /// The media whose power is cut.
    #[must_use]
    pub fn media(&self) -> &VolatileDisk {
        &self.media
    }

    /// Sets the moment; `seed` decides which writes survive.
    pub fn set(&self, moment: Moment, seed: u64) {
        match moment {
            Moment::MediaWrite(writes) => self.media.cut_in(writes, seed),
            other => *self.set.lock() = Some((other, seed)),
        }
    }

    /// Counts an event; cuts the power with the last one.
    fn count(&self, counts: impl Fn(&mut Moment) -> Option<&mut u64>) -> Result<()> {
        let mut set = self.set.lock();
        let Some((moment, seed)) = set.as_mut() else { return Ok(()) };
        let Some(left) = counts(moment) else { return Ok(()) };
        *left = left.saturating_sub(1);
        if *left > 0 {
            return Ok(());
        }
        let seed = *seed;
        *set = None;
        self.media.cut(seed)?;
        Err(VolatileDisk::is_off_error())
    }
}

impl Disk for PowerWatch {
    fn size(&self) -> u64 {
        self.below.size()
    }

    fn guarantees(&self) -> Guarantees {
        self.below.guarantees()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.below.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        self.below.write(offset, data, force_unit_access)?;
        self.count(|moment| match moment {
            Moment::Write(left) => Some(left),
            Moment::PageWrite(left) => pages_of(data).next().map(|_| left),
            Moment::Flush(_) | Moment::MediaWrite(_) => None,
        })
    }

    fn flush(&self) -> Result<()> {
        self.count(|moment| match moment {
            Moment::Flush(left) => Some(left),
            _ => None,
        })?;
        self.below.flush()
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.below.discard(offset, length)
    }
}
