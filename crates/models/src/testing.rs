//! Helpers of the models' tests: commands, and hosts that keep a number of them in flight on their
//! own clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::time::Time;
use super::timing::{Command, Due, Kind, Timing};

pub(super) fn read(offset: u64, length: u64, arrival: Time) -> Command {
    Command { kind: Kind::Read, offset, length, force_unit_access: false, arrival }
}

pub(super) fn write(offset: u64, length: u64, arrival: Time) -> Command {
    Command { kind: Kind::Write, ..read(offset, length, arrival) }
}

pub(super) fn flush(arrival: Time) -> Command {
    Command { kind: Kind::Flush, ..read(0, 0, arrival) }
}

/// Submits `command`; returns its answer time as far as it is known.
pub(super) fn submit(timing: &mut impl Timing, command: &Command) -> Due {
    let mut due = Due::at(command.arrival);
    timing.begin(command, &mut due);
    timing.end(command, &mut due);
    due
}

/// The answer to a command that no other precedes.
pub(super) fn ask(timing: &mut impl Timing, command: Command) -> Due {
    let mut due = submit(timing, &command);
    while put_off(timing, &mut due) {}
    due
}

/// Settles `due`, whose time has come; returns true if it was put off.
pub(super) fn put_off(timing: &mut impl Timing, due: &mut Due) -> bool {
    let told = due.when();
    if due.ticket().is_some() {
        timing.settle(due);
    }
    due.when() > told
}

/// A command and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) command: Command,
    pub(super) due: Due,
}

impl Answered {
    pub(super) fn latency(&self) -> Time {
        self.due.when() - self.command.arrival
    }
}

/// Submits commands at their arrival times, in order; returns the answers in the same order.
pub(super) fn open_loop(timing: &mut impl Timing, commands: &[Command]) -> Vec<Answered> {
    let mut flight = BinaryHeap::new();
    let mut answers: Vec<Option<Due>> = vec![None; commands.len()];
    let mut answer_until = |timing: &mut _, flight: &mut BinaryHeap<Reverse<Flight>>, until| {
        while let Some(Reverse(next)) = flight.pop_if_before(until) {
            let mut due = next.due;
            if put_off(timing, &mut due) {
                flight.push(Reverse(Flight { due, ..next }));
            } else {
                answers[next.number] = Some(due);
            }
        }
    };
    for (number, command) in commands.iter().enumerate() {
        answer_until(timing, &mut flight, command.arrival);
        flight.push(Reverse(Flight { due: submit(timing, command), number }));
    }
    answer_until(timing, &mut flight, Time::MAX);
    let answered = commands.iter().zip(&answers);
    answered.map(|(&command, due)| Answered { command, due: due.unwrap() }).collect()
}

/// Runs `total` commands with `depth` always in flight; `make` makes each when it comes.
pub(super) fn closed_loop(
    timing: &mut impl Timing,
    depth: usize,
    total: usize,
    mut make: impl FnMut(usize) -> Command,
) -> Vec<Answered> {
    let mut commands: Vec<Command> = Vec::with_capacity(total);
    let mut answered = Vec::with_capacity(total);
    let mut flight = BinaryHeap::new();
    let mut issue = |timing: &mut _, flight: &mut BinaryHeap<_>, commands: &mut Vec<_>, arrival| {
        let number = commands.len();
        let command = Command { arrival, ..make(number) };
        flight.push(Reverse(Flight { due: submit(timing, &command), number }));
        commands.push(command);
    };
    for _ in 0..depth.min(total) {
        issue(timing, &mut flight, &mut commands, Time::ZERO);
    }
    while let Some(Reverse(next)) = flight.pop() {
        let mut due = next.due;
        if put_off(timing, &mut due) {
            flight.push(Reverse(Flight { due, ..next }));
            continue;
        }
        answered.push(Answered { command: commands[next.number], due });
        if commands.len() < total {
            issue(timing, &mut flight, &mut commands, due.when());
        }
    }
    answered
}

/// Commands a second at a depth.
pub(super) fn per_s(
    timing: &mut impl Timing,
    depth: usize,
    total: usize,
    make: impl FnMut(usize) -> Command,
) -> f64 {
    let answered = closed_loop(timing, depth, total, make);
    let end = answered.iter().map(|answered| answered.due.when()).max().unwrap();
    total as f64 / end.as_s()
}

/// Mean latency in microseconds.
pub(super) fn mean_us(answered: &[Answered]) -> f64 {
    answered.iter().map(|answer| answer.latency().as_us()).sum::<f64>() / answered.len() as f64
}

#[track_caller]
pub(super) fn assert_near(figure: f64, expected: f64, tolerance: f64) {
    let error = figure / expected - 1.0;
    assert!(error.abs() < tolerance, "{figure} for {expected}: off by {:.2} %", 100.0 * error);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flight {
    due: Due,
    number: usize,
}

impl Ord for Flight {
    fn cmp(&self, other: &Flight) -> std::cmp::Ordering {
        (self.due.when(), self.number).cmp(&(other.due.when(), other.number))
    }
}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Flight) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

trait PopIfBefore {
    fn pop_if_before(&mut self, until: Time) -> Option<Reverse<Flight>>;
}

impl PopIfBefore for BinaryHeap<Reverse<Flight>> {
    fn pop_if_before(&mut self, until: Time) -> Option<Reverse<Flight>> {
        if self.peek()?.0.due.when() <= until { self.pop() } else { None }
    }
}
