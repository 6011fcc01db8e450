//! What the events of a run do. When they start and how they are noted is the worker's part, the same for every task.

use assay_event_loop::Handle;

use super::Worker;
use crate::connect::At;
use crate::error::Result;
use crate::generator::Generator;
use crate::keys::Keys;
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

/// What the events of a run do, and on what: one for all workers.
pub(crate) trait Task: Sized + Sync {
    /// What one worker does it with.
    type Hand;

    /// Whether what an event waits for are sockets: then one thread serves many workers. Else each has a thread, which it blocks.
    const WAITS_FOR_SOCKETS: bool;

    /// Whether quirks of the benchmark program are kept.
    fn mode(&self) -> Mode;

    /// What an outcome says of it.
    fn work(&self) -> Work;

    /// Of each of the load's phases the number of its mix; those that are not named have the load's own.
    fn mixes_of_phases(&self) -> &[usize] {
        &[]
    }

    /// Whether each worker has a share of the load's events, so that a slow one ends after the others.
    fn deals_events_out(&self) -> bool {
        false
    }

    /// Gets a worker ready.
    async fn hand(&self, thread: u32, events: &Handle) -> Result<Self::Hand>;

    /// One event from its start to its end, which was planned for `planned`; notes all of it.
    async fn event(worker: &mut Worker<'_, Self>, planned: u64) -> Result<()>;

    /// What a worker does after its last event.
    async fn end(_worker: &mut Worker<'_, Self>) -> Result<()> {
        Ok(())
    }
}

/// Statements on a server.
pub(crate) struct Statements<'a, C> {
    pub(crate) mixes: &'a Mixes,
    pub(crate) schema: &'a Schema,
    pub(crate) connect: &'a C,
    /// The endpoint in words, for errors.
    pub(crate) endpoint: &'a str,
    /// What the load outlasts.
    pub(crate) rides_out: RidesOut,
}

/// A connection, its statements prepared.
pub(crate) struct Connected<C: Connect> {
    pub(crate) session: C::Session,
    /// Of each mix.
    pub(crate) slots: Vec<Slots>,
    pub(crate) kits: Vec<Kit>,
}

/// What a worker has for one of the load's mixes.
pub(crate) struct Kit {
    pub(crate) points: Keys,
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
