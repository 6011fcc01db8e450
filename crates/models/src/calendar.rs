//! A resource that is booked ahead: each use takes the first gap that is long enough.
//!
//! Commands book in the order of their arrival, not in the order in which their data are ready. One
//! that is ready early must find the time that a later one has left.

use std::collections::VecDeque;

use super::time::Time;

/// Booked spans, in order.
#[derive(Debug, Default)]
pub(crate) struct Calendar {
    taken: VecDeque<(Time, Time)>,
}

impl Calendar {
    /// Books `span` in the first gap from `at` on and returns its beginning. No later call asks for
    /// a time before `now`.
    pub(crate) fn take(&mut self, now: Time, at: Time, span: Time) -> Time {
        while self.taken.front().is_some_and(|(_, until)| *until <= now) {
            self.taken.pop_front();
        }
        let mut start = at;
        let mut place = self.taken.partition_point(|(_, until)| *until <= at);
        while let Some((from, until)) = self.taken.get(place)
            && *from < start + span
        {
            start = start.max(*until);
            place += 1;
        }
        self.put(place, start, start + span);
        start
    }

    /// Joins adjacent spans, so that a busy resource is a short list.
    fn put(&mut self, place: usize, start: Time, end: Time) {
        let joins_former = place > 0 && self.taken[place - 1].1 == start;
        let joins_next = self.taken.get(place).is_some_and(|(from, _)| *from == end);
        match (joins_former, joins_next) {
            (true, true) => {
                self.taken[place - 1].1 = self.taken[place].1;
                self.taken.remove(place);
            }
            (true, false) => self.taken[place - 1].1 = end,
            (false, true) => self.taken[place].0 = start,
            (false, false) => self.taken.insert(place, (start, end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(time: f64) -> Time {
        Time::from_us(time)
    }

    #[test]
    fn what_is_ready_early_finds_the_gap_that_a_later_one_left() {
        let mut calendar = Calendar::default();
        assert_eq!(calendar.take(us(0.0), us(100.0), us(10.0)), us(100.0));
        assert_eq!(calendar.take(us(0.0), us(20.0), us(10.0)), us(20.0));
        assert_eq!(calendar.take(us(0.0), us(95.0), us(10.0)), us(110.0));
        assert_eq!(calendar.take(us(0.0), us(90.0), us(10.0)), us(90.0));
        assert_eq!(calendar.take(us(0.0), us(15.0), us(10.0)), us(30.0));
        assert_eq!(calendar.taken.len(), 2, "20 to 40 and 90 to 120");
        assert_eq!(calendar.take(us(200.0), us(200.0), us(1.0)), us(200.0));
        assert_eq!(calendar.taken.len(), 1, "what is over is forgotten");
    }

    #[test]
    fn no_two_uses_overlap_whatever_the_order() {
        let mut calendar = Calendar::default();
        let mut uses: Vec<(Time, Time)> = (0..1000_u32)
            .map(|number| {
                let at = us(f64::from(number.wrapping_mul(2_654_435_761) % 5000));
                let span = us(f64::from(1 + number % 7));
                let start = calendar.take(Time::ZERO, at, span);
                assert!(start >= at);
                (start, start + span)
            })
            .collect();
        uses.sort();
        assert!(uses.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
}
