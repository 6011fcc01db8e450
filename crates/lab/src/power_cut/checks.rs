//! Checks of a server that has come up again: every table, every row of the writers, and, once it
//! is down, every page.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_innodb::{doublewrite, tablespaces};
use assay_load::{Endpoint, Schema};
use assay_mysql::{ClientSession, SessionError};
use assay_packages::command;
use assay_study::power_cut::{Commits, Loss};
use assay_system::tool;

use super::expected::{Expected, Sent};
use super::rows::{Row, TABLES};
use super::writers;
use crate::rig::server::Binary;
use crate::rig::snapshot;

/// A file of some gigabytes takes seconds, not more.
const CHECKSUM_LIMIT: Duration = Duration::from_secs(600);

/// Result of checking the tables of a server that came up.
#[derive(Debug)]
pub(super) struct Checked {
    /// Commits of the writers that were kept and lost.
    pub(super) commits: Commits,
    pub(super) losses: Vec<Loss>,
}

/// Checks tables and rows. If all is well, what the server kept is what is expected from now on.
///
/// # Errors
/// The server does not answer any more, or refuses to.
pub(super) fn tables(
    endpoint: &Endpoint,
    workload_tables: Option<&Schema>,
    expected: &mut Expected,
    sent: &[Sent],
    may_lose: bool,
) -> Result<Checked> {
    let mut session = ClientSession::open(endpoint).context("the server lets nobody in")?;
    let found = match commits(&mut session, sent.len()) {
        Ok(found) => found,
        Err(error) => {
            let losses = vec![refused(&format!("{}.commits", writers::DATABASE), error)?];
            return Ok(Checked { commits: Commits::default(), losses });
        }
    };
    let (commits, mut losses) = expected.commits(&found, sent, may_lose);
    let mut after = expected.clone();
    let is_known =
        |loss: &Loss| !matches!(loss, Loss::WriterMissing { .. } | Loss::WriterWrong { .. });
    if losses.iter().all(is_known) {
        after.take_over(&found.iter().copied().flatten().collect::<Vec<_>>());
        losses.extend(rows(&mut session, &after)?);
    }
    for table in table_names(workload_tables) {
        losses.extend(check_table(&mut session, &table)?);
    }
    if losses.is_empty() {
        *expected = after;
    }
    Ok(Checked { commits, losses })
}

/// The last transaction of each writer that the server kept.
fn commits(session: &mut ClientSession, writers: usize) -> Result<Vec<Option<u64>>, SessionError> {
    let mut found = vec![None; writers];
    let sql = format!("SELECT writer, commit_number FROM {}.commits", writers::DATABASE);
    session.each_row(&sql, |row| {
        let mut numbers = row.map(number);
        if let (Some(Some(writer)), Some(commit)) = (numbers.next(), numbers.next())
            && let Some(place) = found.get_mut(writer as usize)
        {
            *place = commit;
        }
    })?;
    Ok(found)
}

fn rows(session: &mut ClientSession, expected: &Expected) -> Result<Vec<Loss>> {
    let mut comparing = expected.compare();
    for table in 0..TABLES {
        let name = format!("{}.rows_{table}", writers::DATABASE);
        let sql = format!("SELECT id, commit_number, k, pad FROM {name}");
        let read = session.each_row(&sql, |mut row| {
            let mut next = || row.next().flatten();
            let id = number(next()).and_then(|id| u32::try_from(id).ok());
            let row = Row {
                commit: number(next()).unwrap_or(u64::MAX),
                k: number(next()).and_then(|k| u32::try_from(k).ok()).unwrap_or(u32::MAX),
                pad: String::from_utf8_lossy(next().unwrap_or_default()).into_owned(),
            };
            comparing.row(id.unwrap_or(u32::MAX), &row);
        });
        if let Err(error) = read {
            return Ok(vec![refused(&name, error)?]);
        }
    }
    Ok(comparing.end())
}

/// A table that the server refuses to read is lost; a server that is gone is another matter.
fn refused(table: &str, error: SessionError) -> Result<Loss> {
    match error {
        SessionError::Server { .. } => {
            Ok(Loss::Table { table: table.to_owned(), reason: error.to_string() })
        }
        error => Err(error.into()),
    }
}

fn number(field: Option<&[u8]>) -> Option<u64> {
    std::str::from_utf8(field?).ok()?.parse().ok()
}

/// All tables, with their databases.
fn table_names(workload_tables: Option<&Schema>) -> Vec<String> {
    let ours = (0..TABLES).map(|table| format!("{}.rows_{table}", writers::DATABASE));
    let theirs = workload_tables.into_iter().flat_map(|schema| {
        (1..=schema.tables).map(|table| format!("{}.{}", snapshot::DATABASE, schema.table(table)))
    });
    ours.chain([format!("{}.commits", writers::DATABASE)]).chain(theirs).collect()
}

/// Messages of `CHECK TABLE` other than `OK`: rows of table, operation, kind of message, message
/// (MySQL reference manual, "CHECK TABLE Statement").
fn check_table(session: &mut ClientSession, table: &str) -> Result<Option<Loss>> {
    let said = match session.rows(&format!("CHECK TABLE {table}")) {
        Ok(said) => said,
        Err(error) => return refused(table, error).map(Some),
    };
    let mut kinds = said.into_iter().map(|row| {
        let mut fields = row.into_iter().skip(2).flatten();
        (fields.next().unwrap_or_default(), fields.next().unwrap_or_default())
    });
    let wrong = kinds.find(|(kind, message)| kind != "note" && message != "OK");
    Ok(wrong.map(|(_, reason)| Loss::Table { table: table.to_owned(), reason }))
}

/// Runs the `innochecksum` of the server's own make on every tablespace, whose pages have
/// `page_bytes`; the server must be down.
///
/// # Errors
/// It is not there, or cannot be run.
pub(super) fn files(binary: &Binary, data_dir: &Path, page_bytes: u64) -> Result<Vec<Loss>> {
    let program = binary.basedir.join("bin/innochecksum");
    if !program.is_file() {
        bail!("{} is missing: it comes with the server's package", program.display());
    }
    let mut losses = Vec::new();
    for file in tablespaces::files(data_dir)? {
        for pages in checked_pages(&file, page_bytes)? {
            let mut command = command(&program, binary.loader.as_ref());
            command.args(pages.options()).arg(&file);
            if let Err(error) = tool::run(command, CHECKSUM_LIMIT) {
                let failed = error.downcast::<tool::Failed>()?;
                let file = file.strip_prefix(data_dir).unwrap_or(&file).display().to_string();
                let reason = assay_base::text::on_one_line(failed.stderr.trim());
                losses.push(Loss::File { file, reason });
            }
        }
    }
    Ok(losses)
}

/// Pages of a file, from one to another, both among them; nothing: all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pages(Option<(u64, u64)>);

impl Pages {
    fn options(self) -> Vec<String> {
        let range = |(from, to)| vec![format!("--start-page={from}"), format!("--end-page={to}")];
        self.0.map_or_else(Vec::new, range)
    }
}

/// Pages of a file that must be whole: all but a doublewrite buffer in the system tablespace, where
/// a copy may be torn while its page is whole.
fn checked_pages(file: &Path, page_bytes: u64) -> Result<Vec<Pages>> {
    let is_system = file.file_name().is_some_and(|name| name == "ibdata1");
    let buffers =
        if is_system { doublewrite::blocks(&File::open(file)?, page_bytes)? } else { None };
    let Some(mut blocks) = buffers else { return Ok(vec![Pages(None)]) };
    blocks.sort_unstable();
    let last = file.metadata()?.len() / page_bytes - 1;
    let mut ranges = Vec::new();
    let mut from = 0;
    for block in blocks {
        if block > from {
            ranges.push(Pages(Some((from, block - 1))));
        }
        from = block + doublewrite::BLOCK_PAGES;
    }
    if from <= last {
        ranges.push(Pages(Some((from, last))));
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_pages_need_not_be_whole() {
        let directory = tempfile::tempdir().unwrap();
        let checked = |name: &str, blocks: Option<[u32; 2]>| {
            let mut pages = vec![0; 300 * 4096];
            if let Some([one, two]) = blocks {
                let words = [536_853_855, one, two].map(u32::to_be_bytes).concat();
                pages[6 * 4096 - 190..][..12].copy_from_slice(&words);
            }
            let path = directory.path().join(name);
            std::fs::write(&path, pages).unwrap();
            checked_pages(&path, 4096).unwrap()
        };
        let range = |from, to| Pages(Some((from, to)));
        assert_eq!(checked("ibdata1", None), [Pages(None)]);
        assert_eq!(checked("ibdata1", Some([64, 128])), [range(0, 63), range(192, 299)]);
        assert_eq!(
            checked("ibdata1", Some([200, 64])),
            [range(0, 63), range(128, 199), range(264, 299)]
        );
        assert_eq!(checked("t.ibd", Some([64, 128])), [Pages(None)]);
        assert_eq!(range(0, 63).options(), ["--start-page=0", "--end-page=63"]);
    }
}
