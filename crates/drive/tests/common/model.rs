//! The plain model: every command in order, and what each block held after each.
//!
//! Blocks certify themselves: each names its address and the command that wrote it, and the rest of
//! it follows from both. After a crash the drive must equal the state after some prefix of the
//! commands, which holds everything up to the last completed flush.

use std::collections::BTreeMap;

use assay_drive::{BLOCK_BYTES, Disk, DiskError};

use super::random::Random;

pub const BLOCK: usize = BLOCK_BYTES as usize;

/// Contents of a block: nothing, or those of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Zero,
    /// Command number and the block's address when it was written.
    Written(u64),
}

/// Compressibility of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// Random bytes: not at all.
    Hard,
    /// Random digits: to about half.
    Digits,
    /// The same words again and again, which a dictionary can learn.
    Words,
    /// One byte repeated: to nearly nothing.
    Easy,
}

impl Flavour {
    pub const ALL: [Flavour; 4] = [Flavour::Hard, Flavour::Digits, Flavour::Words, Flavour::Easy];

    /// The default flavour of a block: half of them hard.
    pub fn of(block: u64, command: u64) -> Flavour {
        match (block ^ command) % 8 {
            0..4 => Flavour::Hard,
            4 | 5 => Flavour::Digits,
            6 => Flavour::Words,
            _ => Flavour::Easy,
        }
    }

    /// The next bytes of a block, in its order: eight at a time.
    fn next(self, random: &mut Random) -> [u8; 8] {
        match self {
            Flavour::Hard => random.next().to_le_bytes(),
            Flavour::Digits => random.next().to_le_bytes().map(|byte| b'0' + byte % 10),
            Flavour::Words => Random::new(random.below(16)).next().to_le_bytes(),
            Flavour::Easy => [7; 8],
        }
    }
}

/// Bytes that a command writes to a block: their identity, and bytes that follow from it.
pub fn bytes_of(block: u64, command: u64, flavour: Flavour) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK];
    fill(&mut bytes, block, command, flavour);
    bytes
}

/// Puts there what a command writes to a block.
fn fill(bytes: &mut [u8], block: u64, command: u64, flavour: Flavour) {
    let mut random = Random::new(block << 32 ^ command);
    let (head, rest) = bytes.split_at_mut(17);
    head[..8].copy_from_slice(&block.to_le_bytes());
    head[8..16].copy_from_slice(&command.to_le_bytes());
    head[16] = flavour as u8;
    let (words, last) = rest.as_chunks_mut();
    words.iter_mut().for_each(|word| *word = flavour.next(&mut random));
    last.copy_from_slice(&flavour.next(&mut random)[..last.len()]);
}

/// Contents of these bytes, if they are whole.
pub fn content_of(block: u64, bytes: &[u8]) -> Result<Content, String> {
    if *bytes == [0; BLOCK] {
        return Ok(Content::Zero);
    }
    let command = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
    let mut expected = [0; BLOCK];
    let flavour = Flavour::ALL.get(usize::from(bytes[16]));
    if flavour.is_some_and(|flavour| {
        fill(&mut expected, block, command, *flavour);
        *bytes == expected
    }) {
        Ok(Content::Written(command))
    } else {
        Err(format!("block {block} holds bytes that no command wrote there"))
    }
}

/// History of what was done.
#[derive(Clone)]
pub struct Model {
    /// For each block touched, its content after each command that changed it, in order.
    versions: BTreeMap<u64, Vec<(u64, Content)>>,
    /// Commands so far; the next one gets this number plus one.
    pub commands: u64,
    /// The last command whose effect is known to be durable.
    pub durable: u64,
}

impl Model {
    pub fn new() -> Model {
        Model::after_command(0)
    }

    /// A model whose first command gets the number behind this one.
    pub fn after_command(number: u64) -> Model {
        Model { versions: BTreeMap::new(), commands: number, durable: number }
    }

    fn change(&mut self, block: u64, content: Content) {
        let commands = self.commands;
        self.versions.entry(block).or_default().push((commands, content));
    }

    /// Notes the beginning of a write, and gives what to write: of all flavours.
    pub fn write(&mut self, first: u64, blocks: u64) -> Vec<u8> {
        self.write_as(first, blocks, Flavour::of)
    }

    /// Like `write`, with a flavour by block and command.
    pub fn write_as(
        &mut self,
        first: u64,
        blocks: u64,
        flavour: impl Fn(u64, u64) -> Flavour,
    ) -> Vec<u8> {
        self.commands += 1;
        let command = self.commands;
        let mut data = vec![0; blocks as usize * BLOCK];
        for (block, bytes) in (first..).zip(data.chunks_mut(BLOCK)) {
            self.change(block, Content::Written(command));
            fill(bytes, block, command, flavour(block, command));
        }
        data
    }

    pub fn discard(&mut self, first: u64, blocks: u64) {
        self.commands += 1;
        (first..first + blocks).for_each(|block| self.change(block, Content::Zero));
    }

    /// The last command was refused: it never was.
    pub fn take_back(&mut self) {
        let command = self.commands;
        for versions in self.versions.values_mut() {
            versions.pop_if(|(number, _)| *number == command);
        }
    }

    pub fn flushed(&mut self) {
        self.durable = self.commands;
    }

    /// Commands behind this one never were.
    pub fn cut(&mut self, prefix: u64) {
        for versions in self.versions.values_mut() {
            versions.retain(|(number, _)| *number <= prefix);
        }
        self.durable = prefix;
    }

    /// Keeps of each block what it held after this command, and what came later.
    pub fn forget_before(&mut self, command: u64) {
        for versions in self.versions.values_mut() {
            let older = versions.iter().filter(|(number, _)| *number <= command).count();
            versions.drain(..older.saturating_sub(1));
        }
    }

    /// Contents of a block after the last command.
    pub fn now(&self, block: u64) -> Content {
        self.after(block, self.commands)
    }

    fn after(&self, block: u64, command: u64) -> Content {
        content_after(self.versions_of(block), command)
    }

    fn versions_of(&self, block: u64) -> &[(u64, Content)] {
        self.versions.get(&block).map_or(&[], Vec::as_slice)
    }

    /// Whether the disk holds in `blocks` what the last command left there.
    pub fn check_now(&self, disk: &dyn Disk, blocks: std::ops::Range<u64>) -> Result<(), String> {
        let mut data = vec![1; (blocks.end - blocks.start) as usize * BLOCK];
        disk.read(blocks.start * BLOCK_BYTES, &mut data).map_err(|error| error.to_string())?;
        for (block, bytes) in blocks.zip(data.chunks(BLOCK)) {
            let (found, expected) = (content_of(block, bytes)?, self.after(block, self.commands));
            if found != expected {
                return Err(format!("block {block} reads {found:?}, but {expected:?} was written"));
            }
        }
        Ok(())
    }

    /// Whether a block was ever discarded.
    pub fn was_discarded(&self, block: u64) -> bool {
        self.versions[&block].iter().any(|(_, content)| *content == Content::Zero)
    }

    /// Whether a command ever wrote this block.
    pub fn wrote(&self, block: u64, command: u64) -> bool {
        self.versions_of(block).contains(&(command, Content::Written(command)))
    }

    /// Blocks that any command touched.
    pub fn touched(&self) -> Vec<u64> {
        self.versions.keys().copied().collect()
    }

    /// Prefixes of the commands, from `shortest` on, after which every block that was found held
    /// what was found.
    ///
    /// # Errors
    /// The block with which the last prefix dropped out, and those that were left before it.
    pub fn prefixes(
        &self,
        found: &BTreeMap<u64, Content>,
        shortest: u64,
    ) -> Result<Vec<u64>, (u64, Vec<u64>)> {
        let mut possible: Vec<u64> = (shortest..=self.commands).collect();
        for (block, content) in found {
            let versions = self.versions_of(*block);
            let fits = |prefix: &u64| content_after(versions, *prefix) == *content;
            if !possible.iter().any(fits) {
                return Err((*block, possible));
            }
            possible.retain(fits);
        }
        Ok(possible)
    }

    /// Checks the prefix contract after a crash and goes on from the prefix that was found.
    pub fn check_prefix(&mut self, disk: &dyn Disk) -> Result<(), String> {
        let mut found = BTreeMap::new();
        for blocks in runs(&self.touched()) {
            let mut data = vec![1; (blocks.end - blocks.start) as usize * BLOCK];
            let read = disk.read(blocks.start * BLOCK_BYTES, &mut data);
            read.map_err(|error: DiskError| format!("blocks {blocks:?}: {error}"))?;
            for (block, bytes) in blocks.zip(data.chunks(BLOCK)) {
                found.insert(block, content_of(block, bytes)?);
            }
        }
        let possible = self.prefixes(&found, self.durable).map_err(|(block, before)| {
            format!(
                "block {block} holds {:?}; no prefix of {} commands with the {} flushed ones has \
                 that together with the blocks before it (which left {before:?})",
                found[&block], self.commands, self.durable
            )
        })?;
        // Commands behind the prefix never were. Several prefixes may look alike: the shortest is
        // as true as any.
        self.cut(possible[0]);
        Ok(())
    }
}

/// Contents of a block after a command.
fn content_after(versions: &[(u64, Content)], command: u64) -> Content {
    let earlier = versions.partition_point(|(number, _)| *number <= command);
    versions[..earlier].last().map_or(Content::Zero, |(_, content)| *content)
}

/// Numbers in order as ranges without a gap.
pub fn runs(numbers: &[u64]) -> Vec<std::ops::Range<u64>> {
    let follows = |pair: &u64, next: &u64| pair + 1 == *next;
    numbers.chunk_by(follows).map(|run| run[0]..run[0] + run.len() as u64).collect()
}
