//! The command that a thread has in hand: how a model far below tells the one at the top when it is done.
//!
//! Between the two lies the drive, which knows nothing of time. Each thread carries out one command at a time, from top to
//! bottom and back, so what is known of it is kept with the thread.

use std::cell::{Cell, RefCell};

use assay_drive::StoredSizes;

use super::time::Time;
use super::timing::Due;

/// How the parts of a command follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// All begin at once, as a controller asks several dies for the pieces of one read.
    Together,
    /// Each begins when the one before is done, as background work does.
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

/// Puts the thread's former command back, also when a panic unwinds.
struct Restore(Option<Command>);

impl Drop for Restore {
    fn drop(&mut self) {
        IN_HAND.set(self.0);
    }
}

/// Does `work` as a command that begins at `start`; gives when the models below are done with it.
pub fn with<T>(start: Time, parts: Parts, work: impl FnOnce() -> T) -> (T, Due) {
    let restore = Restore(IN_HAND.get());
    IN_HAND.set(Some(Command { parts, start, due: Due::at(start) }));
    let value = work();
    let due = IN_HAND.get().map_or(Due::at(start), |command| command.due);
    drop(restore);
    (value, due)
}

/// When the next part of the command in hand begins; nothing where the thread has none.
#[must_use]
pub fn next_start() -> Option<Time> {
    IN_HAND.get().map(|command| match command.parts {
        Parts::Together => command.start,
        Parts::InTurn => command.due.when(),
    })
}

/// A part of the command in hand is done.
pub fn part_done(part: Due) {
    if let Some(mut command) = IN_HAND.get() {
        command.due.join(part);
        IN_HAND.set(Some(command));
    }
}

thread_local! {
    /// Stored bytes of each block that the thread writes, as long as somebody wants to know.
    static STORED: RefCell<Option<Vec<u16>>> = const { RefCell::new(None) };
}

/// Does `work`, and puts the stored bytes of each block that the drive writes meanwhile behind what is in `sizes`: zero of a
/// block of zeroes, the block's size of one that does not compress.
pub fn with_stored_sizes<T>(sizes: &mut Vec<u16>, work: impl FnOnce() -> T) -> T {
    STORED.set(Some(std::mem::take(sizes)));
    let value = work();
    *sizes = STORED.take().unwrap_or_default();
    value
}

/// Keeps what the drive stores with the thread that writes. Nobody counts it unless somebody wants to know.
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
