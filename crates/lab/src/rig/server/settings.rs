//! Server settings as a plan gives them: names checked, then turned into arguments.
//!
//! Names are written with underscores or hyphens and in any case, as the server takes them.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

/// Server variables by name, e.g. `innodb_buffer_pool_size` = `2G`.
pub(crate) type Settings = BTreeMap<String, String>;

/// What the rig decides itself, because two servers must not meet and nothing may be left behind.
const BY_THE_RIG: [&str; 15] = [
    "basedir",
    "bind_address",
    "character_sets_dir",
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

/// What would put parts of the data where a clone of the data folder does not reach.
const OUTSIDE_DATADIR: [&str; 3] =
    ["innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory"];

/// The name as `SHOW VARIABLES` prints it.
pub(super) fn canonical(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// The settings under canonical names.
///
/// # Errors
/// A name that is none, is given twice, or belongs to the rig.
pub(super) fn checked(settings: &Settings) -> Result<Settings> {
    let mut checked = Settings::new();
    for (name, value) in settings {
        let name = canonical(name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if name.is_empty() || !name.chars().all(plain) {
            bail!("`{name}` is not the name of a server setting; write it as SHOW VARIABLES does");
        }
        if BY_THE_RIG.contains(&name.as_str()) {
            bail!("server setting `{name}` is decided by the rig; leave it out");
        }
        if OUTSIDE_DATADIR.contains(&name.as_str()) {
            bail!("server setting `{name}` would put data outside the data folder; leave it out");
        }
        if checked.insert(name.clone(), value.clone()).is_some() {
            bail!("server setting `{name}` is given twice; keep one");
        }
    }
    Ok(checked)
}

/// `--name=value` for each.
pub(super) fn arguments(settings: &Settings) -> impl Iterator<Item = String> {
    settings.iter().map(|(name, value)| format!("--{name}={value}"))
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
    fn what_the_rig_decides_cannot_be_set() {
        for name in ["datadir", "PORT", "pid-file", "innodb_undo_directory", "a b", "", "x=y"] {
            assert!(checked(&one(name)).is_err(), "{name}");
        }
        let mut twice = one("max_connections");
        twice.insert("max-connections".into(), "2".into());
        assert!(checked(&twice).unwrap_err().to_string().contains("given twice"));
    }
}
