//! A disk with a volatile cache over one that holds what is durable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_disk::{Disk, DiskError, Guarantees, Result, check_range};
use parking_lot::{Condvar, Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::cache::{Cache, Entry};
use super::cut::{Survival, survive};

/// What a power cut does to a device, and what its flush is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volatility {
    /// Where a write is torn that was not durable.
    pub tears_at: TearsAt,
    /// Bytes that its cache holds; beyond that the oldest become durable by themselves.
    pub cache_bytes: u64,
    /// Whether a flush, and a forced write, are answered without anything being made durable.
    pub ignores_flush: bool,
    /// Which writes survive that were not durable.
    pub keeps: Keeps,
}

/// Where a write is torn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TearsAt {
    /// At multiples of so many bytes on the device, 512 or more.
    Bytes(u64),
    /// Nowhere: a command is there whole or not at all.
    Command,
}

/// Which writes survive that were not durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keeps {
    /// Any of them, in any combination.
    #[default]
    Any,
    /// The oldest, up to one that may be torn: the cache is written out in order.
    Oldest,
}

/// The disk.
pub struct VolatileDisk {
    below: Arc<dyn Disk>,
    nature: Volatility,
    state: Mutex<State>,
    went_off: Condvar,
}

#[derive(Default)]
struct State {
    cache: Cache,
    /// After how many more writes the power goes, and what decides which of them survive.
    cut_in: Option<(u64, u64)>,
    off: Option<Survival>,
}

impl VolatileDisk {
    /// Over what is durable from the start.
    #[must_use]
    pub fn new(below: Arc<dyn Disk>, nature: Volatility) -> VolatileDisk {
        VolatileDisk { below, nature, state: Mutex::default(), went_off: Condvar::new() }
    }

    /// The power goes now. What survives is chosen by `seed` alone, and lies below when this returns.
    ///
    /// # Errors
    /// What survives could not be written below.
    pub fn cut(&self, seed: u64) -> Result<Survival> {
        self.cut_locked(&mut self.state.lock(), seed)
    }

    /// The power goes in the write that is the `writes`-th from now, counted from 1.
    pub fn cut_in(&self, writes: u64, seed: u64) {
        self.state.lock().cut_in = Some((writes, seed));
    }

    /// Waits until the power has gone, but not for longer than `patience`.
    pub fn wait_until_off(&self, patience: Duration) -> Option<Survival> {
        let until = Instant::now() + patience;
        let mut state = self.state.lock();
        while state.off.is_none() {
            if self.went_off.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.off.clone()
    }

    /// That the power is off, to whoever asks for anything then.
    pub(super) fn is_off_error() -> DiskError {
        DiskError::Stopped { reason: "the power is off".into() }
    }

    fn cut_locked(&self, state: &mut State, seed: u64) -> Result<Survival> {
        if let Some(survival) = &state.off {
            return Ok(survival.clone());
        }
        let survival = survive(&state.cache.take(), &self.nature, seed, self.below.as_ref());
        // It is off even if what survives cannot be told.
        state.off = Some(survival.as_ref().cloned().unwrap_or_default());
        self.went_off.notify_all();
        survival
    }

    fn on(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        if state.off.is_some() { Err(VolatileDisk::is_off_error()) } else { Ok(state) }
    }

    /// Everything becomes durable, as when a device is switched off in order: it writes its cache out whatever it does with flushes.
    ///
    /// # Errors
    /// The power is off, or it cannot be written below.
    pub fn write_out(&self) -> Result<()> {
        self.on()?.cache.retire_all(self.below.as_ref())
    }

    fn put(&self, entry: Entry) -> Result<()> {
        let mut state = self.on()?;
        if let Some((left, seed)) = &mut state.cut_in {
            *left = left.saturating_sub(1);
            if *left == 0 {
                let seed = *seed;
                // Nobody hears that it is done, so it need not be, forced or not.
                state.cache.put(Entry { is_forced: false, ..entry });
                self.cut_locked(&mut state, seed)?;
                return Err(VolatileDisk::is_off_error());
            }
        }
        state.cache.put(entry);
        while state.cache.bytes() > self.nature.cache_bytes {
            state.cache.retire(self.below.as_ref())?;
        }
        Ok(())
    }
}

impl Disk for VolatileDisk {
    fn size(&self) -> u64 {
        self.below.size()
    }

    fn guarantees(&self) -> Guarantees {
        let atomic_write_bytes = match self.nature.tears_at {
            // At any block's boundary no more than a block is guaranteed.
            TearsAt::Bytes(_) => assay_disk::BLOCK_BYTES,
            TearsAt::Command => u64::from(u32::MAX) + 1,
        };
        Guarantees { atomic_write_bytes, volatile_cache: true }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        let state = self.on()?;
        self.below.read(offset, data)?;
        state.cache.overlay(offset, data);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        let length = data.len() as u64;
        check_range(offset, length, self.size())?;
        let is_forced = force_unit_access && !self.nature.ignores_flush;
        self.put(Entry { offset, length, data: Some(data.into()), is_forced })
    }

    fn flush(&self) -> Result<()> {
        let mut state = self.on()?;
        if self.nature.ignores_flush {
            return Ok(());
        }
        state.cache.retire_all(self.below.as_ref())
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        check_range(offset, length, self.size())?;
        self.put(Entry { offset, length, data: None, is_forced: false })
    }
}
