//! What happens in phases of a run: each on a thread of its own, with a connection of its own, begun by the run's clock.
//!
//! Guarantees: the load is not touched by any of it but through the server; nothing of it outlives the load, with which every
//! connection is cut; when each began and ended, and what was refused, is a value.

mod checkpoint;
mod restart;
mod scan;
mod stage;
mod stores;
mod throughout;

use std::thread::{Builder, ScopedJoinHandle};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use assay_load::{Endpoint, Schema};
use parking_lot::Mutex;

use crate::monitor::Followed;
use crate::rig::page_cache;
use crate::rig::pool::RunPool;
use crate::rig::server::{Binary, Server, Start};
use assay_base::text::on_one_line;
use assay_plan::PhaseSpec;
use assay_study::metrics::Window;
use assay_study::{Done, Happened, Happening, Phase, Warning};
pub use stage::Stage;
pub use throughout::Throughout;

/// A server of our own, as what happens to it finds it.
pub struct Own<'a> {
    /// The server, which only a restart touches while the load runs.
    pub server: Mutex<&'a mut Server>,
    /// What the server's process is called, before and after.
    pub followed: Followed,
    /// What it was started with.
    pub binary: &'a Binary,
    /// How.
    pub start: Start,
    /// The pool below it, if there is one.
    pub pool: Option<&'a RunPool>,
}

/// What happenings are done to.
pub struct Scene<'a> {
    /// The server, where it is ours.
    pub own: Option<Own<'a>>,
    /// The tables.
    pub schema: &'a Schema,
    /// How to connect to them.
    pub endpoint: Endpoint,
    /// CPUs of the load, which these threads share.
    pub cpus: Vec<usize>,
    /// When the run's clock began.
    pub origin: Instant,
}

impl<'a> Scene<'a> {
    /// The server, for what only its owner may do.
    ///
    /// # Errors
    /// It is somebody else's.
    fn own(&self) -> Result<&Own<'a>> {
        self.own.as_ref().context("the server is somebody else's")
    }
}

/// All that is to happen.
#[derive(Clone, Copy)]
pub struct Happenings<'a> {
    /// Each phase's, once.
    pub phases: &'a [PhaseSpec],
    /// From the first window on to the end of the load, over and over.
    pub during: Option<&'a Happening>,
}

/// What came of it.
pub struct AllHappened {
    /// Of each phase.
    pub in_phases: Vec<Option<Happened>>,
    /// Of what went on all the time.
    pub during: Option<Throughout>,
}

/// Runs `load` while everything happens; gives what came of it.
///
/// # Errors
/// No thread can be started.
pub fn alongside<T>(
    scene: &Scene<'_>,
    Happenings { phases, during }: Happenings<'_>,
    load: impl FnOnce(&Stage) -> T,
) -> Result<(T, AllHappened)> {
    let stage = Stage::new(scene.origin);
    std::thread::scope(|scope| {
        let over = stage.ends_with_this();
        let mut threads: Vec<Option<ScopedJoinHandle<'_, Option<Happened>>>> = Vec::new();
        let mut offset_s = 0.0;
        for phase in phases {
            let stage = &stage;
            let thread = phase.happening.as_ref().map(|happening| {
                let happen = move || happen(scene, stage, offset_s, happening);
                Builder::new().name("happening".into()).spawn_scoped(scope, happen)
            });
            threads.push(thread.transpose().context("cannot start a thread for what happens")?);
            offset_s += phase.seconds;
        }
        let during = during.map(|happening| {
            let go_on = || throughout::go_on(scene, &stage, happening);
            Builder::new().name("happening".into()).spawn_scoped(scope, go_on)
        });
        let during = during.transpose().context("cannot start a thread for what happens")?;
        let loaded = load(&stage);
        drop(over);
        let in_phases = threads.into_iter().map(|thread| thread?.join().ok().flatten()).collect();
        let during = during.and_then(|thread| thread.join().ok().flatten());
        Ok((loaded, AllHappened { in_phases, during }))
    })
}

/// Nothing where the load ended before it was to begin.
fn happen(
    scene: &Scene<'_>,
    stage: &Stage,
    offset_s: f64,
    happening: &Happening,
) -> Option<Happened> {
    // Where this thread runs matters little; the load says it if its CPUs cannot be had.
    let _ = assay_ports::cpu::bind_thread(&scene.cpus);
    let began_s = stage.wait_for(offset_s)?;
    let mut done = None;
    let result = perform(scene, stage, happening, &mut done);
    let ended_s = stage.now_s().filter(|_| !stage.is_over());
    // What is cut off with the load has not failed.
    let error = result.err().filter(|_| ended_s.is_some());
    Some(Happened {
        happening: happening.clone(),
        began_s,
        ended_s,
        error: error.map(|error| on_one_line(&format!("{error:#}"))),
        done,
    })
}

fn perform(
    scene: &Scene<'_>,
    stage: &Stage,
    happening: &Happening,
    done: &mut Option<Done>,
) -> Result<()> {
    match happening {
        Happening::Scan => scan::scan(scene, stage, done),
        Happening::Checkpoint => checkpoint::checkpoint(scene, stage, done),
        Happening::DropPageCache => {
            let files = page_cache::forget(&scene.own()?.start.datadir)?;
            *done = Some(Done::DropPageCache { files });
            Ok(())
        }
        Happening::Restart => restart::restart(scene, stage, done),
        Happening::KillStore(store) => stores::kill(scene, *store),
        Happening::ReturnStore(store) => stores::bring_back(scene, stage, *store, done),
        Happening::Sql(statement) => {
            let mut session = stage.connect(&scene.endpoint)?;
            session.query(statement.as_bytes())?;
            Ok(())
        }
    }
}

/// The phases of a run whose window began then, as they were.
pub fn told(
    phases: &[PhaseSpec],
    paces: &assay_load::Phases,
    happened: Vec<Option<Happened>>,
    begin_s: f64,
) -> Vec<Phase> {
    let mut from_s = begin_s;
    let of = |((phase, pace), happened): ((&PhaseSpec, &assay_load::LoadPhase), _)| {
        let window = Window { from_s, to_s: from_s + phase.seconds };
        from_s = window.to_s;
        Phase {
            name: phase.name.clone(),
            window,
            pace: pace.pace,
            workload: phase.workload.clone(),
            happened,
        }
    };
    phases.iter().zip(&paces.each).zip(happened).map(of).collect()
}

/// What was refused, each with the phase that it was to happen in.
pub fn warnings(
    phases: &[PhaseSpec],
    happened: &[Option<Happened>],
) -> impl Iterator<Item = Warning> {
    phases.iter().zip(happened).filter_map(|(phase, happened)| {
        let Happened { happening, error, .. } = happened.as_ref()?;
        let happening = happening.word().to_owned();
        Some(Warning::HappeningFailed {
            phase: phase.name.clone(),
            happening,
            error: error.clone()?,
        })
    })
}

/// Fails the run of a server that did not come back, and one without what was to go on all the time: what was measured is not
/// what the plan asks for.
///
/// # Errors
/// That it did not.
pub fn check(happened: &AllHappened) -> Result<()> {
    if let Some(Throughout { happening, error: Some(error), .. }) = &happened.during {
        bail!("the {} that was to go on all the time failed: {error}", happening.word());
    }
    check_stores(&happened.in_phases)?;
    check_restarts(&happened.in_phases)
}

fn check_stores(happened: &[Option<Happened>]) -> Result<()> {
    for one in happened.iter().flatten() {
        if let (Happening::KillStore(store), Some(error)) = (&one.happening, &one.error) {
            bail!("store {store} could not be killed: {error}");
        }
    }
    Ok(())
}

fn check_restarts(happened: &[Option<Happened>]) -> Result<()> {
    for one in happened.iter().flatten().filter(|one| one.happening == Happening::Restart) {
        if let Some(error) = &one.error {
            bail!("the server did not come back when it was restarted: {error}");
        }
        ensure!(
            one.ended_s.is_some(),
            "the server had not come back when the run ended; make the phase of its restart longer"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_load::{LoadPhase, PhasePace, Phases};

    fn phase(name: &str, seconds: f64) -> PhaseSpec {
        let spec = serde_json::json!({ "name": name, "seconds": seconds, "happening": "restart" });
        serde_json::from_value(spec).unwrap()
    }

    fn happened(ended_s: Option<f64>, error: Option<&str>) -> Option<Happened> {
        let error = error.map(str::to_owned);
        let happening = Happening::Restart;
        Some(Happened { happening, began_s: 7.0, ended_s, error, done: None })
    }

    #[test]
    fn phases_lie_one_behind_the_other_from_the_windows_beginning() {
        let specs = [phase("a", 5.0), phase("b", 2.0)];
        let pace = LoadPhase { seconds: 1, pace: PhasePace::Paused, workload: None };
        let paces = Phases { arrivals: Default::default(), each: vec![pace.clone(), pace] };
        let told = told(&specs, &paces, vec![None, happened(Some(9.0), None)], 3.0);
        let windows: Vec<_> = told.iter().map(|one| (one.window.from_s, one.window.to_s)).collect();
        assert_eq!(windows, [(3.0, 8.0), (8.0, 10.0)]);
        assert_eq!(told[1].happened.as_ref().unwrap().took_s(), Some(2.0));
    }

    #[test]
    fn a_server_that_does_not_come_back_fails_the_run_and_a_refusal_is_told() {
        assert!(check_restarts(&[None, happened(Some(9.0), None)]).is_ok());
        let told = |one| check_restarts(&[one]).unwrap_err().to_string();
        assert!(told(happened(None, None)).contains("make the phase of its restart longer"));
        assert!(told(happened(Some(8.0), Some("no space"))).ends_with("restarted: no space"));
        let refused = [happened(Some(8.0), Some("no space")), happened(Some(9.0), None)];
        let found: Vec<Warning> = warnings(&[phase("a", 5.0), phase("b", 2.0)], &refused).collect();
        let (phase, happening, error) = ("a".into(), "restart".into(), "no space".into());
        assert_eq!(found, [Warning::HappeningFailed { phase, happening, error }]);
    }
}
