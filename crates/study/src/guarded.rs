//! Opens a study's file that may come from anybody: it is read as data and cannot execute anything.
//!
//! Guarantees: no link is followed and only a regular file is opened; a reader writes nothing, not
//! even a journal; the tables are verified column by column before the first is read, so that no
//! view, trigger or expression of the file is ever run; the steps and memory of reading are bounded
//! by the file's length.
//!
//! Source of the measures: sqlite.org/security.html, "Untrusted SQLite Database Files".

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use assay_base::plain_file;
use rusqlite::config::DbConfig;
use rusqlite::ffi::SQLITE_READONLY_ROLLBACK;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::{PATIENCE, TABLES};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads a study that may come from anybody.
    Read,
    /// Reads the study that the caller is writing.
    Look,
    /// Writes, and creates a missing file.
    Write,
}

/// First bytes of an SQLite file (sqlite.org/fileformat2.html, "The Database Header").
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Last bytes of a rollback journal that names a super-journal. SQLite deletes the named file after
/// a rollback, whatever it is (sqlite.org/fileformat2.html, "The Rollback Journal"; `pager.c`,
/// `readSuperJournal`). A study is a single file, so its own journals name none.
const SUPER_JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Longest value in a study, in bytes: response times of a week, second by second, are 160 MB.
const VALUE_BYTES_MAX: u64 = 256 << 20;

/// Limit of SQLite's memory for reading a study from somebody else, in bytes.
const HEAP_BYTES_MAX: i64 = 192 << 20;

/// Steps of SQLite's virtual machine between two checks of the limit.
const STEPS_COUNTED: i32 = 10_000;

/// Steps that every study may take, plus those for each of its bytes. A row has at least eight
/// bytes and takes some ten steps each time that a report reads it.
const STEPS_ANY: u64 = 20_000_000;
const STEPS_PER_BYTE: u64 = 200;

/// Opens the store at `path`.
///
/// Fails for a file that is not a study; SQLite's own errors are for the caller to explain.
pub(super) fn open(path: &Path, access: Access) -> Result<Connection> {
    let (real, length) = real_file(path)?;
    let kind = match access {
        Access::Read | Access::Look => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
    };
    if access == Access::Write {
        check_journal(&real)?;
    }
    let mut db = connect(&real, kind, length)?;
    if access != Access::Write {
        roll_back(&mut db, &real, length)?;
    }
    if access == Access::Read {
        limit_work(&mut db, length)?;
    }
    Ok(db)
}

fn connect(real: &Path, kind: OpenFlags, length: u64) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_NO_MUTEX | kind;
    let db = Connection::open_with_flags(real, flags)?;
    db.busy_timeout(PATIENCE)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    let is_reader = kind == OpenFlags::SQLITE_OPEN_READ_ONLY;
    let longest = if is_reader { length.clamp(1 << 20, VALUE_BYTES_MAX) } else { VALUE_BYTES_MAX };
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, longest as i32),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 100_000),
        (Limit::SQLITE_LIMIT_COLUMN, 100),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 20),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 3),
        (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 8),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        db.set_limit(limit, value)?;
    }
    // Sorting stays in memory, which is limited; a file that shrinks while it is mapped would kill
    // the process.
    db.execute_batch(
        "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON; PRAGMA \
        foreign_keys = ON",
    )?;
    Ok(db)
}

/// Directories of a study with files that are written.
const DIRECTORIES: [&str; 5] = ["", "tables", "tables/series", "traces", "power-cuts"];

/// Refuses a directory of a study that has a symbolic link where files are written: it would lead
/// the writer out of the study. The error names the link.
pub fn check_directory(study: &Path) -> Result<()> {
    for directory in DIRECTORIES.map(|name| study.join(name)) {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        let is_link = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|of| of.is_symlink());
        if let Some(link) = entries.flatten().find(is_link) {
            bail!(
                "{} is a symbolic link, and a study holds none; remove it, or give another \
                directory",
                link.path().display()
            );
        }
    }
    Ok(())
}

/// The file's path without links, and its length. The file may be missing or empty.
fn real_file(path: &Path) -> Result<(PathBuf, u64)> {
    let directory = path.parent().context("a study lies in a directory")?;
    let name = path.file_name().context("a study has a file")?;
    let directory = directory
        .canonicalize()
        .with_context(|| format!("cannot open the study {}", path.display()))?;
    let real = directory.join(name);
    let Ok(found) = real.symlink_metadata() else { return Ok((real, 0)) };
    ensure!(
        !found.is_symlink(),
        "{} is a symbolic link; give the directory of the study that it leads to",
        path.display()
    );
    ensure!(found.is_file(), "{} is not a study: it is not a regular file", path.display());
    if found.len() > 0 {
        check_header(path, &real)?;
    }
    Ok((real, found.len()))
}

/// Checks for a rollback journal: with a write-ahead log, a reader would create files.
fn check_header(path: &Path, real: &Path) -> Result<()> {
    let mut header = [0; 20];
    let mut file = plain_file::open(real)
        .with_context(|| format!("cannot open the study {}", path.display()))?;
    let is_whole = file.read_exact(&mut header).is_ok();
    let is_ours = is_whole && header.starts_with(MAGIC) && header[18..] == [1, 1];
    ensure!(is_ours, "{} is not a study", path.display());
    Ok(())
}

fn journal_of(real: &Path) -> PathBuf {
    let mut journal = real.as_os_str().to_owned();
    journal.push("-journal");
    journal.into()
}

/// Refuses a journal that would make SQLite delete another file.
fn check_journal(real: &Path) -> Result<()> {
    use std::os::unix::fs::FileExt;
    let journal = journal_of(real);
    let Ok(found) = journal.symlink_metadata() else { return Ok(()) };
    ensure!(found.is_file(), "{} is not a journal of a study; remove it", journal.display());
    let Some(at) = found.len().checked_sub(SUPER_JOURNAL.len() as u64) else { return Ok(()) };
    let mut last = [0; SUPER_JOURNAL.len()];
    plain_file::open(&journal)
        .and_then(|file| file.read_exact_at(&mut last, at))
        .with_context(|| format!("cannot read {}", journal.display()))?;
    if last == SUPER_JOURNAL {
        bail!(
            "{} names another file, which Assay's own journals never do; remove it, or use a \
            copy of the study without it",
            journal.display()
        );
    }
    Ok(())
}

/// Rolls back the journal of a writer that was killed. A reader must not; a writer does, once.
fn roll_back(db: &mut Connection, real: &Path, length: u64) -> Result<()> {
    let found = version(db).err().and_then(|error| error.sqlite_error().map(|it| it.extended_code));
    if found != Some(SQLITE_READONLY_ROLLBACK) {
        return Ok(());
    }
    check_journal(real)?;
    version(&connect(real, OpenFlags::SQLITE_OPEN_READ_WRITE, length)?)?;
    *db = connect(real, OpenFlags::SQLITE_OPEN_READ_ONLY, length)?;
    Ok(())
}

/// Version of the file's tables.
pub(super) fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Interrupts a query that takes more steps than the file's length explains: pages that refer to
/// one page repeatedly produce unlimited rows.
fn limit_work(db: &mut Connection, length: u64) -> Result<()> {
    db.execute_batch(&format!("PRAGMA hard_heap_limit = {HEAP_BYTES_MAX}"))?;
    let mut left = STEPS_ANY.saturating_add(length.saturating_mul(STEPS_PER_BYTE));
    let is_over = move || {
        left = left.saturating_sub(u64::from(STEPS_COUNTED.unsigned_abs()));
        left == 0
    };
    db.progress_handler(STEPS_COUNTED, Some(is_over))?;
    Ok(())
}

/// An entry of SQLite's schema: type, name, table, and the statement that created it.
type Made = (String, String, String, Option<String>);

/// The first schema entry that differs from a study's, if any.
pub(super) fn foreign(db: &Connection) -> rusqlite::Result<Option<String>> {
    let ours = Connection::open_in_memory()?;
    ours.execute_batch(TABLES)?;
    let ours = schema(&ours, i64::MAX)?;
    let found = schema(db, ours.len() as i64 + 1)?;
    let lacks = ours.iter().find(|entry| !found.contains(entry));
    let other = found.iter().find(|entry| !ours.contains(entry));
    Ok(match (other, lacks) {
        (None, None) => None,
        (Some((kind, name, ..)), _) => Some(format!("the {kind} {name:?}")),
        (None, Some((kind, name, ..))) => Some(format!("no {kind} {name:?}")),
    })
}

fn schema(db: &Connection, most: i64) -> rusqlite::Result<Vec<Made>> {
    let mut statement = db.prepare(
        "SELECT substr(type, 1, 20), substr(name, 1, 80), substr(tbl_name, 1, 80), sql FROM \
        sqlite_schema LIMIT ?1",
    )?;
    let rows = statement
        .query_map([most], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    rows.collect()
}
