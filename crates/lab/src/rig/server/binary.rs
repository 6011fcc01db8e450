//! A server binary: its program, its make and version, and its command.
//!
//! Everything is learnt from the program itself (`--version`) and from the directory tree around
//! it. A tree that holds its own C library, as a fetched one does, is run through that tree's
//! loader (`ld.so(8)`, "--library-path"), so that it needs nothing of the host's libraries.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;

use assay_packages::{Loader, command};
use assay_system::tool;

/// Makers of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// MySQL, as Oracle or a distribution builds it.
    Mysql,
    /// Percona Server for MySQL.
    Percona,
    /// MariaDB Server.
    Mariadb,
}

/// The place where a binary was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Named by the user.
    Explicit,
    /// Installed: on `PATH` or in one of the usual places.
    Path,
    /// In the private cache, where it was fetched to.
    Cache,
    /// In the private cache, where its maker's archive was unpacked to.
    Archive,
}

/// A server program that this lab can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// The program, symbolic links resolved.
    pub program: PathBuf,
    /// The loader to run it with; none for an installed server.
    pub loader: Option<Loader>,
    /// The directory whose `share` and `lib` belong to it.
    pub basedir: PathBuf,
    pub flavour: Flavour,
    /// Major, minor and patch number.
    pub version: (u32, u32, u32),
    /// The version as the program prints it, in one line.
    pub version_text: String,
    pub origin: Origin,
}

impl fmt::Display for Flavour {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Flavour::Mysql => "MySQL",
            Flavour::Percona => "Percona Server",
            Flavour::Mariadb => "MariaDB",
        })
    }
}

impl Flavour {
    /// The word used in plans, on the command line and in the names of cache entries.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Flavour::Mysql => "mysql",
            Flavour::Percona => "percona",
            Flavour::Mariadb => "mariadb",
        }
    }

    /// Returns true if the lab can run that version.
    fn supports(self, (major, minor, _): (u32, u32, u32)) -> bool {
        match self {
            Flavour::Mysql | Flavour::Percona => matches!(major, 8 | 9),
            Flavour::Mariadb => ((10, 6)..(12, 0)).contains(&(major, minor)),
        }
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.version;
        write!(formatter, "{} {major}.{minor}.{patch}", self.flavour)
    }
}

impl Binary {
    /// Asks the program at `path` who it is.
    ///
    /// # Errors
    /// It cannot be run, does not answer as a server does, or is of a version that this lab does
    /// not know.
    pub fn inspect(path: &Path, origin: Origin) -> Result<Binary> {
        let program =
            path.canonicalize().with_context(|| format!("no server at {}", path.display()))?;
        let loader = own_loader(&program);
        let mut command = command(&program, loader.as_ref());
        command.args(["--no-defaults", "--version"]);
        let said = tool::run(command, Duration::from_secs(30))
            .with_context(|| format!("{} does not run", program.display()))?;
        let version_text = said.stdout.lines().next().unwrap_or_default().trim();
        let (flavour, version) = parse_version(version_text)
            .ok_or_else(|| anyhow!("{} is not a MySQL or MariaDB server", program.display()))?;
        let binary = Binary {
            basedir: basedir_of(&program),
            version_text: version_text.replace(&*program.to_string_lossy(), "mysqld"),
            program,
            loader,
            flavour,
            version,
            origin,
        };
        binary.check_supported()
    }

    fn check_supported(self) -> Result<Binary> {
        if self.flavour.supports(self.version) {
            return Ok(self);
        }
        bail!(
            "{self} at {} is not supported; use MySQL or Percona Server 8.0 to 9.x, or MariaDB \
            10.6 to 11.x",
            self.program.display()
        )
    }

    /// The name of its cache entry, e.g. `mysql-9.7.4`.
    #[must_use]
    pub fn name(&self) -> String {
        let (major, minor, patch) = self.version;
        format!("{}-{major}.{minor}.{patch}", self.flavour.word())
    }

    /// A command that runs the server with no option file read and its own messages, character sets
    /// and plugins.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = command(&self.program, self.loader.as_ref());
        command.arg("--no-defaults").arg(option("basedir", &self.basedir));
        let directories = [
            ("lc-messages-dir", self.share_with("english/errmsg.sys")),
            (
                "character-sets-dir",
                self.share_with("charsets/Index.xml").map(|p| p.join("charsets")),
            ),
            ("plugin-dir", self.plugin_directory()),
        ];
        for (name, directory) in directories {
            command.args(directory.map(|directory| option(name, &directory)));
        }
        // A service manager that waits for us must not take the server's word for ours.
        command.env_remove("NOTIFY_SOCKET");
        command
    }

    /// The directory of shared files that holds `part`: distributions say `share/mysql`, makers'
    /// archives `share`.
    #[must_use]
    pub fn share_with(&self, part: &str) -> Option<PathBuf> {
        ["share/mysql", "share/mariadb", "share"]
            .map(|directory| self.basedir.join(directory))
            .into_iter()
            .find(|directory| directory.join(part).exists())
    }

    fn plugin_directory(&self) -> Option<PathBuf> {
        ["lib/mysql/plugin", "lib64/mysql/plugin", "lib/mariadb/plugin", "lib/plugin"]
            .map(|directory| self.basedir.join(directory))
            .into_iter()
            .find(|directory| directory.is_dir())
    }
}

/// `--name=path`, whatever bytes the path has.
pub(super) fn option(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(format!("--{name}="));
    text.push(path);
    text
}

/// `…/bin/mysqld` and `…/sbin/mysqld` belong to `…`.
fn basedir_of(program: &Path) -> PathBuf {
    program.ancestors().nth(2).unwrap_or(Path::new("/")).to_path_buf()
}

/// The loader inside the tree that has `program` as `usr/sbin/…`, if it has one.
fn own_loader(program: &Path) -> Option<Loader> {
    Loader::of_tree(basedir_of(program).parent()?, &[])
}

/// Reads `mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), …)` and its relatives.
fn parse_version(text: &str) -> Option<(Flavour, (u32, u32, u32))> {
    let number = text.split_once(" Ver ").or_else(|| text.split_once(" from "))?.1.trim_start();
    let mut parts = number
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .next()?
        .split('.')
        .map(|part| part.parse::<u32>().ok());
    let version = (parts.next()??, parts.next()??, parts.next()??);
    let flavour = match text {
        _ if text.contains("MariaDB") => Flavour::Mariadb,
        _ if text.contains("Percona") => Flavour::Percona,
        _ => Flavour::Mysql,
    };
    Some((flavour, version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn versions_are_read_as_the_servers_print_them() {
        let cases = [
            (
                "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))",
                Flavour::Mysql,
                (9, 7, 4),
            ),
            (
                "/usr/sbin/mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), \
                Release 28)",
                Flavour::Percona,
                (8, 0, 36),
            ),
            (
                "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian \
                12)",
                Flavour::Mariadb,
                (10, 11, 19),
            ),
            ("mariadbd from 11.8.3-MariaDB, client 15.2", Flavour::Mariadb, (11, 8, 3)),
        ];
        for (text, flavour, version) in cases {
            assert_eq!(parse_version(text), Some((flavour, version)), "{text}");
        }
        for text in ["", "bash, version 5.2.15", "Python 3.11.2", "x Ver y"] {
            assert_eq!(parse_version(text), None, "{text}");
        }
    }

    #[test]
    fn versions_outside_the_supported_range_are_told_apart() {
        let supported = |flavour: Flavour, major, minor| flavour.supports((major, minor, 1));
        assert!(supported(Flavour::Mysql, 8, 0) && supported(Flavour::Percona, 9, 9));
        assert!(supported(Flavour::Mariadb, 10, 6) && supported(Flavour::Mariadb, 11, 99));
        assert!(!supported(Flavour::Mysql, 5, 7) && !supported(Flavour::Mysql, 10, 0));
        assert!(!supported(Flavour::Mariadb, 10, 5) && !supported(Flavour::Mariadb, 12, 0));
    }

    fn fake_server(root: &Path, answer: &str) -> PathBuf {
        let program = root.join("usr/sbin/mysqld");
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::fs::write(&program, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    #[test]
    fn an_old_server_is_refused_with_the_range() {
        let directory = tempfile::tempdir().unwrap();
        let program = fake_server(directory.path(), "mysqld  Ver 5.7.44 for Linux on x86_64");
        let error = Binary::inspect(&program, Origin::Explicit).unwrap_err().to_string();
        assert!(error.starts_with("MySQL 5.7.44 at ") && error.contains("8.0 to 9.x"), "{error}");
    }

    #[test]
    fn a_program_that_is_no_server_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let program = fake_server(directory.path(), "hello");
        let error = Binary::inspect(&program, Origin::Explicit).unwrap_err().to_string();
        assert!(error.contains("is not a MySQL or MariaDB server"), "{error}");
        let missing =
            Binary::inspect(&directory.path().join("none"), Origin::Explicit).unwrap_err();
        assert!(missing.to_string().starts_with("no server at "), "{missing}");
    }
}
