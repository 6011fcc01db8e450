//! One operation of YCSB: a statement, or a read and an update of the same record.
//!
//! A failure is an operation too, recorded by the status of YCSB's JDBC binding, and the next one
//! follows. Two exceptions: in mode `strict` an operation that a deadlock or a lock ended is
//! retried, and a load ends a thread after a failed insert. Source: `CoreWorkload`, `DBWrapper`,
//! `ClientThread` and `JdbcDBClient` of YCSB 0.17.0.

use assay_mysql::{Connect, Reply, SessionError};

use super::retry::Setback;
use super::{Statements, Worker};
use crate::mode::Mode;
use crate::oltp::StatementKind;
use crate::operations::Operations;
use crate::recipe::Recipe;
use crate::record::{Counted, Event, Failure, Time};
use crate::workload::IgnoreErrors;
use crate::ycsb::Operation;

/// Errors of an unlucky attempt: deadlock, record changed, lock wait time-out.
const TRANSIENT: [u16; 3] = [1213, 1020, 1205];

/// The status of an answer; `None` for OK. A scan is OK whatever it finds.
fn failure_of(kind: StatementKind, reply: Reply) -> Option<Failure> {
    match (kind, reply) {
        (StatementKind::RecordRead, Reply::Rows { rows: 0 }) => Some(Failure::NotFound),
        (StatementKind::RecordUpdate | StatementKind::RecordInsert, Reply::Done { affected })
            if affected != 1 =>
        {
            Some(Failure::UnexpectedState)
        }
        _ => None,
    }
}

impl<C: Connect> Worker<'_, Statements<'_, C>> {
    /// Draws the next operation and runs it.
    pub(super) async fn operation(&mut self, operations: &Operations) -> Result<(), Setback> {
        let buffers = &mut self.hand.kits[self.mix].buffers;
        let again = buffers.again;
        let Some(drawn) = &mut buffers.drawn else { return Ok(()) };
        let operation = drawn.draw(operations, again, &mut self.rng);
        let field = drawn.field() as usize;
        match operation {
            Operation::Read => self.ask_for_record(StatementKind::RecordRead, 0).await.map(drop),
            Operation::Update => {
                self.ask_for_record(StatementKind::RecordUpdate, field).await.map(drop)
            }
            Operation::Scan => self.ask_for_record(StatementKind::RecordScan, 0).await.map(drop),
            Operation::Insert if self.program().workload.recipe == Recipe::YcsbLoad => {
                self.load_record(operations).await
            }
            Operation::Insert => {
                self.ask_for_record(StatementKind::RecordInsert, 0).await?;
                self.acknowledge(operations);
                Ok(())
            }
            Operation::ReadModifyWrite => self.read_modify_write(field).await,
        }
    }

    fn acknowledge(&self, operations: &Operations) {
        if let Some(drawn) = &self.hand.kits[self.mix].buffers.drawn {
            drawn.acknowledge(operations);
        }
    }

    /// Inserts a record of the load, the same one as often as the limit of retries allows.
    async fn load_record(&mut self, operations: &Operations) -> Result<(), Setback> {
        let retries = self.program().workload.ycsb.insertion_retry_limit;
        let values_from = self.rng.clone();
        let mut attempts = 0;
        while !self.ask_for_record(StatementKind::RecordInsert, 0).await? {
            attempts += 1;
            if attempts > retries || self.stopped() {
                return Err(Setback::GiveUp);
            }
            self.wait_to_retry().await;
            self.rng = values_from.clone();
        }
        self.acknowledge(operations);
        Ok(())
    }

    /// Waits 0.8 to 1.2 times the interval of retries.
    async fn wait_to_retry(&mut self) {
        let seconds = self.program().workload.ycsb.insertion_retry_interval;
        let wait_ns = seconds * 1e9 * (0.8 + 0.4 * self.rng.unit());
        self.wait_until(self.now + wait_ns as u64).await;
        self.now = self.clock.now();
    }

    /// Counted as its two statements, and timed also as a whole. The update is sent whatever the
    /// read returns.
    async fn read_modify_write(&mut self, field: usize) -> Result<(), Setback> {
        let (began, lateness) = (self.now, self.lateness);
        self.ask_for_record(StatementKind::RecordRead, 0).await?;
        self.ask_for_record(StatementKind::RecordUpdate, field).await?;
        self.lateness = lateness;
        let event = Event::Statement(StatementKind::ReadModifyWrite, Counted::Together);
        self.note_statement(event, self.now - began);
        Ok(())
    }

    /// Sends a statement and records its status. Returns true if it is OK.
    async fn ask_for_record(&mut self, kind: StatementKind, table: usize) -> Result<bool, Setback> {
        let (answer, service) = self.ask(kind, table).await;
        let (failure, outcome) = match &answer {
            Ok(reply) => (failure_of(kind, *reply), Counted::from(*reply)),
            Err(_) => (Some(Failure::Error), Counted::Other),
        };
        let event = match failure {
            Some(failure) => Event::Unsuccessful(kind, failure),
            None => Event::Statement(kind, outcome),
        };
        self.note_statement(event, service);
        match answer {
            Ok(_) => Ok(failure.is_none()),
            Err(error) => self.go_on_after(error, kind, table),
        }
    }

    fn go_on_after(
        &self,
        error: SessionError,
        kind: StatementKind,
        table: usize,
    ) -> Result<bool, Setback> {
        match self.setback(error, kind, table) {
            Setback::Again { code } if !self.tries_again_after(code) => {
                self.note(Event::Ignored, Time::Both, u64::from(code));
                Ok(false)
            }
            setback => Err(setback),
        }
    }

    fn tries_again_after(&self, code: u16) -> bool {
        self.program().workload.mode == Mode::Strict && TRANSIENT.contains(&code)
    }

    /// True for the lost connection of a YCSB workload that ignores all errors: as with YCSB's JDBC
    /// binding, its thread would only fail from then on.
    pub(super) fn never_reconnects(&self, error: &SessionError) -> bool {
        let program = self.program();
        matches!(error, SessionError::Lost { .. })
            && program.operations.is_some()
            && matches!(program.workload.mysql_ignore_errors, IgnoreErrors::Every(_))
    }
}
