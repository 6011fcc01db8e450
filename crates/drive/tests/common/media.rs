//! Media with a volatile cache, whose power can be cut at any moment.
//!
//! Writes are kept apart until a flush completes. A power cut keeps any subset of those that were not flushed, each
//! whole, torn at sectors of 512 bytes, or not at all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use assay_drive::{BLOCK_BYTES, Disk, DiskError, Promise, Result, check_range};

use super::random::Random;

const SECTOR_BYTES: usize = 512;

type Page = Arc<[u8; BLOCK_BYTES as usize]>;

/// Blocks that were ever written; others are zeroes.
#[derive(Clone, Default)]
struct Pages(HashMap<u64, Page>);

impl Pages {
    fn write(&mut self, offset: u64, data: &[u8]) {
        for (at, bytes) in (offset..).step_by(SECTOR_BYTES).zip(data.chunks(SECTOR_BYTES)) {
            let page = self.0.entry(at / BLOCK_BYTES).or_insert_with(|| Arc::new([0; 4096]));
            let start = (at % BLOCK_BYTES) as usize;
            Arc::make_mut(page)[start..start + bytes.len()].copy_from_slice(bytes);
        }
    }

    fn read(&self, offset: u64, data: &mut [u8]) {
        for (block, out) in (offset / BLOCK_BYTES..).zip(data.chunks_mut(BLOCK_BYTES as usize)) {
            match self.0.get(&block) {
                Some(page) => out.copy_from_slice(&page[..]),
                None => out.fill(0),
            }
        }
    }
}

/// Offset and bytes of a write that a power cut may lose.
type Unflushed = (u64, Arc<[u8]>);

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Power goes at this command, counted from now.
    PowerCutAt(u64),
    /// Flushes answer and do nothing.
    LyingFlush,
}

#[derive(Default)]
struct State {
    durable: Pages,
    seen: Pages,
    unflushed: Vec<Unflushed>,
    moments: Option<Vec<Moment>>,
    faults: Vec<Fault>,
    commands: u64,
    is_off: bool,
}

/// The media.
pub struct SimulatedMedia {
    size: u64,
    state: Mutex<State>,
}

impl SimulatedMedia {
    pub fn new(size: u64) -> SimulatedMedia {
        SimulatedMedia { size, state: Mutex::default() }
    }

    /// Lets something go wrong.
    pub fn inject(&self, fault: Fault) {
        let mut state = self.state.lock().unwrap();
        let fault = match fault {
            Fault::PowerCutAt(command) => Fault::PowerCutAt(state.commands + command),
            other => other,
        };
        state.faults.push(fault);
    }

    pub fn is_off(&self) -> bool {
        self.state.lock().unwrap().is_off
    }

    /// Number of writes that a power cut might lose.
    pub fn unflushed(&self) -> usize {
        self.state.lock().unwrap().unflushed.len()
    }

    /// What a power cut would find now.
    pub fn moment(&self) -> Moment {
        let state = self.state.lock().unwrap();
        Moment::of(self.size, &state)
    }

    /// From now on keeps what a power cut would find after each write and flush.
    pub fn keep_moments(&self) {
        self.state.lock().unwrap().moments = Some(Vec::new());
    }

    /// The moments since they are kept.
    pub fn take_moments(&self) -> Vec<Moment> {
        self.state.lock().unwrap().moments.take().unwrap_or_default()
    }

    /// The media after a power cut that keeps of each unflushed write what `fate` says.
    pub fn after_power_cut(&self, fate: impl FnMut(usize) -> Fate) -> SimulatedMedia {
        self.moment().after_power_cut(fate)
    }

    /// The media as a killed process leaves it: what was not flushed is seen, and a power cut may still lose it.
    pub fn killed(&self) -> SimulatedMedia {
        let state = self.state.lock().unwrap();
        let (durable, seen) = (state.durable.clone(), state.seen.clone());
        let state = State { durable, seen, unflushed: state.unflushed.clone(), ..State::default() };
        SimulatedMedia { size: self.size, state: Mutex::new(state) }
    }

    /// The media as it is, flushed or not, and without faults.
    pub fn copy(&self) -> SimulatedMedia {
        let state = self.state.lock().unwrap();
        let state =
            State { durable: state.seen.clone(), seen: state.seen.clone(), ..State::default() };
        SimulatedMedia { size: self.size, state: Mutex::new(state) }
    }

    /// Fills a block with ones.
    pub fn wipe(&self, number: u64) {
        self.change_block(number, |bytes| bytes.fill(0xFF));
    }

    /// Everything that is stored, flushed or not.
    pub fn image(&self) -> Vec<u8> {
        let mut image = vec![0; self.size as usize];
        self.state.lock().unwrap().seen.read(0, &mut image);
        image
    }

    /// Flips one bit of what is stored.
    pub fn flip(&self, bit: u64) {
        self.change_block(bit / 8 / BLOCK_BYTES, |block| {
            block[(bit / 8 % BLOCK_BYTES) as usize] ^= 1 << (bit % 8);
        });
    }

    /// Puts blocks of an older copy of this media in place of this one's.
    pub fn restore(&self, range: std::ops::Range<u64>, older: &SimulatedMedia) {
        for number in range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES) {
            let mut bytes = [0; BLOCK_BYTES as usize];
            older.state.lock().unwrap().seen.read(number * BLOCK_BYTES, &mut bytes);
            self.change_block(number, |block| block.copy_from_slice(&bytes));
        }
    }

    fn change_block(&self, number: u64, change: impl FnOnce(&mut [u8])) {
        let mut state = self.state.lock().unwrap();
        let mut block = [0; BLOCK_BYTES as usize];
        state.seen.read(number * BLOCK_BYTES, &mut block);
        change(&mut block);
        state.seen.write(number * BLOCK_BYTES, &block);
        state.durable.write(number * BLOCK_BYTES, &block);
    }
}

/// What a power cut does to a write that was not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Lost,
    Whole,
    /// Each sector is there or not, drawn from this seed.
    Torn(u64),
    /// Everything but this sector, counted round the write's end.
    Without(usize),
}

/// What a power cut would find.
#[derive(Clone)]
pub struct Moment {
    size: u64,
    durable: Pages,
    unflushed: Vec<Unflushed>,
}

impl Moment {
    fn of(size: u64, state: &State) -> Moment {
        Moment { size, durable: state.durable.clone(), unflushed: state.unflushed.clone() }
    }

    /// Number of writes that the power cut might lose.
    pub fn unflushed(&self) -> usize {
        self.unflushed.len()
    }

    /// The media after a power cut that keeps of each unflushed write what `fate` says.
    pub fn after_power_cut(&self, mut fate: impl FnMut(usize) -> Fate) -> SimulatedMedia {
        let mut pages = self.durable.clone();
        for (index, (offset, data)) in self.unflushed.iter().enumerate() {
            let sectors = data.len() / SECTOR_BYTES;
            let mut is_kept: Box<dyn FnMut(usize) -> bool> = match fate(index) {
                Fate::Lost => continue,
                Fate::Whole => Box::new(|_| true),
                Fate::Torn(seed) => {
                    let mut random = Random::new(seed);
                    Box::new(move |_| random.chance(50))
                }
                Fate::Without(lost) => Box::new(move |sector| sector != lost % sectors),
            };
            let places = (*offset..).step_by(SECTOR_BYTES).zip(data.chunks(SECTOR_BYTES));
            for (sector, (at, bytes)) in places.enumerate() {
                if is_kept(sector) {
                    pages.write(at, bytes);
                }
            }
        }
        let state = State { durable: pages.clone(), seen: pages, ..State::default() };
        SimulatedMedia { size: self.size, state: Mutex::new(state) }
    }
}

impl State {
    fn keep_moment(&mut self, size: u64) {
        if self.moments.is_some() {
            let moment = Moment::of(size, self);
            self.moments.iter_mut().for_each(|moments| moments.push(moment.clone()));
        }
    }

    fn command(&mut self) -> Result<()> {
        self.commands += 1;
        let now = self.commands;
        self.is_off |= self.faults.contains(&Fault::PowerCutAt(now));
        Ok(())
    }

    /// Makes one write durable, and no other. What was written there before must not come back with a later flush.
    fn force(&mut self, offset: u64, data: &[u8]) {
        self.unflushed.pop();
        self.durable.write(offset, data);
        let end = offset + data.len() as u64;
        for (at, older) in &mut self.unflushed {
            let (from, to) = ((*at).max(offset), (*at + older.len() as u64).min(end));
            if from < to {
                let mut bytes = older.to_vec();
                bytes[(from - *at) as usize..(to - *at) as usize]
                    .copy_from_slice(&data[(from - offset) as usize..(to - offset) as usize]);
                *older = bytes.into();
            }
        }
    }

    fn powered(&self) -> Result<()> {
        if self.is_off { Err(failed("the power is off")) } else { Ok(()) }
    }

    fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }
}

fn failed(what: &str) -> DiskError {
    DiskError::Io(std::io::Error::other(what.to_string()))
}

impl Disk for SimulatedMedia {
    fn size(&self) -> u64 {
        self.size
    }

    fn promise(&self) -> Promise {
        Promise { atomic_write_bytes: SECTOR_BYTES as u64, volatile_cache: true }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        let mut state = self.state.lock().unwrap();
        state.powered()?;
        state.command()?;
        state.seen.read(offset, data);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        assert!(
            (data.as_ptr() as usize).is_multiple_of(4096),
            "direct I/O needs memory on a block's boundary"
        );
        let mut state = self.state.lock().unwrap();
        state.powered()?;
        state.seen.write(offset, data);
        state.unflushed.push((offset, data.into()));
        state.keep_moment(self.size);
        state.command()?;
        // A write in flight when power goes may leave anything behind, and its answer never comes.
        state.powered()?;
        if force_unit_access && !state.has(Fault::LyingFlush) {
            state.force(offset, data);
            state.keep_moment(self.size);
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        let mut state = self.state.lock().unwrap();
        state.powered()?;
        state.command()?;
        state.powered()?;
        if !state.has(Fault::LyingFlush) {
            for (offset, data) in std::mem::take(&mut state.unflushed) {
                state.durable.write(offset, &data);
            }
        }
        state.keep_moment(self.size);
        Ok(())
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        check_range(offset, length, self.size)?;
        let mut state = self.state.lock().unwrap();
        state.powered()?;
        state.command()?;
        let zeroes: Arc<[u8]> = vec![0; length as usize].into();
        state.seen.write(offset, &zeroes);
        state.unflushed.push((offset, zeroes));
        state.keep_moment(self.size);
        Ok(())
    }
}
