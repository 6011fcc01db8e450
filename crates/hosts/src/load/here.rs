//! A load of several hosts, seen from the machine that coordinates it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use assay_load::{
    LoadObserver, LoadOutcome, LoadPart, LoadSpec, Schedule, Second, Shortage, is_plausible,
    is_plausible_second, seconds_together, together,
};
use serde::{Deserialize, Serialize};

use super::files;
use super::task::{
    Begin, LOAD, LoadDone, LoadFailed, LoadMessage, LoadTask, PREFLIGHT, PreflightDone,
};
use crate::clock::{ClockOffset, now_ns, ns_of};
use crate::failure::{Failure, FailureReason, Result};
use crate::session::{HostSession, Message};

const SECOND_NS: u64 = 1_000_000_000;

/// Interval at which Ctrl-C is checked.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Time between sending the start time and the start, in addition to twice the longest round trip:
/// a busy host may take that long to read the message.
const LEAD: Duration = Duration::from_millis(500);

/// Time that the other hosts get to end after one has failed: longer than a load waits for events
/// in flight.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// Seconds that a host may be ahead of the others.
const SECONDS_AHEAD_MAX: usize = 600;

/// The longest window, in seconds: a year.
const WINDOW_S_MAX: f64 = 3.2e7;

/// The outcome of one host's part of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostOutcome {
    /// The host's name, as given by the user.
    pub host: String,
    /// The host's clock compared with ours when the load started.
    pub clock: ClockOffset,
    pub outcome: LoadOutcome,
}

/// The outcome of a load of several hosts.
#[derive(Debug)]
pub struct LoadFound {
    /// The merged outcome.
    pub outcome: LoadOutcome,
    /// Outcome of each host, in the order of the sessions.
    pub hosts: Vec<HostOutcome>,
    /// Why the hosts' seconds may be misaligned: a clock that moved during the load, or whose host
    /// no longer answers.
    pub doubt: Option<Failure>,
}

type LoadSays = Message<LoadMessage, LoadDone, LoadFailed>;

/// The number of a host, and its message or its loss.
type Said = (usize, Result<LoadSays>);

/// The part of the load that the host numbered `number` runs, of `of` hosts.
fn part(session: &HostSession, load: &LoadSpec, number: usize, of: usize) -> Result<LoadTask> {
    let here = |error: anyhow::Error| session.failure(FailureReason::Here(format!("{error:#}")));
    let part = LoadPart { number: number as u32, of: of as u32 };
    Ok(LoadTask {
        files: files::read(load).map_err(here)?,
        load: load.on(Schedule { part, ..load.schedule.clone() }),
    })
}

impl LoadFailed {
    fn of(self, session: &HostSession) -> Failure {
        session.failure(match self {
            LoadFailed::Load(error) => FailureReason::Load(error),
            LoadFailed::Late(late_ms) => FailureReason::Late(late_ms),
            LoadFailed::Host(words) => FailureReason::Work(words),
        })
    }
}

/// Runs the preflight check from each host in turn. Returns the shortage if the first host finds
/// that the rate cannot be carried.
///
/// # Errors
/// The first problem found.
pub fn preflight(
    sessions: &[HostSession],
    load: &LoadSpec,
    stop: &AtomicBool,
) -> Result<Option<Shortage>> {
    let mut short = None;
    for (number, session) in sessions.iter().enumerate() {
        session.begin_work(PREFLIGHT, &part(session, load, number, sessions.len())?)?;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(session.failure(FailureReason::Interrupted));
            }
            match session.next::<LoadMessage, PreflightDone, LoadFailed>(LOOK_EVERY)? {
                Some(Message::Done(found)) => {
                    short = short.or(found);
                    break;
                }
                Some(Message::Failed(failed)) => return Err(failed.of(session)),
                Some(Message::Something(_)) | None => {}
            }
        }
    }
    Ok(short)
}

/// Runs the load from all hosts together. `observer` gets the merged seconds; `stop` ends the load
/// early, with what was measured until then. Seconds are counted from `origin`, on a whole second
/// of which the load starts, or from the start of the load if there is none.
///
/// # Errors
/// The first host that is lost or fails. The load of the others has ended by then, and `observer`
/// has received the merged outcome of all hosts that answered.
pub fn run(
    sessions: &[HostSession],
    load: &LoadSpec,
    origin: Option<Instant>,
    observer: &dyn LoadObserver,
    stop: &AtomicBool,
) -> Result<LoadFound> {
    let clocks: Vec<ClockOffset> =
        sessions.iter().map(HostSession::compare_clocks).collect::<Result<_>>()?;
    for (number, session) in sessions.iter().enumerate() {
        session.begin_work(LOAD, &part(session, load, number, sessions.len())?)?;
    }
    let over = AtomicBool::new(false);
    let (outcomes, later_s) = thread::scope(|scope| {
        let (send, said) = channel();
        for (number, session) in sessions.iter().enumerate() {
            let (send, over) = (send.clone(), &over);
            scope.spawn(move || pass_on(number, session, &send, over));
        }
        drop(send);
        let running = Running::new(sessions, &clocks, origin, observer);
        let outcomes = running.attend(&said, stop);
        over.store(true, Ordering::Relaxed);
        outcomes
    })?;
    let doubt = check_clocks(sessions, &clocks, &outcomes).err();
    let Some(outcome) = together(&outcomes) else {
        return Err(FailureReason::Here("no host is given to load from".into()).of(""));
    };
    let hosts = sessions.iter().zip(clocks).zip(outcomes);
    let hosts = hosts.map(|((session, clock), outcome)| HostOutcome {
        host: session.host().to_owned(),
        clock,
        outcome,
    });
    Ok(LoadFound { outcome: outcome.later(later_s), hosts: hosts.collect(), doubt })
}

/// Checks that no clock moved: its host's seconds would be merged with other seconds of the rest.
/// Skipped for a load that was interrupted, since its user does not wait.
fn check_clocks(
    sessions: &[HostSession],
    before: &[ClockOffset],
    outcomes: &[LoadOutcome],
) -> Result<()> {
    for ((session, before), outcome) in sessions.iter().zip(before).zip(outcomes) {
        if !outcome.interrupted {
            session.check_clock_since(*before)?;
        }
    }
    Ok(())
}

/// Forwards a host's messages until its load ends.
fn pass_on(number: usize, session: &HostSession, send: &Sender<Said>, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let said = match session.next::<LoadMessage, LoadDone, LoadFailed>(LOOK_EVERY) {
            Ok(None) => continue,
            Ok(Some(said)) => Ok(said),
            Err(failure) => Err(failure),
        };
        let is_last = !matches!(said, Ok(Message::Something(_)));
        if send.send((number, said)).is_err() || is_last {
            return;
        }
    }
}

/// A running load.
struct Running<'a> {
    sessions: &'a [HostSession],
    clocks: &'a [ClockOffset],
    /// The origin of the clock on which seconds are counted, if it is not the start of the load.
    origin: Option<Instant>,
    /// Seconds from that origin to the start of the load.
    later_s: f64,
    observer: &'a dyn LoadObserver,
    ready: usize,
    has_window: bool,
    /// Seconds of each host that the others have not reported yet.
    seconds: Vec<VecDeque<Second>>,
    outcomes: Vec<Option<LoadOutcome>>,
    /// Number of hosts whose load has not ended.
    running: usize,
    /// Hosts whose further messages are ignored.
    refused: Vec<bool>,
    failure: Option<Failure>,
    /// The time at which the load was stopped, for whatever reason.
    stopped: Option<Instant>,
}

impl<'a> Running<'a> {
    fn new(
        sessions: &'a [HostSession],
        clocks: &'a [ClockOffset],
        origin: Option<Instant>,
        observer: &'a dyn LoadObserver,
    ) -> Running<'a> {
        Running {
            sessions,
            clocks,
            origin,
            later_s: 0.0,
            observer,
            ready: 0,
            has_window: false,
            seconds: sessions.iter().map(|_| VecDeque::new()).collect(),
            outcomes: sessions.iter().map(|_| None).collect(),
            running: sessions.len(),
            refused: vec![false; sessions.len()],
            failure: None,
            stopped: None,
        }
    }

    /// Processes messages until every host has ended, or until one has failed and the others had
    /// their time to end. Returns the outcomes, each by its host's clock, and the seconds from the
    /// origin to the start.
    fn attend(
        mut self,
        said: &Receiver<Said>,
        stop: &AtomicBool,
    ) -> Result<(Vec<LoadOutcome>, f64)> {
        while self.running > 0 && !self.is_overdue() {
            match said.recv_timeout(LOOK_EVERY) {
                Ok((number, said)) => self.note(number, said)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if stop.load(Ordering::Relaxed) {
                self.stop();
            }
        }
        let outcomes: Vec<LoadOutcome> = self.outcomes.into_iter().flatten().collect();
        let Some(failure) = self.failure else { return Ok((outcomes, self.later_s)) };
        if let Some(outcome) = together(&outcomes) {
            self.observer.broken_off(&outcome.later(self.later_s));
        }
        Err(failure)
    }

    fn is_overdue(&self) -> bool {
        let stopped = self.stopped.filter(|_| self.failure.is_some());
        stopped.is_some_and(|stopped| stopped.elapsed() > END_PATIENCE)
    }

    fn stop(&mut self) {
        if self.stopped.is_none() {
            self.stopped = Some(Instant::now());
            self.sessions.iter().for_each(HostSession::stop);
        }
    }

    fn note(&mut self, number: usize, said: Result<LoadSays>) -> Result<()> {
        if self.refused[number] {
            return Ok(());
        }
        match said {
            Ok(Message::Something(LoadMessage::Ready)) => {
                self.ready += 1;
                if self.ready == self.sessions.len() && self.stopped.is_none() {
                    self.begin()?;
                }
            }
            Ok(Message::Something(LoadMessage::Window { from_s, to_s })) => {
                let is_long = |s: f64| s.abs() > WINDOW_S_MAX;
                if is_long(from_s) || to_s.is_some_and(is_long) {
                    self.refuse(number);
                } else if !std::mem::replace(&mut self.has_window, true) {
                    let to_s = to_s.map_or(f64::MAX, |to_s| to_s + self.later_s);
                    self.observer.window(from_s + self.later_s, to_s);
                }
            }
            Ok(Message::Something(LoadMessage::Second(second))) => {
                let held = &mut self.seconds[number];
                if !is_plausible_second(&second) || held.len() == SECONDS_AHEAD_MAX {
                    self.refuse(number);
                } else {
                    held.push_back(*second);
                }
            }
            Ok(Message::Something(LoadMessage::BrokenOff(outcome))) if !is_plausible(&outcome) => {
                self.refuse(number);
            }
            Ok(Message::Done(outcome)) if !is_plausible(&outcome) => self.refuse(number),
            // The failure itself follows.
            Ok(Message::Something(LoadMessage::BrokenOff(outcome))) => {
                self.outcomes[number] = Some(*outcome);
            }
            Ok(Message::Done(outcome)) => {
                self.outcomes[number] = Some(outcome);
                self.running -= 1;
            }
            Ok(Message::Failed(failed)) => self.fail(failed.of(&self.sessions[number])),
            Err(failure) => self.fail(failure),
        }
        self.tell_seconds();
        Ok(())
    }

    /// Ends the load of a host that reports impossible figures.
    fn refuse(&mut self, number: usize) {
        self.refused[number] = true;
        let reason = FailureReason::Protocol("figures that no load can have".into());
        self.fail(self.sessions[number].failure(reason));
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.running -= 1;
        self.stop();
    }

    /// Sends each host the start time by its own clock.
    fn begin(&mut self) -> Result<()> {
        let longest_ms = self.clocks.iter().map(|clock| clock.round_trip_ms).fold(0.0, f64::max);
        let lead_ns = LEAD.as_nanos() as u64 + (2.0 * longest_ms * 1e6) as u64;
        let at_ns = self.whole_second(now_ns() + lead_ns);
        let mut all = self.sessions.iter().zip(self.clocks);
        all.try_for_each(|(session, clock)| session.tell(&Begin { at_ns: clock.theirs_ns(at_ns) }))
    }

    /// The next whole second after the origin; `soonest_ns` itself if there is no origin.
    fn whole_second(&mut self, soonest_ns: u64) -> u64 {
        let Some(origin_ns) = self.origin.map(ns_of) else { return soonest_ns };
        let later = soonest_ns.saturating_sub(origin_ns).div_ceil(SECOND_NS);
        self.later_s = later as f64;
        origin_ns + later * SECOND_NS
    }

    /// Reports each second that all running hosts have reported. All hosts count from the same
    /// start, so their next seconds are the same.
    fn tell_seconds(&mut self) {
        loop {
            let lack = self.seconds.iter().zip(&self.outcomes);
            if lack.into_iter().any(|(seconds, outcome)| seconds.is_empty() && outcome.is_none()) {
                return;
            }
            let same: Vec<Second> =
                self.seconds.iter_mut().filter_map(VecDeque::pop_front).collect();
            match seconds_together(&same) {
                Some(second) => {
                    let end_s = second.end_s + self.later_s;
                    self.observer.second(&Second { end_s, ..second });
                }
                None => return,
            }
        }
    }
}
