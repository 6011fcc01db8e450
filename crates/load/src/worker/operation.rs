//! One operation of YCSB: a statement, or a read and an update of the same record.

use assay_mysql::Connect;

use super::{Setback, Statements, Worker};
use crate::oltp::Kind;
use crate::operations::Operations;
use crate::record::{Event, Outcome};
use crate::ycsb::Operation;

impl<C: Connect> Worker<'_, Statements<'_, C>> {
    /// Draws the next operation and does it.
    pub(super) async fn operation(&mut self, operations: &Operations) -> Result<(), Setback> {
        let buffers = &mut self.hand.kits[self.mix].buffers;
        let again = buffers.again;
        let Some(drawn) = &mut buffers.drawn else { return Ok(()) };
        let operation = drawn.draw(operations, again, &mut self.rng);
        let field = drawn.field() as usize;
        match operation {
            Operation::Read => self.step(Kind::RecordRead, 0).await,
            Operation::Update => self.step(Kind::RecordUpdate, field).await,
            Operation::Scan => self.step(Kind::RecordScan, 0).await,
            Operation::Insert => {
                self.step(Kind::RecordInsert, 0).await?;
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

    /// Counted as its two statements, and timed as a whole besides.
    async fn read_modify_write(&mut self, field: usize) -> Result<(), Setback> {
        let (began, lateness) = (self.now, self.lateness);
        self.step(Kind::RecordRead, 0).await?;
        self.step(Kind::RecordUpdate, field).await?;
        self.lateness = lateness;
        let event = Event::Statement(Kind::ReadModifyWrite, Outcome::Together);
        self.note_statement(event, self.now - began);
        Ok(())
    }
}
