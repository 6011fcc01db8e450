//! Media with a volatile cache, whose power can be cut at any moment.
//!
//! Writes are kept apart until a flush completes. A power cut keeps any subset of those that were
//! not flushed, each whole, torn at sectors of 512 bytes, or not at all.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex};

use assay_drive::{BLOCK_BYTES, Disk, DiskError, Guarantees, Result, check_range};

use super::random::Random;

const SECTOR_BYTES: usize = 512;

type Bytes = [u8; BLOCK_BYTES as usize];

/// A block as it was written; none: zeroes.
type Page = Option<Arc<Bytes>>;

/// Numbers of blocks by themselves are spread well enough, and looked up all the time.
#[derive(Clone, Copy, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(20);
    }
}

/// Blocks that hold something; others are zeroes.
#[derive(Clone, Default)]
struct Pages(HashMap<u64, Arc<Bytes>, BuildHasherDefault<Spread>>);

impl Pages {
    fn put(&mut self, block: u64, page: &Page) {
        match page {
            Some(page) => self.0.insert(block, Arc::clone(page)),
            None => self.0.remove(&block),
        };
    }

    fn put_all(&mut self, (first, pages): &Unflushed) {
        (*first..).zip(pages).for_each(|(block, page)| self.put(block, page));
    }

    /// Puts those sectors of a block in place that `is_kept` says.
    fn put_sectors(&mut self, block: u64, page: &Page, mut is_kept: impl FnMut(usize) -> bool) {
        let stored = Arc::make_mut(self.0.entry(block).or_insert_with(|| Arc::new(ZEROES)));
        let bytes = page.as_deref().unwrap_or(&ZEROES);
        let sectors = stored.chunks_mut(SECTOR_BYTES).zip(bytes.chunks(SECTOR_BYTES));
        for (_, (stored, bytes)) in sectors.enumerate().filter(|(sector, _)| is_kept(*sector)) {
            stored.copy_from_slice(bytes);
        }
    }

    fn read(&self, offset: u64, data: &mut [u8]) {
        for (block, out) in (offset / BLOCK_BYTES..).zip(data.chunks_mut(BLOCK_BYTES as usize)) {
            match self.0.get(&block) {
                Some(page) => out.copy_from_slice(&page[..out.len()]),
                None => out.fill(0),
            }
        }
    }
}

const ZEROES: Bytes = [0; BLOCK_BYTES as usize];

/// First block and blocks of a write that a power cut may lose.
type Unflushed = (u64, Vec<Page>);

/// The written data, in blocks.
fn pages_of(offset: u64, data: &[u8]) -> Unflushed {
    let (blocks, rest) = data.as_chunks();
    assert!(offset.is_multiple_of(BLOCK_BYTES) && rest.is_empty(), "media are written in blocks");
    (offset / BLOCK_BYTES, blocks.iter().map(|block| Some(Arc::new(*block))).collect())
}

/// The fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Power goes at this command, counted from now.
    PowerCutAt(u64),
    /// Power goes in a write that begins with this block.
    PowerCutIn(u64),
    /// Flushes answer and do nothing.
    LyingFlush,
    /// This block cannot be read, whatever is written there.
    UnreadableAt(u64),
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

    /// The state for a power cut now.
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

    /// The media as a killed process leaves it: what was not flushed is seen, and a power cut may
    /// still lose it.
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

    /// The first block at or behind this one that holds something.
    pub fn stored_from(&self, number: u64) -> Option<u64> {
        let state = self.state.lock().unwrap();
        state.seen.0.keys().copied().filter(|block| *block >= number).min()
    }

    /// Whether a block holds something.
    pub fn is_stored(&self, number: u64) -> bool {
        self.state.lock().unwrap().seen.0.contains_key(&number)
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
        let page = Some(Arc::new(block));
        state.seen.put(number, &page);
        state.durable.put(number, &page);
    }
}

/// The fate of an unflushed write in a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Lost,
    Whole,
    /// Each sector is there or not, drawn from this seed.
    Torn(u64),
    /// Everything but this sector, counted round the write's end.
    Without(usize),
}

/// The media at the moment of a power cut.
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
        for (index, write) in self.unflushed.iter().enumerate() {
            let sectors_in_page = BLOCK_BYTES as usize / SECTOR_BYTES;
            let sectors = write.1.len() * sectors_in_page;
            let mut is_kept: Box<dyn FnMut(usize) -> bool> = match fate(index) {
                Fate::Lost => continue,
                Fate::Whole => {
                    pages.put_all(write);
                    continue;
                }
                Fate::Torn(seed) => {
                    let mut random = Random::new(seed);
                    Box::new(move |_| random.chance(50))
                }
                Fate::Without(lost) => Box::new(move |sector| sector != lost % sectors),
            };
            for (number, page) in write.1.iter().enumerate() {
                let first = number * sectors_in_page;
                pages.put_sectors(write.0 + number as u64, page, |sector| is_kept(first + sector));
            }
        }
        let state = State { durable: pages.clone(), seen: pages, ..State::default() };
        SimulatedMedia { size: self.size, state: Mutex::new(state) }
    }
}

impl State {
    /// A write that is seen at once and durable with the next flush.
    fn queue(&mut self, write: Unflushed) {
        self.seen.put_all(&write);
        self.unflushed.push(write);
    }

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

    /// Makes the last write durable, and no other. What was written there before must not come back
    /// with a later flush.
    fn force(&mut self) {
        let Some(write) = self.unflushed.pop() else { return };
        self.durable.put_all(&write);
        let (first, pages) = write;
        for (at, older) in &mut self.unflushed {
            for (block, page) in (*at..).zip(older) {
                if let Some(newer) = block.checked_sub(first).and_then(|at| pages.get(at as usize))
                {
                    page.clone_from(newer);
                }
            }
        }
    }

    fn powered(&self) -> Result<()> {
        if self.is_off { Err(failed("the power is off")) } else { Ok(()) }
    }

    fn readable(&self, offset: u64, length: u64) -> Result<()> {
        let blocks = offset / BLOCK_BYTES..(offset + length).div_ceil(BLOCK_BYTES);
        let is_bad =
            |fault: &Fault| matches!(fault, Fault::UnreadableAt(block) if blocks.contains(block));
        match self.faults.iter().any(is_bad) {
            true => Err(failed("the media cannot be read here")),
            false => Ok(()),
        }
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

    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: SECTOR_BYTES as u64, volatile_cache: true }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        let mut state = self.state.lock().unwrap();
        state.powered()?;
        state.command()?;
        state.readable(offset, data.len() as u64)?;
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
        state.queue(pages_of(offset, data));
        state.keep_moment(self.size);
        state.command()?;
        state.is_off |= state.has(Fault::PowerCutIn(offset / BLOCK_BYTES));
        // A write in flight when power goes may leave anything behind, and its answer never comes.
        state.powered()?;
        if force_unit_access && !state.has(Fault::LyingFlush) {
            state.force();
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
            for write in std::mem::take(&mut state.unflushed) {
                state.durable.put_all(&write);
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
        state.queue((offset / BLOCK_BYTES, vec![None; (length / BLOCK_BYTES) as usize]));
        state.keep_moment(self.size);
        Ok(())
    }
}
