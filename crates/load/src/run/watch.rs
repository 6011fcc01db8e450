//! The clock's side of a run: the place of the window, the seconds, and the outcome.

use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::warm_up::Steady;
use super::{Crew, Job, cpu, unfinished};
use crate::mode::Mode;
use crate::outcome::{KindLatency, LoadOutcome, Second, SecondPhase, ThreadOutcome};
use crate::record::Collector;
use crate::schedule::{SECOND_NS, Warmup};
use crate::share::share;
use crate::worker::{Clock, Task, second_of};

/// The clock's side of a run: seconds, window, outcome.
pub(super) struct Watch<'a, T> {
    job: &'a Job<'a, T>,
    clock: Clock,
    start: u64,
    steady: Option<Steady>,
    reached_steady: Option<bool>,
    pub(super) cpu_at_start: Option<f64>,
    /// End of the last reported second.
    reported: u64,
    /// End of the run: no event starts from then on.
    over: u64,
}

impl<'a, T: Task> Watch<'a, T> {
    pub(super) fn new(job: &'a Job<'a, T>, clock: Clock, start: u64) -> Watch<'a, T> {
        let steady = match job.schedule.warmup {
            Warmup::Steady { cap_seconds } => Some(Steady::new(cap_seconds)),
            Warmup::Seconds(_) => None,
        };
        Watch {
            job,
            clock,
            start,
            reached_steady: steady.is_some().then_some(false),
            steady,
            cpu_at_start: None,
            reported: start,
            over: start,
        }
    }

    pub(super) fn plan_window(&mut self) {
        if let Some(seconds) = self.job.schedule.warmup_s() {
            self.set_window(self.start + seconds * SECOND_NS);
        }
    }

    fn set_window(&mut self, start: u64) {
        let seconds = self.job.schedule.seconds;
        let window = &self.job.shared.window;
        window.set_start(start);
        if seconds > 0.0 {
            let on_clock = self.job.schedule.on_clock(seconds);
            let stop = start + (on_clock * SECOND_NS as f64) as u64;
            window.set_stop(stop);
            if self.ends_by_clock() {
                window.set_end(stop);
            }
        }
        let to_s = if seconds > 0.0 { window.stop() as f64 / SECOND_NS as f64 } else { f64::MAX };
        self.job.observer.window(start as f64 / SECOND_NS as f64, to_s);
    }

    /// Reports seconds until the run is over. Returns true if it was interrupted.
    pub(super) fn attend(&mut self, crew: &mut Crew, collector: &mut Collector) -> bool {
        loop {
            let window = &self.job.shared.window;
            let mut until = ((self.reported / SECOND_NS) + 1) * SECOND_NS;
            until = until.min(window.stop());
            let cause = self.wait(crew, until);
            let over = until >= window.stop();
            let now = self.clock.now().min(until);
            if !over && cause != Cause::Time && self.ends_by_clock() {
                // Before collecting: events that end from now on are late for both the last second
                // and the window.
                self.close_window(now);
            }
            collector.collect();
            if self.cpu_at_start.is_none() && self.clock.now() >= window.start() {
                self.cpu_at_start = cpu::seconds_of(&crew.tids);
            }
            if cause == Cause::Time {
                self.report(until, collector);
                self.decide_window();
            }
            if cause != Cause::Time && now > self.reported {
                self.report(now, collector);
            }
            // Read again: the window may just have been decided.
            if until >= self.job.shared.window.stop() || cause != Cause::Time {
                self.over = now;
                return cause == Cause::Stopped;
            }
        }
    }

    /// Returns true if the window ends at an instant, not with the last event. Behind the last turn
    /// the clock belongs to others.
    fn ends_by_clock(&self) -> bool {
        self.job.shared.task.mode() == Mode::Strict || self.job.schedule.turns.is_some()
    }

    /// Ends the window early: the result is what was counted so far.
    fn close_window(&self, now: u64) {
        let window = &self.job.shared.window;
        window.set_end(now.max(self.start));
        if window.start() > window.end() {
            window.set_start(window.end());
        }
    }

    fn wait(&self, crew: &mut Crew, until: u64) -> Cause {
        loop {
            if self.job.stop.load(Ordering::Relaxed) {
                return Cause::Stopped;
            }
            if crew.failure.is_some() || crew.working == 0 {
                return Cause::Ended;
            }
            let left = Duration::from_nanos(until.saturating_sub(self.clock.now()));
            if left.is_zero() {
                return Cause::Time;
            }
            match crew.messages.recv_timeout(left.min(Duration::from_millis(100))) {
                Ok(message) => crew.note(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Cause::Ended,
            }
        }
    }

    /// Closes the second that ended at `end`, and reports it.
    fn report(&mut self, end: u64, collector: &mut Collector) {
        let second = self.second(self.reported, end, collector);
        self.reported = end;
        if let Some(steady) = &mut self.steady {
            steady.push(second.tps);
        }
        self.job.observer.second(&second);
    }

    fn second(&self, begin: u64, end: u64, collector: &mut Collector) -> Second {
        let length_s = (end - begin) as f64 / SECOND_NS as f64;
        let totals = collector.second(second_of(begin));
        let queue_length =
            self.job.shared.pacer.as_ref().map_or(0, |pacer| pacer.queue_length(end - self.start));
        let measuring = begin >= self.job.shared.window.start();
        let second = Second {
            end_s: end as f64 / SECOND_NS as f64,
            length_s,
            phase: if measuring { SecondPhase::Measure } else { SecondPhase::Warmup },
            threads: self.job.shared.deal.own(),
            events: totals.events,
            tps: totals.events as f64 / length_s,
            qps: totals.queries.total() as f64 / length_s,
            queries: totals.queries,
            latency: totals.response(),
            errors: totals.ignored.values().sum(),
            reconnects: totals.reconnects,
            queue_length,
            concurrency: self.job.shared.in_flight.load(Ordering::Relaxed),
        };
        totals.clear();
        second
    }

    /// With a warm-up until steady: starts the window at the end of the next second once throughput
    /// is steady.
    fn decide_window(&mut self) {
        let Some(steady) = &mut self.steady else { return };
        if let Some(reached) = steady.verdict() {
            self.reached_steady = Some(reached);
            self.steady = None;
            self.set_window(self.reported + SECOND_NS);
        }
    }

    pub(super) fn outcome(
        &self,
        collector: &Collector,
        interrupted: bool,
        cpu_s: f64,
    ) -> LoadOutcome {
        let job = self.job;
        let window = &job.shared.window;
        let (start, end) = match self.ends_by_clock() {
            false => (window.start().min(self.clock.now()), self.clock.now()),
            true => (window.start(), window.end().min(self.clock.now())),
        };
        let seconds = |ns: u64| ns as f64 / SECOND_NS as f64;
        let elapsed_s = seconds(window.counted(start, end));
        let per_second = |count: u64| if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 };
        let totals = &collector.measured;
        let latencies = totals.latencies().into_iter();
        let schedule = share(job.schedule);
        LoadOutcome {
            measure_start_s: seconds(start),
            measure_end_s: seconds(end),
            elapsed_s,
            events: totals.events,
            tps: per_second(totals.events),
            queries: totals.queries,
            qps: per_second(totals.queries.total()),
            events_warmup: collector.warmup_events,
            events_late: collector.late_events,
            events_cut: 0,
            unfinished: unfinished::at(self.over, self.start, job.shared).and(collector.between),
            events_between: collector.between.events,
            errors: totals.ignored.clone(),
            reconnects: totals.reconnects,
            latency: latencies
                .map(|(kind, service, response)| KindLatency { kind, service, response })
                .collect(),
            latency_ms_sum: totals.response_ns_sum as f64 / 1e6,
            threads: collector
                .threads
                .iter()
                .map(|t| ThreadOutcome { events: t.events, busy_s: seconds(t.busy_ns) })
                .collect(),
            // Phases have rates of their own, which no single value represents.
            rate_target: schedule.pace.per_second().filter(|_| schedule.phases.is_none()),
            client_cpu_s: self.cpu_at_start.map(|start| (cpu_s - start) * counted_share(collector)),
            steady: self.reached_steady,
            device: None,
            interrupted,
            work: job.shared.task.work(),
            schedule,
        }
    }
}

/// The share of the window's events that counts. CPU time is that of the load's own threads, which
/// sleep in the turns of others.
fn counted_share(collector: &Collector) -> f64 {
    let (counted, between) = (collector.measured.events, collector.between.events);
    if between == 0 { 1.0 } else { counted as f64 / (counted + between) as f64 }
}

/// The reason why the coordinator woke.
#[derive(PartialEq, Eq)]
enum Cause {
    Time,
    Ended,
    Stopped,
}
