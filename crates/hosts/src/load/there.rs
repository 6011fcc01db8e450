//! A part of a load, on the host that runs it.

use std::time::{Duration, Instant};

use assay_load::{LoadObserver, LoadOutcome, Rendezvous, Second, run_together, shortage};
use parking_lot::Mutex;
use serde_json::Value;

use super::files;
use super::task::{Begin, LOAD, LoadFailed, LoadMessage, LoadTask, PREFLIGHT};
use crate::clock::now_ns;
use crate::serve::Talk;

/// Runs the jobs of a load host: the load and its preflight check. Returns `None` for other jobs.
pub fn carry_out(work: &str, task: Value, talk: &Talk) -> Option<Result<Value, Value>> {
    let done = match work {
        LOAD => understood(task).and_then(|task| load(task, talk)),
        PREFLIGHT => understood(task).and_then(look),
        _ => return None,
    };
    Some(done.map_err(|failed| serde_json::to_value(failed).unwrap_or_default()))
}

fn understood(task: Value) -> Result<LoadTask, LoadFailed> {
    serde_json::from_value(task).map_err(|error| LoadFailed::Host(error.to_string()))
}

fn value(done: &impl serde::Serialize) -> Result<Value, LoadFailed> {
    serde_json::to_value(done).map_err(|error| LoadFailed::Host(error.to_string()))
}

fn look(task: LoadTask) -> Result<Value, LoadFailed> {
    let LoadTask { mut load, files } = task;
    let _made = files::put(&files, &mut load).map_err(of_host)?;
    assay_load::preflight(&load).map_err(LoadFailed::Load)?;
    let short = match load.schedule.part.number {
        0 => shortage(&load).map_err(LoadFailed::Load)?,
        _ => None,
    };
    value(&short)
}

fn load(task: LoadTask, talk: &Talk) -> Result<Value, LoadFailed> {
    let LoadTask { mut load, files } = task;
    let _made = files::put(&files, &mut load).map_err(of_host)?;
    let meeting = Meeting { talk, late_ms: Mutex::new(None) };
    let outcome = run_together(&load, &meeting, &Teller(talk), talk.stop().flag());
    if let Some(late_ms) = meeting.late_ms.into_inner() {
        return Err(LoadFailed::Late(late_ms));
    }
    value(&outcome.map_err(LoadFailed::Load)?)
}

fn of_host(error: anyhow::Error) -> LoadFailed {
    LoadFailed::Host(format!("{error:#}"))
}

/// Sends the load's events to the machine that coordinates it.
struct Teller<'a>(&'a Talk);

impl LoadObserver for Teller<'_> {
    fn window(&self, from_s: f64, to_s: f64) {
        let to_s = (to_s < f64::MAX).then_some(to_s);
        self.0.tell(&LoadMessage::Window { from_s, to_s });
    }

    fn second(&self, second: &Second) {
        self.0.tell(&LoadMessage::Second(Box::new(second.clone())));
    }

    fn broken_off(&self, outcome: &LoadOutcome) {
        self.0.tell(&LoadMessage::BrokenOff(Box::new(outcome.clone())));
    }
}

/// Reports that all connections are ready, and waits for the start time.
struct Meeting<'a> {
    talk: &'a Talk,
    late_ms: Mutex<Option<f64>>,
}

impl Rendezvous for Meeting<'_> {
    fn meet(&self) -> Option<Instant> {
        self.talk.tell(&LoadMessage::Ready);
        let begin = self.talk.hear().and_then(|told| serde_json::from_value(told).ok());
        let at = begin.map(|Begin { at_ns }| (at_ns, now_ns()));
        let ahead = at.and_then(|(at_ns, now_ns)| match at_ns.checked_sub(now_ns) {
            None => {
                *self.late_ms.lock() = Some((now_ns - at_ns) as f64 / 1e6);
                None
            }
            ahead => ahead,
        });
        if ahead.is_none() {
            self.talk.stop().set();
        }
        Some(Instant::now() + Duration::from_nanos(ahead?))
    }
}

/// Errors are passed on unchanged, except that the errno is dropped.
#[cfg(test)]
mod tests {
    use assay_load::Error;

    use super::*;

    #[test]
    fn an_error_says_the_same_at_both_ends() {
        let system = std::io::Error::other("no more processes");
        for error in [
            Error::Lost("x".into()),
            Error::Config("y".into()),
            Error::System { what: "cannot start a thread".into(), source: system },
        ] {
            let told =
                format!("{error} {:?}", std::error::Error::source(&error).map(ToString::to_string));
            let sent = serde_json::to_string(&LoadFailed::Load(error)).unwrap();
            let Ok(LoadFailed::Load(heard)) = serde_json::from_str(&sent) else { panic!("{sent}") };
            let source = std::error::Error::source(&heard).map(ToString::to_string);
            assert_eq!(format!("{heard} {source:?}"), told);
        }
    }
}
