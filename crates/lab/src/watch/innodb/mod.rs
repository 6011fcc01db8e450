//! The server from inside: InnoDB, statements and connections, over one connection of the watch's own.
//!
//! At most three statements a second, none of which reads a user's table: `SHOW GLOBAL STATUS` for a list of names,
//! a few rows of `INNODB_METRICS` where a server has no status variable for them, and five rows of the performance
//! schema's file summary where that is on. They are in the server's own counts: about three `sql_questions` a second.
//!
//! Facts to know when reconciling, measured on MySQL 9.7 under a write load. `Innodb_data_fsyncs` holds the redo log's,
//! so data files are the difference. `Innodb_data_written` is data pages and redo without the doublewrite files, which
//! MariaDB's source adds; `innodb_file_*` are exact by kind. File syncs come from the performance schema's "misc"
//! operations, among which are the few opens and closes. A server without `Innodb_rows_*` (newer MariaDB) has the
//! handler counters of all engines stand in. Waits for files are of the thread that made the call (picoseconds there,
//! microseconds here): of what is written in the background only the call's. A kind that never waited may be one that is not
//! timed, so it has no series.
//!
//! A server that is gone is noted once; the connection is tried again every 5 s.

mod wanted;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Row, Value};

use super::probe::{Notes, Probe, number};
use super::series::Layer;
use super::sheet::{Field, Formula, Sheet};
use crate::store::Unwatched;

/// A statement that takes longer is given up. So slow a server answers the next one.
const PATIENCE: Duration = Duration::from_secs(5);

/// The fact that says where a server without counters of InnoDB's rows has them from.
const ROWS_FACT: &str = "server: rows counted by";

/// The server behind one connection.
pub(super) struct InnodbProbe {
    opts: Opts,
    connection: Option<Conn>,
    retry_at: Instant,
    statements: Vec<Statement>,
    values: Values,
    columns: Columns,
}

/// A statement for names and values, and what its names begin with.
struct Statement {
    sql: String,
    prefix: &'static str,
    /// Columns after the name; none means one plain value.
    columns: &'static [&'static str],
}

const FILE_COLUMNS: [&str; 4] = [".read_bytes", ".write_bytes", ".misc", ".wait_us"];

impl InnodbProbe {
    /// Connects, finds out what this server counts, and switches on the metrics that need it.
    ///
    /// # Errors
    /// When the server cannot be reached or lets this user not see its status.
    pub(super) fn open(opts: &Opts, notes: &mut Notes) -> mysql::Result<InnodbProbe> {
        let opts: Opts = OptsBuilder::from_opts(opts.clone())
            .read_timeout(Some(PATIENCE))
            .write_timeout(Some(PATIENCE))
            .tcp_connect_timeout(Some(PATIENCE))
            .into();
        let mut connection = Conn::new(opts.clone())?;
        let statements = statements_for(&mut connection, notes)?;
        let mut values = Values::default();
        for statement in &statements {
            values.read(&mut connection, statement)?;
        }
        let columns = Columns::declare(&values);
        columns.tell(notes);
        let retry_at = Instant::now();
        Ok(InnodbProbe {
            opts,
            connection: Some(connection),
            retry_at,
            statements,
            values,
            columns,
        })
    }

    fn query(&mut self) -> mysql::Result<()> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Conn::new(self.opts.clone())?,
        };
        self.values.forget();
        for statement in &self.statements {
            self.values.read(&mut connection, statement)?;
        }
        self.connection = Some(connection);
        Ok(())
    }
}

impl Probe for InnodbProbe {
    fn sheet(&self) -> &Sheet {
        &self.columns.sheet
    }

    fn read(&mut self, reading: &mut [f64], notes: &mut Notes) {
        if self.connection.is_none() && Instant::now() < self.retry_at {
            return;
        }
        match self.query() {
            Ok(()) => self.columns.fill(&self.values, reading),
            Err(error) => {
                self.retry_at = Instant::now() + PATIENCE;
                notes.unwatched(Unwatched::ServerSilent);
                log::debug!("watch: {error}");
            }
        }
    }
}

/// The statements that this server needs and can answer.
fn statements_for(connection: &mut Conn, notes: &mut Notes) -> mysql::Result<Vec<Statement>> {
    let quoted = |names: &[&str]| format!("'{}'", names.join("','"));
    let status = Statement {
        sql: format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", quoted(&status_names())),
        prefix: "",
        columns: &[],
    };
    let mut seen = Values::default();
    seen.read(connection, &status)?;
    let mut statements = vec![status];
    let metrics = metrics_missing_from(&seen);
    if !metrics.is_empty() {
        let off: Vec<String> = connection
            .query(format!(
                "SELECT NAME FROM information_schema.INNODB_METRICS WHERE STATUS = 'disabled' AND NAME IN ({})",
                quoted(&metrics)
            ))
            .unwrap_or_default();
        for metric in off {
            // One that may not be switched on stays out: the statement below asks for enabled ones.
            let _ = connection.query_drop(format!("SET GLOBAL innodb_monitor_enable = '{metric}'"));
        }
        let sql = format!(
            "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE STATUS = 'enabled' AND NAME IN ({})",
            quoted(&metrics)
        );
        let statement = Statement { sql, prefix: "metrics.", columns: &[] };
        keep_if_answered(connection, statement, &mut statements, notes)?;
    }
    let files = files_counted(connection);
    if !files.is_empty() {
        let files: Vec<_> = files.iter().map(String::as_str).collect();
        let sql = format!(
            "SELECT SUBSTRING_INDEX(EVENT_NAME, '/', -1), SUM_NUMBER_OF_BYTES_READ, SUM_NUMBER_OF_BYTES_WRITE, \
             COUNT_MISC, NULLIF(SUM_TIMER_WAIT, 0) DIV 1000000 FROM performance_schema.file_summary_by_event_name \
             WHERE EVENT_NAME IN ({})",
            quoted(&files)
        );
        let statement = Statement { sql, prefix: "files.", columns: &FILE_COLUMNS };
        keep_if_answered(connection, statement, &mut statements, notes)?;
    }
    Ok(statements)
}

fn keep_if_answered(
    connection: &mut Conn,
    statement: Statement,
    statements: &mut Vec<Statement>,
    notes: &mut Notes,
) -> mysql::Result<()> {
    match Values::default().read(connection, &statement) {
        Ok(()) => statements.push(statement),
        Err(mysql::Error::MySqlError(error)) => notes.unwatched(Unwatched::Refused {
            prefix: statement.prefix.to_string(),
            error: error.message,
        }),
        Err(error) => return Err(error),
    }
    Ok(())
}

fn status_names() -> Vec<&'static str> {
    let names = wanted::names("").into_iter();
    names.filter(|name| !name.starts_with("metrics.") && !name.starts_with("files.")).collect()
}

/// Metrics that are the first source a server of this status can have.
fn metrics_missing_from(status: &Values) -> Vec<&'static str> {
    let lacking = wanted::all().filter(|wanted| status.source_of(wanted).is_none());
    let terms = lacking.flat_map(|wanted| wanted.sources.iter().copied().flatten());
    terms.filter_map(|term| term.strip_prefix("metrics.")).collect()
}

/// File instruments that are on; none where the performance schema is off or out of reach.
fn files_counted(connection: &mut Conn) -> Vec<String> {
    let mut kinds: Vec<_> = wanted::names("files.")
        .into_iter()
        .filter_map(|name| name.split_once('.').map(|(kind, _)| kind))
        .collect();
    kinds.dedup();
    let events: Vec<_> = kinds
        .iter()
        .map(|kind| {
            let folder = if *kind == "binlog" { "sql" } else { "innodb" };
            format!("'wait/io/file/{folder}/{kind}'")
        })
        .collect();
    let sql = format!(
        "SELECT NAME FROM performance_schema.setup_instruments WHERE ENABLED = 'YES' AND NAME IN ({})",
        events.join(",")
    );
    connection.query(sql).unwrap_or_default()
}

/// The server's names and their values now.
#[derive(Default)]
struct Values {
    slots: HashMap<String, usize>,
    values: Vec<f64>,
    key: String,
}

impl Values {
    fn forget(&mut self) {
        self.values.fill(f64::NAN);
    }

    fn read(&mut self, connection: &mut Conn, statement: &Statement) -> mysql::Result<()> {
        for row in connection.query_iter(&statement.sql)? {
            self.take_row(&row?, statement);
        }
        Ok(())
    }

    fn take_row(&mut self, row: &Row, statement: &Statement) {
        let Some(Value::Bytes(name)) = row.as_ref(0) else { return };
        let Ok(name) = std::str::from_utf8(name) else { return };
        let columns = if statement.columns.is_empty() { &[""] } else { statement.columns };
        for (place, column) in columns.iter().enumerate() {
            let value = row.as_ref(place + 1).map_or(f64::NAN, plain_number);
            self.put([statement.prefix, name, column], value);
        }
    }

    fn put(&mut self, name: [&str; 3], value: f64) {
        self.key.clear();
        self.key.extend(name);
        if let Some(&slot) = self.slots.get(&self.key) {
            self.values[slot] = value;
        } else if !value.is_nan() {
            self.slots.insert(self.key.clone(), self.values.len());
            self.values.push(value);
        }
    }

    /// The first source of which this server has every term, as slots and signs.
    fn source_of(&self, wanted: &wanted::Wanted) -> Option<Vec<(usize, f64)>> {
        let term = |&term: &&'static str| {
            let sign = if term.starts_with('-') { -1.0 } else { 1.0 };
            Some((*self.slots.get(wanted::bare(term))?, sign))
        };
        wanted.sources.iter().find_map(|source| source.iter().map(term).collect())
    }
}

fn plain_number(value: &Value) -> f64 {
    match value {
        Value::Bytes(text) => number(std::str::from_utf8(text).ok()),
        Value::Int(value) => *value as f64,
        Value::UInt(value) => *value as f64,
        Value::Double(value) => *value,
        _ => f64::NAN,
    }
}

/// The series of one server, and how its values fill them.
struct Columns {
    sheet: Sheet,
    sources: Vec<(Field, Vec<(usize, f64)>)>,
    rows_from_handlers: bool,
}

impl Columns {
    /// Declares a series for everything that the server has a source of.
    fn declare(values: &Values) -> Columns {
        let mut sheet = Sheet::new(Layer::Innodb);
        let mut sources = Vec::new();
        let mut by_name = HashMap::new();
        let mut declare = |sheet: &mut Sheet, wanted: &wanted::Wanted, counter: bool| {
            let Some(source) = values.source_of(wanted) else { return };
            let sql = wanted.name.starts_with("sql_");
            sheet.set_layer(if sql { Layer::Sql } else { Layer::Innodb });
            let declare = if counter { Sheet::counter } else { Sheet::gauge };
            let field = declare(sheet, wanted.name, wanted.unit, wanted.label.into());
            by_name.insert(wanted.name, field);
            sources.push((field, source));
        };
        for wanted in wanted::COUNTERS {
            declare(&mut sheet, wanted, true);
        }
        for wanted in wanted::GAUGES {
            declare(&mut sheet, wanted, false);
        }
        sheet.set_layer(Layer::Innodb);
        declare_derived(&mut sheet, &by_name);
        let rows_from_handlers = !values.slots.contains_key("Innodb_rows_read")
            && by_name.contains_key("innodb_rows_read");
        Columns { sheet, sources, rows_from_handlers }
    }

    /// What a reader of these series should know of this server: nothing is wrong with it.
    fn tell(&self, notes: &mut Notes) {
        if self.rows_from_handlers {
            notes
                .fact(ROWS_FACT, "its Handler_* counters, of all engines: it has no Innodb_rows_*");
        }
    }

    fn fill(&self, values: &Values, reading: &mut [f64]) {
        for (field, source) in &self.sources {
            let sum: f64 = source.iter().map(|&(slot, sign)| sign * values.values[slot]).sum();
            // NaN stays NaN; the terms of a difference are not read in one instant and may dip below zero.
            reading[*field] = if sum < 0.0 { 0.0 } else { sum };
        }
    }
}

fn declare_derived(sheet: &mut Sheet, by_name: &HashMap<&str, Field>) {
    let pair = |a: &str, b: &str| Some((*by_name.get(a)?, *by_name.get(b)?));
    if let Some((over, under)) = pair("innodb_read_misses", "innodb_read_requests") {
        let formula = Formula::Quotient { over, under, base: 1.0, scale: -1.0 };
        sheet.series("innodb_hit_ratio".into(), "ratio", "buffer pool hit ratio".into(), formula);
    }
    if let Some((part, whole)) = pair("innodb_dirty_pages", "innodb_pool_pages") {
        let label = "dirty pages, of the buffer pool".into();
        let formula = Formula::Share { part, whole };
        sheet.series("innodb_dirty_pages_percent".into(), "percent", label, formula);
    }
    if let Some((field, without)) = pair("innodb_fsyncs", "innodb_fsyncs_redo") {
        let label = "fsyncs, data and doublewrite files".into();
        let formula = Formula::RateWithout { field, without };
        sheet.series("innodb_fsyncs_data_per_s".into(), "1/s", label, formula);
    }
    if let Some((over, under)) = pair("innodb_row_lock_ms", "innodb_row_lock_waits") {
        let formula = Formula::Quotient { over, under, base: 0.0, scale: 1.0 };
        sheet.series("innodb_row_lock_wait_ms".into(), "ms", "row lock wait, mean".into(), formula);
    }
}

#[cfg(test)]
mod tests;
