//! Asks a running server for the settings that decide how it writes pages.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_innodb::{PageRecovery, recovery_of};
use assay_mysql::{Bounds, ClientConnect, Endpoint};
use serde::{Deserialize, Serialize};

/// The settings of a server that decide how pages are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSettings {
    /// The version as the server prints it.
    pub version: String,
    pub data_directory: PathBuf,
    pub page_bytes: u64,
    /// True if data files are written with direct I/O.
    pub is_direct: bool,
    pub doublewrite: Doublewrite,
    /// Absolute paths of its page files; `None` if it does not list them.
    pub files: Option<Vec<PathBuf>>,
    /// The settings by name.
    pub settings: BTreeMap<String, String>,
}

/// Time limit for connecting, and for reading the settings.
const PATIENCE: Duration = Duration::from_secs(8);

/// Time limit for listing the files: the server may open each.
const LIST_PATIENCE: Duration = Duration::from_secs(60);

/// Tables that list the files of all tablespaces: MySQL since 8.0, and MariaDB.
const FILES: [&str; 2] = [
    "SELECT FILE_NAME FROM information_schema.FILES WHERE ENGINE = 'InnoDB' AND FILE_TYPE IN \
     ('TABLESPACE', 'UNDO LOG')",
    "SELECT PATH FROM information_schema.INNODB_SYS_DATAFILES",
];

/// The server's protection against torn pages (`innodb_doublewrite`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doublewrite {
    /// Each page is written twice; torn pages are repaired.
    On,
    /// Torn pages are detected and not repaired.
    DetectOnly,
    Off,
}

const ASKED: [&str; 14] = [
    "version",
    "version_comment",
    "datadir",
    "innodb_page_size",
    "innodb_flush_method",
    "innodb_data_file_buffering",
    "innodb_doublewrite",
    "innodb_doublewrite_dir",
    "innodb_use_atomic_writes",
    "innodb_checksum_algorithm",
    "innodb_flush_log_at_trx_commit",
    "innodb_use_native_aio",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
];

impl ServerSettings {
    /// Known behaviour of this version's recovery of torn pages; `None` unless pages are written
    /// twice.
    #[must_use]
    pub fn recovery(&self) -> Option<PageRecovery> {
        let of = |name: &str| self.settings.get(name).map(String::as_str).unwrap_or_default();
        let is_on = self.doublewrite == Doublewrite::On;
        is_on.then(|| recovery_of(of("version"), of("version_comment")))
    }

    /// Asks a server.
    pub fn ask(endpoint: &Endpoint) -> Result<ServerSettings> {
        let mut session = ClientConnect::new(endpoint)
            .and_then(|connect| connect.with_patience(PATIENCE).connect())
            .with_context(|| format!("cannot ask the server at {}", endpoint.address))?;
        let names: Vec<String> = ASKED.iter().map(|name| format!("'{name}'")).collect();
        let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", names.join(", "));
        let rows = session.rows(&sql).context("the server does not tell its settings")?;
        let pair = |row: Vec<Option<String>>| {
            let mut fields = row.into_iter();
            Some((fields.next()??, fields.next()??))
        };
        let mut server = ServerSettings::of(rows.into_iter().filter_map(pair).collect())?;
        // Only one of the two tables exists in each server.
        session.set_patience(Some(LIST_PATIENCE));
        let mut list = |sql: &&str| session.rows_within(sql, Bounds::LISTED).ok();
        let told = FILES.iter().filter_map(&mut list).find(|rows| !rows.is_empty());
        let path = |row: Vec<Option<String>>| row.into_iter().next().flatten();
        server.files = told.map(|rows| {
            let named = rows.into_iter().filter_map(path);
            named.map(|path| server.data_directory.join(path)).collect()
        });
        Ok(server)
    }

    fn of(settings: BTreeMap<String, String>) -> Result<ServerSettings> {
        let of = |name: &str| settings.get(name).cloned().unwrap_or_default();
        let page_bytes = of("innodb_page_size").parse();
        let page_bytes = page_bytes.context("the server does not tell innodb_page_size")?;
        Ok(ServerSettings {
            version: format!("{} {}", of("version_comment"), of("version")).trim().to_owned(),
            data_directory: of("datadir").into(),
            page_bytes,
            is_direct: is_direct(&of("innodb_flush_method"), &of("innodb_data_file_buffering")),
            doublewrite: doublewrite(&of("innodb_doublewrite")),
            files: None,
            settings,
        })
    }
}

/// MariaDB since 11.0 reports it in `innodb_data_file_buffering`, and keeps the flush method for
/// old clients only.
fn is_direct(flush_method: &str, buffering: &str) -> bool {
    match buffering {
        "OFF" => true,
        "ON" => false,
        _ => matches!(flush_method, "O_DIRECT" | "O_DIRECT_NO_FSYNC" | "ALL_O_DIRECT"),
    }
}

fn doublewrite(value: &str) -> Doublewrite {
    match value {
        "OFF" | "0" | "FALSE" => Doublewrite::Off,
        "DETECT_ONLY" => Doublewrite::DetectOnly,
        _ => Doublewrite::On,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(pairs: &[(&str, &str)]) -> ServerSettings {
        let own = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ServerSettings::of(own.collect()).unwrap()
    }

    #[test]
    fn a_servers_settings_are_read_as_it_means_them() {
        let mysql = server(&[
            ("version", "8.4.3"),
            ("version_comment", "MySQL Community Server - GPL"),
            ("datadir", "/var/lib/mysql/"),
            ("innodb_page_size", "16384"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_doublewrite", "DETECT_AND_RECOVER"),
        ]);
        assert_eq!(mysql.version, "MySQL Community Server - GPL 8.4.3");
        assert_eq!((mysql.page_bytes, mysql.is_direct), (16384, true));
        assert_eq!(mysql.doublewrite, Doublewrite::On);
        assert_eq!(mysql.recovery(), Some(PageRecovery::NotTested));
        let tried = server(&[("version", "9.7.4-2"), ("innodb_page_size", "16384")]);
        assert!(matches!(tried.recovery(), Some(PageRecovery::Tested([_, _]))), "{tried:?}");
        let off =
            [("version", "9.7.4"), ("innodb_page_size", "16384"), ("innodb_doublewrite", "OFF")];
        assert_eq!(server(&off).recovery(), None);
        let maria = server(&[
            ("innodb_page_size", "16384"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_data_file_buffering", "ON"),
            ("innodb_doublewrite", "fast"),
        ]);
        assert_eq!((maria.is_direct, maria.doublewrite), (false, Doublewrite::On));
        assert_eq!(doublewrite("DETECT_ONLY"), Doublewrite::DetectOnly);
        assert_eq!(doublewrite("OFF"), Doublewrite::Off);
        assert!(!is_direct("fsync", "") && is_direct("O_DIRECT_NO_FSYNC", ""));
    }
}
