//! Threads that write to a device past the page cache, each in its lane, until the device fails.

use std::fs::{File, OpenOptions};
use std::io::IoSlice;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use assay_drive::{BLOCK_BYTES, BlockBuffer};
use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::{ReadWriteFlags, pwritev2};

use super::blocks::{Writer, fill, writer_of};
use super::history::{Command, Lane};
use crate::simulated::random::Random;

/// Blocks of the largest atomic write.
const COMMAND_BLOCKS: u64 = 64;

/// State shared by all lanes: the clock and the counter of commands.
#[derive(Default)]
pub struct Shared {
    clock: AtomicU64,
    commands: AtomicU64,
}

/// Running writers, one per lane.
pub struct Writers {
    threads: Vec<JoinHandle<Lane>>,
    answers: Receiver<()>,
}

impl Writers {
    /// Starts the writers; with `is_writethrough`, each write is durable once acknowledged.
    pub fn start(
        device: &Path,
        lanes: Vec<Lane>,
        is_writethrough: bool,
        shared: &Arc<Shared>,
        random: &mut Random,
    ) -> Writers {
        let (tell, answers) = channel();
        let threads = lanes.into_iter().map(|lane| {
            let device = open(device);
            let (shared, tell) = (Arc::clone(shared), tell.clone());
            let random = Random::new(random.next());
            let buffer = BlockBuffer::default();
            let mut hand = Hand { lane, device, is_writethrough, shared, random, buffer };
            std::thread::spawn(move || hand.write_until_it_fails(&tell))
        });
        Writers { threads: threads.collect(), answers }
    }

    /// Waits for this number of acknowledgements.
    pub fn wait_for(&self, answers: u64, deadline: Instant) {
        for _ in 0..answers {
            let left = deadline.saturating_duration_since(Instant::now());
            self.answers.recv_timeout(left).unwrap();
        }
    }

    /// Returns the histories, once every writer has seen its device fail.
    pub fn end(self, deadline: Instant) -> Vec<Lane> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("a command to a dead drive hangs"),
            }
        }
        self.threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }
}

/// Reads the lanes past the page cache and returns the writer of each block.
///
/// # Errors
/// The first block that is not whole.
pub fn read_lanes(device: &Path, lanes: &[Lane]) -> Result<Vec<Vec<Writer>>, String> {
    let file = open(device);
    let read = |lane: &Lane| {
        let mut buffer = BlockBuffer::zeroed(lane.base.len() * BLOCK_BYTES as usize);
        file.read_exact_at(buffer.as_mut(), lane.first * BLOCK_BYTES)
            .map_err(|error| format!("the lane at block {} cannot be read: {error}", lane.first))?;
        let blocks = buffer.as_ref().chunks(BLOCK_BYTES as usize);
        (lane.first..).zip(blocks).map(|(address, block)| writer_of(block, address)).collect()
    };
    lanes.iter().map(read).collect()
}

fn open(device: &Path) -> File {
    let flags = OFlags::DIRECT.bits().cast_signed();
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(device).unwrap()
}

/// A writer's thread.
struct Hand {
    lane: Lane,
    device: File,
    is_writethrough: bool,
    shared: Arc<Shared>,
    random: Random,
    buffer: BlockBuffer,
}

impl Hand {
    fn write_until_it_fails(&mut self, tell: &Sender<()>) -> Lane {
        let nothing = Lane::new(0, 0);
        loop {
            let done = match self.random.below(100) {
                0..8 => self.flush(),
                kind => self.command(kind),
            };
            // The receiver is gone when the test has failed.
            if done.is_err() || tell.send(()).is_err() {
                return std::mem::replace(&mut self.lane, nothing);
            }
        }
    }

    fn tick(&self) -> u64 {
        self.shared.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let issued = self.tick();
        self.device.sync_data()?;
        self.lane.flushed = issued;
        Ok(())
    }

    /// Writes or discards blocks; some writes have force-unit-access.
    fn command(&mut self, kind: u64) -> std::io::Result<()> {
        let (takes_back, forced) = ((8..16).contains(&kind), (16..24).contains(&kind));
        let blocks = self.blocks();
        let number = 1 + self.shared.commands.fetch_add(1, Ordering::SeqCst);
        let issued = self.tick();
        let durable = forced || self.is_writethrough;
        let asked = Command { number, blocks, takes_back, durable, issued, answered: None };
        self.lane.commands.push(asked.clone());
        if takes_back {
            self.take_back(&asked)?
        } else {
            self.write(&asked, forced)?
        }
        let answered = Some(self.tick());
        *self.lane.commands.last_mut().unwrap() = Command { answered, ..asked };
        if durable {
            self.lane.flushed = issued;
        }
        Ok(())
    }

    /// Draws a range: often a page of InnoDB or the largest atomic write, else any length; at any
    /// block.
    fn blocks(&mut self) -> std::ops::Range<usize> {
        let any = 1 + self.random.below(COMMAND_BLOCKS);
        let length = *self.random.pick(&[1, 4, 4, 16, COMMAND_BLOCKS, any, any, any]);
        let first = self.random.below(self.lane.base.len() as u64 - length + 1) as usize;
        first..first + length as usize
    }

    fn write(&mut self, command: &Command, forced: bool) -> std::io::Result<()> {
        let first = self.lane.first + command.blocks.start as u64;
        let data = self.buffer.first(command.blocks.len() * BLOCK_BYTES as usize);
        for (address, block) in (first..).zip(data.chunks_mut(BLOCK_BYTES as usize)) {
            fill(block, address, command.number);
        }
        let flags = if forced { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
        let written = pwritev2(&self.device, &[IoSlice::new(data)], first * BLOCK_BYTES, flags)?;
        if written == data.len() { Ok(()) } else { Err(std::io::ErrorKind::WriteZero.into()) }
    }

    fn take_back(&self, command: &Command) -> std::io::Result<()> {
        let first = self.lane.first + command.blocks.start as u64;
        let length = command.blocks.len() as u64 * BLOCK_BYTES;
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(&self.device, punch, first * BLOCK_BYTES, length)?)
    }
}
