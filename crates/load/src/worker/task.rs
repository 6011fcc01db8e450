//! What the events of a run do. When they start and how they are noted is the worker's part, the same for every task.

use parking_lot::Mutex;

use super::Worker;
use crate::connect::At;
use crate::error::Result;
use crate::keys::Keys;
use crate::mode::Mode;
use crate::operations::Drawn;
use crate::outcome::Work;
use crate::program::Program;
use crate::schema::Schema;
use crate::worker::statement::Slots;
use crate::worker::values::Buffers;
use assay_mysql::{Connect, Interrupter, Session};

/// What the events of a run do, and on what: one for all threads.
pub(crate) trait Task: Sized + Sync {
    /// What one thread does it with.
    type Hand;

    /// Whether quirks of the benchmark program are kept.
    fn mode(&self) -> Mode;

    /// What an outcome says of it.
    fn work(&self) -> Work;

    /// Gets a thread ready.
    fn hand(&self, thread: u32) -> Result<Self::Hand>;

    /// One event from its start to its end, which was planned for `planned`; notes all of it.
    fn event(worker: &mut Worker<'_, Self>, planned: u64) -> Result<()>;

    /// What a thread does after its last event.
    fn end(_worker: &mut Worker<'_, Self>) -> Result<()> {
        Ok(())
    }

    /// Cuts off what threads are waiting for; says whether it could.
    fn cut(&self) {}
}

/// Statements on a server.
pub(crate) struct Statements<'a, C> {
    pub(crate) program: &'a Program,
    pub(crate) schema: &'a Schema,
    pub(crate) connect: &'a C,
    /// The endpoint in words, for errors.
    pub(crate) endpoint: &'a str,
    /// What cuts each thread's connection.
    pub(crate) interrupters: Vec<Mutex<Option<Interrupter>>>,
}

/// A connection, its statements prepared.
pub(crate) struct Connected<C: Connect> {
    pub(crate) session: C::Session,
    pub(crate) slots: Slots,
    pub(crate) points: Keys,
    pub(crate) buffers: Buffers,
}

impl<C: Connect> Task for Statements<'_, C> {
    type Hand = Connected<C>;

    fn mode(&self) -> Mode {
        self.program.workload.mode
    }

    fn work(&self) -> Work {
        Work::Server { workload: self.program.workload.clone(), schema: self.schema.clone() }
    }

    fn hand(&self, thread: u32) -> Result<Connected<C>> {
        let (session, slots) = self.connect(thread)?;
        Ok(Connected {
            session,
            slots,
            points: self.program.points(thread),
            buffers: Buffers::new(self.program.operations.as_ref().map(Drawn::new)),
        })
    }

    fn event(worker: &mut Worker<'_, Self>, planned: u64) -> Result<()> {
        worker.end_event(planned)
    }

    fn cut(&self) {
        self.interrupters.iter().filter_map(|i| i.lock().take()).for_each(|i| i.cut());
    }
}

impl<C: Connect> Statements<'_, C> {
    /// Connects and prepares.
    pub(super) fn connect(&self, thread: u32) -> Result<(C::Session, Slots)> {
        let connected = self.connect.connect();
        let mut session = connected.map_err(|error| error.at(self.endpoint, "connect"))?;
        *self.interrupters[thread as usize].lock() = session.interrupter();
        let slots = Slots::prepare(&mut session, self.program)
            .map_err(|(error, text)| error.at(self.endpoint, &text))?;
        Ok((session, slots))
    }
}
