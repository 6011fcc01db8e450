//! The server's own counters: InnoDB, statements and connections, over a connection of the monitor.
//!
//! At most three statements a second, none of which reads a user's table: `SHOW GLOBAL STATUS` for
//! a list of names, a few rows of `INNODB_METRICS` where a server has no status variable for them,
//! and five rows of the performance schema's file summary where that is on. The server counts them
//! too: about three `sql_questions` a second.
//!
//! Facts for reconciling, measured on MySQL 9.7 under a write load. `Innodb_data_fsyncs` includes
//! the redo log's, so data files are the difference. `Innodb_data_written` is data pages and redo
//! without the doublewrite files, which MariaDB's source adds; `innodb_file_*` are exact by kind.
//! File syncs come from the performance schema's "misc" operations, which include the few opens and
//! closes. For a server without `Innodb_rows_*` (newer MariaDB) the handler counters of all engines
//! are used. Waits for files are those of the calling thread (picoseconds there, microseconds
//! here): of background writes only the call's. A kind that never waited may be untimed, so it has
//! no series.
//!
//! A lost server is noted once; the connection is tried again every 5 s. A restarted server leaves
//! a gap, and is read again as soon as it is back, with the metrics switched on that it has
//! forgotten.

mod wanted;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use assay_mysql::{ClientConnect, ClientSession, Endpoint, Fields, SessionError};

use super::followed::{Followed, Turn};
use super::probe::{Notes, Probe, number};
use super::sheet::{Field, Formula, Sheet};
use assay_study::Unmonitored;
use assay_study::metrics::{Gives, MetricEntry, metric};

/// A statement that takes longer is given up; a server that is so slow answers the next one.
const PATIENCE: Duration = Duration::from_secs(5);

/// Name of the fact that names the source of row counts on a server without counters of InnoDB's
/// rows.
const ROWS_FACT: &str = "server: rows counted by";

pub(super) struct InnodbProbe {
    connect: ClientConnect,
    connection: Option<ClientSession>,
    /// The server's process at the last reading, if it is known.
    process: Option<(Followed, u32)>,
    retry_at: Instant,
    /// Metrics that the server counts only once they are switched on.
    metrics: Vec<&'static str>,
    statements: Vec<Statement>,
    values: Values,
    columns: Columns,
}

/// A statement that returns names and values, and the prefix of its names.
struct Statement {
    sql: String,
    prefix: &'static str,
    /// Columns after the name; empty for a single plain value.
    columns: &'static [&'static str],
}

const FILE_COLUMNS: [&str; 4] = [".read_bytes", ".write_bytes", ".misc", ".wait_us"];

impl InnodbProbe {
    /// Connects and finds the counters of this server. Switches on the metrics that need it, on a
    /// server of ours.
    ///
    /// # Errors
    /// The server cannot be reached or denies this user its status.
    pub(super) fn open(
        endpoint: &Endpoint,
        process: Option<Followed>,
        is_ours: bool,
        notes: &mut Notes,
    ) -> Result<InnodbProbe, SessionError> {
        let connect = ClientConnect::new(endpoint)?.with_patience(PATIENCE);
        let mut connection = connect.connect()?;
        let (statements, metrics) = statements_for(&mut connection, is_ours, notes)?;
        let mut values = Values::default();
        for statement in &statements {
            values.read(&mut connection, statement)?;
        }
        let columns = Columns::declare(&values);
        columns.tell(notes);
        let retry_at = Instant::now();
        Ok(InnodbProbe {
            connect,
            connection: Some(connection),
            process: process.and_then(|followed| Some((followed.clone(), followed.pid()?))),
            retry_at,
            metrics,
            statements,
            values,
            columns,
        })
    }

    fn reconnect(&self) -> Result<ClientSession, SessionError> {
        let mut connection = self.connect.connect()?;
        switch_on(&mut connection, &self.metrics);
        Ok(connection)
    }

    /// Returns true if the server is still the same process; otherwise turns to the new one.
    fn follow(&mut self) -> bool {
        let Some((followed, pid)) = &mut self.process else { return true };
        match followed.since(*pid) {
            Turn::Same => return true,
            Turn::Gone => {}
            Turn::Other(other) => {
                *pid = other;
                self.retry_at = Instant::now();
            }
        }
        self.connection = None;
        false
    }

    fn query(&mut self) -> Result<(), SessionError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.reconnect()?,
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
        if !self.follow() || (self.connection.is_none() && Instant::now() < self.retry_at) {
            return;
        }
        match self.query() {
            Ok(()) => self.columns.fill(&self.values, reading),
            // The server was shut down meanwhile.
            Err(_) if !self.follow() => {}
            Err(error) => {
                self.retry_at = Instant::now() + PATIENCE;
                notes.unmonitored(Unmonitored::ServerSilent);
                log::debug!("monitor: {error}");
            }
        }
    }
}

/// Statements that this server needs and can answer, and the metrics that it counts only once they
/// are switched on.
fn statements_for(
    connection: &mut ClientSession,
    is_ours: bool,
    notes: &mut Notes,
) -> Result<(Vec<Statement>, Vec<&'static str>), SessionError> {
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
        if is_ours {
            switch_on(connection, &metrics);
        }
        let sql = format!(
            "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE STATUS = 'enabled' \
             AND NAME IN ({})",
            quoted(&metrics)
        );
        let statement = Statement { sql, prefix: "metrics.", columns: &[] };
        keep_if_answered(connection, statement, &mut statements, notes)?;
    }
    let files = files_counted(connection);
    if !files.is_empty() {
        let files: Vec<_> = files.iter().map(String::as_str).collect();
        let sql = format!(
            "SELECT SUBSTRING_INDEX(EVENT_NAME, '/', -1), SUM_NUMBER_OF_BYTES_READ, \
             SUM_NUMBER_OF_BYTES_WRITE, COUNT_MISC, NULLIF(SUM_TIMER_WAIT, 0) DIV 1000000 \
             FROM performance_schema.file_summary_by_event_name \
             WHERE EVENT_NAME IN ({})",
            quoted(&files)
        );
        let statement = Statement { sql, prefix: "files.", columns: &FILE_COLUMNS };
        keep_if_answered(connection, statement, &mut statements, notes)?;
    }
    // Metrics of somebody else's server are left as they are, also when it comes back.
    Ok((statements, if is_ours { metrics } else { Vec::new() }))
}

/// Switches on metrics. One that cannot be switched on is left out.
fn switch_on(connection: &mut ClientSession, metrics: &[&'static str]) {
    if metrics.is_empty() {
        return;
    }
    let sql = format!(
        "SELECT NAME FROM information_schema.INNODB_METRICS WHERE STATUS = 'disabled' AND NAME IN \
         ({})",
        quoted(metrics)
    );
    for metric in first_columns(connection, &sql) {
        let enable = format!("SET GLOBAL innodb_monitor_enable = '{metric}'");
        let _ = connection.query(enable.as_bytes());
    }
}

fn quoted(names: &[&str]) -> String {
    format!("'{}'", names.join("','"))
}

fn keep_if_answered(
    connection: &mut ClientSession,
    statement: Statement,
    statements: &mut Vec<Statement>,
    notes: &mut Notes,
) -> Result<(), SessionError> {
    match Values::default().read(connection, &statement) {
        Ok(()) => statements.push(statement),
        Err(SessionError::Server { message, .. }) => notes.unmonitored(Unmonitored::Refused {
            prefix: statement.prefix.to_string(),
            error: message,
        }),
        Err(error) => return Err(error),
    }
    Ok(())
}

fn status_names() -> Vec<&'static str> {
    let names = wanted::names("").into_iter();
    names.filter(|name| !name.starts_with("metrics.") && !name.starts_with("files.")).collect()
}

/// Metrics that are the first available source for a server with this status.
fn metrics_missing_from(status: &Values) -> Vec<&'static str> {
    let lacking = wanted::all().filter(|(_, gives)| status.source_of(*gives).is_none());
    let terms = lacking.flat_map(|(_, gives)| gives.sources.iter().copied().flatten());
    terms.filter_map(|term| term.strip_prefix("metrics.")).collect()
}

/// File instruments that are on; empty if the performance schema is off or not accessible.
fn files_counted(connection: &mut ClientSession) -> Vec<String> {
    let mut kinds: Vec<_> = wanted::names("files.")
        .into_iter()
        .filter_map(|name| name.split_once('.').map(|(kind, _)| kind))
        .collect();
    kinds.dedup();
    let events: Vec<_> = kinds
        .iter()
        .map(|kind| {
            let directory = if *kind == "binlog" { "sql" } else { "innodb" };
            format!("'wait/io/file/{directory}/{kind}'")
        })
        .collect();
    let sql = format!(
        "SELECT NAME FROM performance_schema.setup_instruments WHERE ENABLED = 'YES' AND NAME IN \
         ({})",
        events.join(",")
    );
    first_columns(connection, &sql)
}

/// The first field of each row; empty if the server does not answer.
fn first_columns(connection: &mut ClientSession, sql: &str) -> Vec<String> {
    let rows = connection.rows(sql).unwrap_or_default();
    rows.into_iter().filter_map(|row| row.into_iter().next()?).collect()
}

/// Current values by name.
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

    fn read(
        &mut self,
        connection: &mut ClientSession,
        statement: &Statement,
    ) -> Result<(), SessionError> {
        connection.each_row(&statement.sql, |row| self.take_row(row, statement))
    }

    fn take_row(&mut self, row: Fields<'_>, statement: &Statement) {
        let mut texts = row.map(|field| std::str::from_utf8(field?).ok());
        let Some(name) = texts.next().flatten() else { return };
        let columns = if statement.columns.is_empty() { &[""] } else { statement.columns };
        for column in columns {
            self.put([statement.prefix, name, column], number(texts.next().flatten()));
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

    /// The first source whose terms this server has, as slots and signs.
    fn source_of(&self, wanted: Gives) -> Option<Vec<(usize, f64)>> {
        let term = |&term: &&'static str| {
            let sign = if term.starts_with('-') { -1.0 } else { 1.0 };
            Some((*self.slots.get(wanted::bare(term))?, sign))
        };
        wanted.sources.iter().find_map(|source| source.iter().map(term).collect())
    }
}

/// Series of one server, and the values that fill them.
struct Columns {
    sheet: Sheet,
    sources: Vec<(Field, Vec<(usize, f64)>)>,
    rows_from_handlers: bool,
}

impl Columns {
    /// Declares a series for each counter that the server has a source of.
    fn declare(values: &Values) -> Columns {
        let mut sheet = Sheet::default();
        let mut sources = Vec::new();
        let mut by_name = HashMap::new();
        for (metric, gives) in wanted::all() {
            let Some(source) = values.source_of(gives) else { continue };
            let declare = if gives.is_counter { Sheet::counter } else { Sheet::gauge };
            let field = declare(&mut sheet, metric, "");
            by_name.insert(metric.name, field);
            sources.push((field, source));
        }
        declare_derived(&mut sheet, &by_name);
        let rows_from_handlers = !values.slots.contains_key("Innodb_rows_read")
            && by_name.contains_key(metric!("innodb_rows_read_per_s").name);
        Columns { sheet, sources, rows_from_handlers }
    }

    /// Notes a deviating source of counters as a fact; nothing is wrong with it.
    fn tell(&self, notes: &mut Notes) {
        if self.rows_from_handlers {
            notes
                .fact(ROWS_FACT, "its Handler_* counters, of all engines: it has no Innodb_rows_*");
        }
    }

    fn fill(&self, values: &Values, reading: &mut [f64]) {
        for (field, source) in &self.sources {
            let sum: f64 = source.iter().map(|&(slot, sign)| sign * values.values[slot]).sum();
            // NaN stays NaN; the terms of a difference are not read in one instant and may dip
            // below zero.
            reading[*field] = if sum < 0.0 { 0.0 } else { sum };
        }
    }
}

fn declare_derived(sheet: &mut Sheet, by_name: &HashMap<&str, Field>) {
    let pair =
        |a: &MetricEntry, b: &MetricEntry| Some((*by_name.get(a.name)?, *by_name.get(b.name)?));
    let quotient =
        |base, scale| move |(over, under)| Formula::Quotient { over, under, base, scale };
    let share = |(part, whole)| Formula::Share { part, whole };
    let without = |(field, without)| Formula::RateWithout { field, without };
    let hits = pair(metric!("innodb_read_misses_per_s"), metric!("innodb_read_requests_per_s"));
    let dirty = pair(metric!("innodb_dirty_pages"), metric!("innodb_pool_pages"));
    let fsyncs = pair(metric!("innodb_fsyncs_per_s"), metric!("innodb_fsyncs_redo_per_s"));
    let lock_wait =
        pair(metric!("innodb_row_lock_ms_per_s"), metric!("innodb_row_lock_waits_per_s"));
    for (metric, formula) in [
        (metric!("innodb_hit_ratio"), hits.map(quotient(1.0, -1.0))),
        (metric!("innodb_dirty_pages_percent"), dirty.map(share)),
        (metric!("innodb_fsyncs_data_per_s"), fsyncs.map(without)),
        (metric!("innodb_row_lock_wait_ms"), lock_wait.map(quotient(0.0, 1.0))),
    ] {
        if let Some(formula) = formula {
            sheet.series(metric, "", formula);
        }
    }
}

#[cfg(test)]
pub(super) fn whole_sheet() -> Sheet {
    let mut values = Values::default();
    for term in wanted::names("") {
        values.put(["", term, ""], 0.0);
    }
    Columns::declare(&values).sheet
}

#[cfg(test)]
mod tests;
