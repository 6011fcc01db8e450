//! Statements and their answers, over packets. The wire decides whether waiting blocks.

use super::ready::Ready;
use super::wire::{self, Fields, Head, Step, Wire};
use crate::session::{BoundValue, Interrupter, Reply, SessionError, StatementId};

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

const TYPE_LONGLONG: u8 = 0x08;
const TYPE_VAR_STRING: u8 = 0xfd;

/// The server has more result sets for the same statement (`SERVER_MORE_RESULTS_EXISTS`).
const MORE_RESULTS: u16 = 0x0008;

/// A prepared statement, and whether the server knows the types of its values.
struct Statement {
    id: u32,
    places: usize,
    types_sent: bool,
}

/// A client after its login.
pub(super) struct Talk<R> {
    wire: Wire<R>,
    statements: Vec<Statement>,
    /// The prepared statement in the buffer; `None` for text.
    asked: Option<usize>,
    /// Limit of an answer whose rows are drained, in bytes.
    drained_max: u64,
}

/// Limit of an answer to a statement of set-up work, in bytes: such a statement returns one row or
/// none.
pub(super) const SET_UP_BYTES_MAX: u64 = 256 << 20;

const TOO_LONG_TO_DRAIN: &str =
    "the server sent more than 256 MiB in answer to a statement of set-up work";

impl<R: Ready> Talk<R> {
    /// `drained_max` is the limit of an answer whose rows are drained, in bytes.
    pub(super) fn over(wire: Wire<R>, drained_max: u64) -> Talk<R> {
        Talk { wire, statements: Vec::new(), asked: None, drained_max }
    }

    /// The connection, for setting its time limit.
    pub(super) fn wire(&mut self) -> &mut Wire<R> {
        &mut self.wire
    }

    pub(super) fn interrupter(&self) -> Interrupter {
        self.wire.interrupter()
    }

    pub(super) async fn prepare(&mut self, sql: &str) -> Result<StatementId, SessionError> {
        self.wire.begin(COM_STMT_PREPARE);
        self.wire.put(sql.as_bytes());
        self.wire.send().await?;
        let answer = self.wire.answer().await?;
        let field = |from: usize, to: usize| {
            let bytes = answer.get(from..to).unwrap_or_default();
            bytes.iter().rev().fold(0u32, |number, byte| number << 8 | u32::from(*byte))
        };
        let (id, columns, places) = (field(1, 5), field(5, 7), field(7, 9));
        wire::check_columns(u64::from(columns))?;
        for definitions in [places, columns] {
            self.wire.skip_definitions(u64::from(definitions)).await?;
        }
        self.statements.push(Statement { id, places: places as usize, types_sent: false });
        Ok(StatementId(self.statements.len() - 1))
    }

    #[inline]
    pub(super) fn put_execute(
        &mut self,
        id: StatementId,
        values: &[BoundValue<'_>],
    ) -> Result<(), SessionError> {
        let statement = &mut self.statements[id.0];
        if statement.places != values.len() {
            let message = format!("{} values for {} places", values.len(), statement.places);
            return Err(SessionError::Server { code: 1210, state: "HY000".into(), message });
        }
        self.asked = Some(id.0);
        self.wire.begin(COM_STMT_EXECUTE);
        self.wire.put(&statement.id.to_le_bytes());
        self.wire.put(&[0, 1, 0, 0, 0]);
        if values.is_empty() {
            return Ok(());
        }
        self.wire.put_zeroes(values.len().div_ceil(8));
        self.wire.put(&[u8::from(!statement.types_sent)]);
        if !statement.types_sent {
            for value in values {
                self.wire.put(&[type_of(value), 0]);
            }
        }
        for value in values {
            match value {
                BoundValue::Int(number) => self.wire.put(&number.to_le_bytes()),
                BoundValue::Bytes(bytes) => self.wire.put_counted(bytes),
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn put_query(&mut self, sql: &[u8]) {
        self.asked = None;
        self.wire.begin(COM_QUERY);
        self.wire.put(sql);
    }

    /// Sends the buffered statement, and reads the answer to its end. Returns the first result's
    /// reply.
    #[inline]
    pub(super) async fn exchange(&mut self) -> Result<Reply, SessionError> {
        self.wire.send().await?;
        let reply = self.drain().await;
        if let Some(place) = self.asked {
            // An execution may be refused because of its types: send them again.
            self.statements[place].types_sent = reply.is_ok();
        }
        reply
    }

    #[inline]
    async fn drain(&mut self) -> Result<Reply, SessionError> {
        let mut answer = Answer { stage: Stage::Head, first: None };
        let mut drained = 0;
        loop {
            match self.wire.step()? {
                Step::Wants(count) => self.wire.receive(count).await?,
                Step::Packet(place) => {
                    let marked = self.wire.definitions_end_marked;
                    drained += place.len() as u64;
                    match answer.take(self.wire.bytes(place), marked) {
                        Ok(None) if drained <= self.drained_max => {}
                        Ok(None) => return Err(self.wire.give_up(TOO_LONG_TO_DRAIN)),
                        Ok(Some(reply)) => return Ok(reply),
                        Err(error) => return Err(self.wire.noted(error)),
                    }
                }
            }
        }
    }

    /// Calls `take` for each row of a statement. If it returns a reason, the answer and the
    /// connection end.
    pub(super) async fn each_row(
        &mut self,
        sql: &str,
        take: impl FnMut(Fields<'_>) -> Result<(), String>,
    ) -> Result<(), SessionError> {
        self.put_query(sql.as_bytes());
        let read = self.read_rows(take).await;
        read.map_err(|error| self.wire.noted(error))
    }

    async fn read_rows(
        &mut self,
        mut take: impl FnMut(Fields<'_>) -> Result<(), String>,
    ) -> Result<(), SessionError> {
        self.wire.send().await?;
        let columns = match wire::result_head(self.wire.answer().await?)? {
            Head::Done { .. } => return Ok(()),
            Head::Columns(columns) => columns,
        };
        self.wire.skip_definitions(columns).await?;
        while let Some(row) = self.wire.row().await? {
            take(Fields::new(row, columns as usize)).map_err(|reason| wire::lost(&reason))?;
        }
        Ok(())
    }
}

#[inline]
fn type_of(value: &BoundValue<'_>) -> u8 {
    match value {
        BoundValue::Int(_) => TYPE_LONGLONG,
        BoundValue::Bytes(_) => TYPE_VAR_STRING,
    }
}

/// The kind of an answer's next packet.
#[derive(Clone, Copy)]
enum Stage {
    Head,
    /// One of this many column definitions, the mark at their end included.
    Definitions(u64),
    /// A row; number of rows so far.
    Rows(u64),
}

/// A partly received answer.
struct Answer {
    stage: Stage,
    first: Option<Reply>,
}

impl Answer {
    /// Processes a packet. Returns the reply after the last one.
    #[inline]
    fn take(
        &mut self,
        packet: &[u8],
        definitions_end_marked: bool,
    ) -> Result<Option<Reply>, SessionError> {
        wire::refuse_error(packet)?;
        match self.stage {
            Stage::Head => match wire::result_head(packet)? {
                Head::Done { affected, status } => {
                    return Ok(self.end(Reply::Done { affected }, status));
                }
                Head::Columns(columns) => {
                    self.stage = Stage::Definitions(
                        columns.saturating_add(u64::from(definitions_end_marked)),
                    );
                }
            },
            Stage::Definitions(left) => {
                self.stage = if left > 1 { Stage::Definitions(left - 1) } else { Stage::Rows(0) };
            }
            Stage::Rows(rows) if wire::ends_rows(packet) => {
                let status = wire::status_at_end(packet, definitions_end_marked);
                return Ok(self.end(Reply::Rows { rows }, status));
            }
            Stage::Rows(rows) => self.stage = Stage::Rows(rows + 1),
        }
        Ok(None)
    }

    /// Ends a result. Returns the first result's reply if it was the last.
    #[inline]
    fn end(&mut self, reply: Reply, status: u16) -> Option<Reply> {
        self.stage = Stage::Head;
        let first = *self.first.get_or_insert(reply);
        (status & MORE_RESULTS == 0).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: &[u8] = &[0, 7, 0, 2, 0, 0, 0];
    const MORE_TO_COME: &[u8] = &[0, 0, 0, 0x0a, 0, 0, 0];
    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
    const OK_AT_END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

    /// The number of packets after which the answer is complete, and its reply.
    fn reply(packets: &[&[u8]], marked: bool) -> Option<(usize, Reply)> {
        let mut answer = Answer { stage: Stage::Head, first: None };
        let taken = packets.iter().map(|packet| answer.take(packet, marked).unwrap());
        taken.enumerate().find_map(|(place, reply)| Some((place + 1, reply?)))
    }

    #[test]
    fn an_answer_ends_with_its_last_packet_in_both_dialects() {
        let column: &[u8] = b"\x03def";
        assert_eq!(reply(&[DONE], false), Some((1, Reply::Done { affected: 7 })));
        let modern = [&[2][..], column, column, b"\x01a", b"\x01b", OK_AT_END];
        assert_eq!(reply(&modern, false), Some((6, Reply::Rows { rows: 2 })));
        let old = [&[2][..], column, column, EOF, b"\x01a", EOF];
        assert_eq!(reply(&old, true), Some((6, Reply::Rows { rows: 1 })));
        assert_eq!(reply(&old[..5], true), None, "no end yet");
        let empty = [&[1][..], column, OK_AT_END];
        assert_eq!(reply(&empty, false), Some((3, Reply::Rows { rows: 0 })));
    }

    #[test]
    fn of_several_results_the_first_counts_and_all_are_read() {
        let packets = [MORE_TO_COME, &[1], b"\x03def", b"\x01a", OK_AT_END];
        assert_eq!(reply(&packets, false), Some((5, Reply::Done { affected: 0 })));
    }

    #[test]
    fn errors_end_an_answer_wherever_they_come() {
        let mut answer = Answer { stage: Stage::Rows(0), first: None };
        let error = answer.take(b"\xff\xbd\x04#40001Deadlock found", false).unwrap_err();
        assert_eq!(error.code(), Some(1213));
        assert!(answer.take(&[], false).is_err());
    }
}
