//! Flash behind its channels: the times of reads, programs and erases.
//!
//! Media are cut into stripes, each one program of all planes of one die. Consecutive stripes go
//! round over channels first, then over dies. A stripe is programmed when its last byte has come.
//! Reads suspend programs and erases.

use std::collections::VecDeque;

use super::super::calendar::Calendar;
use super::super::time::{Rate, Time};
use super::super::timing::{Command, Due, Kind, Resource, Timing};
use super::buffer::Buffer;
use super::lane::Lane;

/// The flash of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlashGeometry {
    /// Channels between controller and dies.
    pub channels: u32,
    /// Dies at each channel.
    pub dies_per_channel: u32,
    /// Planes of a die, which read and program together.
    pub planes: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// From command to data in a die's register (tR).
    pub read_time: Time,
    /// To program a page of every plane (tPROG).
    pub program_time: Time,
    /// To erase a block of every plane (tBERS).
    pub erase_time: Time,
    /// To interrupt a program for a read.
    pub program_suspend_time: Time,
    /// To interrupt an erase for a read.
    pub erase_suspend_time: Time,
    /// Bandwidth of one channel, in bytes a second.
    pub bus_bytes_per_s: Rate,
    /// Bytes of the write buffer, as they go to flash: compressed.
    pub buffer_bytes: u64,
    /// Whether capacitors protect the buffer in a power cut; then a flush does nothing.
    pub is_buffer_protected: bool,
}

impl FlashGeometry {
    /// All dies.
    #[must_use]
    pub fn dies(&self) -> u64 {
        u64::from(self.channels) * u64::from(self.dies_per_channel)
    }

    /// Bytes that one die programs at once.
    #[must_use]
    pub fn stripe_bytes(&self) -> u64 {
        u64::from(self.planes) * u64::from(self.page_bytes)
    }

    /// Bytes that one erase of every die frees.
    #[must_use]
    pub fn erased_bytes(&self) -> u64 {
        self.dies() * self.stripe_bytes() * u64::from(self.pages_per_block)
    }
}

/// Stripes that may fill at the same time before the oldest is programmed unfilled: more than the
/// drive has streams.
const OPEN_STRIPES: usize = 16;

/// The state of the flash: the next free time of each part.
#[derive(Debug)]
pub struct FlashTiming {
    geometry: FlashGeometry,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    buffer: Buffer,
    /// Stripes that have begun to fill.
    open: VecDeque<u64>,
    /// Bytes discarded since the last erase.
    discarded_bytes: u64,
}

/// A channel. Data of reads pass in the first gap. Data of programs wait for an idle channel, and
/// are delayed by each read that comes meanwhile.
#[derive(Debug, Default)]
struct Channel {
    reads: Calendar,
    programs: Lane,
}

#[derive(Debug, Clone, Copy, Default)]
struct Die {
    lane: Lane,
    erases_until: Time,
}

impl FlashTiming {
    /// Idle flash.
    #[must_use]
    pub fn new(geometry: FlashGeometry) -> FlashTiming {
        FlashTiming {
            dies: vec![Die::default(); geometry.dies() as usize],
            channels: (0..geometry.channels).map(|_| Channel::default()).collect(),
            buffer: Buffer::new(geometry.buffer_bytes),
            open: VecDeque::with_capacity(OPEN_STRIPES + 1),
            discarded_bytes: 0,
            geometry,
        }
    }

    fn place(&self, stripe: u64) -> (usize, usize) {
        let die = stripe % self.geometry.dies();
        (die as usize, (die % u64::from(self.geometry.channels)) as usize)
    }

    /// The stripes of a range, each with its first byte and the byte behind its last.
    fn stripes(&self, offset: u64, length: u64) -> impl Iterator<Item = (u64, u64, u64)> + use<> {
        let size = self.geometry.stripe_bytes();
        let end = offset + length;
        (offset / size..end.div_ceil(size))
            .map(move |stripe| (stripe, offset.max(stripe * size), end.min((stripe + 1) * size)))
    }

    fn read(&mut self, offset: u64, length: u64, due: &mut Due) {
        let start = *due;
        for (stripe, first, past) in self.stripes(offset, length) {
            let mut part = start;
            if !self.open.contains(&stripe) && !self.buffer.holds(stripe, part.when()) {
                self.read_stripe(stripe, past - first, &mut part);
            }
            due.join(part);
        }
    }

    fn read_stripe(&mut self, stripe: u64, bytes: u64, part: &mut Due) {
        let now = part.when();
        let (die, channel) = self.place(stripe);
        let geometry = &self.geometry;
        let die = &mut self.dies[die];
        let from = die.lane.urgent_from(part.when());
        let interruption = match die.lane.must_interrupt(from) {
            true if die.erases_until > from => geometry.erase_suspend_time,
            true => geometry.program_suspend_time,
            false => Time::ZERO,
        };
        let done = die.lane.do_urgent(from, interruption, geometry.read_time);
        part.wait(from + interruption, Resource::Die);
        part.wait(done, Resource::Flash);
        let channel = &mut self.channels[channel];
        let span = geometry.bus_bytes_per_s.time_for(bytes);
        part.wait(channel.reads.take(now, part.when(), span), Resource::Channel);
        channel.programs.interrupt(part.when(), span);
        part.spend(span, Resource::Channel);
    }

    fn write(&mut self, offset: u64, length: u64, due: &mut Due) {
        let size = self.geometry.stripe_bytes();
        for (stripe, first, past) in self.stripes(offset, length) {
            due.wait(self.buffer.room_at(due.when(), past - first), Resource::Buffer);
            self.open.retain(|open| *open != stripe);
            if past == (stripe + 1) * size {
                self.program(stripe, due.when());
            } else {
                self.open.push_back(stripe);
                if self.open.len() > OPEN_STRIPES
                    && let Some(oldest) = self.open.pop_front()
                {
                    self.program(oldest, due.when());
                }
            }
        }
    }

    fn program(&mut self, stripe: u64, at: Time) {
        let (die, channel) = self.place(stripe);
        let bytes = self.geometry.stripe_bytes();
        let there = self.channels[channel]
            .programs
            .do_later(at, self.geometry.bus_bytes_per_s.time_for(bytes));
        let done = self.dies[die].lane.do_later(there, self.geometry.program_time);
        self.buffer.add(stripe, bytes, done);
    }

    fn flush(&mut self, due: &mut Due) {
        if self.geometry.is_buffer_protected {
            return;
        }
        while let Some(stripe) = self.open.pop_front() {
            self.program(stripe, due.when());
        }
        due.wait(self.buffer.empty_at(), Resource::Buffer);
    }

    /// Erases whole blocks, on every die, when as much was discarded as one erase of each frees.
    /// Nothing waits for it.
    fn discard(&mut self, length: u64, at: Time) {
        self.discarded_bytes += length;
        while self.discarded_bytes >= self.geometry.erased_bytes() {
            self.discarded_bytes -= self.geometry.erased_bytes();
            for die in &mut self.dies {
                die.erases_until = die.lane.do_later(at, self.geometry.erase_time);
            }
        }
    }
}

impl Timing for FlashTiming {
    fn begin(&mut self, _command: &Command, _due: &mut Due) {}

    fn end(&mut self, command: &Command, due: &mut Due) {
        match command.kind {
            Kind::Read => self.read(command.offset, command.length, due),
            Kind::Write => self.write(command.offset, command.length, due),
            Kind::Flush => self.flush(due),
            Kind::Discard => self.discard(command.length, due.when()),
        }
    }
}
