//! Finds server binaries: the one named, those installed, those in the private cache.

use std::cmp::Reverse;
use std::convert::Infallible;
use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail};

use super::archive;
use super::binary::{Binary, Flavour, Origin};
use super::layout::{PROGRAMS, program_in};
use super::shelf::SHELF;
use assay_system::cache;

/// Directories besides `PATH` in which packages and makers' archives put servers (Filesystem
/// Hierarchy Standard 3.0, and the installation layouts in the manuals of MySQL and MariaDB).
const USUAL_DIRECTORIES: [&str; 6] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/libexec",
    "/usr/local/mysql/bin",
    "/usr/local/mariadb/bin",
    "/opt/mysql/bin",
];

/// The server that is asked for: any, one of a make, or the one at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedServer {
    /// Any, MySQL before MariaDB wherever they lie, and of each installed ones before fetched ones,
    /// and those before ones that were unpacked from archives.
    Any,
    /// One of that make: the words `mysql`, `percona` and `mariadb`.
    Flavour(Flavour),
    /// The program there, or the one in the directory or the archive there: any other text.
    Path(PathBuf),
}

/// Names the server where neither the plan nor the command line does, in the words of
/// [`WantedServer`].
const VARIABLE: &str = "ASSAY_SERVER";

impl WantedServer {
    /// The program or directory that a plan or a command line names, else what `ASSAY_SERVER`
    /// names, else any server.
    #[must_use]
    pub fn named(path: Option<&PathBuf>) -> WantedServer {
        let by_environment = || match env::var(VARIABLE) {
            Ok(text) => text.parse().unwrap_or_else(|never: Infallible| match never {}),
            Err(_) => WantedServer::Any,
        };
        path.map_or_else(by_environment, |path| WantedServer::Path(path.clone()))
    }
}

impl FromStr for WantedServer {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<WantedServer, Infallible> {
        let flavours = [Flavour::Mysql, Flavour::Percona, Flavour::Mariadb];
        let flavour = flavours.into_iter().find(|flavour| flavour.word() == text);
        Ok(match flavour {
            Some(flavour) => WantedServer::Flavour(flavour),
            None if text.is_empty() => WantedServer::Any,
            None => WantedServer::Path(PathBuf::from(text)),
        })
    }
}

/// A server program that was found, and either what it is or why it cannot be used.
#[derive(Debug)]
pub struct FoundServer {
    /// The program as found.
    pub program: PathBuf,
    pub origin: Origin,
    /// The server, or the reason why it cannot be used.
    pub server: Result<Binary>,
}

/// The first usable server of those wanted, or none if one would have to be fetched, or unpacked
/// from the archive that is named.
///
/// # Errors
/// A path was named and holds no usable server.
pub fn find(wanted: &WantedServer) -> Result<Option<Binary>> {
    if let WantedServer::Path(path) = wanted {
        let program = program_at(path)?;
        return match archive::open(&program)? {
            Some(mut archive) => archive::unpacked(&program, &mut archive),
            None => Binary::inspect(&program, Origin::Explicit).map(Some),
        };
    }
    let fits = |binary: &Binary| match wanted {
        WantedServer::Flavour(flavour) => binary.flavour == *flavour,
        WantedServer::Any | WantedServer::Path(_) => true,
    };
    // A server of no use (too old, broken) is passed over: `list` tells why, and a fetched one can
    // stand in.
    let mut usable: Vec<Binary> =
        list()?.into_iter().filter_map(|found| found.server.ok()).filter(fits).collect();
    // Papers and shipped plans name MySQL; the sort keeps the order of places.
    usable.sort_by_key(|binary| binary.flavour == Flavour::Mariadb);
    Ok(usable.into_iter().next())
}

/// The newest usable server of a make that was downloaded into the cache, whatever is installed.
///
/// # Errors
/// The environment names no directory for the cache.
pub fn downloaded(flavour: Flavour) -> Result<Option<Binary>> {
    let fits = |binary: &Binary| binary.origin == Origin::Cache && binary.flavour == flavour;
    Ok(list()?.into_iter().filter_map(|found| found.server.ok()).find(fits))
}

/// All server programs on this machine: installed ones, then those in the cache, downloaded before
/// unpacked, newest first.
///
/// # Errors
/// The environment names no directory for the cache.
pub fn list() -> Result<Vec<FoundServer>> {
    let mut found: Vec<FoundServer> =
        installed().into_iter().map(|p| inspect(p, Origin::Path)).collect();
    let mut cached: Vec<FoundServer> = cache::entries(SHELF)?
        .iter()
        .filter_map(|directory| {
            let origin = if archive::is_entry(directory) { Origin::Archive } else { Origin::Cache };
            Some(inspect(program_in(directory)?, origin))
        })
        .collect();
    let rank = |found: &FoundServer| match &found.server {
        Ok(binary) => {
            let is_unpacked = binary.origin == Origin::Archive;
            (0, is_unpacked, binary.flavour, Reverse(binary.version))
        }
        Err(_) => (1, true, Flavour::Mariadb, Reverse((0, 0, 0))),
    };
    cached.sort_by_key(rank);
    found.extend(cached);
    Ok(found)
}

fn inspect(program: PathBuf, origin: Origin) -> FoundServer {
    FoundServer { server: Binary::inspect(&program, origin), program, origin }
}

/// Server programs on `PATH` and in the usual directories, each once however many names it has.
fn installed() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> =
        env::split_paths(&path).chain(USUAL_DIRECTORIES.map(PathBuf::from)).collect();
    let mut programs: Vec<PathBuf> = Vec::new();
    for name in PROGRAMS {
        for directory in directories.iter().filter(|directory| directory.is_absolute()) {
            let Ok(program) = directory.join(name).canonicalize() else { continue };
            if program.is_file() && !programs.contains(&program) {
                programs.push(program);
            }
        }
    }
    programs
}

fn program_at(path: &Path) -> Result<PathBuf> {
    if !path.exists() {
        bail!(
            "no server at {}; name a mysqld or mariadbd, a directory that holds one, or its \
             maker's .tar.xz",
            path.display()
        );
    }
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    match program_in(path) {
        Some(program) => Ok(program),
        None => bail!("no mysqld or mariadbd in {}; name the program itself", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_makes_and_anything_else_is_a_path() {
        let parse = |text: &str| text.parse::<WantedServer>().unwrap();
        assert_eq!(parse("mariadb"), WantedServer::Flavour(Flavour::Mariadb));
        assert_eq!(parse(""), WantedServer::Any);
        assert_eq!(parse("/opt/x"), WantedServer::Path("/opt/x".into()));
    }

    #[test]
    fn a_directory_is_searched_where_servers_lie() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("usr/sbin")).unwrap();
        let error = program_at(directory.path()).unwrap_err().to_string();
        assert!(error.starts_with("no mysqld or mariadbd in "), "{error}");
        let program = directory.path().join("usr/sbin/mariadbd");
        std::fs::write(&program, "").unwrap();
        assert_eq!(program_at(directory.path()).unwrap(), program);
        assert_eq!(program_at(&program).unwrap(), program);
    }

    #[test]
    fn a_path_without_a_server_is_an_error_and_not_a_fallback() {
        let wanted = WantedServer::Path("/nonexistent/mysqld".into());
        assert!(find(&wanted).unwrap_err().to_string().starts_with("no server at "));
    }
}
