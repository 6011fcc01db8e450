//! Numbers of records: the next to insert, and those that surely exist.
//!
//! Threads insert concurrently, so a number may be in the table before a lower one. Only records
//! below the lowest number in flight are requested, as in YCSB.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// A counter of records that many threads insert.
#[derive(Debug)]
pub(crate) struct InsertCounter {
    next: AtomicU64,
    /// All records below exist.
    existing: AtomicU64,
    /// Existing numbers above the lowest in flight.
    ahead: Mutex<BinaryHeap<Reverse<u64>>>,
}

impl InsertCounter {
    /// The counter of a table with the records below `first`. At most `threads` numbers are in
    /// flight.
    pub(crate) fn new(first: u64, threads: usize) -> InsertCounter {
        InsertCounter {
            next: AtomicU64::new(first),
            existing: AtomicU64::new(first),
            ahead: Mutex::new(BinaryHeap::with_capacity(threads)),
        }
    }

    /// The number of the record to insert next.
    pub(crate) fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Number of records that surely exist: all below.
    #[inline]
    pub(crate) fn existing(&self) -> u64 {
        self.existing.load(Ordering::Relaxed)
    }

    /// Records that the insert of record `number` has ended.
    pub(crate) fn acknowledge(&self, number: u64) {
        let mut ahead = self.ahead.lock();
        ahead.push(Reverse(number));
        let mut existing = self.existing.load(Ordering::Relaxed);
        while ahead.peek() == Some(&Reverse(existing)) {
            ahead.pop();
            existing += 1;
        }
        self.existing.store(existing, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_exist_up_to_the_first_gap() {
        let counter = InsertCounter::new(100, 4);
        assert_eq!([counter.take(), counter.take(), counter.take()], [100, 101, 102]);
        counter.acknowledge(101);
        assert_eq!(counter.existing(), 100, "100 is still under way");
        counter.acknowledge(102);
        counter.acknowledge(100);
        assert_eq!(counter.existing(), 103);
    }

    #[test]
    fn threads_leave_no_gap() {
        let counter = InsertCounter::new(0, 8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..5000).for_each(|_| counter.acknowledge(counter.take())));
            }
        });
        assert_eq!((counter.existing(), counter.take()), (40_000, 40_000));
    }
}
