//! A disk with a volatile cache over one with the durable data.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_disk::{Disk, DiskError, Guarantees, Result, check_range};
use parking_lot::{Condvar, Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::cache::{Cache, Entry};
use super::cut::{Survival, survive};

/// The behaviour of a device in a power cut and at a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volatility {
    /// Places at which a volatile write is torn.
    pub tears_at: TearsAt,
    /// Size of the cache in bytes; beyond it, the oldest writes become durable.
    pub cache_bytes: u64,
    /// Whether flushes and force-unit-access writes are answered without making anything durable.
    pub ignores_flush: bool,
    /// Choice of the volatile writes that survive.
    pub keeps: Keeps,
}

/// Places at which a write is torn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TearsAt {
    /// Multiples of this many bytes on the device, at least 512.
    Bytes(u64),
    /// Nowhere: a command survives whole or not at all.
    Command,
}

/// Choice of the volatile writes that survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keeps {
    /// Any of them, in any combination.
    #[default]
    Any,
    /// The oldest, up to one that may be torn: the cache is written out in order.
    Oldest,
}

/// A disk with a volatile cache.
pub struct VolatileDisk {
    below: Arc<dyn Disk>,
    nature: Volatility,
    state: Mutex<State>,
    went_off: Condvar,
}

#[derive(Default)]
struct State {
    cache: Cache,
    /// Writes until the power cut, and the seed that decides which of them survive.
    cut_in: Option<(u64, u64)>,
    off: Option<Survival>,
}

impl VolatileDisk {
    /// A cache over `below`, which has the durable data.
    #[must_use]
    pub fn new(below: Arc<dyn Disk>, nature: Volatility) -> VolatileDisk {
        VolatileDisk { below, nature, state: Mutex::default(), went_off: Condvar::new() }
    }

    /// Cuts the power now. `seed` alone chooses what survives, which is on the disk below when this
    /// returns.
    ///
    /// # Errors
    /// The surviving data could not be written below.
    pub fn cut(&self, seed: u64) -> Result<Survival> {
        self.cut_locked(&mut self.state.lock(), seed)
    }

    /// Cuts the power in the `writes`-th write from now, counted from 1.
    pub fn cut_in(&self, writes: u64, seed: u64) {
        self.state.lock().cut_in = Some((writes, seed));
    }

    /// Waits for the power cut, at most for `patience`.
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

    /// The error of every command after the power cut.
    pub(super) fn is_off_error() -> DiskError {
        DiskError::Stopped { reason: "the power is off".into() }
    }

    fn cut_locked(&self, state: &mut State, seed: u64) -> Result<Survival> {
        if let Some(survival) = &state.off {
            return Ok(survival.clone());
        }
        let survival = survive(&state.cache.take(), &self.nature, seed, self.below.as_ref());
        // The power is off even if the result of the cut is an error.
        state.off = Some(survival.as_ref().cloned().unwrap_or_default());
        self.went_off.notify_all();
        survival
    }

    fn on(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        if state.off.is_some() { Err(VolatileDisk::is_off_error()) } else { Ok(state) }
    }

    /// Makes everything durable, as when a device is switched off in order: it writes its cache out
    /// even if it ignores flushes.
    ///
    /// # Errors
    /// The power is off, or the disk below fails.
    pub fn write_out(&self) -> Result<()> {
        self.on()?.cache.retire_all(self.below.as_ref())
    }

    fn put(&self, entry: Entry) -> Result<()> {
        let mut state = self.on()?;
        if let Some((left, seed)) = &mut state.cut_in {
            *left = left.saturating_sub(1);
            if *left == 0 {
                let seed = *seed;
                // The host gets no answer, so the write need not be durable, even if it was forced.
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
            // At any block's boundary, no more than one block is guaranteed.
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
