//! A backup-like scan: all rows of all tables in one consistent snapshot, as `mysqldump
//! --single-transaction` reads them. Rows are read off the connection and dropped.

use anyhow::{Context, Result};

use super::{EventClock, EventContext};
use assay_study::Done;

/// Statements that mysqldump sends first, so that it reads all tables as of one instant.
const SNAPSHOT: [&str; 2] = [
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
];

/// Reads all rows; `done` holds their number, also for a scan that was cut off.
pub(super) fn scan(
    context: &EventContext<'_>,
    clock: &EventClock,
    done: &mut Option<Done>,
) -> Result<()> {
    let mut session = clock.connect(&context.endpoint)?;
    for statement in SNAPSHOT {
        session.query(statement.as_bytes()).context("no consistent snapshot")?;
    }
    let (mut rows, mut bytes) = (0, 0);
    for table in 1..=context.schema.tables {
        let sql = format!("SELECT * FROM `{}`", context.schema.table(table));
        let read = session.each_row(&sql, |row| {
            rows += 1;
            bytes += row.flatten().map(|field| field.len() as u64).sum::<u64>();
        });
        *done = Some(Done::Scan { rows, bytes });
        read?;
    }
    session.query(b"COMMIT").context("the snapshot was not ended")?;
    Ok(())
}
