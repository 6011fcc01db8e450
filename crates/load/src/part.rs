//! The part of a load that one of several hosts runs.
//!
//! All hosts have the same schedule, with all threads, and each knows its own part. A load's
//! sequences (threads, planned starts, events, numbers of new rows) are dealt out in turn, like
//! cards, to threads and so to hosts: all parts together have each element once, and draw the same
//! as one load with all threads. A start that is dealt to a host waits for a thread of that host.

use serde::{Deserialize, Serialize};

/// A part of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPart {
    /// Number of the part, from 0.
    pub number: u32,
    /// Number of parts.
    pub of: u32,
}

impl LoadPart {
    /// The whole load.
    pub const WHOLE: LoadPart = LoadPart { number: 0, of: 1 };

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    pub(crate) fn is_whole(&self) -> bool {
        self.of == 1
    }

    /// Count of the numbers below `n` that are this part's, if they are dealt to the parts in turn.
    fn below(self, n: u64) -> u64 {
        (n + u64::from(self.of - 1 - self.number)) / u64::from(self.of)
    }
}

impl Default for LoadPart {
    fn default() -> LoadPart {
        LoadPart::WHOLE
    }
}

/// The dealing of a sequence to the threads of a load, some of them this part's: number n belongs
/// to thread n mod `threads`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deal {
    part: LoadPart,
    threads: u32,
    /// Threads of the part.
    own: u32,
}

impl Deal {
    /// A deal to `threads` threads, of which this part has its own.
    pub(crate) fn new(part: LoadPart, threads: u32) -> Deal {
        Deal { part, threads, own: part.below(u64::from(threads)) as u32 }
    }

    /// A deal to `threads` threads, all of them this part's.
    pub(crate) fn to(threads: u32) -> Deal {
        Deal { part: LoadPart::WHOLE, threads, own: threads }
    }

    /// Threads of the whole load.
    pub(crate) fn threads(self) -> u32 {
        self.threads
    }

    /// Threads of this part.
    pub(crate) fn own(self) -> u32 {
        self.own
    }

    /// The number, in the whole load, of the part's thread at this place.
    pub(crate) fn thread(self, place: u32) -> u32 {
        self.part.number + place * self.part.of
    }

    /// The place of a thread among the part's own.
    pub(crate) fn place_of(self, thread: u32) -> u32 {
        thread / self.part.of
    }

    /// Returns true for the first part, which does everything that is done once.
    pub(crate) fn is_first(self) -> bool {
        self.part.number == 0
    }

    /// Returns true if this number is the part's.
    #[inline]
    pub(crate) fn has(self, number: u64) -> bool {
        self.part.is_whole()
            || (number % u64::from(self.threads)) as u32 % self.part.of == self.part.number
    }

    /// The part's own number at this place, from 0.
    #[inline]
    pub(crate) fn nth(self, place: u64) -> u64 {
        if self.part.is_whole() {
            return place;
        }
        let (round, own) = (place / u64::from(self.own), (place % u64::from(self.own)) as u32);
        round * u64::from(self.threads) + u64::from(self.thread(own))
    }

    /// Count of the numbers below `n` that are the part's.
    pub(crate) fn below(self, n: u64) -> u64 {
        let threads = u64::from(self.threads.max(1));
        n / threads * u64::from(self.own) + self.part.below(n % threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(threads: u32, of: u32) -> Vec<Deal> {
        (0..of).map(|number| Deal::new(LoadPart { number, of }, threads)).collect()
    }

    #[test]
    fn every_number_is_dealt_to_one_part_and_found_at_its_place() {
        for (threads, of) in [(1, 1), (2, 2), (5, 2), (7, 3), (8, 3), (4, 4)] {
            let parts = dealt(threads, of);
            assert_eq!(parts.iter().map(|part| part.own()).sum::<u32>(), threads);
            for number in 0..200 {
                assert_eq!(parts.iter().filter(|part| part.has(number)).count(), 1, "{number}");
                assert_eq!(parts.iter().map(|part| part.below(number)).sum::<u64>(), number);
            }
            for part in parts {
                let own: Vec<u64> = (0..200).filter(|number| part.has(*number)).collect();
                let nth: Vec<u64> = (0..own.len() as u64).map(|place| part.nth(place)).collect();
                assert_eq!(own, nth, "{part:?}");
                for place in 0..part.own() {
                    let thread = part.thread(place);
                    assert!(part.has(u64::from(thread)) && part.place_of(thread) == place);
                }
            }
        }
    }
}
