//! One thread: starts events when they are due, and notes times. What an event does is its task's: statements on a connection, here too, or
//! operations on files.
//!
//! Guarantees: nothing is allocated between two statements once buffers have grown; one reading of the clock per
//! statement; no event starts after the window's end or after `stop`.

mod clock;
mod operation;
mod statement;
mod task;
mod values;

pub(crate) use clock::{Clock, SECOND_NS, Window, second_of};
pub(crate) use task::{Statements, Task};

#[cfg(test)]
pub(crate) use statement::render;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::connect::At;
use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::mode::Mode;
use crate::oltp::{Kind, Tables};
use crate::pace::Pacer;
use crate::random::Rng;
use crate::record::{Event, Ledger, Outcome, Phase, Sample, Time};
use assay_mysql::{Connect, Session, SessionError};

/// What all workers of a run share.
pub(crate) struct Shared<'a, T> {
    pub(crate) task: &'a T,
    pub(crate) window: Window,
    pub(crate) pacer: Option<Pacer>,
    /// No new event is to begin.
    pub(crate) stop: AtomicBool,
    /// Events begun in the window so far, and the number to stop at.
    pub(crate) begun: AtomicU64,
    pub(crate) events_max: u64,
    /// The planned start of the first event that each thread had not ended when the window did; `u64::MAX` if none.
    pub(crate) unfinished: Vec<AtomicU64>,
    /// In open loop, events that have begun and not ended.
    pub(crate) in_flight: AtomicU32,
}

/// Why an attempt at an event did not succeed.
enum Setback {
    /// Run it again.
    Again { code: u16 },
    /// Connect anew, then run it again.
    Reconnect { code: u16 },
    /// Give up the whole run.
    Fatal(Error),
}

/// A worker that is ready for its first event.
pub(crate) struct Worker<'a, T: Task> {
    pub(crate) shared: &'a Shared<'a, T>,
    thread: u32,
    pub(crate) hand: T::Hand,
    pub(crate) rng: Rng,
    ledger: Arc<Ledger>,
    pub(crate) clock: Clock,
    /// When the last statement ended, in ns of the clock.
    pub(crate) now: u64,
    /// How long after its planned start this event began, until its first statement has told.
    lateness: u64,
}

impl<'a, T: Task> Worker<'a, T> {
    /// Gets ready.
    pub(crate) fn new(
        shared: &'a Shared<'a, T>,
        thread: u32,
        seed: u64,
        ledger: Arc<Ledger>,
    ) -> Result<Worker<'a, T>> {
        Ok(Worker {
            shared,
            thread,
            hand: shared.task.hand(thread)?,
            rng: Rng::new(seed, u64::from(thread)),
            ledger,
            clock: Clock::starting_now(),
            now: 0,
            lateness: 0,
        })
    }

    /// Runs events until the window's end, the last event, or `stop`.
    pub(crate) fn run(&mut self, clock: Clock, start_ns: u64) -> Result<()> {
        self.clock = clock;
        self.clock.wait_until(start_ns, || self.stopped());
        self.now = self.clock.now();
        while !self.finished() {
            match &self.shared.pacer {
                None => self.event(self.now)?,
                Some(pacer) => {
                    let planned = start_ns + pacer.take(self.thread);
                    let stop = self.shared.window.stop();
                    self.clock.wait_until(planned.min(stop), || self.stopped());
                    if planned >= stop || self.stopped() {
                        self.leave_unfinished(planned);
                        break;
                    }
                    self.now = self.clock.now();
                    self.shared.in_flight.fetch_add(1, Ordering::Relaxed);
                    let result = self.event(planned);
                    self.shared.in_flight.fetch_sub(1, Ordering::Relaxed);
                    result?;
                }
            }
        }
        T::end(self)
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    fn finished(&self) -> bool {
        let shared = self.shared;
        if self.stopped() || self.now >= shared.window.stop() {
            return true;
        }
        let counts = shared.events_max > 0 && self.now >= shared.window.start();
        counts && shared.begun.fetch_add(1, Ordering::Relaxed) >= shared.events_max
    }

    fn event(&mut self, planned: u64) -> Result<()> {
        self.lateness = self.now.saturating_sub(planned);
        let planned = planned.min(self.now);
        let result = T::event(self, planned);
        if result.is_err() || self.shared.window.phase(self.now) == Phase::Late {
            self.leave_unfinished(planned);
        }
        result
    }

    /// Leaves word of an event that did not end inside the window.
    fn leave_unfinished(&self, planned: u64) {
        self.shared.unfinished[self.thread as usize].fetch_min(planned, Ordering::Relaxed);
    }
}

impl<C: Connect> Worker<'_, Statements<'_, C>> {
    /// Attempts the event until it succeeds, the run is over, or an error is not to be ignored.
    fn end_event(&mut self, planned: u64) -> Result<()> {
        let mut attempt = 0;
        let drawn_from = self.rng.clone();
        self.hand.buffers.again = false;
        loop {
            let began = self.now;
            match self.attempt() {
                Ok(()) => {
                    self.note_event(planned, began);
                    return Ok(());
                }
                Err(setback) => self.recover(setback, attempt)?,
            }
            attempt += 1;
            self.hand.buffers.again = true;
            if self.shared.task.program.generator == Generator::V04 {
                // Its requests are built before they run: a retry sends the same ids.
                self.rng = drawn_from.clone();
            }
            if self.stopped() || self.now >= self.shared.window.stop() {
                self.leave_unfinished(planned);
                return Ok(());
            }
        }
    }

    fn attempt(&mut self) -> Result<(), Setback> {
        let program = self.shared.task.program;
        if let Some(operations) = &program.operations {
            return self.operation(operations);
        }
        let mut event_table = None;
        for group in &program.groups {
            let mut draw = || self.rng.below(u64::from(program.tables)) as usize;
            let table = match group.tables {
                Tables::Any => draw(),
                Tables::Event => *event_table.get_or_insert_with(draw),
                Tables::None | Tables::First => 0,
            };
            for _ in 0..group.repeat {
                for &kind in group.steps {
                    self.step(kind, table)?;
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, kind: Kind, table: usize) -> Result<(), Setback> {
        let program = self.shared.task.program;
        self.think(kind);
        let values = self.hand.buffers.values(kind, program, &self.hand.points, &mut self.rng);
        let answer =
            self.hand.slots.run(&mut self.hand.session, kind, table, program, values.as_slice());
        drop(values);
        let sent = std::mem::replace(&mut self.now, self.clock.now());
        let service = self.now - sent;
        match answer {
            Ok(reply) => {
                let event = Event::Statement(kind, Outcome::from(reply));
                self.note_statement(event, service);
                Ok(())
            }
            Err(error) => {
                self.note_statement(Event::Failed, service);
                Err(self.setback(error, kind, table))
            }
        }
    }

    /// Waits as a user would before a statement. The event's time holds it, the statement's does not.
    fn think(&mut self, kind: Kind) {
        let workload = &self.shared.task.program.workload;
        let (least, limit) = (workload.user_delay_min, workload.user_delay_max);
        if least.max(limit) == 0 || matches!(kind, Kind::Begin | Kind::Commit) {
            return;
        }
        let delay_us = least + self.rng.below(limit.saturating_sub(least));
        self.clock.wait_until(self.now + delay_us * 1000, || self.stopped());
        self.now = self.clock.now();
    }

    fn setback(&self, error: SessionError, kind: Kind, table: usize) -> Setback {
        let ignored = error
            .code()
            .filter(|code| self.shared.task.program.workload.mysql_ignore_errors.covers(*code));
        match (ignored, &error) {
            (Some(code), SessionError::Lost { .. }) => Setback::Reconnect { code },
            (Some(code), _) => Setback::Again { code },
            (None, _) => {
                let text = self.shared.task.program.statement(kind, table);
                Setback::Fatal(error.at(self.shared.task.endpoint, text))
            }
        }
    }

    fn recover(&mut self, setback: Setback, attempt: u32) -> Result<()> {
        match setback {
            Setback::Fatal(error) => return Err(error),
            Setback::Again { code } => {
                self.note(Event::Ignored, Time::Both, u64::from(code));
                if self.shared.task.program.workload.mode == Mode::Strict {
                    self.roll_back()?;
                    self.back_off(attempt);
                }
            }
            Setback::Reconnect { code } => {
                self.note(Event::Ignored, Time::Both, u64::from(code));
                let (session, slots) =
                    self.shared.task.connect(self.thread).map_err(|error| not_anew(code, error))?;
                self.hand.session = session;
                self.hand.slots = slots;
                self.note(Event::Reconnect, Time::Both, 0);
            }
        }
        self.now = self.clock.now();
        Ok(())
    }

    /// After error 1205 the server keeps the transaction open, and the retry's `BEGIN` would commit half of it.
    fn roll_back(&mut self) -> Result<()> {
        let answer = self.hand.session.query(b"ROLLBACK");
        answer.map(drop).map_err(|error| error.at(self.shared.task.endpoint, "ROLLBACK"))
    }

    /// Waits 0 to 1 ms before the first retry, twice as long before each further one, at most 64 ms.
    fn back_off(&mut self, attempt: u32) {
        let longest = Duration::from_millis(1 << attempt.min(6)).as_nanos() as u64;
        let until = self.clock.now() + self.rng.below(longest);
        self.clock.wait_until(until, || self.stopped());
    }
}

impl<T: Task> Worker<'_, T> {
    pub(crate) fn note_event(&mut self, planned: u64, began: u64) {
        let (service, response) = (self.now - began, self.now - planned);
        if service == response {
            self.note(Event::Transaction, Time::Both, service);
        } else {
            self.note(Event::Transaction, Time::Service, service);
            self.note(Event::Transaction, Time::Response, response);
        }
    }

    /// The first statement of a late event bears the event's lateness; the next ones begin as their predecessors end.
    pub(crate) fn note_statement(&mut self, event: Event, service: u64) {
        match std::mem::take(&mut self.lateness) {
            0 => self.note(event, Time::Both, service),
            lateness => {
                self.note(event, Time::Service, service);
                self.note(event, Time::Response, service + lateness);
            }
        }
    }

    fn note(&self, event: Event, time: Time, number: u64) {
        let phase = self.shared.window.phase(self.now);
        self.ledger.note(Sample::new(event, time, phase, clock::second_of(self.now), number));
    }
}

/// That a connection broke with the error `code` and that the next one failed too.
fn not_anew(code: u16, error: Error) -> Error {
    let reason = match error {
        Error::Connect { reason, .. } => reason,
        other => other.to_string(),
    };
    Error::Lost(format!("a connection broke with error {code}, and reconnecting failed ({reason})"))
}
