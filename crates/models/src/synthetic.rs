//! Models with one stated flaw, to show that measurements notice it.
//!
//! A drive that tears writes is not among them, because that is no matter of time: see
//! [`super::Tearing`].

use super::time::Time;
use super::timing::{Command, Due, Resource, Timing};

/// A device that periodically answers nothing for a while.
#[derive(Debug, Clone)]
pub struct Stalling<T> {
    below: T,
    period: Time,
    length: Time,
}

impl<T> Stalling<T> {
    /// `below`, stalled for the last `length` of each `period` of the clock; never if the period is
    /// zero or the stall is as long.
    #[must_use]
    pub fn new(below: T, period: Time, length: Time) -> Stalling<T> {
        let length = if length < period { length } else { Time::ZERO };
        Stalling { below, period, length }
    }

    fn sit_out(&self, due: &mut Due) {
        if self.length == Time::ZERO {
            return;
        }
        let to_end = self.period - due.when() % self.period;
        if to_end <= self.length {
            due.wait(due.when() + to_end, Resource::Fault);
        }
    }
}

impl<T: Timing> Timing for Stalling<T> {
    fn begin(&mut self, command: &Command, due: &mut Due) {
        self.sit_out(due);
        self.below.begin(command, due);
    }

    fn end(&mut self, command: &Command, due: &mut Due) {
        self.below.end(command, due);
        self.sit_out(due);
    }

    fn settle(&mut self, due: &mut Due) {
        let told = due.when();
        self.below.settle(due);
        if due.when() > told {
            self.sit_out(due);
        }
    }
}

/// A device that is slower in everything by the same factor: time goes by more slowly below.
#[derive(Debug, Clone)]
pub struct Slower<T> {
    below: T,
    times: u64,
}

const PARTS: u64 = 1000;

impl<T: Timing> Slower<T> {
    /// `below` with every latency longer, and every rate lower, by `per_mille` thousandths.
    #[must_use]
    pub fn new(below: T, per_mille: u32) -> Slower<T> {
        Slower { below, times: PARTS + u64::from(per_mille) }
    }

    fn ask(&mut self, due: &mut Due, ask: impl FnOnce(&mut T, &mut Due)) {
        let mut inner = due.scaled(PARTS, self.times);
        ask(&mut self.below, &mut inner);
        let mut outer = inner.scaled(self.times, PARTS);
        // The rounding is never undone.
        outer.wait(due.when(), inner.resource());
        *due = outer;
    }

    fn inner(&self, command: &Command) -> Command {
        Command { arrival: command.arrival.scaled(PARTS, self.times), ..*command }
    }
}

impl<T: Timing> Timing for Slower<T> {
    fn begin(&mut self, command: &Command, due: &mut Due) {
        let inner = self.inner(command);
        self.ask(due, |below, due| below.begin(&inner, due));
    }

    fn end(&mut self, command: &Command, due: &mut Due) {
        let inner = self.inner(command);
        self.ask(due, |below, due| below.end(&inner, due));
    }

    fn settle(&mut self, due: &mut Due) {
        let told = due.when();
        let mut moved = *due;
        self.ask(&mut moved, |below, due| below.settle(due));
        // An unmoved answer has only been rounded.
        if moved.when() > told + Time::from_ns(1) {
            *due = moved;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, read};
    use super::super::volume::{VolumeLimits, VolumeTiming};
    use super::super::{Immediate, Rate};
    use super::*;

    const MS: u64 = 1_000_000;

    fn answered_ms(timing: &mut impl Timing, arrival_ms: u64) -> u64 {
        let due = testing::ask(timing, read(0, 4096, Time::from_ns(arrival_ms * MS)));
        due.when().as_ns() / MS
    }

    #[test]
    fn it_stalls_200_ms_every_10_s_and_no_longer() {
        let mut timing =
            Stalling::new(Immediate, Time::from_ns(10_000 * MS), Time::from_ns(200 * MS));
        for (arrival, answer) in [
            (0, 0),
            (9_799, 9_799),
            (9_800, 10_000),
            (9_999, 10_000),
            (10_000, 10_000),
            (19_900, 20_000),
        ] {
            assert_eq!(answered_ms(&mut timing, arrival), answer, "came at {arrival} ms");
        }
        let mut never = Stalling::new(Immediate, Time::ZERO, Time::from_ns(MS));
        assert_eq!(answered_ms(&mut never, 9_900), 9_900);
    }

    #[test]
    fn what_would_be_answered_in_a_stall_is_answered_after_it() {
        let volume = || {
            let mut limits = VolumeLimits::only(Rate(1e9), Rate(1e18), Time::ZERO);
            limits.read_latency = super::super::volume::LatencyModel::Fixed(Time::from_ns(50 * MS));
            VolumeTiming::new(limits, 1)
        };
        let mut timing =
            Stalling::new(volume(), Time::from_ns(10_000 * MS), Time::from_ns(200 * MS));
        assert_eq!(answered_ms(&mut timing, 9_700), 9_750);
        assert_eq!(answered_ms(&mut timing, 9_780), 10_000);
        assert_eq!(answered_ms(&mut timing, 9_900), 10_050);
    }

    #[test]
    fn latency_and_throughput_are_both_slower_by_five_percent() {
        // One at a time the latency decides, at depth 64 the limit.
        let volume = || {
            let mut limits = VolumeLimits::only(Rate(1000.0), Rate(1e18), Time::ZERO);
            limits.read_latency = super::super::volume::LatencyModel::Fixed(Time::from_ns(5 * MS));
            VolumeTiming::new(limits, 1)
        };
        for depth in [1, 64] {
            let quick = testing::per_s(&mut volume(), depth, 4000, |_| read(0, 4096, Time::ZERO));
            let mut slower = Slower::new(volume(), 50);
            let slow = testing::per_s(&mut slower, depth, 4000, |_| read(0, 4096, Time::ZERO));
            let ratio = quick / slow;
            assert!((ratio - 1.05).abs() < 0.001, "depth {depth}: {quick} and {slow}");
        }
    }
}
