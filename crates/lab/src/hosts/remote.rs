//! Runs the trials of a study on another machine.

use std::time::Duration;

use anyhow::{Context, Result};
use assay_base::HostSpec;
use assay_hosts::{Failure, FailureReason, HostSession, Message};
use assay_plan::PlannedTrial;
use assay_ports::child::Identity;
use assay_study::Outcome;
use serde_json::Value;

use super::attend::Attending;
use super::reach::{HostContext, STOPS};
use super::task::{CHECK, CLEAR, FromServer, STUDY, Shown, StudyTask};
use crate::run::{Described, Progress, RunContext, Site, StudyLock};

/// Size of a run's results, which come in one line: each second of some hundred series, four times
/// over; the time that a warm-up or a search may last beyond the plan's seconds; and everything
/// else.
const BYTES_PER_S: f64 = 16_384.0;
const SLACK_S: f64 = 1800.0;
const BYTES_BESIDE: usize = 8 << 20;

/// Delay after which Ctrl-C is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Rigs, server and monitor on another machine.
#[derive(Debug)]
pub struct RemoteSite<'a> {
    spec: HostSpec,
    context: RunContext<'a>,
    hosts: HostContext<'a>,
    /// `None` after it was lost.
    session: Option<HostSession>,
    /// The program of a lost session.
    former: Option<Identity>,
    described: Described,
    _held: StudyLock,
}

impl<'a> RemoteSite<'a> {
    /// Makes the resources there that all runs share.
    ///
    /// # Errors
    /// One line; whatever was made until then is gone again, on both machines.
    pub fn begin(
        spec: &HostSpec,
        context: RunContext<'a>,
        hosts: HostContext<'a>,
    ) -> Result<RemoteSite<'a>> {
        let held = StudyLock::take(context.study, None)?;
        let session = hosts.to(spec)?;
        let described = begin_study(&session, &context, None, hosts.say)?;
        let session = Some(session);
        Ok(RemoteSite {
            spec: spec.clone(),
            context,
            hosts,
            session,
            former: None,
            described,
            _held: held,
        })
    }

    /// The session, or a new one after it was lost.
    fn session(&mut self, progress: &dyn Progress, trial: &PlannedTrial) -> Result<HostSession> {
        if let Some(session) = self.session.take() {
            return Ok(session);
        }
        progress.step(&trial.key, "waiting for the server's host to come back");
        let session = self.hosts.back_to(&self.spec).context(STOPS)?;
        let say = |text: &str| progress.step(&trial.key, text);
        begin_study(&session, &self.context, self.former, &say)?;
        self.former = None;
        Ok(session)
    }

    fn attending<'b>(&'b self, session: &'b HostSession) -> Attending<'b> {
        let RunContext { loads, interrupt, .. } = self.context;
        Attending { session, loads, interrupt }
    }
}

impl Site for RemoteSite<'_> {
    fn described(&self) -> Described {
        self.described.clone()
    }

    fn make_run(&mut self, trial: &PlannedTrial, progress: &dyn Progress) -> Result<Outcome> {
        progress.begin_trial(&trial.key);
        self.context.loads.make_ready()?;
        let session = self.session(progress, trial)?;
        let ended = self.attending(&session).run(trial, progress);
        match ended {
            // The interrupt has ended the work there.
            Ok(outcome) if self.context.interrupt.is_set() => {
                session.end()?;
                Ok(outcome)
            }
            Ok(outcome) => {
                self.session = Some(session);
                Ok(outcome)
            }
            Err(failure) => {
                self.former = Some(session.process());
                Ok(Outcome { reason: Some(failure.to_string()), ..Outcome::default() })
            }
        }
    }

    fn take_down(mut self: Box<Self>) -> Result<()> {
        if let Some(session) = self.session.take() {
            match self.attending(&session).end_work() {
                Err(Failure { reason: FailureReason::Lost(_), .. }) => {
                    self.former = Some(session.process());
                }
                ended => ended.and_then(|()| session.end())?,
            }
        }
        match self.former {
            Some(former) => clear(&self.spec, former, &self.hosts)
                .with_context(|| format!("`assay clean --host {}` tries again", self.spec.ssh)),
            None => Ok(()),
        }
    }
}

fn task(context: &RunContext<'_>, address: String) -> Result<StudyTask> {
    let plan = context.experiment.to_be_sent()?;
    Ok(StudyTask { plan, erase: context.erase.to_vec(), address, former: None })
}

fn begin_study(
    session: &HostSession,
    context: &RunContext<'_>,
    former: Option<Identity>,
    say: &dyn Fn(&str),
) -> Result<Described> {
    let address = session.address().with_context(|| {
        format!(
            "{} does not tell by which address it was reached; give it as address",
            session.host()
        )
    })?;
    let task = task(context, address.to_owned())?;
    let seconds = context.experiment.seconds + context.experiment.warmup_seconds() + SLACK_S;
    session.allow_lines(BYTES_BESIDE + (seconds * BYTES_PER_S) as usize);
    session.begin_work(STUDY, &StudyTask { former, ..task })?;
    let mut is_stopped = false;
    loop {
        if context.interrupt.is_set() && !is_stopped {
            session.stop();
            is_stopped = true;
        }
        match session.next::<FromServer, Value, String>(LOOK_EVERY)? {
            Some(Message::Something(FromServer::Ready(described))) if !is_stopped => {
                return Ok(*described);
            }
            Some(Message::Something(FromServer::Shown(Shown::Say(text)))) => say(&text),
            Some(Message::Something(_)) | None => {}
            Some(Message::Failed(_) | Message::Done(_)) if is_stopped => {
                return Err(session.failure(FailureReason::Interrupted).into());
            }
            Some(Message::Failed(words)) => {
                return Err(session.failure(FailureReason::Work(words)).into());
            }
            Some(Message::Done(_)) => {
                let words = "the study there ended before its first run".to_owned();
                return Err(session.failure(FailureReason::Work(words)).into());
            }
        }
    }
}

/// Checks whether the plan can be run on the host. Makes nothing there but a copy of the program.
pub fn check(spec: &HostSpec, context: &RunContext<'_>, hosts: &HostContext<'_>) -> Result<()> {
    let session = hosts.to(spec)?;
    session.begin_work(CHECK, &task(context, String::new())?)?;
    Ok(await_end(&session, hosts).and_then(|()| session.end())?)
}

/// Removes the resources of a lost session.
fn clear(spec: &HostSpec, former: Identity, hosts: &HostContext<'_>) -> Result<(), Failure> {
    let session = hosts.back_to(spec)?;
    session.begin_work(CLEAR, &former)?;
    await_end(&session, hosts).and_then(|()| session.end())
}

fn await_end(session: &HostSession, hosts: &HostContext<'_>) -> Result<(), Failure> {
    loop {
        match session.next::<Value, Value, String>(LOOK_EVERY)? {
            Some(Message::Done(_)) => return Ok(()),
            Some(Message::Failed(words)) => return Err(session.failure(FailureReason::Work(words))),
            Some(Message::Something(_)) => {}
            None if hosts.interrupt.is_set() => {
                return Err(session.failure(FailureReason::Interrupted));
            }
            None => {}
        }
    }
}
