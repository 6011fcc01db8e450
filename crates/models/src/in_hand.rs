//! The current command of each thread, by which a model below reports its end to the one at the
//! top.
//!
//! Between the two lies the drive, which has no notion of time. A thread carries out one command at
//! a time, from top to bottom and back, so the command's state is kept with the thread.

use std::cell::{Cell, RefCell};

use assay_drive::StoredSizes;

use super::time::Time;
use super::timing::Due;

/// The order in which the parts of a command run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// All begin at the same time, as a controller asks several dies for the pieces of one read.
    Together,
    /// Each begins when the previous one is done, as in background work.
    InTurn,
}

#[derive(Debug, Clone, Copy)]
struct Command {
    parts: Parts,
    start: Time,
    due: Due,
}

thread_local! {
    static IN_HAND: Cell<Option<Command>> = const { Cell::new(None) };
}

/// Restores the thread's previous command, also while a panic unwinds.
struct Restore(Option<Command>);

impl Drop for Restore {
    fn drop(&mut self) {
        IN_HAND.set(self.0);
    }
}

/// Runs `work` as a command that begins at `start`; returns the time at which the models below are
/// done with it.
pub fn with<T>(start: Time, parts: Parts, work: impl FnOnce() -> T) -> (T, Due) {
    let restore = Restore(IN_HAND.get());
    IN_HAND.set(Some(Command { parts, start, due: Due::at(start) }));
    let value = work();
    let due = IN_HAND.get().map_or(Due::at(start), |command| command.due);
    drop(restore);
    (value, due)
}

/// The beginning of the next part of the current command; `None` if the thread has none.
#[must_use]
pub fn next_start() -> Option<Time> {
    IN_HAND.get().map(|command| match command.parts {
        Parts::Together => command.start,
        Parts::InTurn => command.due.when(),
    })
}

/// Reports that a part of the current command is done.
pub fn part_done(part: Due) {
    if let Some(mut command) = IN_HAND.get() {
        command.due.join(part);
        IN_HAND.set(Some(command));
    }
}

thread_local! {
    /// Stored bytes of each block that the thread writes, while they are collected.
    static STORED: RefCell<Option<Vec<u16>>> = const { RefCell::new(None) };
}

/// Runs `work`, and appends to `sizes` the stored bytes of each block that the drive writes
/// meanwhile: zero for a block of zeroes, the block's size for one that does not compress.
pub fn with_stored_sizes<T>(sizes: &mut Vec<u16>, work: impl FnOnce() -> T) -> T {
    STORED.set(Some(std::mem::take(sizes)));
    let value = work();
    *sizes = STORED.take().unwrap_or_default();
    value
}

/// Collects stored sizes with the writing thread, while they are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct InHand;

impl StoredSizes for InHand {
    fn stored(&self, blocks: u64, payload_bytes: u64) {
        STORED.with_borrow_mut(|sizes| {
            let Some(sizes) = sizes else { return };
            let each = u16::try_from(payload_bytes / blocks.max(1)).unwrap_or(u16::MAX);
            sizes.extend(std::iter::repeat_n(each, blocks as usize));
        });
    }
}
