//! A worker: starts events when they are due, and records times. Its task defines the events:
//! statements on a connection, implemented here too, or operations on files.
//!
//! Guarantees: nothing is allocated between two statements once buffers have grown; the clock is
//! read once per statement, after its answer, which is also the start of the next one; no event
//! starts after the end of the window or after `stop`.

mod clock;
mod operation;
mod retry;
mod statement;
mod task;
mod values;

pub(crate) use clock::{Clock, Window, second_of};
pub(crate) use task::{Statements, Task};

#[cfg(test)]
pub(crate) use statement::render;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use assay_event_loop::Handle;

use crate::course::MAIN_MIX;
use crate::error::Result;
use crate::oltp::{StatementKind, TableChoice};
use crate::pace::{Next, Pacer};
use crate::part::Deal;
use crate::program::Program;
use crate::random::Rng;
use crate::record::{Counted, Event, Ledger, Phase, Sample, Time};
use assay_mysql::{Connect, Reply, Session, SessionError};
use retry::Setback;
use task::Kit;

/// State shared by all workers of a run.
pub(crate) struct Shared<'a, T> {
    pub(crate) task: &'a T,
    pub(crate) window: Window,
    pub(crate) pacer: Option<Pacer>,
    /// Set: no new event starts.
    pub(crate) stop: AtomicBool,
    /// Set: waiting events are given up too.
    pub(crate) cut: AtomicBool,
    /// Events begun in the window so far, and the number to stop at.
    pub(crate) begun: AtomicU64,
    pub(crate) events_max: u64,
    /// True if each worker has its own share of the events.
    pub(crate) deals_events_out: bool,
    /// The part of the load that runs here.
    pub(crate) deal: Deal,
    /// For each worker, the planned start of its first event unfinished at the end of the window;
    /// `u64::MAX` if none.
    pub(crate) unfinished: Vec<AtomicU64>,
    /// Events in flight, in open loop.
    pub(crate) in_flight: AtomicU32,
}

impl<T> Shared<'_, T> {
    /// The share of one worker; the first ones have one more if it is uneven.
    fn events_of(&self, thread: u32) -> Option<u64> {
        let (workers, place) = (u64::from(self.deal.own()), u64::from(self.deal.place_of(thread)));
        let share = self.events_max / workers + u64::from(place < self.events_max % workers);
        self.deals_events_out.then_some(share)
    }
}

/// A worker that is ready for its first event.
pub(crate) struct Worker<'a, T: Task> {
    pub(crate) shared: &'a Shared<'a, T>,
    /// Its number in the whole load.
    thread: u32,
    pub(crate) hand: T::Hand,
    /// The mix of the current event.
    mix: usize,
    pub(crate) rng: Rng,
    ledger: Arc<Ledger>,
    events: Handle,
    pub(crate) clock: Clock,
    /// End of the last statement, in ns of the clock.
    pub(crate) now: u64,
    /// Delay of this event since its planned start, until its first statement has recorded it.
    lateness: u64,
    /// Events of its own not started yet; `None` if all workers share one number.
    left: Option<u64>,
    /// True after a failed insert, which ends the worker.
    gave_up: bool,
}

impl<'a, T: Task> Worker<'a, T> {
    /// Gets ready.
    pub(crate) async fn new(
        shared: &'a Shared<'a, T>,
        thread: u32,
        seed: u64,
        ledger: Arc<Ledger>,
        events: Handle,
    ) -> Result<Worker<'a, T>> {
        Ok(Worker {
            shared,
            thread,
            hand: shared.task.hand(thread, &events).await?,
            mix: MAIN_MIX,
            rng: Rng::new(seed, u64::from(thread)),
            ledger,
            events,
            clock: Clock::starting_now(),
            now: 0,
            lateness: 0,
            left: shared.events_of(thread),
            gave_up: false,
        })
    }

    /// Runs events until the window's end, the last event, or `stop`.
    pub(crate) async fn run(&mut self, clock: Clock, start_ns: u64) -> Result<()> {
        self.clock = clock;
        self.wait_until(start_ns).await;
        self.now = self.clock.now();
        while !self.finished() {
            let Some(pacer) = &self.shared.pacer else {
                if self.has_turn().await {
                    self.event(self.now).await?;
                }
                continue;
            };
            match pacer.next(self.thread, self.now.saturating_sub(start_ns)) {
                Next::Event { mix } => self.paced_event(self.now, mix).await?,
                Next::Planned { at_ns, mix } => {
                    // A start taken but not used was due all the same.
                    let planned = start_ns.saturating_add(at_ns);
                    if !self.wait_for(planned).await {
                        self.leave_unfinished(planned);
                        break;
                    }
                    self.paced_event(planned, mix).await?;
                }
                Next::Wait { until_ns } => {
                    self.wait_for(start_ns.saturating_add(until_ns)).await;
                }
            }
        }
        T::end(self).await
    }

    /// Waits until an instant of the clock, or until the load is stopped.
    async fn wait_until(&self, ns: u64) {
        self.events.wait_until(self.clock.instant(ns), || self.stopped()).await;
    }

    /// Waits until an instant. Returns true if events may still start then.
    async fn wait_for(&mut self, ns: u64) -> bool {
        let stop = self.shared.window.stop();
        if ns > self.now {
            self.wait_until(ns.min(stop)).await;
            self.now = self.clock.now();
        }
        ns < stop && !self.stopped()
    }

    /// Returns true in an own turn; otherwise waits for the next one.
    async fn has_turn(&mut self) -> bool {
        let turn = self.shared.window.next_turn(self.now);
        turn == self.now || (self.wait_for(turn).await && self.now >= turn)
    }

    async fn paced_event(&mut self, planned: u64, mix: usize) -> Result<()> {
        self.mix = mix;
        self.shared.in_flight.fetch_add(1, Ordering::Relaxed);
        let result = self.event(planned).await;
        self.shared.in_flight.fetch_sub(1, Ordering::Relaxed);
        result
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    fn finished(&mut self) -> bool {
        let shared = self.shared;
        if self.gave_up || self.stopped() || self.now >= shared.window.stop() {
            return true;
        }
        if shared.events_max == 0 || self.now < shared.window.start() {
            return false;
        }
        if let Some(left) = &mut self.left {
            let Some(one_less) = left.checked_sub(1) else { return true };
            *left = one_less;
        }
        shared.begun.fetch_add(1, Ordering::Relaxed) >= shared.events_max
    }

    async fn event(&mut self, planned: u64) -> Result<()> {
        self.lateness = self.now.saturating_sub(planned);
        let planned = planned.min(self.now);
        let at_hand = AtHand { unfinished: self.unfinished(), planned };
        let result = T::event(self, planned).await;
        if result.is_ok() && self.shared.window.phase(self.now) != Phase::Late {
            at_hand.end();
        }
        result
    }

    fn unfinished(&self) -> &'a AtomicU64 {
        &self.shared.unfinished[self.shared.deal.place_of(self.thread) as usize]
    }

    /// Records an event that did not end inside the window.
    fn leave_unfinished(&self, planned: u64) {
        self.unfinished().fetch_min(planned, Ordering::Relaxed);
    }
}

/// The current event. If it does not end inside the window, for any reason, it is recorded as
/// unfinished.
struct AtHand<'a> {
    unfinished: &'a AtomicU64,
    planned: u64,
}

impl AtHand<'_> {
    fn end(self) {
        std::mem::forget(self);
    }
}

impl Drop for AtHand<'_> {
    fn drop(&mut self) {
        self.unfinished.fetch_min(self.planned, Ordering::Relaxed);
    }
}

impl<'t, C: Connect> Worker<'_, Statements<'t, C>> {
    /// The mix of the current event.
    #[inline]
    fn program(&self) -> &'t Program {
        self.shared.task.mixes.of(self.mix)
    }

    fn set_again(&mut self, again: bool) {
        self.hand.kits[self.mix].buffers.again = again;
    }

    async fn attempt(&mut self) -> Result<(), Setback> {
        let program = self.program();
        if let Some(operations) = &program.operations {
            return self.operation(operations).await;
        }
        let mut event_table = None;
        for group in &program.groups {
            let mut draw = || self.rng.below(u64::from(program.tables)) as usize;
            let table = match group.tables {
                TableChoice::Any => draw(),
                TableChoice::Event => *event_table.get_or_insert_with(draw),
                TableChoice::None | TableChoice::First => 0,
            };
            for _ in 0..group.repeat {
                for &kind in group.steps {
                    self.step(kind, table).await?;
                }
            }
        }
        Ok(())
    }

    async fn step(&mut self, kind: StatementKind, table: usize) -> Result<(), Setback> {
        if self.thinks_before(kind) {
            self.think().await;
        }
        let (answer, service) = self.ask(kind, table).await;
        match answer {
            Ok(reply) => {
                let event = Event::Statement(kind, Counted::from(reply));
                self.note_statement(event, service);
                Ok(())
            }
            Err(error) => {
                self.note_statement(Event::Failed, service);
                Err(self.setback(error, kind, table))
            }
        }
    }

    /// Sends a statement. Returns the answer and its time in ns.
    async fn ask(
        &mut self,
        kind: StatementKind,
        table: usize,
    ) -> (Result<Reply, SessionError>, u64) {
        let answer = match self.put(kind, table) {
            Ok(()) => self.hand.session.exchange().await,
            Err(error) => Err(error),
        };
        let sent = std::mem::replace(&mut self.now, self.clock.now());
        (answer, self.now - sent)
    }

    /// Draws the values of a statement and buffers it.
    #[inline]
    fn put(&mut self, kind: StatementKind, table: usize) -> Result<(), SessionError> {
        let program = self.program();
        let Kit { points, buffers } = &mut self.hand.kits[self.mix];
        let values = buffers.values(kind, program, points, &mut self.rng);
        let slots = &mut self.hand.slots[self.mix];
        slots.put(&mut self.hand.session, kind, table, program, values.as_slice())
    }

    /// Returns true if a user would think before the statement.
    #[inline]
    fn thinks_before(&self, kind: StatementKind) -> bool {
        let workload = &self.program().workload;
        let longest = workload.user_delay_min.max(workload.user_delay_max);
        longest > 0 && !matches!(kind, StatementKind::Begin | StatementKind::Commit)
    }

    /// Waits like a thinking user. The event's time includes the wait, the statement's does not.
    async fn think(&mut self) {
        let workload = &self.program().workload;
        let (least, limit) = (workload.user_delay_min, workload.user_delay_max);
        let delay_us = least + self.rng.below(limit.saturating_sub(least));
        self.wait_until(self.now + delay_us * 1000).await;
        self.now = self.clock.now();
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

    /// The first statement of a late event includes the event's delay; the next ones start as their
    /// predecessors end.
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
        let sample = Sample::new(event, time, phase, clock::second_of(self.now), number);
        self.ledger.note_at(sample, self.now);
    }
}
