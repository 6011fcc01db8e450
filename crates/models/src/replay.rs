//! Replay: the commands of a trace on another disk in virtual time, as fast as they can be
//! computed.
//!
//! A load reacts to answers: the program that waited for one command sent the next. So, unless they
//! are replayed as recorded, each command comes as long after the answer that it waited for as it
//! did in the recording. It is assumed to have waited for the last answer before it (as in Weiss et
//! al., "ROOT: Replaying multithreaded traces with resource-oriented ordering", SOSP 2013, if
//! nothing more is known). That time is counted from when the answer was due: its lateness was the
//! recording machine's, which adds it again, and a device that behaves as recorded gets exactly the
//! recorded commands.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::ControlFlow;

use super::time::Time;
use super::timing::{Due, Kind, Resource};
use super::trace::Event;
use assay_disk::Result;

/// The arrival of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayPacing {
    /// After the answer that they waited for, which is seen no sooner than the port's round trip
    /// after its command.
    AfterAnswers {
        /// The port's round trip.
        port: Time,
    },
    /// As recorded, whatever the answers.
    AsRecorded,
}

/// A disk in virtual time.
pub trait Replayed {
    /// Submits a command at `at`, never before an earlier one; returns its answer time as far as it
    /// is known.
    ///
    /// # Errors
    /// Those of the disk.
    fn command(&mut self, at: Time, event: &Event) -> Result<Due>;

    /// Returns true if the command of `event`, which came at `at`, is answered now that the time of
    /// `due` has come. Otherwise others were put before it, and `due` is later.
    ///
    /// # Errors
    /// Those of the disk.
    fn settle(&mut self, _at: Time, _event: &Event, _due: &mut Due) -> Result<bool> {
        Ok(true)
    }
}

/// The replay of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayedCommand {
    pub kind: Kind,
    /// Arrival in the replay.
    pub arrival: Time,
    /// Arrival in the trace.
    pub recorded_arrival: Time,
    /// Latency in the replay.
    pub latency: Time,
    /// Resource for which it waited longest without a break.
    pub resource: Resource,
    /// Modelled latency in the trace.
    pub recorded_modelled: Time,
    /// Achieved latency in the trace.
    pub recorded_achieved: Time,
}

impl ReplayedCommand {
    fn new(event: &Event, arrival: Time, due: Due) -> ReplayedCommand {
        ReplayedCommand {
            kind: event.command.kind,
            arrival,
            recorded_arrival: event.command.arrival,
            latency: due.when() - arrival,
            resource: due.resource(),
            recorded_modelled: event.modelled,
            recorded_achieved: event.achieved,
        }
    }
}

/// Replays `events`, in the order of their arrival, and reports each answer, until there are no
/// more or the observer breaks off.
///
/// # Errors
/// The disk's first.
pub fn replay(
    events: &[Event],
    disk: &mut dyn Replayed,
    arrivals: ReplayPacing,
    mut tell: impl FnMut(&ReplayedCommand) -> ControlFlow<()>,
) -> Result<()> {
    let waiting = Waiting::new(events, arrivals);
    let arrive = |(at, index)| Reverse(Happening { at, is_arrival: true, index });
    let mut to_come: BinaryHeap<_> = waiting.first.iter().copied().map(arrive).collect();
    // Commands whose answer may still be put off: arrival, and answer time.
    let mut in_queue: HashMap<usize, (Time, Due)> = HashMap::new();
    while let Some(Reverse(Happening { at, is_arrival, index })) = to_come.pop() {
        let event = &events[index];
        let (arrival, mut due) = match in_queue.remove(&index) {
            Some(known) => known,
            None => (at, disk.command(at, event)?),
        };
        let is_to_be_seen = is_arrival && due.ticket().is_some();
        if is_to_be_seen || !disk.settle(arrival, event, &mut due)? {
            to_come.push(Reverse(Happening { at: due.when(), is_arrival: false, index }));
            in_queue.insert(index, (arrival, due));
            continue;
        }
        if tell(&ReplayedCommand::new(event, arrival, due)).is_break() {
            break;
        }
        let seen = waiting.seen(arrival, due.when() - arrival);
        to_come.extend(waiting.after(index).map(|(gap, next)| arrive((seen + gap, next))));
    }
    Ok(())
}

/// A command's arrival or answer. Answers come before arrivals of the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Happening {
    at: Time,
    is_arrival: bool,
    index: usize,
}

/// The commands for which others wait.
struct Waiting {
    /// Commands that wait for none, with their arrival.
    first: Vec<(Time, usize)>,
    /// The other commands: the one for which each waits, the time from that answer, and its own
    /// number. Sorted by the first.
    others: Vec<(usize, Time, usize)>,
    /// Least time after which an answer is seen.
    port: Time,
}

impl Waiting {
    fn new(events: &[Event], arrivals: ReplayPacing) -> Waiting {
        let port = match arrivals {
            ReplayPacing::AfterAnswers { port } => port,
            ReplayPacing::AsRecorded => Time::ZERO,
        };
        let mut waiting = Waiting { first: Vec::new(), others: Vec::new(), port };
        let mut open: BinaryHeap<Reverse<(Time, usize)>> = BinaryHeap::new();
        let mut last: Option<(Time, usize)> = None;
        for (index, event) in events.iter().enumerate() {
            let arrival = event.command.arrival;
            while let Some(Reverse(answer)) = open.peek().copied()
                && answer.0 <= arrival
            {
                open.pop();
                last = Some(answer);
            }
            match last {
                Some((_, former)) if arrivals != ReplayPacing::AsRecorded => {
                    let waited_for = &events[former];
                    let seen = waiting.seen(waited_for.command.arrival, waited_for.modelled);
                    waiting.others.push((former, arrival - seen, index));
                }
                _ => waiting.first.push((arrival, index)),
            }
            open.push(Reverse((arrival + event.achieved, index)));
        }
        waiting.others.sort_unstable();
        waiting
    }

    /// The time at which the sender at `arrival` sees an answer that took `latency`.
    fn seen(&self, arrival: Time, latency: Time) -> Time {
        arrival + latency.max(self.port)
    }

    fn after(&self, index: usize) -> impl Iterator<Item = (Time, usize)> + '_ {
        let from = self.others.partition_point(|other| other.0 < index);
        let those = self.others[from..].iter().take_while(move |other| other.0 == index);
        those.map(|(_, gap, next)| (*gap, *next))
    }
}

#[cfg(test)]
mod tests {
    use super::super::timing::Command;
    use super::*;

    fn event(arrival_us: f64, achieved_us: f64) -> Event {
        let arrival = Time::from_us(arrival_us);
        let kind = Kind::Read;
        Event {
            command: Command { kind, offset: 0, length: 4096, force_unit_access: false, arrival },
            modelled: Time::from_us(achieved_us),
            achieved: Time::from_us(achieved_us),
            stored_bytes: Vec::new(),
        }
    }

    /// Answers every command after the same time.
    struct Constant(f64, Time);

    impl Replayed for Constant {
        fn command(&mut self, at: Time, _event: &Event) -> Result<Due> {
            assert!(at >= self.1, "time goes on");
            self.1 = at;
            Ok(Due::at(at + Time::from_us(self.0)))
        }
    }

    fn after_answers(port_us: f64) -> ReplayPacing {
        ReplayPacing::AfterAnswers { port: Time::from_us(port_us) }
    }

    fn arrivals_us(events: &[Event], latency_us: f64, arrivals: ReplayPacing) -> Vec<f64> {
        let mut told = Vec::new();
        let mut disk = Constant(latency_us, Time::ZERO);
        replay(events, &mut disk, arrivals, |answer| {
            told.push(answer.arrival.as_us());
            ControlFlow::Continue(())
        })
        .unwrap();
        told
    }

    #[test]
    fn a_faster_disk_is_asked_sooner_by_those_who_waited() {
        // One after another with 5 µs of thought, and one a second later that waits for none.
        let events =
            [event(0.0, 100.0), event(0.0, 250.0), event(105.0, 100.0), event(210.0, 100.0)];
        assert_eq!(arrivals_us(&events, 10.0, after_answers(0.0)), [0.0, 0.0, 15.0, 30.0]);
        assert_eq!(arrivals_us(&events, 10.0, after_answers(40.0)), [0.0, 0.0, 45.0, 90.0]);
        assert_eq!(arrivals_us(&events, 10.0, ReplayPacing::AsRecorded), [0.0, 0.0, 105.0, 210.0]);
    }

    #[test]
    fn on_the_same_disk_everything_comes_when_it_came_however_late_it_was() {
        for late_us in [0.0, 23.0] {
            let late = |number: u32| {
                let event = event(f64::from(number) * 37.0, 100.0);
                Event { achieved: event.modelled + Time::from_us(late_us), ..event }
            };
            let events: Vec<Event> = (0..50).map(late).collect();
            let recorded: Vec<f64> =
                events.iter().map(|event| event.command.arrival.as_us()).collect();
            assert_eq!(arrivals_us(&events, 100.0, after_answers(0.0)), recorded);
            assert_eq!(arrivals_us(&events, 100.0, after_answers(110.0)), recorded);
        }
    }
}
