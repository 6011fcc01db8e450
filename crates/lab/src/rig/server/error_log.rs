//! The server's error log: its last lines, and the line that tells why a start failed.
//!
//! MySQL writes `time thread [ERROR] [MY-000067] [Server] text`, MariaDB `time thread [ERROR]
//! text`; what either writes before its log is open comes from its standard error and has no such
//! form.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::settings::{Settings, canonical};

/// Longest part of a log that is read back, in bytes: a server that dies in a loop may write
/// gigabytes.
const READ_BYTES_MAX: u64 = 256 * 1024;

/// Longest part of a line that is shown.
const LINE_CHARACTERS_MAX: usize = 400;

/// The end of the log at `path` from byte `start` on; empty if there is none.
pub(super) fn read_from(path: &Path, start: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(start.max(length.saturating_sub(READ_BYTES_MAX))))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The last `count` lines.
pub(super) fn tail(text: &str, count: usize) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(count));
    last.map(|line| shortened(line).to_owned()).collect()
}

/// A server that finds a damaged page writes all of it on one line.
fn shortened(line: &str) -> &str {
    let end = line.char_indices().nth(LINE_CHARACTERS_MAX).map_or(line.len(), |(at, _)| at);
    &line[..end]
}

/// The first error line, without time and thread.
pub(super) fn first_error(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.get(line.find("[ERROR]")?..)).map(shortened)
}

/// The first error line that names one of the settings: the server refused that one.
pub(super) fn refused_setting<'t>(text: &'t str, settings: &Settings) -> Option<&'t str> {
    let mut errors = text.lines().filter_map(|line| line.get(line.find("[ERROR]")?..));
    errors.find(|line| settings.iter().any(|(name, value)| tells_of(line, name, value)))
}

/// Returns true if `line` has the setting's name or, as InnoDB writes its own, `page size=5000`:
/// the name in plain words without the prefix, and the value.
fn tells_of(line: &str, name: &str, value: &str) -> bool {
    let (name, names) = (canonical(name), canonical(line));
    let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
    let in_plain_words = |short| names.replace(' ', "_").contains(short);
    names.contains(&name)
        || name.strip_prefix("innodb_").is_some_and(in_plain_words)
            && words.any(|word| word == value)
}

/// Warnings about a value that the server changed to one that it can take.
pub(super) fn adjusted_settings(text: &str) -> Vec<String> {
    let warnings = text.lines().filter_map(|line| line.get(line.find("[Warning]")?..));
    warnings.filter(|line| line.contains(" adjusted to ")).map(str::to_string).collect()
}

/// Repairs during recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Bytes of redo log that it scanned, if any.
    pub redo_bytes: Option<u64>,
    /// Pages that it took from the doublewrite buffer.
    pub doublewrite_pages: u64,
    /// LSN of the checkpoint from which it began.
    pub checkpoint: Option<u64>,
}

/// Reads what recovery says: at which checkpoint it begins, how far it has scanned, which pages it
/// takes from the doublewrite buffer.
///
/// MySQL's notes have numbers that its versions keep (MY-013883 `The latest found checkpoint is at
/// lsn = 7 …`, MY-012550 `Doing recovery: scanned up to log sequence number 9`); MariaDB says
/// `Starting crash recovery from checkpoint LSN=7` and `End of log at LSN=9`. Both say `Recovered
/// page … from the doublewrite buffer`.
pub(super) fn repaired(text: &str) -> Repaired {
    let (mut from, mut to, mut doublewrite_pages) = (None, None, 0);
    for line in text.lines() {
        if line.contains("[MY-013883]") || line.contains("recovery from checkpoint LSN=") {
            from = number_after_sign(line);
        } else if line.contains("End of log at LSN=") {
            to = number_after_sign(line);
        } else if line.contains("[MY-012550]") {
            to = line.rsplit(' ').next().and_then(|last| last.parse().ok());
        } else if line.contains("Recovered page") && line.contains("doublewrite") {
            doublewrite_pages += 1;
        }
    }
    let redo_bytes = from.zip(to).map(|(from, to): (u64, u64)| to.saturating_sub(from));
    Repaired { redo_bytes, doublewrite_pages, checkpoint: from }
}

/// The number behind the first `=`.
fn number_after_sign(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once('=')?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MYSQL: &str = "\
2026-01-01T00:00:00.000001Z 0 [System] [MY-010116] [Server] mysqld (mysqld 9.7.4-2) starting as \
process 7
2026-01-01T00:00:00.000002Z 0 [Warning] [MY-000081] [Server] option 'max_connections': unsigned \
value 0 adjusted to 1.
2026-01-01T00:00:00.000003Z 0 [ERROR] [MY-000067] [Server] unknown variable 'innodb_foo=1'.
2026-01-01T00:00:00.000004Z 0 [ERROR] [MY-010119] [Server] Aborting
";
    const MARIADB: &str = "\
2026-01-01  0:00:00 0 [ERROR] /usr/sbin/mariadbd: Error while setting value 'x' to \
'innodb-flush-method'
2026-01-01  0:00:00 0 [ERROR] Aborting
";

    fn settings(name: &str) -> Settings {
        Settings::from([(name.to_string(), "1".to_string())])
    }

    #[test]
    fn the_line_that_refuses_a_setting_is_found_in_both_makes() {
        let line = refused_setting(MYSQL, &settings("innodb_foo")).unwrap();
        assert_eq!(line, "[ERROR] [MY-000067] [Server] unknown variable 'innodb_foo=1'.");
        let line = refused_setting(MARIADB, &settings("innodb_flush_method")).unwrap();
        assert!(line.contains("Error while setting value 'x'"), "{line}");
        assert_eq!(refused_setting(MYSQL, &settings("innodb_bar")), None);
    }

    #[test]
    fn a_value_that_innodb_refuses_in_plain_words_is_found() {
        let log = "t 0 [ERROR] [MY-010872] [InnoDB] InnoDB: Invalid page size=5000.";
        let with = |value: &str| Settings::from([("innodb-page-size".into(), value.into())]);
        assert!(refused_setting(log, &with("5000")).is_some());
        assert_eq!(refused_setting(log, &with("500")), None);
    }

    #[test]
    fn first_error_and_tail_are_the_log_s_own_words() {
        assert!(first_error(MYSQL).unwrap().starts_with("[ERROR] [MY-000067]"));
        assert_eq!(
            tail(MYSQL, 1),
            ["2026-01-01T00:00:00.000004Z 0 [ERROR] [MY-010119] [Server] Aborting"]
        );
        assert_eq!(tail("", 3), [""; 0]);
    }

    #[test]
    fn values_changed_in_silence_are_found() {
        assert_eq!(adjusted_settings(MYSQL).len(), 1);
        assert!(adjusted_settings(MARIADB).is_empty());
    }

    #[test]
    fn what_recovery_did_is_read_from_both_makes() {
        let mysql = "\
t 1 [Note] [MY-013883] [InnoDB] The latest found checkpoint is at lsn = 19703945 in redo log file \
./#innodb_redo/#ib_redo7.
t 1 [Note] [MY-012550] [InnoDB] Doing recovery: scanned up to log sequence number 19750000
t 1 [Note] [MY-012550] [InnoDB] Doing recovery: scanned up to log sequence number 19751478
t 1 [Note] [MY-013543] [InnoDB] Recovered page [page id: space=5, page number=7] from the \
doublewrite buffer.
";
        assert_eq!(
            repaired(mysql),
            Repaired {
                redo_bytes: Some(47_533),
                doublewrite_pages: 1,
                checkpoint: Some(19_703_945)
            }
        );
        let mariadb = "\
t 0 [Note] InnoDB: Starting crash recovery from checkpoint LSN=45502
t 0 [Note] InnoDB: Recovered page [page id: space=5, page number=7] from the doublewrite buffer.
t 0 [Note] InnoDB: End of log at LSN=46012
";
        assert_eq!(
            repaired(mariadb),
            Repaired { redo_bytes: Some(510), doublewrite_pages: 1, checkpoint: Some(45_502) }
        );
        assert_eq!(repaired(MYSQL), Repaired::default());
    }

    #[test]
    fn only_the_log_since_the_start_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, "old\nnew\n").unwrap();
        assert_eq!(read_from(&path, 4), "new\n");
        assert_eq!(read_from(&directory.path().join("none"), 0), "");
    }
}
