//! Media with bad places over an image that many of them share: what is written is kept apart.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use assay_drive::{BLOCK_BYTES, Disk, DiskError, Guarantees, Result, check_range};

use crate::common::anatomy::{geometry, u64_at};

const BLOCK: usize = BLOCK_BYTES as usize;

/// The fault of a block of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scar {
    /// One bit of it, drawn from this seed, is not what was written.
    Flipped(u64),
    /// It holds zeroes.
    Zeroed,
    /// It cannot be read until it is written.
    Unreadable,
    /// It cannot be read, whatever is written.
    Dead,
}

#[derive(Default)]
struct State {
    changed: HashMap<u64, Box<[u8; BLOCK]>>,
    /// Blocks that cannot be read; whether for ever.
    bad: BTreeMap<u64, bool>,
    strikes: u64,
    /// Blocks that were read, where somebody wants to know.
    trace: Option<BTreeSet<u64>>,
}

/// The media.
pub struct Scarred {
    image: Arc<[u8]>,
    state: Mutex<State>,
}

impl Scarred {
    pub fn new(image: Arc<[u8]>) -> Scarred {
        Scarred { image, state: Mutex::default() }
    }

    pub fn scar(&self, block: u64, scar: Scar) {
        let mut state = self.state.lock().unwrap();
        match scar {
            Scar::Flipped(seed) => {
                let bit = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (8 * BLOCK as u64);
                state.block_mut(&self.image, block)[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            Scar::Zeroed => state.block_mut(&self.image, block).fill(0),
            Scar::Unreadable | Scar::Dead => {
                state.bad.insert(block, scar == Scar::Dead);
            }
        }
    }

    /// Takes the checkpoint's root away, with its parity.
    pub fn destroy_roots(&self) {
        let image = self.image();
        for part in 0..u64_at(&image, 96) as usize {
            let place = u64_at(&image, 104 + 8 * part);
            let start = geometry(&image).segment_start(place & 0xF_FFFF);
            let first = (start + (place >> 20 & 0x3FF_FFFF)) / BLOCK_BYTES;
            self.scar(first, Scar::Zeroed);
            self.scar(first + 1, Scar::Zeroed);
        }
    }

    /// Number of failed reads.
    pub fn strikes(&self) -> u64 {
        self.state.lock().unwrap().strikes
    }

    /// The blocks of media that are read meanwhile.
    pub fn traced(&self, work: impl FnOnce()) -> BTreeSet<u64> {
        self.state.lock().unwrap().trace = Some(BTreeSet::new());
        work();
        self.state.lock().unwrap().trace.take().unwrap()
    }

    /// Present contents.
    pub fn image(&self) -> Arc<[u8]> {
        let mut image = self.image.to_vec();
        for (block, bytes) in &self.state.lock().unwrap().changed {
            let start = *block as usize * BLOCK;
            image[start..start + BLOCK].copy_from_slice(&bytes[..]);
        }
        image.into()
    }
}

impl State {
    fn block_mut(&mut self, image: &[u8], block: u64) -> &mut [u8; BLOCK] {
        let start = block as usize * BLOCK;
        let original = || Box::new(image[start..start + BLOCK].try_into().unwrap());
        self.changed.entry(block).or_insert_with(original)
    }
}

impl Disk for Scarred {
    fn size(&self) -> u64 {
        self.image.len() as u64
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: 512, volatile_cache: true }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        check_range(offset, data.len() as u64, self.size())?;
        let mut state = self.state.lock().unwrap();
        let blocks = offset / BLOCK_BYTES..(offset + data.len() as u64) / BLOCK_BYTES;
        if let Some(trace) = &mut state.trace {
            trace.extend(blocks.clone());
        }
        if state.bad.range(blocks.clone()).next().is_some() {
            state.strikes += 1;
            return Err(DiskError::Io(std::io::Error::other("the media cannot be read here")));
        }
        data.copy_from_slice(&self.image[offset as usize..][..data.len()]);
        for (block, out) in blocks.zip(data.chunks_mut(BLOCK)) {
            if let Some(bytes) = state.changed.get(&block) {
                out.copy_from_slice(&bytes[..]);
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8], _force_unit_access: bool) -> Result<()> {
        check_range(offset, data.len() as u64, self.size())?;
        let mut state = self.state.lock().unwrap();
        for (block, bytes) in (offset / BLOCK_BYTES..).zip(data.chunks(BLOCK)) {
            state.changed.insert(block, Box::new(bytes.try_into().unwrap()));
            if state.bad.get(&block) == Some(&false) {
                state.bad.remove(&block);
            }
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        check_range(offset, length, self.size())
    }
}
