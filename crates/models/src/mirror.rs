//! A mirror: sides that hold the same data. A write goes to all sides and is answered when the last
//! is done; a read goes to one.
//!
//! The address decides which side reads, not idleness: the same command takes the same side in both
//! halves of its way, and a queue is spread evenly if its addresses are. A real mirror that asks
//! the idler side is a little faster.

use super::timing::{Command, Due, Kind, Timing};

/// The sides, each with its own state.
#[derive(Debug)]
pub struct MirrorTiming<T> {
    sides: Vec<T>,
    turn_bytes: u64,
}

impl<T: Timing> MirrorTiming<T> {
    /// A mirror of `sides`, at least one, each made by `side`. Every `turn_bytes` of the address
    /// space, the next side reads.
    #[must_use]
    pub fn new(sides: u32, turn_bytes: u64, side: impl FnMut() -> T) -> MirrorTiming<T> {
        let sides = std::iter::repeat_with(side).take(sides.max(1) as usize).collect();
        MirrorTiming { sides, turn_bytes: turn_bytes.max(1) }
    }

    fn each(&mut self, command: &Command, due: &mut Due, step: impl Fn(&mut T, &mut Due)) {
        if command.kind == Kind::Read {
            let side = command.offset / self.turn_bytes % self.sides.len() as u64;
            step(&mut self.sides[side as usize], due);
            return;
        }
        let start = *due;
        for side in &mut self.sides {
            let mut part = start;
            step(side, &mut part);
            due.join(part);
        }
    }
}

impl<T: Timing> Timing for MirrorTiming<T> {
    fn begin(&mut self, command: &Command, due: &mut Due) {
        self.each(command, due, |side, due| side.begin(command, due));
    }

    fn end(&mut self, command: &Command, due: &mut Due) {
        self.each(command, due, |side, due| side.end(command, due));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;
    use crate::timing::Resource;

    /// Serves one command after the other, each in a millisecond.
    struct Single {
        free: Time,
    }

    impl Timing for Single {
        fn begin(&mut self, _command: &Command, _due: &mut Due) {}

        fn end(&mut self, _command: &Command, due: &mut Due) {
            due.wait(self.free, Resource::Die);
            due.spend(Time::from_us(1000.0), Resource::Flash);
            self.free = due.when();
        }
    }

    /// Answer time of the last of a hundred commands that arrive at once, in ms.
    fn last_ms(sides: u32, kind: Kind) -> f64 {
        let mut mirror = MirrorTiming::new(sides, 4096, || Single { free: Time::ZERO });
        let answers = (0..100).map(|number| {
            let command = Command {
                kind,
                offset: number * 4096,
                length: 4096,
                force_unit_access: false,
                arrival: Time::ZERO,
            };
            let mut due = Due::at(command.arrival);
            mirror.begin(&command, &mut due);
            mirror.end(&command, &mut due);
            due.when().as_us() / 1000.0
        });
        answers.fold(0.0, f64::max)
    }

    #[test]
    fn a_pair_reads_twice_as_much_as_one_and_writes_as_much() {
        assert_eq!(last_ms(1, Kind::Read), 100.0);
        assert_eq!(last_ms(2, Kind::Read), 50.0);
        assert_eq!(last_ms(1, Kind::Write), 100.0);
        assert_eq!(last_ms(2, Kind::Write), 100.0);
    }

    #[test]
    fn a_write_waits_for_the_busier_side() {
        let mut mirror = MirrorTiming::new(2, 4096, || Single { free: Time::ZERO });
        let command = |kind, offset| Command {
            kind,
            offset,
            length: 4096,
            force_unit_access: false,
            arrival: Time::ZERO,
        };
        let mut answer = |command: Command| {
            let mut due = Due::at(command.arrival);
            mirror.end(&command, &mut due);
            due.when().as_us()
        };
        for _ in 0..3 {
            answer(command(Kind::Read, 4096));
        }
        assert_eq!(answer(command(Kind::Write, 0)), 4000.0, "behind three reads of the other side");
        assert_eq!(answer(command(Kind::Read, 0)), 2000.0, "behind that write alone");
    }
}
