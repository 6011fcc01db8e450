//! Events in the phases of a run, each on a thread and a connection of its own, started by the
//! run's clock.
//!
//! Guarantees: events reach the load only through the server; none outlives the load, which closes
//! every connection; the start, the end and the error of each event are values.

mod checkpoint;
mod clock;
mod repeated;
mod restart;
mod scan;
mod stores;

use std::thread::{Builder, ScopedJoinHandle};
use std::time::Instant;

use anyhow::{Context, Result};
use assay_load::{Endpoint, Schema};
use parking_lot::Mutex;

use crate::monitor::Followed;
use crate::rig::page_cache;
use crate::rig::pool::RunPool;
use crate::rig::server::{Binary, Server, Start};
use crate::run::results::PhaseEvents;
use assay_base::text::on_one_line;
use assay_plan::PhaseSpec;
use assay_study::{Done, Happened, Happening};
pub(super) use clock::EventClock;

/// A server of our own, which an event may restart.
pub(super) struct OwnServer<'a> {
    /// Only a restart touches the server while the load runs.
    pub(super) server: Mutex<&'a mut Server>,
    pub(super) followed: Followed,
    pub(super) binary: &'a Binary,
    /// Options of the restarted server.
    pub(super) start: Start,
    pub(super) pool: Option<&'a RunPool>,
}

/// The server and the tables that events act on.
pub(super) struct EventContext<'a> {
    /// `None` for the server of somebody else.
    pub(super) own: Option<OwnServer<'a>>,
    pub(super) schema: &'a Schema,
    pub(super) endpoint: Endpoint,
    /// CPUs of the load, shared by the threads of events.
    pub(super) cpus: Vec<usize>,
    /// Start of the run's clock.
    pub(super) origin: Instant,
}

impl<'a> EventContext<'a> {
    fn own(&self) -> Result<&OwnServer<'a>> {
        self.own.as_ref().context("the server is somebody else's")
    }
}

/// The events that a plan asks for.
#[derive(Clone, Copy)]
pub(super) struct PlannedEvents<'a> {
    pub(super) phases: &'a [PhaseSpec],
    /// An event that is repeated from the start of the first window to the end of the load.
    pub(super) repeated: Option<&'a Happening>,
}

/// Runs `load` and the events concurrently, until the load ends.
///
/// # Errors
/// No thread can be started.
pub(super) fn alongside<T>(
    context: &EventContext<'_>,
    PlannedEvents { phases, repeated }: PlannedEvents<'_>,
    load: impl FnOnce(&EventClock) -> T,
) -> Result<(T, PhaseEvents)> {
    let clock = EventClock::new(context.origin);
    std::thread::scope(|scope| {
        let over = clock.ends_with_this();
        let mut threads: Vec<Option<ScopedJoinHandle<'_, Option<Happened>>>> = Vec::new();
        let mut offset_s = 0.0;
        for phase in phases {
            let clock = &clock;
            let thread = phase.happening.as_ref().map(|happening| {
                let perform = move || perform_at(context, clock, offset_s, happening);
                Builder::new().name("phase-event".into()).spawn_scoped(scope, perform)
            });
            threads.push(thread.transpose().context("cannot start a thread for what happens")?);
            offset_s += phase.seconds;
        }
        let repeated = repeated.map(|happening| {
            let repeat = || repeated::repeat(context, &clock, happening);
            Builder::new().name("phase-event".into()).spawn_scoped(scope, repeat)
        });
        let repeated = repeated.transpose().context("cannot start a thread for what happens")?;
        let loaded = load(&clock);
        drop(over);
        let in_phases = threads.into_iter().map(|thread| thread?.join().ok().flatten()).collect();
        let repeated = repeated.and_then(|thread| thread.join().ok().flatten());
        Ok((loaded, PhaseEvents { in_phases, repeated }))
    })
}

/// Returns `None` if the load ended before the event was due.
fn perform_at(
    context: &EventContext<'_>,
    clock: &EventClock,
    offset_s: f64,
    happening: &Happening,
) -> Option<Happened> {
    // Unbound, an event works as well: the load reports CPUs that it may not use.
    let _ = assay_ports::cpu::bind_thread(&context.cpus);
    let began_s = clock.wait_for(offset_s)?;
    let mut done = None;
    let result = perform(context, clock, happening, &mut done);
    let ended_s = clock.now_s().filter(|_| !clock.is_over());
    // An event that the end of the load interrupted has not failed.
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
    context: &EventContext<'_>,
    clock: &EventClock,
    happening: &Happening,
    done: &mut Option<Done>,
) -> Result<()> {
    match happening {
        Happening::Scan => scan::scan(context, clock, done),
        Happening::Checkpoint => checkpoint::checkpoint(context, clock, done),
        Happening::DropPageCache => {
            let files = page_cache::forget(&context.own()?.start.datadir)?;
            *done = Some(Done::DropPageCache { files });
            Ok(())
        }
        Happening::Restart => restart::restart(context, clock, done),
        Happening::KillStore(store) => stores::kill(context, *store),
        Happening::ReturnStore(store) => stores::bring_back(context, clock, *store, done),
        Happening::Sql(statement) => {
            let mut session = clock.connect(&context.endpoint)?;
            session.query(statement.as_bytes())?;
            Ok(())
        }
    }
}
