//! Server settings as a plan or a command line gives them: names checked, then turned into
//! arguments.
//!
//! Names are written with underscores or hyphens and in any case, as the server takes them.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use assay_study::switches::asks_for_nothing;
pub use assay_study::switches::canonical;

/// Server variables by name, e.g. `innodb_buffer_pool_size` = `2G`.
pub type Settings = BTreeMap<String, String>;

/// Variables that the rig sets itself, because two servers must not meet and nothing may be left
/// behind.
const BY_THE_RIG: [&str; 17] = [
    "basedir",
    "bind_address",
    "character_sets_dir",
    "chroot",
    "daemonize",
    "datadir",
    "defaults_file",
    "lc_messages_dir",
    "log_error",
    "pid_file",
    "plugin_dir",
    "port",
    "secure_file_priv",
    "skip_networking",
    "socket",
    "tmpdir",
    "user",
];

/// Endings of names whose values are places of files.
const PLACES: [&str; 13] = [
    "dir",
    "_dirs",
    "_directory",
    "_directories",
    "_file",
    "_filename",
    "_path",
    "_basename",
    "_index",
    "_cmd",
    "_provider",
    "log_bin",
    "relay_log",
];

/// Places that an existing data directory cannot be given anew, wherever they are.
const FIXED_PLACES: [&str; 3] =
    ["innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory"];

/// Places that are only read, or written only by a statement that names them.
const READ_ONLY_PLACES: [&str; 3] = ["init_file", "innodb_directories", "ssl_"];

/// Prefixes that a server takes before a name (MySQL reference manual, "Program Option Modifiers").
const MODIFIERS: [&str; 4] = ["skip_", "disable_", "enable_", "maximum_"];

/// The settings under canonical names.
///
/// # Errors
/// A name that is none, is given twice, or belongs to the rig.
pub fn checked(settings: &Settings) -> Result<Settings> {
    let mut checked = Settings::new();
    for (name, value) in settings {
        let name = canonical(name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if name.is_empty() || !name.chars().all(plain) {
            bail!("`{name}` is not a server setting; use its name in SHOW VARIABLES");
        }
        if name.starts_with("loose_") {
            bail!("server setting `{name}` would be ignored if misspelt; write it without loose_");
        }
        if is_by_the_rig(&name) {
            bail!("server setting `{name}` is set by the rig; remove it");
        }
        if is_place_elsewhere(&name, value) {
            bail!("server setting `{name}` would put files outside the data directory; remove it");
        }
        if checked.insert(name.clone(), value.clone()).is_some() {
            bail!("server setting `{name}` is given twice; keep one");
        }
    }
    Ok(checked)
}

/// Servers also take modified and, the older ones, shortened names.
fn is_by_the_rig(name: &str) -> bool {
    let bare =
        MODIFIERS.iter().fold(name, |name, prefix| name.strip_prefix(prefix).unwrap_or(name));
    let is_short_for = |decided: &str| bare.len() >= 3 && decided.starts_with(bare);
    BY_THE_RIG.iter().any(|decided| {
        is_short_for(decided) || is_short_for(decided.strip_prefix("skip_").unwrap_or(decided))
    })
}

/// A file outside the data directory lies on another disk than the one measured, and stays behind.
fn is_place_elsewhere(name: &str, value: &str) -> bool {
    let is_place = PLACES.iter().any(|ending| name.ends_with(ending));
    let is_read = READ_ONLY_PLACES.iter().any(|start| name.starts_with(start));
    let leads_out = is_place && value.contains('/') || is_path_out(value);
    FIXED_PLACES.contains(&name) || (leads_out && !is_read)
}

/// An absolute path, also behind a label or in a list, or one that climbs out: names can be
/// shortened, and other versions have settings of their own.
fn is_path_out(value: &str) -> bool {
    value.split([':', ';', '=', ',']).any(|part| part.trim_start().starts_with('/'))
        || value.split(['/', ':', ';', '=', ',']).any(|part| part.trim() == "..")
}

/// `--name=value` for each setting but switches that ask for nothing.
pub fn arguments(settings: &Settings) -> impl Iterator<Item = String> {
    let all = settings.iter().filter(|(name, value)| !asks_for_nothing(name, value));
    all.map(|(name, value)| format!("--{name}={value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str) -> Settings {
        Settings::from([(name.to_string(), "1".to_string())])
    }

    #[test]
    fn names_are_taken_as_the_server_takes_them() {
        let checked = checked(&one("InnoDB-Doublewrite")).unwrap();
        assert_eq!(arguments(&checked).collect::<Vec<_>>(), ["--innodb_doublewrite=1"]);
    }

    #[test]
    fn a_switch_that_skips_nothing_is_not_passed_on() {
        let passed = |name: &str, value: &str| {
            arguments(&Settings::from([(name.to_owned(), value.to_owned())])).next()
        };
        for off in ["OFF", "0", "false"] {
            assert_eq!(passed("skip_log_bin", off), None);
            assert_eq!(passed("log_bin", off), Some(format!("--log_bin={off}")));
        }
        assert_eq!(passed("skip_log_bin", "ON").as_deref(), Some("--skip_log_bin=ON"));
        let variable = passed("skip_name_resolve", "OFF");
        assert_eq!(variable.as_deref(), Some("--skip_name_resolve=OFF"), "a variable's own name");
    }

    #[test]
    fn neither_modifiers_nor_paths_lead_out_of_the_rig() {
        let refused = |name: &str, value: &str| {
            checked(&Settings::from([(name.to_string(), value.to_string())])).is_err()
        };
        assert!(refused("loose_port", "3306") && refused("loose-innodb_doublwrite", "OFF"));
        assert!(refused("disable-skip-networking", "1") && refused("enable_networking", "1"));
        assert!(refused("datadi", "/var/lib/mysql"));
        assert!(refused("innodb_doublewrite_dir", "/tmp/x"));
        assert!(refused("general_log_file", "../x") && refused("log_bin", "/tmp/binlog"));
        assert!(refused("innodb_data_file_path", "ibdata1:12M;/tmp/ibdata2:12M"));
        for (name, value) in [
            ("log_bin", "/etc/cron.d/x"),
            ("general_log_fil", "/etc/cron.d/x"),
            ("innodb_tmpdir", "/etc"),
            ("replica_load_tmpdir", "a/b"),
            ("innodb_buffer_pool_filename", "../../x"),
            ("innodb_redo_log_archive_dirs", "label:/etc"),
            ("some_new_setting", "../../etc/x"),
            ("some_new_setting", "/etc/x"),
            ("mysqlx_socket", "/run/mysqld.sock"),
            ("wsrep_provider", "/tmp/evil.so"),
            ("wsrep_notify_cmd", "/tmp/evil"),
            ("chroot", "x"),
            ("daemonize", "ON"),
        ] {
            assert!(refused(name, value), "{name}={value}");
        }
        assert!(!refused("init_connect", "SET @x = 1/2") && !refused("sql_mode", "A,B"));
        assert!(!refused("skip_log_bin", "ON") && !refused("init_file", "/etc/init.sql"));
        assert!(!refused("default_time_zone", "Europe/Berlin") && !refused("log_bin", "binlog"));
    }

    #[test]
    fn what_the_rig_decides_cannot_be_set() {
        for name in ["datadir", "PORT", "pid-file", "innodb_undo_directory", "a b", "", "x=y"] {
            assert!(checked(&one(name)).is_err(), "{name}");
        }
        let mut twice = one("max_connections");
        twice.insert("max-connections".into(), "2".into());
        assert!(checked(&twice).unwrap_err().to_string().contains("given twice"));
    }
}
