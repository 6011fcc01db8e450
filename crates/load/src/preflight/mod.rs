//! Checks before a run; each problem names the setting to change.

mod tables;

use std::thread;

use crate::connect::{At, open_to_ask};
use crate::error::{Error, Problem, Result};
use crate::mixes::Mixes;
use crate::schema::Schema;
use crate::spec::LoadSpec;
use assay_mysql::{Bounds, ClientSession, Endpoint};
use tables::Found;

/// File descriptors of this process in addition to its connections, and of an event loop, of which
/// there is at most one per CPU.
const FILES_BESIDES: u64 = 64;
const FILES_OF_LOOP: u64 = 3;
/// Space of loading relative to the tables' size: redo, undo, the sort of the index.
const SPACE_MARGIN: f64 = 1.2;

/// Checks that a load fits the server's limits and ours: prepared statements, connections, open
/// files. Existing tables must be whole; if there are none, and the server's files are on this
/// machine, there must be space for them.
///
/// Raises this process's soft limit of open files if necessary.
///
/// # Errors
/// [`Error::Preflight`] with all limits that are too low; other errors if the server cannot be
/// asked.
pub fn preflight(load: &LoadSpec) -> Result<()> {
    let LoadSpec { endpoint, schema, schedule, .. } = load;
    schedule.check()?;
    let mixes = Mixes::new(load)?;
    let mut server = Server { session: open_to_ask(endpoint)?, endpoint };
    let threads = u64::from(schedule.threads);
    let loops = thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    let mut problems = Vec::new();
    problems.extend(statements(&mut server, mixes.prepared_per_connection() * threads)?);
    problems.extend(connections(&mut server, threads)?);
    problems.extend(open_files(threads + FILES_BESIDES + loops * FILES_OF_LOOP));
    let found = Found::new(&mut server, schema)?;
    if !found.any() {
        problems.extend(space(&mut server, schema)?);
    }
    problems.extend(tables::problems(&mut server, &found, schema, mixes.main())?);
    if problems.is_empty() { Ok(()) } else { Err(Error::Preflight(problems)) }
}

/// A server that answers queries for single numbers.
struct Server<'a> {
    session: ClientSession,
    endpoint: &'a Endpoint,
}

impl Server<'_> {
    /// The rows of a query, at most those of a list of tables.
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        let rows = self.session.rows_within(sql, Bounds::LISTED);
        rows.map_err(|e| e.at(&self.endpoint.to_string(), sql))
    }

    /// The last column of the first row, if there is a row.
    fn text(&mut self, sql: &str) -> Result<Option<String>> {
        Ok(self.rows(sql)?.into_iter().next().and_then(|mut row| row.pop().flatten()))
    }

    fn number(&mut self, sql: &str) -> Result<u64> {
        Ok(self.text(sql)?.and_then(|text| text.parse().ok()).unwrap_or(0))
    }
}

fn statements(server: &mut Server<'_>, wanted: u64) -> Result<Option<Problem>> {
    let limit = server.number("SELECT @@GLOBAL.max_prepared_stmt_count")?;
    let used = server.number("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")?;
    let needed = wanted + used;
    Ok((needed > limit).then(|| Problem {
        what: "max_prepared_stmt_count".into(),
        needed,
        available: limit,
        remedy: format!("SET GLOBAL max_prepared_stmt_count={needed}, or fewer threads or tables"),
    }))
}

fn connections(server: &mut Server<'_>, wanted: u64) -> Result<Option<Problem>> {
    let limit = server.number("SELECT @@GLOBAL.max_connections")?;
    // This connection is counted too, and ends before the load starts.
    let used = server.number("SHOW GLOBAL STATUS LIKE 'Threads_connected'")?.saturating_sub(1);
    let needed = wanted + used;
    Ok((needed > limit).then(|| Problem {
        what: "max_connections".into(),
        needed,
        available: limit,
        remedy: format!("SET GLOBAL max_connections={needed}, or fewer threads"),
    }))
}

fn open_files(needed: u64) -> Option<Problem> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return None;
    }
    if maximum.is_none_or(|maximum| maximum >= needed)
        && setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).is_ok()
    {
        return None;
    }
    Some(Problem {
        what: "this process's limit of open files".into(),
        needed,
        available: maximum.unwrap_or(needed),
        remedy: format!("run `ulimit -n {needed}` first, or fewer threads"),
    })
}

fn space(server: &mut Server<'_>, schema: &Schema) -> Result<Option<Problem>> {
    if !server.endpoint.address.is_local() {
        return Ok(None);
    }
    let Some(datadir) = server.text("SELECT @@GLOBAL.datadir")? else { return Ok(None) };
    let Ok(file_system) = rustix::fs::statvfs(&datadir) else { return Ok(None) };
    let available = file_system.f_bavail * file_system.f_frsize;
    let rows = u64::from(schema.tables) * schema.table_size;
    let needed = ((rows * schema.row_bytes()) as f64 * SPACE_MARGIN) as u64;
    Ok((needed > available).then(|| Problem {
        what: format!("space under {datadir} in bytes"),
        needed,
        available,
        remedy: "free some space, or lower tables or table_size".into(),
    }))
}
