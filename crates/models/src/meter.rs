//! Rate limits and wires.

use super::time::{Rate, Time};
use super::timing::{Due, Resource};

/// A rate limit with credit for a rest.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    rate: Rate,
    burst: Time,
    /// The time at which everything let through so far is paid for.
    paid_at: Time,
}

impl Meter {
    /// A limit of `rate`, with credit for a rest of up to `burst`, full at first.
    pub(super) fn new(rate: Rate, burst: Time) -> Meter {
        Meter { rate, burst, paid_at: Time::ZERO }
    }

    /// The time at which a command that arrives at `now` may pass.
    ///
    /// With [`Meter::pay`], this is the generic cell rate algorithm in its virtual scheduling form
    /// (ITU-T I.371, annex A): in any time T, at most rate × (T + burst) and one command pass.
    pub(super) fn turn(&self, now: Time) -> Time {
        now.max(self.paid_at - self.burst)
    }

    /// Lets `amount` pass at `turn`. It is paid for afterwards: after a rest, the first passes at
    /// once, however large.
    pub(super) fn pay(&mut self, turn: Time, amount: u64) {
        self.paid_at = turn.max(self.paid_at) + self.rate.time_for(amount);
    }
}

/// A wire with a bandwidth, which passes one command after another.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    rate: Rate,
    free: Time,
}

impl Wire {
    pub(super) fn new(rate: Rate) -> Wire {
        Wire { rate, free: Time::ZERO }
    }

    /// Passes `bytes` of a command that reaches the wire when it is `due` and was known at `known`.
    ///
    /// Commands come here in another order than they are known in. One that is known first may
    /// reach the wire last, and must not hold it up until then. So the wire counts from the time at
    /// which they are known, and a command waits only if more is owed than its own way here took.
    pub(super) fn pass(&mut self, bytes: u64, known: Time, due: &mut Due, resource: Resource) {
        let span = self.rate.time_for(bytes);
        let owed = self.free;
        self.free = owed.max(known) + span;
        due.wait(owed, resource);
        due.spend(span, resource);
    }

    /// Time of `bytes` if nothing else passes.
    pub(super) fn span(&self, bytes: u64) -> Time {
        self.rate.time_for(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Time = Time::from_ns(1_000_000);

    fn turn(meter: &mut Meter, now: Time) -> Time {
        let turn = meter.turn(now);
        meter.pay(turn, 1);
        turn
    }

    /// Turns of `count` commands that arrive together, in milliseconds from then.
    fn turns(meter: &mut Meter, now_ms: u64, count: usize) -> Vec<u64> {
        let now = MILLISECOND * now_ms;
        (0..count).map(|_| (turn(meter, now) - now).as_ns() / 1_000_000).collect()
    }

    #[test]
    fn a_rest_is_made_up_for_but_no_longer_than_the_burst() {
        let mut meter = Meter::new(Rate(1000.0), MILLISECOND * 3);
        assert_eq!(turns(&mut meter, 1_000, 6), [0, 0, 0, 0, 1, 2]);
        // Two of the six are still to be paid for when half of the rest is over.
        assert_eq!(turns(&mut meter, 1_004, 6), [0, 0, 1, 2, 3, 4]);
        assert_eq!(turns(&mut meter, 9_000, 6), [0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn rates_that_do_not_divide_a_second_do_not_drift() {
        let mut meter = Meter::new(Rate(3_000_000.0), Time::ZERO);
        let last = (0..=30_000_000).map(|_| turn(&mut meter, Time::ZERO)).last().unwrap();
        let error = (last.as_s() - 10.0).abs();
        assert!(error < 10.0 / 100_000.0, "{error} s off in 10 s");
    }

    #[test]
    fn a_wire_keeps_to_its_rate_and_is_not_held_up_by_what_comes_later() {
        let mut wire = Wire::new(Rate(1e6));
        let mut pass = |known_ms: u64, there_ms: u64| {
            let mut due = Due::at(MILLISECOND * there_ms);
            wire.pass(1000, MILLISECOND * known_ms, &mut due, Resource::Link);
            due.when().as_ns() / 1_000_000
        };
        assert_eq!(pass(0, 100), 101);
        assert_eq!(pass(1, 5), 6);
        let last = (0..50).map(|_| pass(2, 2)).last();
        assert_eq!(last, Some(52));
    }
}
