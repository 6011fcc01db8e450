//! Follows a run on another machine: shows its progress and runs the loads that it requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assay_hosts::{ClockOffset, Failure, FailureReason, HostSession, Message, Result, instant_of};
use assay_load::{Error, LoadObserver, LoadSpec, Second};
use assay_plan::PlannedTrial;
use assay_study::Outcome;
use assay_system::interrupt::Interrupt;
use serde_json::Value;

use super::from_hosts::doubted;
use super::task::{FromServer, Shown, ToServer};
use crate::run::Progress;
use crate::run::loads::{HostClock, LoadResult, Loads};

/// Delay after which Ctrl-C is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Time that the other end has to take down its run.
const END_WITHIN: Duration = Duration::from_secs(300);

type ServerMessage = Message<FromServer, Value, String>;

/// The session with the server's machine.
#[derive(Clone, Copy)]
pub(super) struct Attending<'a> {
    pub(super) session: &'a HostSession,
    pub(super) loads: &'a dyn Loads,
    pub(super) interrupt: &'a Interrupt,
}

impl Attending<'_> {
    /// Runs a trial there. A run that Ctrl-C ended has failed.
    ///
    /// # Errors
    /// The connection is lost, or the job there has ended.
    pub(super) fn run(self, trial: &PlannedTrial, progress: &dyn Progress) -> Result<Outcome> {
        self.session.tell(&ToServer::Run(trial.key.clone()))?;
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let ended = self.attend(trial, progress, |load, origin_ns| {
                let stop = &stop;
                scope.spawn(move || self.load(&load, origin_ns, stop));
            });
            // Ends a load that is still running: its result is of no use.
            stop.store(true, Ordering::Relaxed);
            ended
        })
    }

    fn attend(
        self,
        trial: &PlannedTrial,
        progress: &dyn Progress,
        begin_load: impl Fn(Box<LoadSpec>, u64),
    ) -> Result<Outcome> {
        loop {
            if self.interrupt.is_set() {
                return self.end_work().map(|()| interrupted());
            }
            let Some(said) = self.session.next(LOOK_EVERY)? else { continue };
            match said {
                ServerMessage::Something(FromServer::Shown(shown)) => show(trial, progress, shown),
                ServerMessage::Something(FromServer::Preflight(load)) => self.preflight(&load)?,
                ServerMessage::Something(FromServer::Load { load, origin_ns }) => {
                    begin_load(load, origin_ns)
                }
                ServerMessage::Something(FromServer::Ended(outcome)) => return Ok(*outcome),
                ServerMessage::Something(FromServer::Ready(_)) => {}
                ServerMessage::Done(_) => return Err(self.failure("the study there ended early")),
                ServerMessage::Failed(words) => return Err(self.failure(&words)),
            }
        }
    }

    fn failure(self, words: &str) -> Failure {
        self.session.failure(FailureReason::Work(words.to_owned()))
    }

    /// Ends the work there, and waits until it has taken down its resources.
    ///
    /// # Errors
    /// It does not end, or the connection is lost.
    pub(super) fn end_work(self) -> Result<()> {
        self.session.stop();
        let until = Instant::now() + END_WITHIN;
        while Instant::now() < until {
            match self.session.next::<FromServer, Value, String>(LOOK_EVERY)? {
                Some(ServerMessage::Done(_)) => return Ok(()),
                Some(ServerMessage::Failed(words)) => return Err(self.failure(&words)),
                Some(ServerMessage::Something(_)) | None => {}
            }
        }
        Err(self.failure(
            "it does not end what it has in hand; `assay clean --host` tells what is left",
        ))
    }

    fn preflight(self, load: &LoadSpec) -> Result<()> {
        let found = self.loads.preflight(load);
        self.session.tell(&ToServer::Preflighted(found))
    }

    /// Runs a load, and sends its seconds and its result.
    fn load(self, load: &LoadSpec, origin_ns: u64, stop: &AtomicBool) {
        let ended = self.load_by_clock(load, origin_ns, stop);
        // `attend` notices a lost connection.
        let _ = self.session.tell(&ToServer::Loaded(Box::new(ended)));
    }

    fn load_by_clock(
        self,
        load: &LoadSpec,
        origin_ns: u64,
        stop: &AtomicBool,
    ) -> assay_load::Result<LoadResult> {
        let of_host = |failure: Failure| Error::Host(failure.to_string());
        let clock: ClockOffset = self.session.compare_clocks().map_err(of_host)?;
        let origin = instant_of(clock.ours_ns(origin_ns));
        let mut result = self.loads.run(load, origin, &PassedOn(self.session), stop)?;
        let host = self.session.host().to_owned();
        if !result.outcome.interrupted {
            let moved = self.session.check_clock_since(clock).err();
            result.about.doubts.extend(moved.as_ref().map(doubted));
        }
        result.about.clocks.insert(0, HostClock { host, clock });
        Ok(result)
    }
}

fn interrupted() -> Outcome {
    Outcome { reason: Some("interrupted".into()), ..Outcome::default() }
}

fn show(trial: &PlannedTrial, progress: &dyn Progress, shown: Shown) {
    match shown {
        Shown::Say(text) => progress.say(&text),
        Shown::Step(what) => progress.step(&trial.key, &what),
        Shown::Loading(loading) => progress.loading(&loading),
        Shown::Second(second) => progress.second(&trial.key, &second),
        Shown::Tried { objective, step } => progress.tried(&trial.key, objective, &step),
    }
}

/// Sends the load's progress to the server's machine.
struct PassedOn<'a>(&'a HostSession);

impl LoadObserver for PassedOn<'_> {
    fn window(&self, from_s: f64, to_s: f64) {
        let to_s = (to_s < f64::MAX).then_some(to_s);
        let _ = self.0.tell(&ToServer::Window { from_s, to_s });
    }

    fn second(&self, second: &Second) {
        let _ = self.0.tell(&ToServer::Second(Box::new(second.clone())));
    }
}
