//! When the power goes: at something that the host asks, or at a write to the media.

use std::sync::Arc;

use assay_disk::{Disk, Guarantees, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::page::pages_of;
use super::volatile::VolatileDisk;

/// A moment, counted from when it is set, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The host has written so many commands of InnoDB pages: in the last of them.
    PageWrite(u64),
    /// The host asks for a flush that many times: before the last of them does anything.
    Flush(u64),
    /// The host has written so much: in the last of these commands.
    Write(u64),
    /// The media are written to that often: in the last of these writes.
    MediaWrite(u64),
}

/// What sees all that the host asks, and cuts the power at the moment that was set.
pub struct PowerWatch {
    below: Arc<dyn Disk>,
    media: Arc<VolatileDisk>,
    set: Mutex<Option<(Moment, u64)>>,
}

impl PowerWatch {
    /// Over what the host is shown, which lies on `media` in the end.
    #[must_use]
    pub fn new(below: Arc<dyn Disk>, media: Arc<VolatileDisk>) -> PowerWatch {
        PowerWatch { below, media, set: Mutex::default() }
    }

    /// The media that the power is cut of.
    #[must_use]
    pub fn media(&self) -> &VolatileDisk {
        &self.media
    }

    /// Sets the moment; `seed` decides what survives.
    pub fn set(&self, moment: Moment, seed: u64) {
        match moment {
            Moment::MediaWrite(writes) => self.media.cut_in(writes, seed),
            other => *self.set.lock() = Some((other, seed)),
        }
    }

    /// Counts what happens down; the power goes when none are left.
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
