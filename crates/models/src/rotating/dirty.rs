//! The contents of a write cache for one disk.

use std::collections::BTreeMap;

use crate::time::Time;

/// Longest piece that is written out at once: adjacent writes are joined up to this.
const DESTAGE_BYTES: u64 = 1 << 20;

/// A run of bytes to be written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) place: u64,
    pub(super) length: u64,
    /// Arrival of its oldest byte.
    pub(super) since: Time,
}

impl Run {
    fn end(&self) -> u64 {
        self.place + self.length
    }
}

/// Runs by place; none overlap.
#[derive(Debug, Clone, Default)]
pub(super) struct Dirty {
    /// Place to length and age.
    runs: BTreeMap<u64, (u64, Time)>,
    bytes: u64,
}

impl Dirty {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    fn all(&self, places: impl std::ops::RangeBounds<u64>) -> impl DoubleEndedIterator<Item = Run> {
        let runs = self.runs.range(places);
        runs.map(|(&place, &(length, since))| Run { place, length, since })
    }

    /// Adds a write; bytes that it overwrites are written out once.
    pub(super) fn insert(&mut self, place: u64, length: u64, now: Time) {
        let mut whole = Run { place, length, since: now };
        while let Some(run) = self.joining(&whole) {
            self.remove(&run);
            let end = run.end().max(whole.end());
            let place = run.place.min(whole.place);
            whole = Run { place, length: end - place, since: run.since.min(whole.since) };
        }
        for place in (whole.place..whole.end()).step_by(DESTAGE_BYTES as usize) {
            let length = DESTAGE_BYTES.min(whole.end() - place);
            self.runs.insert(place, (length, whole.since));
            self.bytes += length;
        }
    }

    /// A run that becomes a part of a write. The last run that begins before the write's end may
    /// only touch it, and be too long for that.
    fn joining(&self, write: &Run) -> Option<Run> {
        self.all(..=write.end()).rev().take(2).find(|run| joins(run, write))
    }

    /// Removes a run, which is written out.
    pub(super) fn remove(&mut self, run: &Run) {
        if self.runs.remove(&run.place).is_some() {
            self.bytes -= run.length;
        }
    }

    /// Whether all of a range is cached.
    pub(super) fn covers(&self, place: u64, length: u64) -> bool {
        let mut to = place;
        while let Some(run) = self.all(..=to).next_back()
            && run.end() > to
        {
            to = run.end();
            if to >= place + length {
                return true;
            }
        }
        false
    }

    /// The next run from `place` on, starting again at the beginning; one as old as `written_by` if
    /// there is any.
    pub(super) fn next(&self, place: u64, written_by: Option<Time>) -> Option<Run> {
        let mut round = self.all(place..).chain(self.all(..place));
        let old = |run: &Run| written_by.is_none_or(|by| run.since <= by);
        round.find(old).or_else(|| self.all(place..).chain(self.all(..place)).next())
    }

    /// Number of runs as old as `by`.
    pub(super) fn written_by(&self, by: Time) -> usize {
        self.all(..).filter(|run| run.since <= by).count()
    }
}

/// Whether a run becomes a part of a write: it overlaps, or it touches and both are short enough.
fn joins(run: &Run, write: &Run) -> bool {
    let overlaps = run.end() > write.place && run.place < write.end();
    let touches = run.end() == write.place || run.place == write.end();
    overlaps || (touches && run.length + write.length <= DESTAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: u64 = 4096;

    #[test]
    fn runs_come_in_the_order_of_their_places_and_round_again() {
        let mut dirty = Dirty::default();
        let at = Time::from_ns;
        for (number, block) in [5, 50, 500].into_iter().enumerate() {
            dirty.insert(block * BLOCK, BLOCK, at(number as u64));
        }
        let next = |from, by| dirty.next(from * BLOCK, by).unwrap().place / BLOCK;
        assert_eq!([next(0, None), next(6, None), next(501, None)], [5, 50, 5]);
        // Runs that a flush waits for go first; if there are none, any run does.
        assert_eq!([next(6, Some(at(0))), next(51, Some(at(1)))], [5, 5]);
        let mut young = Dirty::default();
        young.insert(BLOCK, BLOCK, at(9));
        assert_eq!(young.next(0, Some(at(1))).unwrap().place, BLOCK);
        assert_eq!(young.written_by(at(8)), 0);
    }

    #[test]
    fn what_joins_older_bytes_is_as_old_as_these() {
        let at = Time::from_ns;
        // Touching, overlapping, and before: a flush that waits for the old bytes waits for all.
        for place in [BLOCK, 0, BLOCK / 2] {
            let mut dirty = Dirty::default();
            dirty.insert(0, BLOCK, at(1));
            dirty.insert(place, BLOCK, at(9));
            assert_eq!((dirty.runs(), dirty.written_by(at(1))), (1, 1), "{place}");
        }
    }

    proptest! {
        #[test]
        fn it_holds_what_was_written_and_counts_it_once(
            writes in prop::collection::vec((0..2000_u64, 1..600_u64), 1..60)
        ) {
            let mut dirty = Dirty::default();
            let mut blocks = std::collections::BTreeSet::new();
            for (number, &(block, length)) in writes.iter().enumerate() {
                dirty.insert(block * BLOCK, length * BLOCK, Time::from_ns(number as u64));
                blocks.extend(block..block + length);
                prop_assert_eq!(dirty.bytes(), blocks.len() as u64 * BLOCK);
            }
            for block in 0..2700 {
                prop_assert_eq!(dirty.covers(block * BLOCK, BLOCK), blocks.contains(&block));
            }
            let runs: Vec<Run> = dirty.all(..).collect();
            prop_assert!(runs.windows(2).all(|pair| pair[0].end() <= pair[1].place));
            prop_assert!(runs.iter().all(|run| run.length <= DESTAGE_BYTES));
        }
    }
}
