//! Runs that take turns: the servers of several configurations are up at once, each on a rig of its
//! own, and one load after the other sends for a few seconds.
//!
//! Guarantees: all sides have one clock and start together; what is observed of a side is in the
//! time of its own turns. A side that fails takes no other with it.

use std::thread::{self, Builder};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use assay_load::Turns;

use super::meeting::{Attendance, Meeting};
use super::observe::{InTurns, Run, joined};
use super::own_server::{OwnTarget, Place, RunningServer, circumstances};
use super::take_down;
use crate::rig::pool::RunPool;
use crate::run::config_setup::ConfigSetup;
use crate::run::progress::Progress;
use crate::run::results::{Circumstances, Observations, RunClock};
use crate::run::setup::Setup;
use assay_base::clock::now_precisely;
use assay_plan::PlannedTrial;

/// A side that is up. Dropped, the server goes before the pool in which its rig lies.
struct Side<'a> {
    trial: &'a PlannedTrial,
    config: ConfigSetup,
    server: RunningServer,
    pool: Option<RunPool>,
    known: Circumstances,
    turns: Turns,
}

/// Brings the sides up, loads them in turns and takes them down. Returns the observations of each
/// run, in their order.
pub(super) fn observe(
    setup: &mut Setup<'_>,
    start: &[&PlannedTrial],
    progress: &dyn Progress,
) -> Vec<Observations> {
    let of = start.len() as u32;
    let mut sides: Vec<Result<Side<'_>>> = Vec::new();
    for (trial, side) in start.iter().copied().zip(0..) {
        sides.push(Side::bring_up(setup, trial, Turns { side, of }, progress));
    }
    let observed = in_turns(setup, &mut sides, progress);
    let ended = sides.into_iter().zip(observed);
    ended
        .map(|(side, observed)| match (side, observed) {
            (Ok(side), Some(observations)) => side.end(observations, progress),
            (Err(error), _) => Observations::failed(error),
            (Ok(_), None) => Observations::failed(anyhow!("the run was not loaded")),
        })
        .collect()
}

/// Loads and monitors all sides that are up, each from a thread of its own.
fn in_turns(
    setup: &Setup<'_>,
    sides: &mut [Result<Side<'_>>],
    progress: &dyn Progress,
) -> Vec<Option<Observations>> {
    let (origin, began) = (Instant::now(), now_precisely());
    let up = || sides.iter().filter_map(|side| side.as_ref().ok());
    let meeting = Meeting::new(up().count(), origin, setup.interrupt.flag());
    let processes: Vec<(u32, Vec<u32>)> =
        up().map(|side| (side.turns.side, side.server.pids())).collect();
    let others = |own: u32| -> Vec<u32> {
        let others = processes.iter().filter(|(side, _)| *side != own);
        others.flat_map(|(_, pids)| pids).copied().collect()
    };
    thread::scope(|scope| {
        let threads: Vec<Option<_>> = sides
            .iter_mut()
            .map(|side| {
                let side = side.as_mut().ok()?;
                let clock = RunClock { origin, began: began.clone() };
                let (attendance, others) = (meeting.attend(), others(side.turns.side));
                let name = format!("side-{}", side.turns.side + 1);
                let observe = move || side.observe(setup, (clock, others), &attendance, progress);
                Some(Builder::new().name(name).spawn_scoped(scope, observe))
            })
            .collect();
        let ended = |thread| joined(thread).unwrap_or_else(Observations::failed);
        threads.into_iter().map(|thread| thread.map(ended)).collect()
    })
}

impl<'a> Side<'a> {
    fn bring_up(
        setup: &mut Setup<'_>,
        trial: &'a PlannedTrial,
        turns: Turns,
        progress: &dyn Progress,
    ) -> Result<Side<'a>> {
        let config =
            setup.configs.get(&trial.variant).context("a run of an unknown configuration")?.clone();
        let pool = setup.pool(&config.rig, trial.position)?;
        let (number, of) = (turns.side + 1, turns.of);
        let place = Place { number, of, pool: pool.as_ref(), trace: None };
        let mut server = RunningServer::bring_up(setup, &config, trial, &place, progress)?;
        server.begin_keeping_time(&config)?;
        let run = Run { setup, trial, config: &config, progress, turns: Some(turns) };
        let known = circumstances(run, std::slice::from_ref(&server), pool.as_ref())?;
        let known = known.into_iter().next().unwrap_or_default();
        Ok(Side { trial, config, server, pool, known, turns })
    }

    fn observe(
        &mut self,
        setup: &Setup<'_>,
        (clock, others): (RunClock, Vec<u32>),
        attendance: &Attendance<'_>,
        progress: &dyn Progress,
    ) -> Observations {
        let Side { trial, config, server, pool, turns, .. } = self;
        let run = Run { setup, trial, config, progress, turns: Some(*turns) };
        let mut target = OwnTarget { run, server, pool: pool.as_ref() };
        run.observe_in_turns(&mut target, clock, &InTurns { turns: *turns, attendance, others })
    }

    /// Takes the side down, unless its run failed: then its rig goes as it is.
    fn end(mut self, observations: Observations, progress: &dyn Progress) -> Observations {
        let mut observations = observations;
        let state = self.server.state(&self.config);
        let Side { trial, server, pool, known, .. } = self;
        if let Some(observation) = observations.servers.first_mut() {
            (observation.circumstances, observation.after) = (known, state);
        }
        if observations.have_failed() {
            return observations;
        }
        progress.step(&trial.key, "taking the rig down");
        match server.kill() {
            Ok(rig) => {
                observations.take_down = take_down::take_down(vec![rig], pool, None, &observations);
            }
            Err(error) => observations.take_down.failure = Some(error),
        }
        observations
    }
}
