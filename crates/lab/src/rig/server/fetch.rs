//! Brings a server from the distribution's packages into the private cache.
//!
//! Where it comes from: the sources this machine's apt is configured for, where they have the
//! package (Ubuntu: MySQL and MariaDB, Debian: MariaDB); else, for MySQL on Debian, the suite `sid`
//! of the very mirror that is configured for the base archive. apt resolves the package and all it
//! depends on against an empty package state and private lists; the files are unpacked, not
//! installed, C library and loader included.
//!
//! Guarantees: nothing on the machine changes but the cache; packages are verified by apt against
//! the archive's keys; an interrupted fetch leaves no server behind; one fetch at a time.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use assay_packages::{Apt, Sources, bring, check_tools, debian_mirror};
use assay_system::cache::{self, CacheLock, Staging};
use assay_system::{cache_entry, private};

use super::binary::{Binary, Flavour, Origin};
use super::layout::program_in;
use super::shelf::{SHELF, open_shelf};

/// The longest path (`PATH_MAX` of `linux/limits.h`).
const PATH_BYTES_MAX: u64 = 4096;

/// Brings the newest packaged server of that make and returns it; one of the same version that is
/// there already is kept. Where another fetch of it is under way, that one's is taken when it has
/// ended well. `progress` gets a plain line for each step.
///
/// # Errors
/// No apt here, no such package, no network, no space; the message says which and what to do.
pub fn fetch(flavour: Flavour, progress: &dyn Fn(&str)) -> Result<Binary> {
    super::check_cache()?;
    let directory = cache::root()?.join(SHELF);
    let bring = |shelf: &CacheLock| fetch_onto(shelf, flavour, progress);
    fetch_once(&directory, flavour, || open_shelf(progress), bring)
}

/// Calls `make` once `open` has the cache in `directory`, unless another process has downloaded
/// that server meanwhile.
fn fetch_once(
    directory: &Path,
    flavour: Flavour,
    open: impl FnOnce() -> Result<CacheLock>,
    make: impl FnOnce(&CacheLock) -> Result<Binary>,
) -> Result<Binary> {
    let note = directory.join(format!(".fetched-{}", flavour.word()));
    let written = || note.metadata().and_then(|note| note.modified()).ok();
    let before = written();
    let shelf = open()?;
    if written() != before
        && let Ok(Some(program)) = private::read(&note, PATH_BYTES_MAX)
        && let Ok(binary) = Binary::inspect(Path::new(OsStr::from_bytes(&program)), Origin::Cache)
    {
        return Ok(binary);
    }
    let binary = make(&shelf)?;
    private::write(&note, binary.program.as_os_str().as_encoded_bytes())?;
    Ok(binary)
}

/// As [`fetch`], unless `find` finds a server once nobody else is fetching.
pub(super) fn fetch_unless(
    find: impl FnOnce() -> Result<Option<Binary>>,
    flavour: Flavour,
    progress: &dyn Fn(&str),
) -> Result<Binary> {
    let shelf = open_shelf(progress)?;
    match find()? {
        Some(binary) => Ok(binary),
        None => fetch_onto(&shelf, flavour, progress),
    }
}

fn fetch_onto(shelf: &CacheLock, flavour: Flavour, progress: &dyn Fn(&str)) -> Result<Binary> {
    check_tools().map_err(|missing| {
        anyhow!(
            "no server is installed and none can be downloaded without `{}`; install MySQL or \
             MariaDB, or give the path of a server",
            missing.program
        )
    })?;
    let staging = shelf.stage()?;
    let (apt, package) = locate(flavour, staging.path(), progress)?;
    let tree = bring(&apt, &[&package], staging.path(), progress)?;
    publish(shelf, staging, &tree)
}

/// An apt whose sources have a server package of that make, and the package's name.
fn locate(flavour: Flavour, staging: &Path, progress: &dyn Fn(&str)) -> Result<(Apt, String)> {
    let stem = match flavour {
        Flavour::Mysql => "mysql-server-core",
        Flavour::Mariadb => "mariadb-server-core",
        Flavour::Percona => {
            bail!(
                "no distribution packages Percona Server; install it, or give the path of its \
                mysqld"
            )
        }
    };
    progress("reading the package lists of the configured sources");
    let configured = Apt::new(&staging.join("apt"), Sources::Configured)?;
    configured
        .update()
        .map_err(|error| anyhow!("{error:#}, or give the path of a server with --server"))?;
    if let Some(package) = configured.newest_named(stem)? {
        return Ok((configured, package));
    }
    let Some(mirror) = debian_mirror(&configured.targets()?) else {
        bail!(
            "the configured package sources have no {stem}; install {flavour}, or give the path \
             of a server"
        );
    };
    progress("reading the package lists of the suite sid of the configured mirror");
    let sid = Apt::new(&staging.join("apt-sid"), Sources::Suite { mirror: &mirror, suite: "sid" })?;
    sid.update()?;
    match sid.newest_named(stem)? {
        Some(package) => Ok((sid, package)),
        None => bail!(
            "neither the configured package sources nor sid have {stem}; install {flavour}, or \
             give the path of a server"
        ),
    }
}

/// Tries the new tree's server and makes it the cache entry of its version, unless that is there
/// and works.
fn publish(shelf: &CacheLock, staging: Staging, tree: &Path) -> Result<Binary> {
    let program = program_in(tree).context("the packages hold no server program")?;
    let relative = program.strip_prefix(tree)?.to_path_buf();
    let target = shelf.entry(&Binary::inspect(&program, Origin::Cache)?.name());
    let in_place = target.join(relative);
    if let Ok(binary) = Binary::inspect(&in_place, Origin::Cache) {
        return Ok(binary);
    }
    cache_entry::clear(shelf, &target)?;
    staging.publish("tree", &target)?;
    Binary::inspect(&in_place, Origin::Cache)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc::channel;

    use std::fs;

    use super::*;

    fn program(directory: &Path) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let program = directory.join("mysqld");
        fs::write(&program, "#!/bin/sh\necho 'mysqld  Ver 9.7.4 for Linux on x86_64'\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    #[test]
    fn a_second_fetch_takes_what_the_first_brings_and_a_later_one_brings_anew() {
        let directory = tempfile::tempdir().unwrap();
        let (at, program) = (&*directory.path().join(SHELF), program(directory.path()));
        let open = |waiting: &dyn Fn()| CacheLock::open_at(at.to_path_buf(), waiting);
        let inspect = || Binary::inspect(&program, Origin::Cache);
        let (begun, has_begun) = channel();
        let (waits, does_wait) = channel();
        let bring = move |_: &CacheLock| {
            begun.send(()).unwrap();
            does_wait.recv().unwrap();
            inspect()
        };
        std::thread::scope(|scope| {
            let first = scope.spawn(|| fetch_once(at, Flavour::Mysql, || open(&|| {}), bring));
            has_begun.recv().unwrap();
            let second = fetch_once(
                at,
                Flavour::Mysql,
                || open(&|| waits.send(()).unwrap()),
                |_| panic!("the second fetch downloaded it again"),
            );
            assert_eq!(second.unwrap(), first.join().unwrap().unwrap());
        });
        // The negative control: who did not wait wants to see whether there is a newer one.
        let downloaded = Cell::new(0);
        for flavour in [Flavour::Mysql, Flavour::Mariadb] {
            let bring = |_: &CacheLock| {
                downloaded.set(downloaded.get() + 1);
                inspect()
            };
            fetch_once(at, flavour, || open(&|| {}), bring).unwrap();
        }
        assert_eq!(downloaded.get(), 2);
    }

    #[test]
    fn a_fetch_that_fails_leaves_the_next_to_bring_it() {
        let directory = tempfile::tempdir().unwrap();
        let (at, program) = (&*directory.path().join(SHELF), program(directory.path()));
        let open = || CacheLock::open_at(at.to_path_buf(), || {});
        fetch_once(at, Flavour::Mysql, open, |_| bail!("no network")).unwrap_err();
        let downloaded = Cell::new(false);
        let bring = |_: &CacheLock| {
            downloaded.set(true);
            Binary::inspect(&program, Origin::Cache)
        };
        fetch_once(at, Flavour::Mysql, open, bring).unwrap();
        assert!(downloaded.get());
    }
}
