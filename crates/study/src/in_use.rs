//! Explains errors of a study that another process has locked, or whose file is gone, as distinct
//! from a damaged study.
//!
//! SQLite locks a file with record locks (`fcntl(2)`); the kernel reports their owner.

use std::path::Path;

use assay_base::file_locks;
use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_READONLY_DBMOVED;

/// Explains an SQLite error on the study at `path`: locked by another process, deleted, or `what`
/// with SQLite's message.
pub(super) fn explain(
    error: rusqlite::Error,
    path: &Path,
    what: impl FnOnce() -> String,
) -> anyhow::Error {
    // Before each write, SQLite checks that the path still leads to the open file
    // (sqlite.org/rescode.html).
    let is_gone = error.sqlite_error().map(|it| it.extended_code) == Some(SQLITE_READONLY_DBMOVED);
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => anyhow::anyhow!(
            "the study {} is in use by {}; wait for it to end, or end it",
            path.display(),
            holder(path).unwrap_or_else(|| "another process".into())
        ),
        _ if is_gone => anyhow::anyhow!(
            "the study {} was deleted or replaced during the run; run the plan again and leave \
            it in place",
            path.display()
        ),
        _ => anyhow::Error::new(error).context(what()),
    }
}

/// The other owner of a lock on the file: `process 123 (sqlite3)`.
fn holder(path: &Path) -> Option<String> {
    let holders = file_locks::holders(&path.metadata().ok()?).ok()?;
    let pid = holders.into_iter().find(|pid| *pid != std::process::id())?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name = name.trim();
    Some(if name.is_empty() { format!("process {pid}") } else { format!("process {pid} ({name})") })
}
