//! The paths in the directory of a private cluster.

use std::path::{Path, PathBuf};

/// The directory of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    directory: PathBuf,
}

impl Layout {
    /// `directory` is an absolute path.
    #[must_use]
    pub fn new(directory: &Path) -> Layout {
        Layout { directory: directory.to_owned() }
    }

    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The configuration file, for clients.
    #[must_use]
    pub fn conf(&self) -> PathBuf {
        self.directory.join("ceph.conf")
    }

    /// The keyring of the administrator.
    pub(crate) fn admin_keyring(&self) -> PathBuf {
        self.directory.join("admin.keyring")
    }

    /// The keyring that the monitor starts with.
    pub(crate) fn monitor_keyring(&self) -> PathBuf {
        self.directory.join("mon.keyring")
    }

    /// The map of monitors that the monitor starts with.
    pub(crate) fn monitor_map(&self) -> PathBuf {
        self.directory.join("monmap")
    }

    /// Logs of every process.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// The log of a process, e.g. `osd.0`.
    pub(crate) fn log_of(&self, name: &str) -> PathBuf {
        self.logs().join(format!("{name}.log"))
    }

    /// The data of a process.
    pub(crate) fn data_of(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The keyring of a process.
    pub(crate) fn keyring_of(&self, name: &str) -> PathBuf {
        self.data_of(name).join("keyring")
    }

    /// The directories that must exist before a process starts, except those of data.
    pub(crate) fn directories(&self) -> [PathBuf; 3] {
        [self.logs(), self.directory.join("run"), self.directory.join("crash")]
    }
}
