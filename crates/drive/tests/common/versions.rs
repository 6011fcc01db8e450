//! Contents of each block of a large drive, and its possible contents after a power cut, in a few
//! bytes a block.
//!
//! Commands have numbers; a block's content is the number of the command that wrote it, or zero.
//! The commands since the last flush are kept in order, so that a drive after a power cut can be
//! compared with the state after each prefix of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use assay_drive::{BLOCK_BYTES, Disk, stand_in};

use super::random::Random;

pub const BLOCK: usize = BLOCK_BYTES as usize;

const LEAF_BLOCKS: u64 = 512;

/// A block tells its own number up to this, 32 TiB; on larger drives the number of the command
/// tells it from those so far away.
const NAMED_BLOCKS: u64 = 1 << 33;

/// Content of blocks by number.
#[derive(Clone, Default)]
struct Contents(BTreeMap<u64, Box<[u32]>>);

impl Contents {
    fn get(&self, block: u64) -> u32 {
        let leaf = self.0.get(&(block / LEAF_BLOCKS));
        leaf.map_or(0, |leaf| leaf[(block % LEAF_BLOCKS) as usize])
    }

    fn set(&mut self, blocks: Range<u64>, content: u32) {
        let empty = || vec![0; LEAF_BLOCKS as usize].into();
        let mut block = blocks.start;
        while block < blocks.end {
            let leaf = block / LEAF_BLOCKS;
            let end = blocks.end.min((leaf + 1) * LEAF_BLOCKS);
            if content > 0 || self.0.contains_key(&leaf) {
                let leaf = self.0.entry(leaf).or_insert_with(empty);
                let first = (block % LEAF_BLOCKS) as usize;
                leaf[first..first + (end - block) as usize].fill(content);
            }
            block = end;
        }
    }
}

/// One command.
#[derive(Debug, Clone)]
struct Change {
    command: u32,
    blocks: Range<u64>,
    content: u32,
}

/// The make-up of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stuff {
    /// Number of bytes that follow its number, random or zeroes.
    pub bytes: Range32,
    pub is_random: bool,
}

/// Numbers from the first up to the second.
pub type Range32 = (u32, u32);

impl Stuff {
    /// Nothing but the number: nearly all zeroes.
    pub const THIN: Stuff = Stuff { bytes: (4096, 4096), is_random: false };
}

/// History of what was done.
#[derive(Clone, Default)]
pub struct Versions {
    durable: Contents,
    now: Contents,
    recent: Vec<Change>,
    commands: u32,
}

impl Versions {
    pub fn commands(&self) -> u64 {
        u64::from(self.commands)
    }

    /// Notes the beginning of a write and gives what to write.
    pub fn write(&mut self, first: u64, blocks: u64, stuff: Stuff, data: &mut Vec<u8>) {
        self.commands += 1;
        let command = self.commands;
        self.change(first..first + blocks, command);
        data.resize(blocks as usize * BLOCK, 0);
        for (block, bytes) in (first..).zip(data.chunks_exact_mut(BLOCK)) {
            fill(block, command, stuff, bytes);
        }
    }

    pub fn discard(&mut self, first: u64, blocks: u64) {
        self.commands += 1;
        self.change(first..first + blocks, 0);
    }

    fn change(&mut self, blocks: Range<u64>, content: u32) {
        self.now.set(blocks.clone(), content);
        self.recent.push(Change { command: self.commands, blocks, content });
    }

    /// The last command was refused: it never was.
    pub fn take_back(&mut self) {
        let Some(last) = self.recent.pop() else { return };
        for block in last.blocks.clone() {
            let content = self.recent.iter().rev().find(|command| command.blocks.contains(&block));
            let content = content.map_or(self.durable.get(block), |command| command.content);
            self.now.set(block..block + 1, content);
        }
    }

    pub fn flushed(&mut self) {
        for change in self.recent.drain(..) {
            self.durable.set(change.blocks, change.content);
        }
    }

    /// Commands since the last flush.
    pub fn unflushed(&self) -> usize {
        self.recent.len()
    }

    /// Whether a block holds anything now.
    pub fn is_written(&self, block: u64) -> bool {
        self.now.get(block) > 0
    }

    /// Blocks of a disk that hold or held anything, by ranges of 2 MiB.
    pub fn leaves(&self, disk: &dyn Disk) -> Vec<u64> {
        let end = (disk.size() / BLOCK_BYTES).div_ceil(LEAF_BLOCKS);
        self.now.0.range(..end).map(|(leaf, _)| *leaf).collect()
    }

    /// A block from anywhere that was ever written.
    pub fn any_block(disk: &dyn Disk, leaves: &[u64], random: &mut Random) -> u64 {
        let block = random.pick(leaves) * LEAF_BLOCKS + random.below(LEAF_BLOCKS);
        block.min(disk.size() / BLOCK_BYTES - 1)
    }

    /// Whether a block reads as what was last written, or `may_be_lost` and cannot be read.
    pub fn check_now(&self, disk: &dyn Disk, block: u64, may_be_lost: bool) -> Result<(), String> {
        let found = match read(disk, block) {
            Ok(found) => found,
            Err(Bad::Unread(_)) if may_be_lost => return Ok(()),
            Err(bad) => return Err(bad.told(block)),
        };
        let expected = self.now.get(block);
        if found == expected {
            return Ok(());
        }
        Err(format!("block {block} reads as of command {found}, but {expected} wrote it last"))
    }

    /// Blocks by which a prefix can be told: of each of the last commands some or all, and some or
    /// all that were not touched since the flush.
    fn samples(&self, disk: &dyn Disk, random: &mut Random, which: Samples) -> BTreeSet<u64> {
        let mut blocks = BTreeSet::new();
        let most = if which == Samples::Few { 120 } else { usize::MAX };
        let skipped = self.recent.len().saturating_sub(most);
        for (number, change) in self.recent.iter().enumerate() {
            if which != Samples::Few {
                blocks.extend(change.blocks.clone());
            } else if number >= skipped || random.below(self.recent.len() as u64) < most as u64 {
                let length = change.blocks.end - change.blocks.start;
                blocks.extend((0..2).map(|_| change.blocks.start + random.below(length)));
            }
        }
        let leaves = self.leaves(disk);
        if which == Samples::All {
            let all = leaves.iter().flat_map(|leaf| leaf * LEAF_BLOCKS..(leaf + 1) * LEAF_BLOCKS);
            blocks.extend(all.filter(|block| self.is_written(*block)));
        } else if !leaves.is_empty() {
            blocks.extend((0..60).map(|_| Versions::any_block(disk, &leaves, random)));
        }
        blocks.retain(|block| *block < disk.size() / BLOCK_BYTES);
        blocks
    }

    /// Prefixes of the commands after which the drive may be, told by samples. Blocks that
    /// `is_excused` may not be read.
    ///
    /// # Errors
    /// What shows that there is none.
    pub fn check_prefix(
        &self,
        disk: &dyn Disk,
        random: &mut Random,
        which: Samples,
        is_excused: impl Fn(u64) -> bool,
    ) -> Result<RangeInclusive<u32>, String> {
        let samples = self.samples(disk, random, which);
        let mut histories: BTreeMap<u64, Vec<(u32, u32)>> = BTreeMap::new();
        let flushed = self.recent.first().map_or(self.commands, |first| first.command - 1);
        for block in &samples {
            histories.insert(*block, vec![(flushed, self.durable.get(*block))]);
        }
        for change in &self.recent {
            for (_, history) in histories.range_mut(change.blocks.clone()) {
                history.push((change.command, change.content));
            }
        }
        // Each block allows one or more runs of prefixes; those of a discarded one may be several.
        let mut possible = vec![(flushed, self.commands)];
        for (block, history) in &histories {
            let found = match read(disk, *block) {
                Ok(found) => found,
                Err(Bad::Unread(_)) if is_excused(*block) => continue,
                Err(bad) => return Err(bad.told(*block)),
            };
            let ends = history.iter().skip(1).map(|(command, _)| command - 1);
            let runs = history.iter().zip(ends.chain([self.commands]));
            let allowed: Vec<_> = runs
                .filter(|((_, content), _)| *content == found)
                .map(|((from, _), to)| (*from, to))
                .collect();
            let before = possible.clone();
            possible = before
                .iter()
                .flat_map(|(from, to)| {
                    allowed.iter().map(move |(low, high)| (*from.max(low), *to.min(high)))
                })
                .filter(|(from, to)| from <= to)
                .collect();
            if possible.is_empty() {
                return Err(format!(
                    "block {block} reads as of command {found}; it was {history:?}, \
                     and blocks before it left {before:?} of the commands \
                     up to {}, {flushed} of them flushed",
                    self.commands
                ));
            }
        }
        Ok(possible[0].0..=possible[0].1)
    }

    /// Goes on from a prefix that was found.
    pub fn go_on_from(&mut self, prefix: u32) {
        self.recent.retain(|change| change.command <= prefix);
        self.flushed();
        self.now = self.durable.clone();
    }
}

/// The blocks that identify a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Samples {
    /// Some of the last commands.
    Few,
    /// All of those since the flush.
    Recent,
    /// All that were ever written.
    All,
}

/// A fault of a block.
enum Bad {
    /// It cannot be read.
    Unread(String),
    /// It holds what it never did.
    Wrong(String),
}

impl Bad {
    fn told(self, block: u64) -> String {
        let (Bad::Unread(what) | Bad::Wrong(what)) = self;
        format!("block {block}: {what}")
    }
}

/// Command by which a block was written.
fn read(disk: &dyn Disk, block: u64) -> Result<u32, Bad> {
    let mut bytes = [1; BLOCK];
    let read = disk.read(block * BLOCK_BYTES, &mut bytes);
    read.map_err(|error| Bad::Unread(error.to_string()))?;
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(0);
    }
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (length, number) = (word(8), word(16));
    let command = (number >> 1 & 0x3FFF_FFFF) as u32;
    let mut whole = [0; BLOCK];
    make(length as usize, number, &mut whole);
    if number >> 31 == block % NAMED_BLOCKS && whole == bytes {
        return Ok(command);
    }
    Err(Bad::Wrong(format!("it holds what command {command} wrote to block {}", number >> 31)))
}

fn fill(block: u64, command: u32, stuff: Stuff, bytes: &mut [u8]) {
    let named = block % NAMED_BLOCKS;
    let number = named << 31 | u64::from(command) << 1 | u64::from(stuff.is_random);
    let (least, most) = stuff.bytes;
    let length = least + Random::new(number).below(u64::from(most - least) + 1) as u32;
    make(length as usize, number, bytes);
}

/// The golden images hold such blocks: it must not change.
fn make(length: usize, number: u64, bytes: &mut [u8]) {
    stand_in(length, number, bytes);
    if number & 1 == 1 {
        let mut random = Random::new(number ^ 0x5EED);
        for word in bytes[24..length.clamp(24, BLOCK)].chunks_mut(8) {
            // Half of them are words of which a dictionary can know.
            let number = if length.is_multiple_of(2) {
                random.next()
            } else {
                Random::new(random.below(16)).next()
            };
            word.copy_from_slice(&number.to_le_bytes()[..word.len()]);
        }
    }
}
