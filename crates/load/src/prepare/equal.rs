//! Fills the table of sysbench 0.4: equal rows over one connection, as text, 10 000 per statement,
//! each of which commits.

use std::sync::atomic::Ordering;

use super::{Filling, run, stopped};
use crate::error::Result;
use crate::rows;

/// Rows in a statement (sysbench 0.4.12, `INSERT_ROWS`).
const STATEMENT_ROWS: u64 = 10_000;
/// `k`, `c` and `pad` of every row.
const ROW: &str = "0,' ','qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt')";

/// Inserts all rows.
pub(super) fn fill(filling: &Filling<'_>) -> Result<()> {
    let mut session = filling.open()?;
    // Binary logs of a test load have no use; disabling them needs a privilege and may be refused.
    let _ = session.query(b"SET SESSION sql_log_bin=0");
    let (rows, auto_inc) = (filling.schema.table_size, filling.schema.auto_inc);
    let mut statement = Vec::new();
    for first in (1..=rows).step_by(STATEMENT_ROWS as usize) {
        if filling.stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        let ids = first..=rows.min(first + STATEMENT_ROWS - 1);
        let count = ids.end() - ids.start() + 1;
        write(&filling.schema.table(1), ids, auto_inc, &mut statement);
        let sql = String::from_utf8_lossy(&statement);
        run(&mut session, filling.endpoint, &sql)?;
        filling.rows_done.fetch_add(count, Ordering::Relaxed);
    }
    Ok(())
}

/// Writes the insert of the rows `ids`; the server assigns the ids if it numbers rows.
fn write(table: &str, ids: std::ops::RangeInclusive<u64>, auto_inc: bool, out: &mut Vec<u8>) {
    out.clear();
    let id = if auto_inc { "" } else { "id, " };
    out.extend_from_slice(format!("INSERT INTO {table} ({id}k, c, pad) VALUES ").as_bytes());
    let first = *ids.start();
    for id in ids {
        out.extend_from_slice(if id == first { b"(" } else { b",(" });
        if !auto_inc {
            rows::push_number(out, id.cast_signed());
            out.push(b',');
        }
        out.extend_from_slice(ROW.as_bytes());
    }
}

#[cfg(test)]
mod tests;
