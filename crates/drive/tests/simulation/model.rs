//! The plain model: every command in order, and what each block held after each.
//!
//! Blocks certify themselves: each names its address and the command that wrote it, and the rest of it follows from
//! both. After a crash the drive must equal the state after some prefix of the commands, which holds everything up to
//! the last completed flush.

use std::collections::BTreeMap;

use assay_drive::{BLOCK_BYTES, Disk, DiskError};

use crate::random::Random;

pub const BLOCK: usize = BLOCK_BYTES as usize;

/// What a block holds: nothing, or what a command wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Zero,
    /// Command number and the block's address when it was written.
    Written(u64),
}

/// What is written to a block by a command: by turns hard, easy and very easy to compress.
pub fn bytes_of(block: u64, command: u64) -> Vec<u8> {
    let mut random = Random::new(block << 32 ^ command);
    let mut bytes = Vec::with_capacity(BLOCK);
    bytes.extend(block.to_le_bytes());
    bytes.extend(command.to_le_bytes());
    let flavour = (block ^ command) % 4;
    while bytes.len() < BLOCK {
        match flavour {
            0 | 1 => bytes.extend(random.next().to_le_bytes()),
            2 => bytes.extend(random.next().to_le_bytes().map(|byte| b'0' + byte % 10)),
            _ => bytes.push(7),
        }
    }
    bytes.truncate(BLOCK);
    bytes
}

/// What these bytes are, if they are whole.
pub fn content_of(block: u64, bytes: &[u8]) -> Result<Content, String> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(Content::Zero);
    }
    let command = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
    if bytes == bytes_of(block, command) {
        Ok(Content::Written(command))
    } else {
        Err(format!("block {block} holds bytes that no command wrote there"))
    }
}

/// History of what was done.
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
        Model { versions: BTreeMap::new(), commands: 0, durable: 0 }
    }

    fn change(&mut self, block: u64, content: Content) {
        let commands = self.commands;
        self.versions.entry(block).or_default().push((commands, content));
    }

    /// Notes the beginning of a write, and gives what to write.
    pub fn write(&mut self, first: u64, blocks: u64) -> Vec<u8> {
        self.commands += 1;
        let command = self.commands;
        let mut data = Vec::with_capacity(blocks as usize * BLOCK);
        for block in first..first + blocks {
            self.change(block, Content::Written(command));
            data.extend(bytes_of(block, command));
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
            versions.retain(|(number, _)| *number != command);
        }
    }

    pub fn flushed(&mut self) {
        self.durable = self.commands;
    }

    fn after(&self, block: u64, command: u64) -> Content {
        let versions = self.versions.get(&block).map_or(&[][..], Vec::as_slice);
        let last = versions.iter().rev().find(|(number, _)| *number <= command);
        last.map_or(Content::Zero, |(_, content)| *content)
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

    /// Blocks that any command touched.
    pub fn touched(&self) -> Vec<u64> {
        self.versions.keys().copied().collect()
    }

    /// Checks the prefix contract after a crash and goes on from the prefix that was found.
    pub fn check_prefix(&mut self, disk: &dyn Disk) -> Result<(), String> {
        let mut possible: Vec<u64> = (self.durable..=self.commands).collect();
        for block in self.touched() {
            let mut bytes = vec![1; BLOCK];
            let read = disk.read(block * BLOCK_BYTES, &mut bytes);
            read.map_err(|error: DiskError| format!("block {block}: {error}"))?;
            let found = content_of(block, &bytes)?;
            let before = possible.clone();
            possible.retain(|prefix| self.after(block, *prefix) == found);
            if possible.is_empty() {
                return Err(format!(
                    "block {block} holds {found:?}; no prefix of {} commands with the {} flushed \
                     ones has that together with the blocks before it (which left {before:?})",
                    self.commands, self.durable
                ));
            }
        }
        // Commands behind the prefix never were. Several prefixes may look alike: the shortest is as true as any.
        let prefix = possible[0];
        for versions in self.versions.values_mut() {
            versions.retain(|(number, _)| *number <= prefix);
        }
        self.durable = prefix;
        Ok(())
    }
}
