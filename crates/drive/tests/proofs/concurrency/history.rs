//! The times of all commands, which show whether data may be read.
//!
//! Each range is written, or discarded, by whole commands only. A global clock stamps where
//! commands begin and end. One command overwrites another for certain if it began after that had
//! ended; what certainly was overwritten before a read began must not be read, and what certainly
//! was overwritten before a flush began must not come back.

use std::sync::atomic::{AtomicU64, Ordering};

/// A range of blocks.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    pub first: u64,
    pub blocks: u64,
}

/// Contents of a range: all of it was written by one command, or discarded, or never written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Zero,
    Command(u64),
}

/// One command.
#[derive(Debug, Default)]
struct Command {
    range: AtomicU64,
    began: AtomicU64,
    /// Zero while it is on its way.
    ended: AtomicU64,
    discards: AtomicU64,
}

/// For each range, the latest beginning among the commands that had ended: what ended before it is
/// overwritten.
pub type Floors = Vec<u64>;

pub struct History {
    pub ranges: Vec<Range>,
    clock: AtomicU64,
    commands: Box<[Command]>,
    next: AtomicU64,
    floors: Vec<AtomicU64>,
    durable: Vec<AtomicU64>,
}

fn load(number: &AtomicU64) -> u64 {
    number.load(Ordering::SeqCst)
}

impl History {
    /// Room for so many commands.
    pub fn new(ranges: Vec<Range>, commands: usize) -> History {
        let zeroes = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
        History {
            clock: AtomicU64::new(1),
            commands: (0..=commands).map(|_| Command::default()).collect(),
            next: AtomicU64::new(1),
            floors: zeroes(ranges.len()),
            durable: zeroes(ranges.len()),
            ranges,
        }
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Begins a command on a range; none if there were enough.
    pub fn begin(&self, range: usize, discards: bool) -> Option<u64> {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let command = self.commands.get(number as usize)?;
        command.range.store(range as u64, Ordering::SeqCst);
        command.discards.store(u64::from(discards), Ordering::SeqCst);
        command.began.store(self.now(), Ordering::SeqCst);
        Some(number)
    }

    pub fn end(&self, number: u64) {
        let command = &self.commands[number as usize];
        command.ended.store(self.now(), Ordering::SeqCst);
        let floor = &self.floors[load(&command.range) as usize];
        floor.fetch_max(load(&command.began), Ordering::SeqCst);
    }

    /// Progress of each range; taken before a read or a flush begins.
    pub fn floors(&self) -> Floors {
        self.floors.iter().map(load).collect()
    }

    pub fn floor(&self, range: usize) -> u64 {
        load(&self.floors[range])
    }

    /// A flush that began at these floors has completed.
    pub fn flushed(&self, floors: &Floors) {
        for (durable, floor) in self.durable.iter().zip(floors) {
            durable.fetch_max(*floor, Ordering::SeqCst);
        }
    }

    /// Progress of each range that is certainly on stable media; taken before power goes.
    pub fn durable(&self) -> Floors {
        self.durable.iter().map(load).collect()
    }

    /// Latest end of the command that left these contents; none while it is running.
    fn ended(&self, range: usize, found: Found) -> u64 {
        let end = |command: &Command| match load(&command.ended) {
            0 => u64::MAX,
            end => end,
        };
        match found {
            Found::Command(number) => end(&self.commands[number as usize]),
            Found::Zero => self.discards(range).map(end).max().unwrap_or(0),
        }
    }

    /// Earliest beginning of the command that left these contents.
    fn began(&self, found: Found) -> u64 {
        match found {
            Found::Command(number) => load(&self.commands[number as usize].began),
            Found::Zero => 0,
        }
    }

    fn discards(&self, range: usize) -> impl Iterator<Item = &Command> {
        let made = (load(&self.next) as usize).min(self.commands.len());
        self.commands[1..made].iter().filter(move |command| {
            load(&command.discards) == 1 && load(&command.range) == range as u64
        })
    }

    /// Checks what was read of a range, which had come to `floor` before.
    pub fn check(&self, range: usize, found: Found, floor: u64) -> Result<(), String> {
        if self.ended(range, found) >= floor {
            return Ok(());
        }
        Err(format!("{:?} holds {found:?}, which was overwritten before", self.ranges[range]))
    }

    /// Checks that what a crash left in all ranges is a prefix: where a command is there, so is
    /// every one that ended before it began.
    pub fn check_prefix(&self, found: &[Found]) -> Result<(), String> {
        let latest = found.iter().map(|found| self.began(*found)).max().unwrap_or(0);
        let mut floors = vec![0; self.ranges.len()];
        for command in &self.commands[1..] {
            let ended = load(&command.ended);
            if ended != 0 && ended < latest {
                let floor = &mut floors[load(&command.range) as usize];
                *floor = load(&command.began).max(*floor);
            }
        }
        for (range, found) in found.iter().enumerate() {
            let checked = self.check(range, *found, floors[range]);
            checked.map_err(|problem| format!("{problem} what else is there began"))?;
        }
        Ok(())
    }
}
