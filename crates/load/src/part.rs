//! A part of a load: what one of several hosts does of it.
//!
//! All hosts have the same schedule, with all threads, and each knows which part is its own. What a load has one sequence of (threads,
//! planned starts, events, numbers of new rows) is dealt out in turn, as cards are, to threads and thereby to hosts: all parts together
//! have each once, and draw what one load with all threads draws. A start that is dealt to a host waits for a thread of that host.

use serde::{Deserialize, Serialize};

/// Which part of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// From 0.
    pub number: u32,
    /// How many parts there are.
    pub of: u32,
}

impl Part {
    /// All of it.
    pub const WHOLE: Part = Part { number: 0, of: 1 };

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    pub(crate) fn is_whole(&self) -> bool {
        self.of == 1
    }

    /// How many of the numbers below `n` are this part's where they are dealt to parts in turn.
    fn below(self, n: u64) -> u64 {
        (n + u64::from(self.of - 1 - self.number)) / u64::from(self.of)
    }
}

impl Default for Part {
    fn default() -> Part {
        Part::WHOLE
    }
}

/// How a sequence is dealt out to the threads of a load, of which a part has its own: number n is thread n mod `threads`'s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deal {
    part: Part,
    threads: u32,
    /// Threads of the part.
    own: u32,
}

impl Deal {
    /// To so many threads, of which this part has its own.
    pub(crate) fn new(part: Part, threads: u32) -> Deal {
        Deal { part, threads, own: part.below(u64::from(threads)) as u32 }
    }

    /// To so many threads, all of them this part's.
    pub(crate) fn to(threads: u32) -> Deal {
        Deal { part: Part::WHOLE, threads, own: threads }
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

    /// The place, among the part's own, of a thread of it.
    pub(crate) fn place_of(self, thread: u32) -> u32 {
        thread / self.part.of
    }

    /// Whether it is the first part, which does what is done once.
    pub(crate) fn is_first(self) -> bool {
        self.part.number == 0
    }

    /// Whether this number is the part's.
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

    /// How many numbers below `n` are the part's.
    pub(crate) fn below(self, n: u64) -> u64 {
        let threads = u64::from(self.threads.max(1));
        n / threads * u64::from(self.own) + self.part.below(n % threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(threads: u32, of: u32) -> Vec<Deal> {
        (0..of).map(|number| Deal::new(Part { number, of }, threads)).collect()
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
