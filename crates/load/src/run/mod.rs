//! A run from the first connection to the outcome.
//!
//! One coordinating thread binds itself to the CPUs given, starts a worker per connection (they inherit the
//! binding), lets them all start at one instant, wakes once a second to collect what they noted, and ends the run.
//!
//! The window of mode `strict` starts and ends at set instants of the clock; what ends outside is booked outside. The
//! window of mode `compat` is the whole run, and ends when the last event has ended.

mod cpu;
mod steady;
mod unfinished;
mod watch;

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Scope, Thread};
use std::time::{Duration, Instant};

use crate::connect::At;
use crate::error::{Error, Result};
use crate::mixes::Mixes;
use crate::outcome::{Observer, Outcome};
use crate::pace::Pacer;
use crate::program::Program;
use crate::record::{Collector, Ledger};
use crate::schedule::{SECOND_NS, Schedule};
use crate::schema::Schema;
use crate::worker::{Clock, Shared, Statements, Task, Window, Worker};
use crate::workload::Workload;
use assay_mysql::ClientConnect;
use assay_mysql::Endpoint;
use assay_mysql::{Connect, Session};
use watch::Watch;

/// A worker's stack: the deepest thing it does is a TLS handshake.
const STACK_BYTES: usize = 256 * 1024;

/// How long events in flight may take to end once the run was stopped from outside.
const INTERRUPTED_GRACE: Duration = Duration::from_secs(5);

/// How soon a stop from outside is seen by a run that waits for its last events.
const STOP_SEEN_WITHIN: Duration = Duration::from_millis(100);

/// Runs `workload` against the tables of `schema`.
///
/// Seconds are counted from `origin`, or from the start of the load where there is none. The load starts on a whole
/// second of that clock. `stop` ends the run early, with what was measured until then as its outcome.
///
/// # Errors
/// Whatever the first thread to fail met; all threads end with it. [`Error::Lost`] if the server went away.
pub fn run(
    endpoint: &Endpoint,
    schema: &Schema,
    workload: &Workload,
    schedule: &Schedule,
    origin: Option<Instant>,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Outcome> {
    let connect =
        ClientConnect::new(endpoint).map_err(|e| e.at(&endpoint.to_string(), "connect"))?;
    run_on(&connect, &endpoint.to_string(), schema, workload, schedule, origin, observer, stop)
}

#[allow(clippy::too_many_arguments)]
pub(crate) fn run_on<C: Connect>(
    connect: &C,
    endpoint: &str,
    schema: &Schema,
    workload: &Workload,
    schedule: &Schedule,
    origin: Option<Instant>,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Outcome> {
    schedule.check()?;
    let mixes = Mixes::new(schema, workload, schedule)?;
    open_with(connect, endpoint, mixes.main())?;
    let interrupters = (0..schedule.threads).map(|_| Mutex::new(None)).collect();
    let rides_out = schedule.rides_out;
    let task = Statements { mixes: &mixes, schema, connect, endpoint, rides_out, interrupters };
    carry_out(&task, schedule, origin, observer, stop)
}

/// Runs events of a task as the schedule says.
///
/// # Errors
/// Whatever the first thread to fail met.
pub(crate) fn carry_out<T: Task>(
    task: &T,
    schedule: &Schedule,
    origin: Option<Instant>,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Outcome> {
    let shared = Shared {
        task,
        window: Window::new(),
        pacer: Pacer::of(schedule, task.mixes_of_phases()),
        stop: AtomicBool::new(false),
        begun: AtomicU64::new(0),
        unfinished: (0..schedule.threads).map(|_| AtomicU64::new(u64::MAX)).collect(),
        in_flight: AtomicU32::new(0),
        events_max: schedule.events,
    };
    let job = Job { shared: &shared, schedule, origin, observer, stop };
    thread::scope(|scope| {
        let coordinator = thread::Builder::new().name("load".into()).spawn_scoped(scope, || {
            bind(&schedule.cpus)?;
            thread::scope(|scope| job.coordinate(scope))
        });
        let handle = coordinator.map_err(|e| Error::system("cannot start a thread", e))?;
        handle.join().unwrap_or_else(|_| Err(Error::Config("the load's coordinator failed".into())))
    })
}

/// Sends what the program sends once before the load.
fn open_with<C: Connect>(connect: &C, endpoint: &str, program: &Program) -> Result<()> {
    let Some(sql) = program.opening() else { return Ok(()) };
    let session = connect.connect().map_err(|error| error.at(endpoint, "connect"));
    session?.query(sql.as_bytes()).map(drop).map_err(|error| error.at(endpoint, &sql))
}

/// Binds this thread, and those it will start, to `cpus`; to any if there are none.
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

/// What a worker tells the coordinator.
enum Message {
    Ready(Thread, cpu::Tid),
    /// How it ended, and the CPU time the thread had taken.
    Ended(Result<()>, f64),
}

/// Holds connected workers back until all are.
#[derive(Default)]
struct Gate {
    open: Mutex<Option<Option<(Clock, u64)>>>,
    changed: Condvar,
}

impl Gate {
    fn open(&self, start: Option<(Clock, u64)>) {
        *self.open.lock() = Some(start);
        self.changed.notify_all();
    }

    /// The clock and when to start on it, or nothing if the run is off.
    fn pass(&self) -> Option<(Clock, u64)> {
        let mut open = self.open.lock();
        loop {
            if let Some(start) = *open {
                return start;
            }
            self.changed.wait(&mut open);
        }
    }
}

struct Job<'a, T> {
    shared: &'a Shared<'a, T>,
    schedule: &'a Schedule,
    origin: Option<Instant>,
    observer: &'a dyn Observer,
    stop: &'a AtomicBool,
}

/// The workers as the coordinator sees them.
struct Crew {
    messages: Receiver<Message>,
    threads: Vec<Thread>,
    tids: Vec<cpu::Tid>,
    working: usize,
    /// CPU time of those that have ended.
    cpu_s: f64,
    failure: Option<Error>,
}

impl<T: Task> Job<'_, T> {
    fn coordinate<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> Result<Outcome> {
        let mut collector = Collector::new(self.schedule.threads as usize);
        let gate = Arc::new(Gate::default());
        let mut crew = match self.assemble(scope, &collector, &gate) {
            Ok(crew) => crew,
            Err(error) => {
                gate.open(None);
                return Err(error);
            }
        };
        let now = Instant::now();
        let clock = Clock::from(self.origin.unwrap_or(now));
        let start = clock.now().div_ceil(SECOND_NS) * SECOND_NS * u64::from(self.origin.is_some());
        let mut watch = Watch::new(self, clock, start);
        watch.plan_window();
        if self.shared.window.start() <= start {
            watch.cpu_at_start = cpu::seconds_of(&crew.tids);
        }
        gate.open(Some((clock, start)));
        let interrupted = watch.attend(&mut crew, &mut collector);
        let events_cut = self.end(&mut crew, interrupted);
        if let Some(error) = crew.failure {
            return Err(error);
        }
        collector.collect();
        let cpu_s = crew.cpu_s + cpu::own_seconds();
        Ok(Outcome { events_cut, ..watch.outcome(&collector, interrupted, cpu_s) })
    }

    /// Starts all workers and waits until each is connected and has its statements prepared.
    fn assemble<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        collector: &Collector,
        gate: &Arc<Gate>,
    ) -> Result<Crew> {
        let (sender, messages) = channel();
        for thread in 0..self.schedule.threads {
            let (sender, gate) = (sender.clone(), Arc::clone(gate));
            let ledger = collector.ledger(thread as usize);
            thread::Builder::new()
                .name(format!("load {thread}"))
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, move || self.work(thread, ledger, &gate, &sender))
                .map_err(|e| Error::system(format!("cannot start thread {}", thread + 1), e))?;
        }
        let mut crew = Crew {
            messages,
            threads: vec![],
            tids: vec![cpu::tid()],
            working: 0,
            cpu_s: 0.0,
            failure: None,
        };
        while crew.working < self.schedule.threads as usize {
            match crew.messages.recv() {
                Ok(Message::Ready(thread, tid)) => {
                    crew.threads.push(thread);
                    crew.tids.push(tid);
                    crew.working += 1;
                }
                Ok(Message::Ended(Err(error), _)) => return Err(error),
                Ok(Message::Ended(Ok(()), _)) | Err(_) => {
                    return Err(Error::Config("a thread ended before the load began".into()));
                }
            }
        }
        Ok(crew)
    }

    fn work(&self, thread: u32, ledger: Arc<Ledger>, gate: &Gate, sender: &Sender<Message>) {
        // The timer slack of 50 µs would make every planned start late by as much.
        let _ = cpu::sharpen_timers();
        let result =
            Worker::new(self.shared, thread, self.schedule.seed, ledger).and_then(|mut worker| {
                let _ = sender.send(Message::Ready(thread::current(), cpu::tid()));
                match gate.pass() {
                    Some((clock, start)) => worker.run(clock, start),
                    None => Ok(()),
                }
            });
        let _ = sender.send(Message::Ended(result, cpu::own_seconds()));
    }

    /// Ends all workers and waits for them: as long as it takes when time was up, else a grace, after which their
    /// connections are cut. Says how many were.
    fn end(&self, crew: &mut Crew, interrupted: bool) -> u64 {
        self.shared.stop.store(true, Ordering::Relaxed);
        crew.threads.iter().for_each(Thread::unpark);
        let grace = match self.schedule.forced_shutdown {
            _ if crew.failure.is_some() => Some(Duration::ZERO),
            Some(seconds) => Some(Duration::from_secs_f64(seconds)),
            None => interrupted.then_some(INTERRUPTED_GRACE),
        };
        let grace = match grace {
            Some(grace) => grace,
            None if self.await_all_or_stop(crew) => return 0,
            None => INTERRUPTED_GRACE,
        };
        let deadline = Instant::now() + grace;
        while crew.working > 0 {
            match crew.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(message) => crew.note(message),
                Err(_) => break,
            }
        }
        let (lost_by_us, cut) = (crew.failure.is_none(), crew.working as u64);
        self.shared.task.cut();
        crew.await_all();
        if lost_by_us && matches!(crew.failure, Some(Error::Lost(_))) {
            crew.failure = None;
        }
        cut
    }

    /// Waits for all workers, as long as nobody stops the run; says whether they have ended.
    fn await_all_or_stop(&self, crew: &mut Crew) -> bool {
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

impl Crew {
    fn await_all(&mut self) {
        while self.working > 0 {
            match self.messages.recv() {
                Ok(message) => self.note(message),
                Err(_) => return,
            }
        }
    }

    fn note(&mut self, message: Message) {
        if let Message::Ended(result, cpu_s) = message {
            self.working -= 1;
            self.cpu_s += cpu_s;
            if let Err(error) = result {
                self.failure.get_or_insert(error);
            }
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod old_tests;

#[cfg(test)]
mod phases_tests;

#[cfg(test)]
mod stall_tests;

#[cfg(test)]
mod ycsb_judge_tests;

#[cfg(test)]
mod ycsb_tests;
