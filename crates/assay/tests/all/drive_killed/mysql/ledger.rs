//! A ledger: transactions whose commit was acknowledged are recorded outside the server, and each
//! must survive, whole.
//!
//! A transaction adds two entries and counts them in its lane's total, so that a half transaction
//! shows.

use std::sync::mpsc::Sender;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Result, TxOpts};

use crate::simulated::random::Random;

/// Number of writing connections.
pub const LANES: u64 = 4;

/// Longest text of an entry.
const TEXT_BYTES: u64 = 6000;

/// Number of acknowledged transactions, by lane.
pub type Committed = [u64; LANES as usize];

/// Creates the tables.
pub fn make(conn: &mut Conn) {
    for sql in [
        "CREATE DATABASE ledger",
        "CREATE TABLE ledger.entries (id BIGINT UNSIGNED PRIMARY KEY, text LONGTEXT NOT NULL, sum \
         INT UNSIGNED NOT NULL)",
        "CREATE TABLE ledger.totals (lane BIGINT UNSIGNED PRIMARY KEY, entries BIGINT UNSIGNED NOT \
         NULL)",
    ] {
        conn.query_drop(sql).unwrap();
    }
    for lane in 0..LANES {
        conn.query_drop(format!("INSERT INTO ledger.totals VALUES ({lane}, 0)")).unwrap();
    }
}

/// Commits transactions, numbered from `next`, until the server fails; returns the next number.
pub fn write(opts: OptsBuilder, lane: u64, next: u64, tell: &Sender<()>) -> u64 {
    let mut done = next;
    // A server that is killed during the login has committed nothing.
    let Ok(mut conn) = Conn::new(opts) else { return done };
    while transaction(&mut conn, lane, done).is_ok() {
        done += 1;
        if tell.send(()).is_err() {
            break;
        }
    }
    done
}

fn transaction(conn: &mut Conn, lane: u64, number: u64) -> Result<()> {
    let mut transaction = conn.start_transaction(TxOpts::default())?;
    for id in ids(lane, number) {
        let text = text(id);
        let sum = crc32c::crc32c(text.as_bytes());
        transaction.exec_drop("INSERT INTO ledger.entries VALUES (?, ?, ?)", (id, text, sum))?;
    }
    let count = "UPDATE ledger.totals SET entries = entries + 2 WHERE lane = ?";
    transaction.exec_drop(count, (lane,))?;
    transaction.commit()
}

fn ids(lane: u64, number: u64) -> [u64; 2] {
    [0, 1].map(|half| lane << 40 | number << 1 | half)
}

/// Text of an entry, which follows from its number: hexadecimal digits, of which two make a random
/// byte.
fn text(id: u64) -> String {
    let mut random = Random::new(id);
    let bytes = random.below(TEXT_BYTES);
    (0..bytes / 16).map(|_| format!("{:016x}", random.next())).collect()
}

/// Checks that every acknowledged transaction is present, and all others whole. Returns the number
/// present in each lane, one more than acknowledged if an answer was lost.
///
/// # Errors
/// The first transaction that is missing, incomplete or changed.
pub fn check(conn: &mut Conn, committed: &Committed) -> Result<Committed, String> {
    let mut there = Committed::default();
    for (lane, &answered) in (0..).zip(committed) {
        let entries: Vec<(u64, String, u32)> = conn
            .exec(
                "SELECT id, text, sum FROM ledger.entries WHERE id >> 40 = ? ORDER BY id",
                (lane,),
            )
            .map_err(|error| error.to_string())?;
        for (row, (id, found, sum)) in (0_u64..).zip(&entries) {
            let expected = ids(lane, row / 2)[(row % 2) as usize];
            if *id != expected {
                return Err(format!("entry {expected} of lane {lane} is missing, {id} is there"));
            }
            if *found != text(*id) || *sum != crc32c::crc32c(found.as_bytes()) {
                return Err(format!("entry {id} of lane {lane} is not what was written"));
            }
        }
        let total: Option<u64> = conn
            .exec_first("SELECT entries FROM ledger.totals WHERE lane = ?", (lane,))
            .map_err(|error| error.to_string())?;
        let count = entries.len() as u64;
        if total != Some(count) || count % 2 == 1 {
            return Err(format!("half a transaction: {count} entries, {total:?} counted"));
        }
        if !(answered..=answered + 1).contains(&(count / 2)) {
            return Err(format!(
                "lane {lane} has {} transactions, but {answered} were committed",
                count / 2
            ));
        }
        there[lane as usize] = count / 2;
    }
    Ok(there)
}
