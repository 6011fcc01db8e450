//! The write buffer: accepted data that are not programmed yet.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::super::time::Time;

/// Bytes that wait for their program, by the time at which it is done.
#[derive(Debug)]
pub(super) struct Buffer {
    capacity_bytes: u64,
    used_bytes: u64,
    /// Entry time of the last command: none overtakes another.
    let_in_at: Time,
    /// End of a stripe's program, the stripe, and its bytes.
    programs: BinaryHeap<Reverse<(Time, u64, u64)>>,
    /// The latest program of each stripe in the buffer.
    stripes: HashMap<u64, Time>,
}

impl Buffer {
    pub(super) fn new(capacity_bytes: u64) -> Buffer {
        Buffer {
            capacity_bytes,
            used_bytes: 0,
            let_in_at: Time::ZERO,
            programs: BinaryHeap::new(),
            stripes: HashMap::new(),
        }
    }

    /// The time from `at` on at which there is room for `bytes`. More than the buffer holds needs
    /// all of it.
    pub(super) fn room_at(&mut self, at: Time, bytes: u64) -> Time {
        let mut room_at = at.max(self.let_in_at);
        self.drain(room_at);
        while self.used_bytes > 0 && self.used_bytes + bytes > self.capacity_bytes {
            let Some(Reverse((done_at, ..))) = self.programs.peek() else { break };
            room_at = *done_at;
            self.drain(room_at);
        }
        self.let_in_at = room_at;
        room_at
    }

    /// Adds a stripe, which stays until its program is done.
    pub(super) fn add(&mut self, stripe: u64, bytes: u64, done_at: Time) {
        self.used_bytes += bytes;
        self.programs.push(Reverse((done_at, stripe, bytes)));
        self.stripes.insert(stripe, done_at);
    }

    /// Whether a read at `at` finds a stripe here.
    pub(super) fn holds(&self, stripe: u64, at: Time) -> bool {
        self.stripes.get(&stripe).is_some_and(|done_at| *done_at > at)
    }

    /// The time at which everything is programmed.
    pub(super) fn empty_at(&self) -> Time {
        self.stripes.values().copied().max().unwrap_or_default()
    }

    fn drain(&mut self, at: Time) {
        while let Some(Reverse((done_at, stripe, bytes))) = self.programs.peek().copied()
            && done_at <= at
        {
            self.programs.pop();
            self.used_bytes -= bytes;
            if self.stripes.get(&stripe) == Some(&done_at) {
                self.stripes.remove(&stripe);
            }
        }
    }
}
