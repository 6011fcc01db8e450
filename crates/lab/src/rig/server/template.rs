//! Data directories: initialised once per version and layout, kept in the cache, cloned for each
//! use.
//!
//! A fresh data directory holds `root` without a password, for the Unix socket alone, and no user
//! data. Clones differ in their server's UUID and in nothing else.
//!
//! Guarantees: a template is there whole or not at all; a clone that fails leaves no directory; a
//! clone is written out before it is returned, so that its own flush does not fall into a
//! measurement.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use sha2::{Digest, Sha256};

use super::binary::{Binary, Flavour, option};
use super::error_log;
use super::settings::{self, Settings};
use assay_ports::copy;
use assay_system::cache::CacheLock;
use assay_system::{cache_entry, tool};

/// Initialising writes about 100 MB; a slow disk may take minutes, not more.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Raised when templates are made in another way, so that old ones are not taken.
const RECIPE: u32 = 1;

/// Settings that decide at initialisation what the data directory looks like, each with the reason.
/// All others can differ between a template and the servers on its clones (MySQL reference manual,
/// "InnoDB Startup Options and System Variables"; MariaDB documentation, "InnoDB System
/// Variables").
const LAYOUT: [(&str, &str); 8] = [
    ("character_set_server", "the default of the schemas made here"),
    ("collation_server", "the default of the schemas made here"),
    ("innodb_checksum_algorithm", "MariaDB's full_crc32 is a property of the files made here"),
    ("innodb_data_file_path", "the system tablespace is made by it"),
    ("innodb_file_per_table", "decides which file holds the InnoDB tables made here"),
    ("innodb_page_size", "every page is laid out by it; a server refuses files of another size"),
    ("innodb_undo_tablespaces", "MariaDB before 10.11 makes undo tablespaces only here"),
    ("lower_case_table_names", "MySQL refuses another value later"),
];

/// Makes `datadir` (absent or empty) a fresh data directory for that server and those settings.
///
/// # Errors
/// A setting that the server refuses, with the server's own log line; no space; a directory that is
/// not empty.
pub fn make_datadir(
    binary: &Binary,
    settings: &Settings,
    datadir: &Path,
    progress: &dyn Fn(&str),
) -> Result<()> {
    let layout = layout_settings(&settings::checked(settings)?);
    cache_entry::hold_server(&binary.program)?;
    let template = ensure(binary, &layout, progress)?;
    clone(&template, datadir)
}

/// Settings that shape files when a data directory is made: servers with equal ones can take turns
/// on one directory.
pub fn layout_settings(settings: &Settings) -> Settings {
    let decides = |name: &str| LAYOUT.iter().any(|(layout, _)| *layout == name);
    settings.iter().filter(|(n, _)| decides(n)).map(|(n, v)| (n.clone(), v.clone())).collect()
}

fn ensure(binary: &Binary, layout: &Settings, progress: &dyn Fn(&str)) -> Result<PathBuf> {
    let shelf =
        CacheLock::open("templates", || progress("waiting for another data directory to be made"))?;
    let target = shelf.entry(&entry_name(binary, layout));
    if target.is_dir() {
        cache_entry::hold(&target)?;
        return Ok(target);
    }
    progress(&format!("initialising a data directory for {binary} (once)"));
    let staging = shelf.stage()?;
    let log = staging.path().join("error.log");
    let (command, stdin) = initialising(binary, layout, staging.path(), &log)?;
    if let Err(error) = tool::run_with_input(command, stdin, LIMIT) {
        return Err(explain(error, &error_log::read_from(&log, 0), layout))
            .with_context(|| format!("{binary} could not initialise a data directory"));
    }
    // Each clone shall be a server of its own: without this file it makes a new UUID at its first
    // start.
    let _ = fs::remove_file(staging.path().join("data/auto.cnf"));
    staging.publish("data", &target)?;
    cache_entry::hold(&target)?;
    Ok(target)
}

fn explain(error: anyhow::Error, log: &str, layout: &Settings) -> anyhow::Error {
    match error_log::refused_setting(log, layout).or_else(|| error_log::first_error(log)) {
        Some(line) => anyhow!("{line}"),
        None => error,
    }
}

fn entry_name(binary: &Binary, layout: &Settings) -> String {
    let mut hasher = Sha256::new();
    hasher.update(format!("{RECIPE}\n{}\n", binary.version_text));
    for argument in settings::arguments(layout) {
        hasher.update(argument + "\n");
    }
    let hash: String = hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{hash}", binary.name())
}

fn initialising(
    binary: &Binary,
    layout: &Settings,
    directory: &Path,
    log: &Path,
) -> Result<(Command, Stdio)> {
    let datadir = directory.join("data");
    fs::create_dir(&datadir)?;
    let mut command = binary.command();
    command.arg(option("datadir", &datadir)).arg(option("log-error", log));
    command.arg(option("tmpdir", directory)).arg(option("secure-file-priv", directory));
    command.arg("--skip-log-bin").args(user_argument()).args(settings::arguments(layout));
    if binary.flavour != Flavour::Mariadb {
        command.arg("--initialize-insecure");
        return Ok((command, Stdio::null()));
    }
    let script = directory.join("bootstrap.sql");
    fs::write(&script, bootstrap_sql(binary)?)?;
    command.args(["--bootstrap", "--max-allowed-packet=8M", "--enforce-storage-engine="]);
    Ok((command, File::open(&script)?.into()))
}

/// Servers refuse to run as root unless told that this is meant.
pub(super) fn user_argument() -> Option<&'static str> {
    rustix::process::geteuid().is_root().then_some("--user=root")
}

/// SQL for MariaDB's bootstrap: its own scripts, found next to the program and in the order of its
/// `mariadb-install-db`, without help texts, sample database and `sys`; then only `root` at the
/// socket.
fn bootstrap_sql(binary: &Binary) -> Result<String> {
    let mut sql = String::from(
        "CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n",
    );
    for part in ["system_tables", "performance_tables", "system_tables_data"] {
        let names = [format!("mariadb_{part}.sql"), format!("mysql_{part}.sql")];
        let script = names.iter().find_map(|name| Some(binary.share_with(name)?.join(name)));
        let script = script.with_context(|| {
            format!(
                "{binary} at {} lacks {}; install all of its server package",
                binary.program.display(),
                names[0]
            )
        })?;
        sql.push_str(&fs::read_to_string(&script)?);
        sql.push('\n');
    }
    sql.push_str(
        "DELETE FROM global_priv WHERE User IN ('root', '') AND Host <> 'localhost';\n\
         DELETE FROM proxies_priv WHERE Host <> 'localhost';\n",
    );
    Ok(sql)
}

fn clone(template: &Path, datadir: &Path) -> Result<()> {
    let cannot = || format!("cannot make the data directory {}", datadir.display());
    fs::create_dir_all(datadir).with_context(cannot)?;
    if fs::read_dir(datadir).with_context(cannot)?.next().is_some() {
        bail!("the data directory {} is not empty; empty it or name another", datadir.display());
    }
    let copied = copy::tree(&template.join("."), datadir)
        .map_err(anyhow::Error::from)
        .and_then(|()| Ok(rustix::fs::syncfs(File::open(datadir)?)?));
    copied.with_context(cannot)
}
