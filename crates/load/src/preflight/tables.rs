//! Checks that the tables exist, were loaded to their end, and have enough rows and the index that
//! the workload needs.
//!
//! Queries the server's catalogue once, and each table for its largest `id`, 64 per statement;
//! YCSB's table for some of its keys.

use std::collections::{BTreeMap, BTreeSet};

use super::Server;
use crate::error::{Problem, Result};
use crate::generator::Generator;
use crate::oltp::StatementKind;
use crate::program::Program;
use crate::recipe::Recipe;
use crate::schema::{LOADING, Schema};
use crate::ycsb::key_name;

/// Smallest share of the rows: runs may have deleted a few of the last.
const ROWS_SHARE_MIN: f64 = 0.95;
/// Tables queried in one statement.
const TABLES_PER_STATEMENT: usize = 64;

/// Number of YCSB's records that are queried.
const RECORDS_ASKED: u64 = 16;

/// The existing tables of a schema.
pub(super) struct Found {
    wanted: Vec<String>,
    /// Comments of the existing tables.
    comments: BTreeMap<String, String>,
}

impl Found {
    pub(super) fn new(server: &mut Server<'_>, schema: &Schema) -> Result<Found> {
        let sql = format!(
            "SELECT table_name, table_comment FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name LIKE '{}'",
            schema.pattern()
        );
        let rows = server.rows(&sql)?.into_iter().filter_map(|row| match row.as_slice() {
            [Some(name), comment] => Some((name.clone(), comment.clone().unwrap_or_default())),
            _ => None,
        });
        let wanted = (1..=schema.tables).map(|table| schema.table(table)).collect();
        Ok(Found { wanted, comments: rows.collect() })
    }

    /// Returns true if any table exists; otherwise they have yet to be created.
    pub(super) fn any(&self) -> bool {
        self.wanted.iter().any(|table| self.comments.contains_key(table))
    }
}

/// Problems of existing tables; none if no table exists.
pub(super) fn problems(
    server: &mut Server<'_>,
    found: &Found,
    schema: &Schema,
    program: &Program,
) -> Result<Option<Problem>> {
    if !found.any() {
        return Ok(None);
    }
    if let Some(problem) = incomplete(found) {
        return Ok(Some(problem));
    }
    match rows(server, found, schema, program)? {
        None => index(server, found, schema, program),
        some => Ok(some),
    }
}

/// The problem of missing tables, and of those that `prepare` did not finish.
fn incomplete(found: &Found) -> Option<Problem> {
    let is_loading = |comment: &String| comment.as_str() == LOADING;
    let comment = |table: &String| found.comments.get(table);
    lacking(
        found,
        "the number of tables",
        |table| comment(table).is_some(),
        |table| format!("{table} is missing: run `prepare` with the same options, after `cleanup`"),
    )
    .or_else(|| {
        lacking(
            found,
            "the number of fully loaded tables",
            |table| !comment(table).is_some_and(is_loading),
            |table| format!("{table} is incomplete: run `cleanup`, then `prepare`"),
        )
    })
}

/// The problem of some tables; the remedy names the first.
fn lacking(
    found: &Found,
    what: &str,
    is_well: impl Fn(&String) -> bool,
    remedy: impl Fn(&String) -> String,
) -> Option<Problem> {
    let first = found.wanted.iter().find(|table| !is_well(table))?;
    Some(Problem {
        what: what.into(),
        needed: found.wanted.len() as u64,
        available: found.wanted.iter().filter(|table| is_well(table)).count() as u64,
        remedy: remedy(first),
    })
}

/// Checks the number of rows: keys beyond the last row are fast to query and measure nothing.
fn rows(
    server: &mut Server<'_>,
    found: &Found,
    schema: &Schema,
    program: &Program,
) -> Result<Option<Problem>> {
    let changes_their_number = matches!(
        program.workload.recipe,
        Recipe::OltpInsert
            | Recipe::OltpDelete
            | Recipe::OltpNontrxInsert
            | Recipe::OltpNontrxDelete
    );
    if changes_their_number {
        return Ok(None);
    }
    if schema.generator == Generator::Ycsb {
        return records(server, schema, program);
    }
    let least = (schema.table_size as f64 * ROWS_SHARE_MIN) as u64;
    for tables in found.wanted.chunks(TABLES_PER_STATEMENT) {
        let largest =
            |table: &String| format!("SELECT '{table}', COALESCE(MAX(id), 0) FROM {table}");
        let sql = tables.iter().map(largest).collect::<Vec<_>>().join(" UNION ALL ");
        for row in server.rows(&sql)? {
            let [Some(table), Some(largest)] = row.as_slice() else { continue };
            let available = largest.parse().unwrap_or(0);
            if available < least {
                return Ok(Some(too_few(table, schema.table_size, available)));
            }
        }
    }
    Ok(None)
}

/// Checks YCSB's records. Counting them would read the whole table, so some are queried by their
/// keys, the first and the last among them. A load phase starts with none.
fn records(server: &mut Server<'_>, schema: &Schema, program: &Program) -> Result<Option<Problem>> {
    let (table, last) = (schema.table(1), schema.table_size - 1);
    if program.workload.recipe == Recipe::YcsbLoad {
        let found =
            server.number(&format!("SELECT COUNT(*) FROM (SELECT 1 FROM {table} LIMIT 1) t"))?;
        return Ok((found > 0).then(|| Problem {
            what: format!("the number of empty tables for the load ({table} has records)"),
            needed: 1,
            available: 0,
            remedy: "run `cleanup` first".into(),
        }));
    }
    let numbers: BTreeSet<u64> =
        (0..RECORDS_ASKED).map(|part| last * part / (RECORDS_ASKED - 1)).collect();
    let key = |number: &u64| {
        let mut name = Vec::new();
        key_name(*number, schema.insert_order, schema.zero_padding as usize, &mut name);
        format!("'{}'", String::from_utf8_lossy(&name))
    };
    let keys: Vec<String> = numbers.iter().map(key).collect();
    let sql = format!("SELECT COUNT(*) FROM {table} WHERE YCSB_KEY IN ({})", keys.join(","));
    let (needed, available) = (keys.len() as u64, server.number(&sql)?);
    Ok((available < needed).then(|| Problem {
        what: format!("the number of sampled records found in {table}"),
        needed,
        available,
        remedy: "give the number of records and the order of keys that the table was loaded with, \
                 or load it again"
            .into(),
    }))
}

fn too_few(table: &str, needed: u64, available: u64) -> Problem {
    Problem {
        what: format!("the largest id in {table}"),
        needed,
        available,
        remedy: "give the table size that the tables were prepared with, or prepare them again"
            .into(),
    }
}

/// Checks the index: without it, queries by `k` read whole tables, and changes of `k` write less.
fn index(
    server: &mut Server<'_>,
    found: &Found,
    schema: &Schema,
    program: &Program,
) -> Result<Option<Problem>> {
    let rests_on_it = |kind: StatementKind| {
        matches!(
            kind,
            StatementKind::RandomPoints | StatementKind::RandomRanges | StatementKind::IndexUpdate
        )
    };
    let steps = program.groups.iter().filter(|group| group.repeat > 0).flat_map(|g| g.steps);
    if !schema.has_index() || !steps.copied().any(rests_on_it) {
        return Ok(None);
    }
    let sql = format!(
        "SELECT table_name FROM information_schema.statistics WHERE table_schema = DATABASE() \
         AND table_name LIKE '{}' AND column_name = 'k' AND seq_in_index = 1",
        schema.pattern()
    );
    let indexed: BTreeSet<String> =
        server.rows(&sql)?.into_iter().filter_map(|mut row| row.pop().flatten()).collect();
    Ok(lacking(
        found,
        "the number of tables with an index on k",
        |table| indexed.contains(table),
        |table| {
            format!(
                "{table} has none: run `cleanup`, then `prepare`, or set `create_secondary` to off \
                 if that is intended"
            )
        },
    ))
}
