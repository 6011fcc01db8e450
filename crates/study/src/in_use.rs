//! A study that somebody else holds, or whose file is gone: told as that, with who it is where the kernel says so, and not as a
//! damaged one.
//!
//! SQLite holds a file by record locks (`fcntl(2)`), which `/proc/locks` lists with process, device and inode (`proc(5)`).

use std::os::unix::fs::MetadataExt;
use std::path::Path;

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
    let metadata = path.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let place = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let pid = holder_in(&locks, &place, std::process::id())?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name = name.trim();
    Some(if name.is_empty() { format!("process {pid}") } else { format!("process {pid} ({name})") })
}

/// The first process but `ours` that holds what lies at `place` (major:minor:inode): `1: POSIX  ADVISORY  WRITE 123 fd:01:456 0 EOF`.
fn holder_in(locks: &str, place: &str, ours: u32) -> Option<u32> {
    let pid = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == place)?;
        words.get(at.checked_sub(1)?)?.parse::<u32>().ok().filter(|pid| *pid != ours)
    };
    // Who waits for a lock (`->`) does not hold it.
    locks.lines().filter(|line| !line.contains("->")).find_map(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_who_has_the_lock_and_neither_who_waits_nor_we() {
        let locks = "1: POSIX  ADVISORY  READ 7 fd:01:456 1073741826 1073742335\n\
                     2: FLOCK  ADVISORY  WRITE 8 fd:01:999 0 EOF\n\
                     3: -> POSIX  ADVISORY  WRITE 9 fd:01:456 1073741824 1073741825\n\
                     4: POSIX  ADVISORY  WRITE 10 fd:01:456 1073741824 1073741825\n";
        assert_eq!(holder_in(locks, "fd:01:456", 7), Some(10));
        assert_eq!(holder_in(locks, "fd:01:456", 1), Some(7));
        assert_eq!(holder_in(locks, "fd:02:456", 1), None);
        assert_eq!(holder_in("1: OFDLCK ADVISORY  WRITE -1 fd:01:456 0 EOF", "fd:01:456", 1), None);
    }
}
