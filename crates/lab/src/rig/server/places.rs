//! The places of a running server: a directory of its own, a socket whose path is short enough, a
//! data directory that nobody else uses.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::{new_name, private};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;

/// The directory for temporary files within a data directory: on the disk under test, and hidden,
/// since servers take plain directories there for databases.
pub(super) const TEMPORARY: &str = ".tmp";

/// Longest path of a location in bytes: servers take paths of 512 with the final zero (`FN_REFLEN`
/// of MySQL and MariaDB), and the longest name that they make below ours, host name included, takes
/// less than the rest.
const PATH_MAX: usize = 380;

/// Longest path of a socket in bytes: `sun_path` has 108 with the final zero (`unix(7)`).
const SOCKET_PATH_MAX: usize = 107;

/// Checks that a server can be told of what will lie in `directory`, which need not be there yet: a
/// server takes `:` in a path for the end of the first of several (MySQL reference manual,
/// `tmpdir`), and `;` so too (`innodb_directories`).
///
/// # Errors
/// One line that names the directory; the caller says what to name instead.
pub fn check_path(directory: &Path) -> Result<()> {
    let directory = resolved(directory)?;
    let Some(text) = directory.to_str() else {
        bail!("{} is not UTF-8, so it cannot be passed to a server", directory.display());
    };
    if text.len() > PATH_MAX {
        bail!("the path {text} has {} bytes, and a server takes {PATH_MAX} at most", text.len());
    }
    if let Some(mark) = text.chars().find(|mark| [':', ';'].contains(mark)) {
        bail!("a server cannot use the path {text}: it would end at `{mark}`");
    }
    Ok(())
}

/// Absolute and without links as far as it exists.
fn resolved(path: &Path) -> Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let there = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((part, resolved)) = there else { return Ok(path) };
    Ok(resolved.join(path.strip_prefix(part)?))
}

/// Makes `directory` with mode 0700, or checks that it is ours and that nobody else has access:
/// whoever reaches the socket is root in the server.
pub(super) fn make_private(directory: &Path) -> Result<()> {
    let found = directory.symlink_metadata().ok().filter(fs::Metadata::is_dir);
    if found.is_some_and(|found| found.permissions().mode() & 0o077 != 0) {
        let directory = directory.display();
        bail!("others have access to the server's directory {directory}; `chmod 700 {directory}`");
    }
    Ok(private::make_directory(directory)?)
}

/// Checks that `datadir` holds a server's files and that no server runs on them: a second one would
/// wait for minutes for the lock before it gave up.
pub(super) fn check_datadir(datadir: &Path) -> Result<()> {
    let system = datadir.join("ibdata1");
    let file = match File::options().read(true).write(true).open(&system) {
        Ok(file) => file,
        // `innodb_data_file_path` may name it otherwise.
        Err(error) if error.kind() == io::ErrorKind::NotFound && datadir.is_dir() => return Ok(()),
        Err(error) => {
            return Err(error)
                .with_context(|| format!("cannot use the data directory {}", datadir.display()));
        }
    };
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::AGAIN | Errno::ACCESS) => {
            bail!("a server is running on the data directory {}; stop it", datadir.display())
        }
        other => Ok(other?),
    }
}

/// Returns true if AppArmor has a profile for the program (only root can tell).
pub(super) fn is_confined(program: &Path) -> bool {
    let profiles = fs::read_to_string("/sys/kernel/security/apparmor/profiles");
    let name = format!("{} ", program.display());
    profiles.is_ok_and(|profiles| profiles.lines().any(|line| line.starts_with(&name)))
}

/// The place of a server's socket; dropping it removes the directory created for it.
#[derive(Debug)]
pub(super) struct SocketPlace {
    path: PathBuf,
    _own_directory: Option<LedgerGuard>,
}

impl SocketPlace {
    /// In `run_dir`, or where that is too long a path, in a short private directory under `/tmp`.
    pub(super) fn choose(run_dir: &Path, ledger: &Arc<Ledger>) -> Result<SocketPlace> {
        let run_dir = std::path::absolute(run_dir)?;
        let path = run_dir.join("mysqld.sock");
        if path.as_os_str().len() > SOCKET_PATH_MAX || path.to_str().is_none() {
            return SocketPlace::in_short_directory(ledger);
        }
        if UnixStream::connect(&path).is_ok() {
            bail!("a server is listening on {}; stop it or use another directory", path.display());
        }
        let place = SocketPlace { path, _own_directory: None };
        place.remove_files();
        Ok(place)
    }

    fn in_short_directory(ledger: &Arc<Ledger>) -> Result<SocketPlace> {
        let directory = Path::new("/tmp").join(new_name("socket"));
        let made = ledger.make_directory(&directory).context("no place for the socket")?;
        let path = directory.join("mysqld.sock");
        Ok(SocketPlace { path, _own_directory: Some(made) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Socket and lock file, as a killed server leaves them.
    fn remove_files(&self) {
        let mut lock = self.path.clone().into_os_string();
        lock.push(".lock");
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(lock);
    }
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        self.remove_files();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_a_server_would_cut_are_refused_by_where_they_lead() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("a:b")).unwrap();
        std::os::unix::fs::symlink(at("a:b"), at("link")).unwrap();
        for name in ["a:b", "link", "link/not/there", "c;d"] {
            let error = check_path(&at(name)).unwrap_err().to_string();
            assert!(error.starts_with("a server cannot use the path "), "{name}: {error}");
        }
        fs::create_dir(at("plain, with \"others\"")).unwrap();
        fs::remove_dir(at("a:b")).unwrap();
        std::os::unix::fs::symlink(at("plain, with \"others\""), at("a:b")).unwrap();
        check_path(&at("a:b")).unwrap();
        check_path(&at("not there")).unwrap();
        let long = check_path(&at(&format!("{0}/{0}", "x".repeat(200)))).unwrap_err().to_string();
        assert!(long.ends_with("and a server takes 380 at most"), "{long}");
        use std::os::unix::ffi::OsStrExt;
        let latin = std::ffi::OsStr::from_bytes(b"caf\xe9");
        assert!(
            check_path(&directory.path().join(latin)).unwrap_err().to_string().contains("UTF-8")
        );
    }

    #[test]
    fn a_directory_open_to_others_is_refused_and_a_new_one_is_private() {
        let directory = tempfile::tempdir().unwrap();
        let new = directory.path().join("a/b");
        make_private(&new).unwrap();
        assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o777, 0o700);
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make_private(&new).unwrap_err().to_string().starts_with("others have access"));
    }

    #[test]
    fn a_long_path_moves_the_socket_to_a_short_private_directory() {
        let long = PathBuf::from(format!("/tmp/{}", "x".repeat(100)));
        let ledgers = tempfile::tempdir().unwrap();
        let ledger = Ledger::open_in(ledgers.path(), None).unwrap();
        let place = SocketPlace::choose(&long, &ledger).unwrap();
        let directory = place.path().parent().unwrap().to_path_buf();
        assert!(place.path().as_os_str().len() <= SOCKET_PATH_MAX);
        assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        let listed = || fs::read_dir(ledgers.path()).unwrap().count();
        assert_eq!(listed(), 1, "a killed run leaves it to `assay clean`");
        drop(place);
        assert!(!directory.exists() && listed() == 0);
    }

    #[test]
    fn a_live_socket_is_respected_and_a_dead_one_removed() {
        let directory = tempfile::tempdir().unwrap();
        let listener =
            std::os::unix::net::UnixListener::bind(directory.path().join("mysqld.sock")).unwrap();
        let ledger = Ledger::open_in(directory.path(), None).unwrap();
        let error = SocketPlace::choose(directory.path(), &ledger).unwrap_err().to_string();
        assert!(error.starts_with("a server is listening on "), "{error}");
        drop(listener);
        let place = chosen_when_dead(directory.path(), &ledger);
        assert!(!place.path().exists());
    }

    /// A process that a test beside this one forks holds the listener too, until it becomes a
    /// program of its own.
    fn chosen_when_dead(directory: &Path, ledger: &Arc<Ledger>) -> SocketPlace {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            match SocketPlace::choose(directory, ledger) {
                Ok(place) => return place,
                Err(error) if std::time::Instant::now() > deadline => panic!("{error:#}"),
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
        }
    }
}
