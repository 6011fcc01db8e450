//! A configuration's settings as an option file of MySQL: those of the plan, and those of the
//! server's own that decide over durability and input and output.

use std::collections::BTreeMap;

use assay_study::Config;
use assay_study::effective::is_as_asked;
use assay_study::switches::{asks_for_nothing, canonical};

/// Settings that decide durability and I/O, whether a plan sets them or not.
const DECISIVE: [&str; 14] = [
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_buffer_pool_size",
    "innodb_redo_log_capacity",
    "innodb_page_size",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_flush_neighbors",
    "innodb_checksum_algorithm",
    "innodb_use_native_aio",
    "max_connections",
    "transaction_isolation",
];

/// The file of a configuration whose server told these variables.
pub(crate) fn option_file(config: &Config, variables: Option<&BTreeMap<String, String>>) -> String {
    let mut lines = vec!["[mysqld]".to_owned()];
    let passed_on = config.settings.iter().filter(|(name, value)| !asks_for_nothing(name, value));
    lines.extend(passed_on.map(|(name, asked)| as_effective(name, asked, variables)));
    let is_set = |name: &str| config.settings.keys().any(|key| canonical(key) == name);
    let told = |name: &str| Some(line(name, variables?.get(name)?));
    let own: Vec<String> =
        DECISIVE.into_iter().filter(|name| !is_set(name)).filter_map(told).collect();
    if !own.is_empty() {
        lines.push(format!("\n# The server's own values ({}):", config.rig.server));
        lines.extend(own);
    }
    lines.join("\n")
}

/// The line of a setting with the server's value; if the plan asks for another one, a comment with
/// that before it.
fn as_effective(name: &str, asked: &str, variables: Option<&BTreeMap<String, String>>) -> String {
    let told = variables.and_then(|all| all.get(&canonical(name)));
    match told.filter(|told| !is_as_asked(asked, told)) {
        Some(told) => format!("# asked for: {asked}\n{}", line(name, told)),
        None => line(name, asked),
    }
}

/// Options that only skip something take no value.
fn line(name: &str, value: &str) -> String {
    let is_bare = name.starts_with("skip") && matches!(value, "" | "1" | "ON" | "true");
    match value {
        _ if is_bare => name.to_owned(),
        value if value.contains('#') => format!("{name} = \"{value}\""),
        value => format!("{name} = {value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_what_the_plan_sets_and_what_else_decides() {
        let pairs = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let config = Config {
            name: "a".into(),
            rig: assay_study::RigRecord { server: "MySQL 8.4".into(), ..Default::default() },
            settings: pairs(&[("innodb_doublewrite", "OFF"), ("skip_log_bin", "true")]),
        };
        let told =
            pairs(&[("innodb_doublewrite", "OFF"), ("sync_binlog", "1"), ("pid_file", "/x")]);
        assert_eq!(
            option_file(&config, Some(&told)),
            "[mysqld]\ninnodb_doublewrite = OFF\nskip_log_bin\n\n# The server's own values \
            (MySQL 8.4):\nsync_binlog = 1"
        );
        assert!(!option_file(&config, None).contains("own values"));
        let refused = pairs(&[("innodb_doublewrite", "ON")]);
        assert!(
            option_file(&config, Some(&refused))
                .contains("\n# asked for: OFF\ninnodb_doublewrite = ON\n")
        );
    }
}
