//! A study that somebody else holds, or whose file is gone: told as that, with who it is where the kernel says so, and not as a
//! damaged one.
//!
//! SQLite holds a file by record locks (`fcntl(2)`), of which the kernel tells whose they are.

use std::path::Path;

use assay_base::file_locks;
use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_READONLY_DBMOVED;

/// An error of SQLite on the study at `path`: that another process holds it, that it is no longer there, or `what` with SQLite's own
/// words.
pub(super) fn explain(
    error: rusqlite::Error,
    path: &Path,
    what: impl FnOnce() -> String,
) -> anyhow::Error {
    // SQLite looks before each write whether the name still leads to the file that it has open (sqlite.org/rescode.html).
    let is_gone = error.sqlite_error().map(|it| it.extended_code) == Some(SQLITE_READONLY_DBMOVED);
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => anyhow::anyhow!(
            "the study {} is in use by {}; wait for it to end, or end it",
            path.display(),
            holder(path).unwrap_or_else(|| "another process".into())
        ),
        _ if is_gone => anyhow::anyhow!(
            "the study {} was deleted or replaced during the run; run the plan again and leave it in place",
            path.display()
        ),
        _ => anyhow::Error::new(error).context(what()),
    }
}

/// Who else holds a lock on it: `process 123 (sqlite3)`.
fn holder(path: &Path) -> Option<String> {
    let holders = file_locks::holders(&path.metadata().ok()?).ok()?;
    let pid = holders.into_iter().find(|pid| *pid != std::process::id())?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name = name.trim();
    Some(if name.is_empty() { format!("process {pid}") } else { format!("process {pid} ({name})") })
}
