//! A study's runs on the server's machine.
//!
//! Guarantee: all resources are removed when the work ends, also when it ends because the session
//! did.

use anyhow::{Context, Result};
use assay_hosts::{Talk, new_session_directory};
use assay_plan::{Experiment, PlannedTrial};
use assay_ports::child::Identity;
use assay_study::Outcome;
use assay_system::ledger::Ledger;
use serde_json::Value;

use super::left;
use super::relayed::Relayed;
use super::task::{CHECK, CLEAR, FromServer, STUDY, Shown, StudyTask, ToServer};
use super::teller::Teller;
use crate::run::{RunContext, Setup, Site, check, location_of};

/// Does the work of a study: its runs, its check, and the removal after a lost session. Returns
/// `None` for another kind of work.
pub fn carry_out(work: &str, task: &Value, talk: &Talk) -> Option<Result<Value, Value>> {
    let done = match work {
        STUDY => understood(task).and_then(|task| study(&task, talk)),
        CHECK => understood(task).and_then(|task| look(&task)),
        CLEAR => understood(task).and_then(|former: Identity| left::clear(former, talk.stop())),
        _ => return None,
    };
    Some(done.map(|()| Value::Null).map_err(|error| format!("{error:#}").into()))
}

fn understood<T: serde::de::DeserializeOwned>(task: &Value) -> Result<T> {
    T::deserialize(task).context("the task does not parse")
}

fn look(task: &StudyTask) -> Result<()> {
    let experiment = Experiment::received(&task.plan)?;
    check::check(&experiment, &location(&experiment)?, &task.erase).map(drop)
}

/// The measured disk must be named: the study's directory is on another machine.
fn location(experiment: &Experiment) -> Result<std::path::PathBuf> {
    experiment.location.as_ref().context(
        "the plan does not say which of this machine's disks to measure; give a directory on it \
         with --location, or location in the plan",
    )?;
    location_of(experiment, "/".as_ref())
}

fn study(task: &StudyTask, talk: &Talk) -> Result<()> {
    if let Some(former) = task.former {
        left::clear(former, talk.stop())?;
    }
    let experiment = Experiment::received(&task.plan)?;
    location(&experiment)?;
    let directory = new_session_directory()?;
    let ledger = Ledger::of_run(&directory)?;
    let made = ledger.make_directory(&directory)?;
    let relayed = Relayed { talk, address: task.address.clone() };
    let context = RunContext {
        experiment: &experiment,
        study: &directory,
        erase: &task.erase,
        interrupt: talk.stop(),
        ledger,
        loads: &relayed,
    };
    let say = |text: &str| talk.tell(&FromServer::Shown(Shown::Say(text.to_owned())));
    let mut setup = Setup::make(context, &say)?;
    talk.tell(&FromServer::Ready(Box::new(setup.described())));
    make_runs(&mut setup, &experiment.trials(), talk);
    setup.take_down()?;
    made.remove()
}

/// Runs the requested trials until the work is to end.
fn make_runs(setup: &mut Setup<'_>, planned: &[PlannedTrial], talk: &Talk) {
    while let Some(told) = talk.hear() {
        // Other messages belong to a load that has ended.
        let Ok(ToServer::Run(key)) = serde_json::from_value(told) else { continue };
        let outcome = match planned.iter().find(|trial| trial.key == key) {
            Some(trial) => {
                setup.make_run(trial, &Teller(talk)).unwrap_or_else(|error| failed(&error))
            }
            None => failed(&anyhow::anyhow!("the plan has no run {key}")),
        };
        talk.tell(&FromServer::Ended(Box::new(finite(outcome))));
    }
}

fn failed(error: &anyhow::Error) -> Outcome {
    Outcome { reason: Some(format!("{error:#}")), ..Outcome::default() }
}

/// Drops figures that are not finite, which JSON cannot represent.
fn finite(mut outcome: Outcome) -> Outcome {
    outcome.results.retain(|_, value| value.is_finite());
    for series in &mut outcome.series {
        series.points.retain(|(_, value)| value.is_finite());
    }
    outcome
}
