//! The content of events. Their start and recording is the worker's, the same for every task.

use assay_event_loop::Handle;

use super::Worker;
use crate::connect::At;
use crate::error::Result;
use crate::generator::Generator;
use crate::keys::KeyChooser;
use crate::mixes::Mixes;
use crate::mode::Mode;
use crate::operations::Drawn;
use crate::outcome::Work;
use crate::program::Program;
use crate::schedule::RidesOut;
use crate::schema::Schema;
use crate::worker::statement::Slots;
use crate::worker::values::Buffers;
use assay_mysql::Connect;

/// The task of a run, one for all workers.
pub(crate) trait Task: Sized + Sync {
    /// The state of one worker.
    type Hand;

    /// True if events wait for sockets: then one thread serves many workers. Otherwise each worker
    /// blocks a thread of its own.
    const WAITS_FOR_SOCKETS: bool;

    /// The treatment of the benchmark program's quirks.
    fn mode(&self) -> Mode;

    /// The work, for the outcome.
    fn work(&self) -> Work;

    /// The numbers of the phases' mixes; missing ones have the load's own.
    fn mixes_of_phases(&self) -> &[usize] {
        &[]
    }

    /// True if each worker has a share of the events, so that a slow one ends after the others.
    fn deals_events_out(&self) -> bool {
        false
    }

    /// Prepares a worker.
    async fn hand(&self, thread: u32, events: &Handle) -> Result<Self::Hand>;

    /// Runs one event, planned for `planned`, and records all of it.
    async fn event(worker: &mut Worker<'_, Self>, planned: u64) -> Result<()>;

    /// Runs after the worker's last event.
    async fn end(_worker: &mut Worker<'_, Self>) -> Result<()> {
        Ok(())
    }
}

/// Statements on a server.
pub(crate) struct Statements<'a, C> {
    pub(crate) mixes: &'a Mixes,
    pub(crate) schema: &'a Schema,
    pub(crate) connect: &'a C,
    /// The endpoint as text, for errors.
    pub(crate) endpoint: &'a str,
    /// Disturbances that the load tolerates.
    pub(crate) rides_out: RidesOut,
}

/// A connection, its statements prepared.
pub(crate) struct Connected<C: Connect> {
    pub(crate) session: C::Session,
    /// Prepared statements of each mix.
    pub(crate) slots: Vec<Slots>,
    pub(crate) kits: Vec<Kit>,
}

/// A worker's state for one of the load's mixes.
pub(crate) struct Kit {
    pub(crate) points: KeyChooser,
    pub(crate) buffers: Buffers,
}

impl<C: Connect> Task for Statements<'_, C> {
    type Hand = Connected<C>;

    const WAITS_FOR_SOCKETS: bool = true;

    fn mode(&self) -> Mode {
        self.mixes.main().workload.mode
    }

    fn work(&self) -> Work {
        let workload = self.mixes.main().workload.clone();
        Work::Server { workload, schema: self.schema.clone() }
    }

    fn mixes_of_phases(&self) -> &[usize] {
        self.mixes.of_phases()
    }

    /// As YCSB does (`Client.initDb`).
    fn deals_events_out(&self) -> bool {
        self.mode() == Mode::Compat && self.schema.generator == Generator::Ycsb
    }

    async fn hand(&self, thread: u32, events: &Handle) -> Result<Connected<C>> {
        let (session, slots) = self.connect(events).await?;
        let kit = |program: &Program| Kit {
            points: program.points(thread),
            buffers: Buffers::new(program.operations.as_ref().map(Drawn::new)),
        };
        Ok(Connected { session, slots, kits: self.mixes.all().map(kit).collect() })
    }

    async fn event(worker: &mut Worker<'_, Self>, planned: u64) -> Result<()> {
        worker.end_event(planned).await
    }
}

impl<C: Connect> Statements<'_, C> {
    /// Connects and prepares.
    pub(super) async fn connect(&self, events: &Handle) -> Result<(C::Session, Vec<Slots>)> {
        let connected = self.connect.connect_on(events).await;
        let mut session = connected.map_err(|error| error.at(self.endpoint, "connect"))?;
        let mut all = Vec::new();
        for program in self.mixes.all() {
            let slots = Slots::prepare(&mut session, program).await;
            all.push(slots.map_err(|(error, text)| error.at(self.endpoint, &text))?);
        }
        Ok((session, all))
    }
}
