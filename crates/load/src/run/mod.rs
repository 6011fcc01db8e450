//! A run from the first connection to the outcome.
//!
//! One coordinating thread binds itself to the given CPUs, starts the threads that serve the
//! workers (they inherit the binding), starts all workers at one instant, wakes once a second to
//! collect their samples, and ends the run.
//!
//! In mode `strict` the window starts and ends at fixed instants of the clock; events that end
//! outside are counted outside. In mode `compat` the window is the whole run, which ends with the
//! last event.

mod cpu;
mod crew;
mod serve;
mod unfinished;
mod warm_up;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use crate::connect::At;
use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::mixes::Mixes;
use crate::outcome::{LoadObserver, LoadOutcome};
use crate::pace::Pacer;
use crate::program::Program;
use crate::record::Collector;
use crate::schedule::{Pace, SECOND_NS, Schedule};
use crate::spec::LoadSpec;
use crate::start::{Rendezvous, Start};
use crate::worker::{Clock, Shared, Statements, Task, Window};
use assay_mysql::{ClientConnect, Connect, Session};
use crew::{Crew, Gate, Message};
use watch::Watch;

/// Time for events in flight to end after the run was interrupted.
const INTERRUPTED_GRACE: Duration = Duration::from_secs(5);

/// Interval at which a run that waits for connections or last events checks for an interrupt.
const STOP_SEEN_WITHIN: Duration = Duration::from_millis(100);

/// Runs a load.
///
/// Seconds are counted from `origin`, or from the start of the load if there is none. The load
/// starts on a whole second of that clock. `stop` ends the run early; the outcome is then that of
/// what was measured until then.
///
/// # Errors
/// The first error of any thread. It ends all threads, and `observer` gets what was measured until
/// then. [`Error::Lost`] if the server went away.
pub fn run(
    load: &LoadSpec,
    origin: Option<Instant>,
    observer: &dyn LoadObserver,
    stop: &AtomicBool,
) -> Result<LoadOutcome> {
    run_from(origin.map_or(Start::AtOnce, Start::OnClock), load, observer, stop)
}

/// Runs a load that starts at the same instant as others: the parts of it that other hosts run (its
/// own part is in its schedule), or the loads of other servers. Seconds are counted from that
/// instant.
///
/// # Errors
/// As [`run`].
pub fn run_together(
    load: &LoadSpec,
    rendezvous: &dyn Rendezvous,
    observer: &dyn LoadObserver,
    stop: &AtomicBool,
) -> Result<LoadOutcome> {
    run_from(Start::Together(rendezvous), load, observer, stop)
}

fn run_from(
    start: Start<'_>,
    load: &LoadSpec,
    observer: &dyn LoadObserver,
    stop: &AtomicBool,
) -> Result<LoadOutcome> {
    let endpoint = &load.endpoint;
    let connect =
        ClientConnect::new(endpoint).map_err(|e| e.at(&endpoint.to_string(), "connect"))?;
    let connect = match load.schema.generator {
        Generator::Ycsb => connect.that_counts_matches(),
        _ => connect,
    };
    run_on(&connect, load, start, observer, stop)
}

/// Runs a load over `connect`, whatever server that reaches.
pub(crate) fn run_on<C: Connect>(
    connect: &C,
    load: &LoadSpec,
    start: Start<'_>,
    observer: &dyn LoadObserver,
    stop: &AtomicBool,
) -> Result<LoadOutcome> {
    let LoadSpec { schema, schedule, .. } = load;
    schedule.check()?;
    let mixes = Mixes::new(load)?;
    let endpoint = load.endpoint.to_string();
    open_with(connect, &endpoint, mixes.main())?;
    let rides_out = schedule.rides_out;
    let task = Statements { mixes: &mixes, schema, connect, endpoint: &endpoint, rides_out };
    carry_out(&task, schedule, start, observer, stop)
}

/// Runs events of a task by the schedule. The first error of any thread ends all.
pub(crate) fn carry_out<T: Task>(
    task: &T,
    schedule: &Schedule,
    start: Start<'_>,
    observer: &dyn LoadObserver,
    stop: &AtomicBool,
) -> Result<LoadOutcome> {
    let deal = schedule.deal();
    let shared = Shared {
        task,
        window: Window::new(schedule.turns),
        pacer: Pacer::of(schedule, task.mixes_of_phases()),
        stop: AtomicBool::new(false),
        cut: AtomicBool::new(false),
        begun: AtomicU64::new(0),
        unfinished: (0..deal.own()).map(|_| AtomicU64::new(u64::MAX)).collect(),
        in_flight: AtomicU32::new(0),
        events_max: deal.below(schedule.events),
        // In open loop any worker takes the next start.
        deals_events_out: task.deals_events_out() && !matches!(schedule.pace, Pace::Rate { .. }),
        deal,
    };
    let job = Job { shared: &shared, schedule, start, observer, stop };
    thread::scope(|scope| {
        let coordinator = thread::Builder::new().name("load".into()).spawn_scoped(scope, || {
            bind(&schedule.cpus)?;
            thread::scope(|scope| job.coordinate(scope))
        });
        let handle = coordinator.map_err(|e| Error::system("cannot start a thread", e))?;
        handle.join().unwrap_or_else(|_| Err(Error::Config("the load's coordinator failed".into())))
    })
}

/// Sends the statement that precedes the load, if there is one.
fn open_with<C: Connect>(connect: &C, endpoint: &str, program: &Program) -> Result<()> {
    let Some(sql) = program.opening() else { return Ok(()) };
    let opened = assay_event_loop::block_on(async |events| {
        let session = connect.connect_on(&events).await;
        let mut session = session.map_err(|error| error.at(endpoint, "connect"))?;
        session.put_query(sql.as_bytes());
        session.exchange().await.map(drop).map_err(|error| error.at(endpoint, &sql))
    });
    opened.map_err(|e| Error::system("cannot wait for a connection", e))?
}

/// Binds this thread, and those it starts, to `cpus`; to any if there are none.
fn bind(cpus: &[usize]) -> Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = rustix::thread::CpuSet::new();
    for &cpu in cpus {
        if cpu >= rustix::thread::CpuSet::MAX_CPU {
            return Err(Error::Config(format!("there is no CPU {cpu}; see `nproc`")));
        }
        set.set(cpu);
    }
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(|e| Error::system(format!("cannot run on CPUs {cpus:?}"), e.into()))
}

struct Job<'a, T> {
    shared: &'a Shared<'a, T>,
    schedule: &'a Schedule,
    start: Start<'a>,
    observer: &'a dyn LoadObserver,
    stop: &'a AtomicBool,
}

impl<T: Task> Job<'_, T> {
    fn coordinate<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> Result<LoadOutcome> {
        let is_traced = self.observer.wants_each();
        let mut collector = Collector::new(self.shared.deal.own() as usize, is_traced);
        let gate = Arc::new(Gate::default());
        let mut crew = Crew::new();
        if let Err(error) = self.assemble(scope, &mut crew, &collector, &gate) {
            self.dismiss(&crew, &gate);
            return Err(error);
        }
        let (clock, start) = self.begin(&mut crew, &gate);
        let mut watch = Watch::new(self, clock, start);
        watch.plan_window();
        if self.shared.window.start() <= start {
            watch.cpu_at_start = cpu::seconds_of(&crew.tids);
        }
        gate.open(Some((clock, start)));
        crew.ring();
        let interrupted = watch.attend(&mut crew, &mut collector);
        let events_cut = self.end(&mut crew, interrupted);
        collector.collect();
        if is_traced {
            self.observer.each(collector.take_each(clock.epoch_ns()));
        }
        let cpu_s = crew.cpu_s + cpu::own_seconds();
        let is_early = interrupted || crew.failure.is_some();
        let outcome = LoadOutcome { events_cut, ..watch.outcome(&collector, is_early, cpu_s) };
        match crew.failure {
            None => Ok(outcome),
            Some(error) => {
                self.observer.broken_off(&outcome);
                Err(error)
            }
        }
    }

    /// The clock, and the start of the load on it. If the load is called off meanwhile, all threads
    /// end.
    fn begin(&self, crew: &mut Crew, gate: &Gate) -> (Clock, u64) {
        let mut start_s = None;
        let origin = match self.start {
            Start::AtOnce => return (Clock::from(Instant::now()), 0),
            Start::OnClock(origin) => Some(origin),
            Start::Together(_) if self.stop.load(Ordering::Relaxed) => None,
            Start::Together(rendezvous) => {
                let origin = rendezvous.meet();
                start_s = rendezvous.start_s();
                origin
            }
        };
        if origin.is_none() {
            self.dismiss(crew, gate);
            crew.await_all();
        }
        let clock = Clock::from(origin.unwrap_or_else(Instant::now));
        (clock, start_s.unwrap_or_else(|| clock.now().div_ceil(SECOND_NS)) * SECOND_NS)
    }

    /// Starts all threads, and waits until each worker is connected and has prepared its
    /// statements. If the run is stopped, all threads end.
    fn assemble<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        crew: &mut Crew,
        collector: &Collector,
        gate: &Arc<Gate>,
    ) -> Result<()> {
        self.start_all(scope, crew, collector, gate)?;
        let mut ready = 0;
        while ready < self.shared.deal.own() {
            if self.stop.load(Ordering::Relaxed) {
                self.dismiss(crew, gate);
                crew.await_all();
                return Ok(());
            }
            match crew.messages.recv_timeout(STOP_SEEN_WITHIN) {
                Ok(Message::Ended(Err(error)) | Message::Down(Err(error), _)) => return Err(error),
                Ok(Message::Ended(Ok(())) | Message::Down(Ok(()), _))
                | Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Config("a thread ended before the load began".into()));
                }
                Ok(message) => {
                    ready += u32::from(matches!(message, Message::Ready));
                    crew.note(message);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Ok(())
    }

    /// Ends all threads before the load starts.
    fn dismiss(&self, crew: &Crew, gate: &Gate) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.cut.store(true, Ordering::Relaxed);
        gate.open(None);
        crew.ring();
    }

    /// Ends all workers and waits for them: without limit at the end of the time, otherwise for a
    /// grace period, after which the rest are cut off. Returns the number of those.
    fn end(&self, crew: &mut Crew, interrupted: bool) -> u64 {
        self.shared.stop.store(true, Ordering::Relaxed);
        crew.ring();
        let grace = match self.schedule.forced_shutdown {
            _ if crew.failure.is_some() => Some(Duration::ZERO),
            Some(seconds) => Some(Duration::from_secs_f64(seconds)),
            None => interrupted.then_some(INTERRUPTED_GRACE),
        };
        let grace = match grace {
            Some(grace) => grace,
            None if self.await_workers_or_stop(crew) => Duration::ZERO,
            None => INTERRUPTED_GRACE,
        };
        let deadline = Instant::now() + grace;
        while crew.working > 0 {
            match crew.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(message) => crew.note(message),
                Err(_) => break,
            }
        }
        let cut = crew.working as u64;
        self.shared.cut.store(true, Ordering::Relaxed);
        crew.ring();
        crew.await_all();
        cut
    }

    /// Waits for all workers until the run is stopped. Returns true if they have ended.
    fn await_workers_or_stop(&self, crew: &mut Crew) -> bool {
        while crew.working > 0 {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            match crew.messages.recv_timeout(STOP_SEEN_WITHIN) {
                Ok(message) => crew.note(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
        true
    }
}

#[cfg(test)]
mod latency_tests;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod old_tests;

#[cfg(test)]
mod parts_tests;

#[cfg(test)]
mod phases_tests;

#[cfg(test)]
mod stall_tests;

#[cfg(test)]
mod turns_tests;

#[cfg(test)]
mod ycsb_judge_tests;

#[cfg(test)]
mod ycsb_tests;
