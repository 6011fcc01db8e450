//! Counts of a model: modelled and achieved latencies of commands, and the resources for which they
//! waited.

use std::sync::atomic::{AtomicU64, Ordering};

use super::time::Time;
use super::timing::{Kind, Resource};

/// Kinds of commands, in the order of [`CommandTally::of_kind`].
pub const KINDS: [Kind; 4] = [Kind::Read, Kind::Write, Kind::Flush, Kind::Discard];

const RESOURCES: usize = Resource::ALL.len();

/// Atomic counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    kinds: [OfKind; KINDS.len()],
    waited: [AtomicU64; RESOURCES],
}

#[derive(Debug, Default)]
struct OfKind {
    commands: AtomicU64,
    modelled_ns: AtomicU64,
    achieved_ns: AtomicU64,
    missed_deadlines: AtomicU64,
    too_fast: AtomicU64,
}

/// One answered command.
pub(super) struct Passed {
    pub(super) kind: Kind,
    /// Modelled latency and its resource.
    pub(super) modelled: Time,
    pub(super) resource: Resource,
    /// Achieved latency, including the port's round trip.
    pub(super) achieved: Time,
    /// The port's own round trip.
    pub(super) port: Time,
    /// CPU time of our own work for it.
    pub(super) worked: Time,
}

/// Divisor of a command's latency below which a delay does not count: a disk of 5 ms that answers
/// after 5.03 ms is still that disk.
const LATE_PART: u64 = 20;

impl Passed {
    /// Whether it waited for our CPUs by more than the tolerance. The port's round trip is deducted
    /// where there is room for it, so it excuses nothing here.
    fn has_missed_deadline(&self) -> bool {
        let grace = self.modelled.scaled(1, LATE_PART);
        !self.is_too_fast() && self.achieved - self.port > self.modelled + grace
    }

    /// Whether not even an idle machine could keep the time: the device is faster than the port's
    /// round trip, or than our compression in its place. The excess is in the added time.
    fn is_too_fast(&self) -> bool {
        self.modelled < self.port.max(self.worked)
    }
}

impl Counters {
    pub(super) fn add(&self, passed: &Passed) {
        let add = |counter: &AtomicU64, amount: u64| counter.fetch_add(amount, Ordering::Relaxed);
        let kind = &self.kinds[passed.kind as usize];
        add(&kind.commands, 1);
        add(&kind.modelled_ns, passed.modelled.as_ns());
        add(&kind.achieved_ns, passed.achieved.as_ns());
        add(&kind.missed_deadlines, u64::from(passed.has_missed_deadline()));
        add(&kind.too_fast, u64::from(passed.is_too_fast()));
        add(&self.waited[passed.resource as usize], 1);
    }

    pub(super) fn tally(&self) -> CommandTally {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CommandTally {
            of_kind: std::array::from_fn(|index| {
                let kind = &self.kinds[index];
                TallyOfKind {
                    commands: get(&kind.commands),
                    modelled_ns: get(&kind.modelled_ns),
                    achieved_ns: get(&kind.achieved_ns),
                    missed_deadlines: get(&kind.missed_deadlines),
                    too_fast: get(&kind.too_fast),
                }
            }),
            waited: std::array::from_fn(|index| get(&self.waited[index])),
        }
    }
}

/// Counts of a model since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommandTally {
    /// In the order of [`KINDS`].
    pub of_kind: [TallyOfKind; KINDS.len()],
    /// Commands by the resource for which they waited longest, in the order of [`Resource::ALL`].
    pub waited: [u64; RESOURCES],
}

/// Counts of one kind of command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TallyOfKind {
    /// Number of commands.
    pub commands: u64,
    /// Sum of modelled latencies, in ns.
    pub modelled_ns: u64,
    /// Sum of achieved latencies, including the port's round trip, in ns.
    pub achieved_ns: u64,
    /// Commands that waited for our own CPUs: answered more than a twentieth late, though the work
    /// for them would have fitted. Commands in `too_fast` are not counted here.
    pub missed_deadlines: u64,
    /// Commands whose modelled latency is less than the port's round trip, or than the CPU time of
    /// the work for them.
    pub too_fast: u64,
}

impl CommandTally {
    /// Counts of a kind.
    #[must_use]
    pub fn of(&self, kind: Kind) -> &TallyOfKind {
        &self.of_kind[kind as usize]
    }

    /// Commands of all kinds.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.of_kind.iter().map(|kind| kind.commands).sum()
    }

    /// Share of all commands that missed their deadline because our CPUs were busy; `None` without
    /// commands.
    #[must_use]
    pub fn missed_deadline_share(&self) -> Option<f64> {
        let missed_deadlines: u64 = self.of_kind.iter().map(|kind| kind.missed_deadlines).sum();
        let commands = self.commands();
        (commands > 0).then(|| missed_deadlines as f64 / commands as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(modelled_us: f64, achieved_us: f64, worked_us: f64) -> Passed {
        Passed {
            kind: Kind::Write,
            modelled: Time::from_us(modelled_us),
            resource: Resource::Engine,
            achieved: Time::from_us(achieved_us),
            port: Time::from_us(50.0),
            worked: Time::from_us(worked_us),
        }
    }

    #[test]
    fn late_is_what_waited_for_a_cpu_and_too_fast_what_one_cannot_do_in_time() {
        for (one, expected) in [
            (passed(200.0, 200.0, 150.0), (false, false)),
            (passed(200.0, 900.0, 150.0), (true, false)),
            (passed(200.0, 900.0, 800.0), (false, true)),
            (passed(40.0, 60.0, 5.0), (false, true)),
            // The port and a twentieth are tolerated.
            (passed(200.0, 259.0, 150.0), (false, false)),
            (passed(200.0, 261.0, 150.0), (true, false)),
        ] {
            let counters = Counters::default();
            counters.add(&one);
            let told = *counters.tally().of(Kind::Write);
            assert_eq!(
                (told.missed_deadlines == 1, told.too_fast == 1),
                expected,
                "{:?}",
                one.modelled
            );
        }
    }
}
