//! Finds Ceph's programs and its client library: installed ones, or the distribution's packages in
//! the cache.
//!
//! Guarantees: nothing is installed; programs from the cache run with their own loader and
//! libraries, and find their plugins by their own configuration.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use assay_packages::{Apt, Loader, Sources, bring, check_tools, command};
use assay_ports::rbd::Libraries;
use assay_system::cache::{self, CacheLock, Staging};
use assay_system::{cache_entry, tool};

/// Their kind in the cache.
const SHELF: &str = "ceph";

/// The packages that are downloaded with their dependencies.
const PACKAGES: [&str; 5] = ["ceph-mon", "ceph-mgr", "ceph-osd", "ceph-common", "librbd1"];

/// The programs that a private cluster needs.
const PROGRAMS: [&str; 5] = ["ceph-mon", "ceph-mgr", "ceph-osd", "ceph-authtool", "monmaptool"];

const VERSION_PATIENCE: Duration = Duration::from_secs(30);

/// Where the programs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The directory below which packages lie: `/`, or a tree of the cache.
    root: PathBuf,
    loader: Option<Loader>,
    /// The version that they print, e.g. `ceph version 16.2.15 (…) pacific (stable)`.
    pub version: String,
}

/// The programs on this machine: installed ones before those in the cache.
pub fn find() -> Result<Option<Programs>> {
    if let Ok(installed) = Programs::inspect(Path::new("/")) {
        return Ok(Some(installed));
    }
    // The name contains the version; the newest first.
    let mut cached = cache::entries(SHELF)?;
    cached.reverse();
    Ok(cached.into_iter().find_map(|tree| Programs::inspect(&tree).ok()))
}

/// Like [`Programs::find`], but downloads missing programs. `progress` receives a plain line for
/// each slow step. An error names the obstacle (apt, packages, network, space) and the remedy.
pub fn find_or_fetch(progress: &dyn Fn(&str)) -> Result<Programs> {
    if let Some(programs) = find()? {
        return Ok(programs);
    }
    let shelf = CacheLock::open(SHELF, || progress("waiting for another download to finish"))?;
    // Another maker may have downloaded them meanwhile.
    find()?.map_or_else(|| fetch_onto(&shelf, progress), Ok)
}

/// The client library on this machine, for a process that only connects: an installed one, or one
/// from the cache.
pub fn client_library() -> Result<Libraries> {
    if let Some(installed) = Libraries::installed() {
        return Ok(installed);
    }
    let programs = find()?.context(
        "no Ceph client library is here; install librbd1, or fetch it with `assay pool fetch`",
    )?;
    programs.hold()?;
    programs.libraries()
}

fn fetch_onto(shelf: &CacheLock, progress: &dyn Fn(&str)) -> Result<Programs> {
    let without = "no Ceph is installed and none can be downloaded";
    check_tools().map_err(|missing| {
        anyhow!("{without} without `{}`; install {}", missing.program, PACKAGES.join(", "))
    })?;
    let staging = shelf.stage()?;
    progress("reading the package lists of the configured sources");
    let apt = Apt::new(&staging.path().join("apt"), Sources::Configured)?;
    apt.update().context(without)?;
    let tree = bring(&apt, &PACKAGES, staging.path(), progress).context(without)?;
    publish(shelf, staging, &tree)
}

/// Tests the new tree's programs and makes it the cache entry of its version.
fn publish(shelf: &CacheLock, staging: Staging, tree: &Path) -> Result<Programs> {
    let version = Programs::inspect(tree)?.version;
    let number = version.split_whitespace().nth(2).unwrap_or("unknown");
    let target = shelf.entry(&format!("ceph-{number}"));
    cache_entry::clear(shelf, &target)?;
    staging.publish("tree", &target)?;
    Programs::inspect(&target)
}

impl Programs {
    /// Runs the programs below `root` to learn their version.
    fn inspect(root: &Path) -> Result<Programs> {
        let loader = Loader::of_tree(root, &["ceph"]);
        let programs = Programs { root: root.to_owned(), loader, version: String::new() };
        for name in PROGRAMS {
            programs.program(name).metadata().with_context(|| format!("no {name}"))?;
        }
        let mut command = programs.command("ceph-mon");
        command.arg("--version");
        let said = tool::run(command, VERSION_PATIENCE).context("Ceph's programs do not run")?;
        let version = said.stdout.lines().next().unwrap_or_default().trim().to_owned();
        Ok(Programs { version, ..programs })
    }

    fn program(&self, name: &str) -> PathBuf {
        self.root.join("usr/bin").join(name)
    }

    /// A command that runs one of the programs.
    #[must_use]
    pub fn command(&self, name: &str) -> Command {
        let mut command = command(&self.program(name), self.loader.as_ref());
        // systemd must not take a child's readiness message for this process's.
        command.env_remove("NOTIFY_SOCKET").env_remove("CEPH_ARGS").env_remove("CEPH_CONF");
        command
    }

    /// Like [`Programs::command`], for programs that embed an interpreter whose modules are in the
    /// tree.
    pub(crate) fn manager_command(&self) -> Command {
        self.with_modules(self.command("ceph-mgr"))
    }

    /// A command that runs one of Ceph's tools (`rbd`, `rados`, `ceph`) on the cluster with the
    /// configuration file `conf`.
    pub fn tool_command(&self, name: &str, conf: &Path) -> Result<Command> {
        let path = self.program(name);
        let is_plain = !name.contains('/') && path.is_file();
        ensure!(
            is_plain,
            "there is no `{name}` below {}; name one of Ceph's tools, e.g. rbd, rados or ceph",
            self.root.display()
        );
        let is_script = std::fs::read(&path).is_ok_and(|text| text.starts_with(b"#!"));
        let mut command = match is_script && self.loader.is_some() {
            true => {
                let mut command = self.with_modules(self.command("python3"));
                command.arg(path);
                command
            }
            false => self.command(name),
        };
        command.arg("-c").arg(conf);
        Ok(command)
    }

    fn with_modules(&self, mut command: Command) -> Command {
        if self.loader.is_some() {
            let home = self.root.join("usr");
            command.env("PYTHONPATH", home.join("lib/python3/dist-packages"));
            command.env("PYTHONHOME", home);
        }
        command
    }

    /// Plugin directories by the names of Ceph's options; empty for installed programs, which find
    /// theirs.
    pub(crate) fn directories(&self) -> Vec<(&'static str, PathBuf)> {
        if self.loader.is_none() {
            return Vec::new();
        }
        let libraries = self.library_directory();
        vec![
            ("plugin dir", libraries.join("ceph")),
            ("erasure code dir", libraries.join("ceph/erasure-code")),
            ("osd class dir", libraries.join("rados-classes")),
            ("mgr module path", self.root.join("usr/share/ceph/mgr")),
        ]
    }

    fn library_directory(&self) -> PathBuf {
        self.root.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH))
    }

    /// Their client library.
    pub fn libraries(&self) -> Result<Libraries> {
        let Some(loader) = &self.loader else { return Ok(Libraries::Installed) };
        let [librados, librbd] =
            ["librados.so.2", "librbd.so.1"].map(|name| self.library_directory().join(name));
        let needed = loader.needed_by(&librbd)?;
        Ok(Libraries::Unpacked { librados, librbd, needed })
    }

    /// Locks them in the cache until this process ends.
    pub fn hold(&self) -> Result<()> {
        if self.loader.is_none() { Ok(()) } else { cache_entry::hold(&self.root) }
    }

    /// Returns true for installed programs, false for those in the cache.
    #[must_use]
    pub fn are_installed(&self) -> bool {
        self.root.as_os_str() == OsStr::new("/")
    }

    /// The directory below which they lie.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    #[cfg(test)]
    pub(crate) fn nowhere() -> Programs {
        Programs { root: "/nonexistent".into(), loader: None, version: String::new() }
    }
}
