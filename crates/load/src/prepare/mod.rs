//! Fills tables: in parallel inside each table, in primary-key order, with the secondary index
//! built afterwards.
//!
//! Each table is cut into as many pieces as keep all threads equally busy. A piece is a run of
//! consecutive ids that one thread inserts in ascending order, so threads append to different
//! pages. The content of a row depends on the seed, the table and the id alone, not on the number
//! of threads.
//!
//! A table has a comment until it is complete, so that an interrupted loading is noticed.
//!
//! YCSB's records are inserted in the order of their numbers, which is random in their keys.
//!
//! The one table of sysbench 0.4 is filled as that program does: index first, then equal rows over
//! one connection.

mod equal;
mod insert;
mod parallel;
mod records;
mod table_rows;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::connect::{At, open};
use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::keys::KeyChooser;
use crate::program::{scatter_seed, text_source};
use crate::recipe::Recipe;
use crate::schedule::THREADS_MAX;
use crate::schema::Schema;
use crate::text::TextSource;
use crate::workload::Workload;
use assay_mysql::ClientSession;
use assay_mysql::Endpoint;
use assay_mysql::cutting::{Cutting, cut_by};
use parallel::in_parallel;
use records::Records;
use table_rows::TableRows;

/// Options of filling tables.
#[derive(Debug, Clone, Default)]
pub struct PrepareOptions {
    /// Number of concurrent connections; 0 counts as 1.
    pub threads: u32,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The workload of the later load: column `k` is drawn from its distribution of keys, and
    /// `oltp_insert` without auto-increment and `ycsb_load` start with empty tables.
    pub workload: Workload,
}

/// A stage of loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum PrepareStage {
    /// Rows are inserted.
    Rows,
    /// Secondary indexes are built.
    Index,
}

/// Progress of loading, reported once a second.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PrepareProgress {
    pub stage: PrepareStage,
    /// Rows inserted, or tables indexed.
    pub done: u64,
    /// Rows to insert, or tables to index.
    pub total: u64,
    /// Their rate per second since the stage began.
    pub per_second: f64,
    /// Seconds left at this speed; absent at the start.
    pub seconds_left: Option<f64>,
}

/// The result of loading.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PrepareReport {
    /// Tables created.
    pub tables: u32,
    /// Rows inserted.
    pub rows: u64,
    /// Seconds of inserting.
    pub rows_s: f64,
    /// Seconds of building the indexes.
    pub index_s: f64,
}

/// One thread's piece of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    table: u32,
    ids: Range<u64>,
}

/// State shared by the threads that fill tables.
struct Filling<'a> {
    endpoint: &'a Endpoint,
    schema: &'a Schema,
    keys: KeyChooser,
    text: Option<TextSource>,
    seed: u64,
    rows_done: AtomicU64,
    stop: &'a AtomicBool,
    cutting: &'a Cutting<'a>,
}

impl Filling<'_> {
    /// Opens a connection that is cut if the user stops the work and the server does not answer.
    fn open(&self) -> Result<ClientSession> {
        let session = open(self.endpoint)?;
        self.cutting.watch(&session);
        Ok(session)
    }

    fn show(&self, rows: u64, since: Instant, progress: &dyn Fn(&PrepareProgress)) {
        progress(&state(PrepareStage::Rows, self.rows_done.load(Ordering::Relaxed), rows, since));
    }
}

/// Creates the tables of `schema` and fills them; creates the database if it does not exist. `stop`
/// ends it early.
///
/// # Errors
/// [`Error::Server`] with code 1050 if a table exists already, [`Error::Config`] if stopped,
/// otherwise the first error of any thread.
pub fn prepare(
    endpoint: &Endpoint,
    schema: &Schema,
    options: &PrepareOptions,
    progress: &dyn Fn(&PrepareProgress),
    stop: &AtomicBool,
) -> Result<PrepareReport> {
    schema.check_tables()?;
    options.workload.check()?;
    if options.threads > THREADS_MAX {
        return Err(Error::Config(format!("`threads` is above {THREADS_MAX}; give fewer")));
    }
    let distribution = options.workload.distribution();
    let scatter = scatter_seed(&options.workload, options.seed);
    let keys = KeyChooser::new(&distribution, 1, schema.table_size.max(1), scatter);
    let text = text_source(schema)?;
    let fill = |cutting: &Cutting<'_>| {
        let (seed, rows_done) = (options.seed, AtomicU64::new(0));
        let filling = Filling { endpoint, schema, keys, text, seed, rows_done, stop, cutting };
        fill(&filling, options, progress)
    };
    let filled =
        cut_by(stop, fill).map_err(|error| Error::system("cannot start a thread", error))?;
    match filled {
        Err(Error::Lost(_)) if stop.load(Ordering::Relaxed) => Err(stopped()),
        filled => filled,
    }
}

fn fill(
    filling: &Filling<'_>,
    options: &PrepareOptions,
    progress: &dyn Fn(&PrepareProgress),
) -> Result<PrepareReport> {
    create_tables(filling)?;
    match filling.schema.generator {
        Generator::V04 => fill_equal(filling, progress),
        Generator::V05 | Generator::Legacy | Generator::V10 | Generator::Ycsb => {
            fill_drawn(filling, options, progress)
        }
    }
}

/// Inserts the rows in parallel, then builds the indexes.
fn fill_drawn(
    filling: &Filling<'_>,
    options: &PrepareOptions,
    progress: &dyn Fn(&PrepareProgress),
) -> Result<PrepareReport> {
    let schema = filling.schema;
    let threads = options.threads.max(1);
    let stays_empty = match options.workload.recipe {
        _ if schema.table_size == 0 => true,
        Recipe::OltpInsert => !schema.auto_inc,
        Recipe::YcsbLoad => true,
        _ => false,
    };
    let rows = if stays_empty { 0 } else { u64::from(schema.tables) * schema.table_size };
    let began = Instant::now();
    let pieces = if stays_empty { Vec::new() } else { cut(schema, threads) };
    let fill = |piece: Piece| match schema.generator {
        Generator::Ycsb => insert::fill(filling, &piece, &mut Records::new(filling)),
        _ => insert::fill(filling, &piece, &mut TableRows::new(filling, piece.table)),
    };
    in_parallel(threads, pieces, fill, |since| filling.show(rows, since, progress))?;
    let rows_s = began.elapsed().as_secs_f64();
    let began = Instant::now();
    if schema.has_index() {
        build_indexes(filling, threads, progress)?;
    } else {
        let tables = (1..=schema.tables).collect();
        in_parallel(threads, tables, |table| finish(filling, table), |_| {})?;
    }
    let index_s = began.elapsed().as_secs_f64();
    Ok(PrepareReport { tables: schema.tables, rows, rows_s, index_s })
}

/// Builds the index of the empty table, then inserts the rows one after the other.
fn fill_equal(filling: &Filling<'_>, progress: &dyn Fn(&PrepareProgress)) -> Result<PrepareReport> {
    let schema = filling.schema;
    let began = Instant::now();
    if schema.create_secondary {
        run(&mut filling.open()?, filling.endpoint, &schema.create_index(1))?;
    }
    let index_s = began.elapsed().as_secs_f64();
    let (rows, began) = (schema.table_size, Instant::now());
    let fill = |()| equal::fill(filling);
    let whole = if rows == 0 { Vec::new() } else { vec![()] };
    in_parallel(1, whole, fill, |since| filling.show(rows, since, progress))?;
    finish(filling, 1)?;
    Ok(PrepareReport { tables: 1, rows, rows_s: began.elapsed().as_secs_f64(), index_s })
}

fn build_indexes(
    filling: &Filling<'_>,
    threads: u32,
    progress: &dyn Fn(&PrepareProgress),
) -> Result<()> {
    let tables = filling.schema.tables;
    let indexed = AtomicU64::new(0);
    let builders = threads.min(tables);
    let build = |table| {
        if filling.stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        build_index(filling, table, threads.div_ceil(builders))?;
        finish(filling, table)?;
        indexed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let show = |since| {
        let done = indexed.load(Ordering::Relaxed);
        progress(&state(PrepareStage::Index, done, u64::from(tables), since));
    };
    in_parallel(builders, (1..=tables).collect(), build, show)
}

/// Drops the tables of `schema`, ignoring missing ones.
pub fn cleanup(endpoint: &Endpoint, schema: &Schema) -> Result<()> {
    let mut session = open(endpoint)?;
    for table in 1..=schema.tables {
        run(&mut session, endpoint, &format!("DROP TABLE IF EXISTS {}", schema.table(table)))?;
    }
    Ok(())
}

/// Reads all tables and their indexes once, so that as much of them as possible is in the buffer
/// pool.
pub fn prewarm(endpoint: &Endpoint, schema: &Schema) -> Result<()> {
    let mut session = open(endpoint)?;
    // Keeps the derived tables of the scans below in memory.
    run(&mut session, endpoint, "SET tmp_table_size=2*1024*1024*1024")?;
    run(&mut session, endpoint, "SET max_heap_table_size=2*1024*1024*1024")?;
    for table in 1..=schema.tables {
        let (t, rows) = (schema.table(table), schema.table_size);
        run(&mut session, endpoint, &format!("ANALYZE TABLE {t}"))?;
        if schema.generator == Generator::Ycsb {
            // Reads a field, since the server could count keys in an index alone.
            run(&mut session, endpoint, &format!("SELECT SUM(LENGTH(FIELD0)) FROM {t}"))?;
            continue;
        }
        let key = if schema.secondary { "xid" } else { "PRIMARY" };
        for scan in [
            format!("SELECT AVG(id) FROM (SELECT * FROM {t} FORCE KEY ({key}) LIMIT {rows}) t"),
            format!("SELECT COUNT(*) FROM (SELECT * FROM {t} WHERE k LIKE '%0%' LIMIT {rows}) t"),
        ] {
            run(&mut session, endpoint, &scan)?;
        }
    }
    Ok(())
}

fn run(session: &mut ClientSession, endpoint: &Endpoint, sql: &str) -> Result<()> {
    session.query(sql.as_bytes()).map(drop).map_err(|error| error.at(&endpoint.to_string(), sql))
}

fn stopped() -> Error {
    Error::Config("loading was interrupted; run `cleanup` before the next `prepare`".into())
}

fn create_tables(filling: &Filling<'_>) -> Result<()> {
    let (endpoint, schema) = (filling.endpoint, filling.schema);
    let mut session = match filling.open() {
        Err(Error::Server { code: 1049, .. }) => {
            create_database(endpoint)?;
            filling.open()?
        }
        other => other?,
    };
    (1..=schema.tables)
        .try_for_each(|table| run(&mut session, endpoint, &schema.create_table_to_load(table)))
}

fn create_database(endpoint: &Endpoint) -> Result<()> {
    let nowhere = Endpoint { database: String::new(), ..endpoint.clone() };
    let name = endpoint.database.replace('`', "``");
    run(&mut open(&nowhere)?, endpoint, &format!("CREATE DATABASE `{name}`"))
}

fn build_index(filling: &Filling<'_>, table: u32, threads: u32) -> Result<()> {
    let mut session = filling.open()?;
    // Only MySQL from 8.0.27 on has these variables; other servers use their defaults.
    for setting in [
        format!("SET SESSION innodb_parallel_read_threads={threads}"),
        format!("SET SESSION innodb_ddl_threads={threads}"),
        format!("SET SESSION innodb_ddl_buffer_size={}", 32 * 1024 * 1024 * u64::from(threads)),
    ] {
        let _ = session.query(setting.as_bytes());
    }
    run(&mut session, filling.endpoint, &filling.schema.create_index(table))
}

/// Removes the comment of an unfinished table.
fn finish(filling: &Filling<'_>, table: u32) -> Result<()> {
    let Some(sql) = filling.schema.loaded(table) else { return Ok(()) };
    run(&mut filling.open()?, filling.endpoint, &sql)
}

/// Cuts all tables into equal pieces, in order; their number is a multiple of `threads`.
fn cut(schema: &Schema, threads: u32) -> Vec<Piece> {
    let (tables, threads) = (u64::from(schema.tables), u64::from(threads));
    let pieces = (threads / greatest_common_divisor(tables, threads)).min(schema.table_size);
    let end = |piece: u64| 1 + schema.table_size * piece / pieces;
    (1..=schema.tables)
        .flat_map(|table| (0..pieces).map(move |p| Piece { table, ids: end(p)..end(p + 1) }))
        .collect()
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn state(stage: PrepareStage, done: u64, total: u64, started: Instant) -> PrepareProgress {
    let per_second = done as f64 / started.elapsed().as_secs_f64().max(1e-9);
    let seconds_left = (done > 0).then(|| total.saturating_sub(done) as f64 / per_second);
    PrepareProgress { stage, done, total, per_second, seconds_left }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(tables: u32, table_size: u64, threads: u32) -> Vec<Piece> {
        cut(&Schema { tables, table_size, ..Schema::default() }, threads)
    }

    #[test]
    fn pieces_cover_every_row_once_and_share_out_evenly() {
        for (tables, size, threads) in
            [(1, 10, 4), (3, 1000, 2), (4, 100, 8), (8, 7, 3), (1, 3, 64)]
        {
            let all = pieces(tables, size, threads);
            for table in 1..=tables {
                let mut next = 1;
                for piece in all.iter().filter(|piece| piece.table == table) {
                    assert_eq!(piece.ids.start, next);
                    next = piece.ids.end;
                }
                assert_eq!(next, size + 1);
            }
            if size > u64::from(threads) {
                assert_eq!(all.len() % threads as usize, 0, "{tables} {threads}");
            }
        }
    }
}
