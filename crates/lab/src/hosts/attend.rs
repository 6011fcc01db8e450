//! A run on another machine, attended to from here: what it tells is shown, and the loads it asks for are run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assay_hosts::{ClockOffset, Failure, Reason, Result, Session, Told, instant_of};
use assay_load::{Error, LoadSpec, Observer, Second};
use assay_plan::PlannedTrial;
use assay_study::Outcome;
use assay_system::interrupt::Interrupt;
use serde_json::Value;

use super::from_hosts::doubted;
use super::task::{FromServer, Shown, ToServer};
use crate::run::Progress;
use crate::run::loads::{HostClock, LoadResult, Loads};

/// How soon Ctrl-C is seen.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long the other end may take to end what it has in hand, once it was asked to.
const END_WITHIN: Duration = Duration::from_secs(300);

type Says = Told<FromServer, Value, String>;

/// The session with the machine that has the server, and who runs loads on it.
#[derive(Clone, Copy)]
pub(super) struct Attending<'a> {
    pub(super) session: &'a Session,
    pub(super) loads: &'a dyn Loads,
    pub(super) interrupt: &'a Interrupt,
}

impl Attending<'_> {
    /// Has it make a run, to its end; a run that Ctrl-C ended is one that failed.
    ///
    /// # Errors
    /// The connection is lost, or the work there has ended.
    pub(super) fn run(self, trial: &PlannedTrial, progress: &dyn Progress) -> Result<Outcome> {
        self.session.tell(&ToServer::Run(trial.key.clone()))?;
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let ended = self.attend(trial, progress, |load, origin_ns| {
                let stop = &stop;
                scope.spawn(move || self.load(&load, origin_ns, stop));
            });
            // A load may still run: nobody waits for it any more.
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
                Says::Something(FromServer::Shown(shown)) => show(trial, progress, shown),
                Says::Something(FromServer::Preflight(load)) => self.preflight(&load)?,
                Says::Something(FromServer::Load { load, origin_ns }) => {
                    begin_load(load, origin_ns)
                }
                Says::Something(FromServer::Ended(outcome)) => return Ok(*outcome),
                Says::Something(FromServer::Ready(_)) => {}
                Says::Done(_) => return Err(self.failure("the study there ended early")),
                Says::Failed(words) => return Err(self.failure(&words)),
            }
        }
    }

    fn failure(self, words: &str) -> Failure {
        self.session.failure(Reason::Work(words.to_owned()))
    }

    /// Asks the work there to end, and waits until it has taken down what it made.
    ///
    /// # Errors
    /// It could not, it does not end, or the connection is lost.
    pub(super) fn end_work(self) -> Result<()> {
        self.session.stop();
        let until = Instant::now() + END_WITHIN;
        while Instant::now() < until {
            match self.session.next::<FromServer, Value, String>(LOOK_EVERY)? {
                Some(Says::Done(_)) => return Ok(()),
                Some(Says::Failed(words)) => return Err(self.failure(&words)),
                Some(Says::Something(_)) | None => {}
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

    /// Runs a load, and passes on what is seen of it.
    fn load(self, load: &LoadSpec, origin_ns: u64, stop: &AtomicBool) {
        let ended = self.load_by_clock(load, origin_ns, stop);
        // Where the connection is lost, whoever attends to it knows.
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

/// Passes on what happens.
struct PassedOn<'a>(&'a Session);

impl Observer for PassedOn<'_> {
    fn window(&self, from_s: f64, to_s: f64) {
        let to_s = (to_s < f64::MAX).then_some(to_s);
        let _ = self.0.tell(&ToServer::Window { from_s, to_s });
    }

    fn second(&self, second: &Second) {
        let _ = self.0.tell(&ToServer::Second(Box::new(second.clone())));
    }
}
