//! Media that hold a large drive in little memory, whose power can be cut at any moment.
//!
//! Of each block only the words are kept that are not zero, many blocks together in an extent that
//! never changes and that forks share. Writes since the last flush are kept apart; a power cut
//! keeps any subset of them, each whole, torn at sectors, or not at all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use assay_drive::{BLOCK_BYTES, Disk, DiskError, Guarantees, Result, check_range};

use super::media::Fate;
use super::random::Random;

const BLOCK: usize = BLOCK_BYTES as usize;
const SECTOR_BYTES: usize = 512;
const SECTORS: usize = BLOCK / SECTOR_BYTES;

/// Blocks of an extent, and extents of a table.
const EXTENT_BLOCKS: u64 = 32;
const TABLE_EXTENTS: u64 = 256;

/// Blocks one behind the other, of each the runs of words that are not zero.
#[derive(Clone, Default)]
struct Packed {
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl Packed {
    fn of(data: &[u8]) -> Packed {
        let mut packed = Packed::default();
        data.chunks_exact(BLOCK).for_each(|block| packed.push(block));
        packed.bytes.shrink_to_fit();
        packed
    }

    fn zeroes(blocks: u64) -> Packed {
        Packed { ends: vec![0; blocks as usize], bytes: Vec::new() }
    }

    fn push(&mut self, block: &[u8]) {
        const STEP: usize = 64;
        let mut run: Option<(usize, usize)> = None;
        for (step, bytes) in block.chunks_exact(STEP).enumerate() {
            if bytes.iter().fold(0, |all, byte| all | byte) == 0 {
                continue;
            }
            for (index, word) in bytes.chunks_exact(8).enumerate() {
                if word == [0; 8] {
                    continue;
                }
                let word = step * STEP / 8 + index;
                match &mut run {
                    Some((_, end)) if *end == word => *end += 1,
                    _ => {
                        run.into_iter().for_each(|run| self.push_run(block, run));
                        run = Some((word, word + 1));
                    }
                }
            }
        }
        run.into_iter().for_each(|run| self.push_run(block, run));
        self.ends.push(self.bytes.len() as u32);
    }

    fn push_run(&mut self, block: &[u8], (start, end): (usize, usize)) {
        self.bytes.extend((start as u16).to_le_bytes());
        self.bytes.extend((end as u16).to_le_bytes());
        self.bytes.extend(&block[8 * start..8 * end]);
    }

    fn push_packed(&mut self, packed: &[u8]) {
        self.bytes.extend(packed);
        self.ends.push(self.bytes.len() as u32);
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.bytes[start..self.ends[index] as usize]
    }
}

fn unpack(mut packed: &[u8], block: &mut [u8]) {
    block.fill(0);
    let number = |bytes: &[u8]| 8 * usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
    while !packed.is_empty() {
        let (start, end) = (number(packed), number(&packed[2..]));
        let (run, rest) = packed[4..].split_at(end - start);
        block[start..end].copy_from_slice(run);
        packed = rest;
    }
}

type Table = Vec<Option<Arc<Packed>>>;

/// Everything that is stored.
#[derive(Clone, Default)]
struct Pages(Vec<Option<Arc<Table>>>);

impl Pages {
    fn get(&self, block: u64) -> &[u8] {
        let extent = block / EXTENT_BLOCKS;
        let table = self.0.get((extent / TABLE_EXTENTS) as usize).and_then(Option::as_ref);
        let extent = table.and_then(|table| table[(extent % TABLE_EXTENTS) as usize].as_ref());
        extent.map_or(&[], |extent| extent.get((block % EXTENT_BLOCKS) as usize))
    }

    /// Puts blocks from `first` on in place, but those that are none.
    fn put<'a>(&mut self, first: u64, blocks: u64, new: impl Fn(u64) -> Option<&'a [u8]>) {
        let end = first + blocks;
        for number in first / EXTENT_BLOCKS..end.div_ceil(EXTENT_BLOCKS) {
            let mut extent = Packed::default();
            for block in number * EXTENT_BLOCKS..(number + 1) * EXTENT_BLOCKS {
                let new = if (first..end).contains(&block) { new(block - first) } else { None };
                extent.push_packed(new.unwrap_or_else(|| self.get(block)));
            }
            extent.bytes.shrink_to_fit();
            extent.ends.shrink_to_fit();
            let table = (number / TABLE_EXTENTS) as usize;
            if self.0.len() <= table {
                self.0.resize(table + 1, None);
            }
            let empty = || Arc::new(vec![None; TABLE_EXTENTS as usize]);
            let slot = Arc::make_mut(self.0[table].get_or_insert_with(empty));
            let holds_any = !extent.bytes.is_empty();
            slot[(number % TABLE_EXTENTS) as usize] = holds_any.then(|| Arc::new(extent));
        }
    }
}

/// A write that was not flushed.
#[derive(Clone)]
struct Write {
    first: u64,
    packed: Arc<Packed>,
    /// Blocks of it that a forced write has overtaken.
    overtaken: Vec<u64>,
}

impl Write {
    fn blocks(&self) -> u64 {
        self.packed.ends.len() as u64
    }

    fn get(&self, index: u64) -> Option<&[u8]> {
        let is_overtaken = self.overtaken.contains(&(self.first + index));
        (!is_overtaken).then(|| self.packed.get(index as usize))
    }
}

#[derive(Clone, Default)]
struct State {
    durable: Pages,
    unflushed: Vec<Write>,
    /// The unflushed write with a block's newest contents.
    newest: HashMap<u64, usize>,
    lies: bool,
    commands: u64,
    moment_at: Option<u64>,
    moment: Option<Box<State>>,
}

/// The media.
pub struct ThinMedia {
    size: u64,
    state: Mutex<State>,
}

impl ThinMedia {
    pub fn new(size: u64) -> ThinMedia {
        ThinMedia { size, state: Mutex::default() }
    }

    /// Media that hold these blocks, and zeroes elsewhere.
    pub fn holding<'a>(size: u64, blocks: impl IntoIterator<Item = (u64, &'a [u8])>) -> ThinMedia {
        let media = ThinMedia::new(size);
        for (number, block) in blocks {
            media.write(number * BLOCK_BYTES, block, true).unwrap();
        }
        media
    }

    /// Flushes and forced writes answer, and do nothing.
    pub fn lie(&self) {
        self.state.lock().unwrap().lies = true;
    }

    /// Commands so far.
    pub fn commands(&self) -> u64 {
        self.state.lock().unwrap().commands
    }

    /// Keeps what a power cut would find after so many more writes and flushes.
    pub fn keep_moment(&self, commands: u64) {
        let mut state = self.state.lock().unwrap();
        state.moment_at = Some(state.commands + commands);
    }

    /// The media of the moment that was to be kept, if it came, after a power cut that keeps of
    /// each unflushed write what `fate` says.
    pub fn take_moment(&self, fate: impl FnMut(usize) -> Fate) -> Option<ThinMedia> {
        let moment = self.state.lock().unwrap().moment.take();
        moment.map(|moment| moment.after_power_cut(self.size, fate))
    }

    /// No moment is kept any more.
    pub fn forget_moment(&self) {
        let mut state = self.state.lock().unwrap();
        (state.moment_at, state.moment) = (None, None);
    }

    /// The media after a power cut now.
    pub fn after_power_cut(&self, fate: impl FnMut(usize) -> Fate) -> ThinMedia {
        self.state.lock().unwrap().after_power_cut(self.size, fate)
    }

    /// Bytes of memory that it takes, but for unflushed writes.
    pub fn memory_bytes(&self) -> u64 {
        let state = self.state.lock().unwrap();
        let tables = state.durable.0.iter().flatten();
        let extents = tables.flat_map(|table| table.iter().flatten());
        let bytes = extents.map(|extent| extent.bytes.len() + 4 * extent.ends.len() + 80);
        bytes.sum::<usize>() as u64
    }

    /// Blocks that hold anything, in order, flushed or not.
    pub fn blocks(&self) -> Vec<(u64, Vec<u8>)> {
        let state = self.state.lock().unwrap().clone();
        let mut blocks = Vec::new();
        for number in 0..self.size / BLOCK_BYTES {
            let packed = state.get(number);
            if !packed.is_empty() {
                let mut block = vec![0; BLOCK];
                unpack(packed, &mut block);
                blocks.push((number, block));
            }
        }
        blocks
    }
}

impl State {
    fn get(&self, block: u64) -> &[u8] {
        match self.newest.get(&block) {
            Some(index) => {
                let write = &self.unflushed[*index];
                write.packed.get((block - write.first) as usize)
            }
            None => self.durable.get(block),
        }
    }

    fn after_power_cut(&self, size: u64, mut fate: impl FnMut(usize) -> Fate) -> ThinMedia {
        let mut pages = self.durable.clone();
        for (index, write) in self.unflushed.iter().enumerate() {
            let sectors = SECTORS * write.blocks() as usize;
            let kept: Vec<bool> = match fate(index) {
                Fate::Lost => continue,
                Fate::Whole => vec![true; sectors],
                Fate::Torn(seed) => {
                    let mut random = Random::new(seed);
                    (0..sectors).map(|_| random.chance(50)).collect()
                }
                Fate::Without(lost) => (0..sectors).map(|each| each != lost % sectors).collect(),
            };
            let mut torn = Packed::default();
            let (mut old, mut new) = ([0; BLOCK], [0; BLOCK]);
            for block in 0..write.blocks() {
                let former = pages.get(write.first + block);
                let Some(written) = write.get(block) else {
                    torn.push_packed(former);
                    continue;
                };
                let kept = &kept[SECTORS * block as usize..][..SECTORS];
                if kept.iter().all(|kept| *kept) {
                    torn.push_packed(written);
                    continue;
                }
                unpack(former, &mut old);
                unpack(written, &mut new);
                for (sector, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
                    let range = SECTOR_BYTES * sector..SECTOR_BYTES * (sector + 1);
                    old[range.clone()].copy_from_slice(&new[range]);
                }
                torn.push(&old);
            }
            pages.put(write.first, write.blocks(), |index| Some(torn.get(index as usize)));
        }
        let state = State { durable: pages, lies: self.lies, ..State::default() };
        ThinMedia { size, state: Mutex::new(state) }
    }

    fn write(&mut self, first: u64, packed: Packed) {
        let index = self.unflushed.len();
        let blocks = packed.ends.len() as u64;
        self.newest.extend((first..first + blocks).map(|block| (block, index)));
        self.unflushed.push(Write { first, packed: Arc::new(packed), overtaken: Vec::new() });
    }

    /// Makes the last write durable, and no other; what it wrote over must not come back with a
    /// later flush.
    fn force(&mut self) {
        let Some(forced) = self.unflushed.pop() else { return };
        let blocks = forced.first..forced.first + forced.blocks();
        for older in &mut self.unflushed {
            let from = older.first.max(blocks.start);
            let to = (older.first + older.blocks()).min(blocks.end);
            older.overtaken.extend(from..to.max(from));
        }
        for block in blocks {
            self.newest.remove(&block);
        }
        self.durable.put(forced.first, forced.blocks(), |index| forced.get(index));
    }

    fn flush(&mut self) {
        self.newest.clear();
        for write in std::mem::take(&mut self.unflushed) {
            self.durable.put(write.first, write.blocks(), |index| write.get(index));
        }
    }

    fn command(&mut self) {
        self.commands += 1;
        if self.moment_at.is_some_and(|at| self.commands >= at) {
            (self.moment_at, self.moment) = (None, None);
            self.moment = Some(Box::new(self.clone()));
        }
    }
}

impl Disk for ThinMedia {
    fn size(&self) -> u64 {
        self.size
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: SECTOR_BYTES as u64, volatile_cache: true }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        let state = self.state.lock().unwrap();
        for (block, out) in (offset / BLOCK_BYTES..).zip(data.chunks_exact_mut(BLOCK)) {
            unpack(state.get(block), out);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        check_range(offset, data.len() as u64, self.size)?;
        let packed = Packed::of(data);
        let mut state = self.state.lock().unwrap();
        state.write(offset / BLOCK_BYTES, packed);
        state.command();
        if force_unit_access && !state.lies {
            state.force();
            state.command();
        }
        Ok(())
    }

    fn flush(&self) -> Result<(), DiskError> {
        let mut state = self.state.lock().unwrap();
        if !state.lies {
            state.flush();
        }
        state.command();
        Ok(())
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        check_range(offset, length, self.size)?;
        let mut state = self.state.lock().unwrap();
        state.write(offset / BLOCK_BYTES, Packed::zeroes(length / BLOCK_BYTES));
        state.command();
        Ok(())
    }
}
