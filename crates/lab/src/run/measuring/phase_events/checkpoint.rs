//! A checkpoint: dirty pages are written until the checkpoint has passed the end that the redo log
//! had at the start.
//!
//! No server variable requests one in a production build, so the share of pages that may be dirty
//! is set to zero meanwhile, which makes the server's page cleaner write with all of
//! `innodb_io_capacity`. The positions of redo log and checkpoint are in `SHOW ENGINE INNODB
//! STATUS`, on MySQL and MariaDB alike.

use std::time::Duration;

use anyhow::{Context, Result};
use assay_mysql::ClientSession;

use super::{EventClock, EventContext};
use assay_study::Done;

/// Interval at which the position is read.
const ASKED_EVERY: Duration = Duration::from_millis(100);

/// The shares of dirty pages from which the server writes them, the lower one first: it may never
/// exceed the other.
const SHARES: [&str; 2] = ["innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"];

/// Makes a checkpoint and restores the server's variables; `done` holds the bytes of redo log that
/// it had to pass.
pub(super) fn checkpoint(
    context: &EventContext<'_>,
    clock: &EventClock,
    done: &mut Option<Done>,
) -> Result<()> {
    let mut session = clock.connect(&context.endpoint)?;
    let shares = SHARES.map(|name| global(&mut session, name));
    let began = places(&mut session)?;
    *done = Some(Done::Checkpoint { redo_bytes: began.end.saturating_sub(began.checkpoint) });
    let passed = SHARES
        .iter()
        .try_for_each(|name| set(&mut session, name, "0"))
        .and_then(|()| wait_until_past(&mut session, clock, began.end));
    for (name, share) in SHARES.iter().zip(shares).rev() {
        set(&mut session, name, &share?)?;
    }
    passed
}

fn wait_until_past(session: &mut ClientSession, clock: &EventClock, end: u64) -> Result<()> {
    while places(session)?.checkpoint < end {
        if clock.pause(ASKED_EVERY) {
            return Ok(());
        }
    }
    Ok(())
}

fn set(session: &mut ClientSession, name: &str, value: &str) -> Result<()> {
    let sql = format!("SET GLOBAL {name} = {value}");
    session.query(sql.as_bytes()).map(drop).with_context(|| sql)
}

fn global(session: &mut ClientSession, name: &str) -> Result<String> {
    let rows = session.rows(&format!("SELECT @@GLOBAL.{name}"))?;
    let value = rows.into_iter().next().and_then(|row| row.into_iter().next().flatten());
    value.with_context(|| format!("the server does not tell {name}"))
}

/// The end of the redo log and the checkpoint, as log sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Places {
    end: u64,
    checkpoint: u64,
}

fn places(session: &mut ClientSession) -> Result<Places> {
    let rows = session.rows("SHOW ENGINE INNODB STATUS")?;
    let text = rows.into_iter().next().and_then(|row| row.into_iter().next_back().flatten());
    let text = text.context("the server does not tell the status of InnoDB")?;
    parse(&text).context("the status of InnoDB tells no checkpoint")
}

fn parse(status: &str) -> Option<Places> {
    let number = |key: &str| {
        let rest = status.lines().find_map(|line| line.trim_start().strip_prefix(key))?;
        rest.trim().parse().ok()
    };
    Some(Places { end: number("Log sequence number")?, checkpoint: number("Last checkpoint at")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_servers_tell_where_log_and_checkpoint_are() {
        let mysql = "---\nLOG\n---\nLog sequence number          34511802\n\
                     Log buffer assigned up to    34511802\n\
                     Pages flushed up to          33290123\nLast checkpoint at           \
                     33290000\n";
        assert_eq!(parse(mysql), Some(Places { end: 34_511_802, checkpoint: 33_290_000 }));
        let mariadb = "LOG\n---\nLog sequence number 46986\nLog flushed up to   46986\n\
                       Pages flushed up to 46986\n\
                       Last checkpoint at  46970\n";
        assert_eq!(parse(mariadb), Some(Places { end: 46_986, checkpoint: 46_970 }));
        assert_eq!(parse("Log sequence number soon"), None);
    }
}
