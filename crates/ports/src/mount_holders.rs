//! Processes that hold a mount in another mount namespace: containers, services, `unshare --mount`.
//!
//! A file system that is unmounted here stays mounted there, and keeps devices and FUSE connections
//! below it alive.

use std::collections::BTreeSet;
use std::path::Path;

use crate::filesystem::{self, Mount};

/// A process whose mount namespace lists a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Process number.
    pub pid: u32,
    /// Name of the process, from the kernel.
    pub name: String,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// Processes in other mount namespaces that list such a mount, one per namespace. Processes that
/// may not be inspected are left out.
#[must_use]
pub fn of(is_meant: impl Fn(&Mount) -> bool) -> Vec<Holder> {
    let namespace_of = |process: &Path| std::fs::read_link(process.join("ns/mnt"));
    let mut seen: BTreeSet<_> = namespace_of(Path::new("/proc/self")).into_iter().collect();
    let mut holders = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        let process = entry.path();
        let Ok(namespace) = namespace_of(&process) else { continue };
        if !seen.insert(namespace) {
            continue;
        }
        let mounts = filesystem::mounts_of(&process).unwrap_or_default();
        if mounts.iter().any(&is_meant) {
            let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
            holders.push(Holder { pid, name: name.trim_end().to_owned() });
        }
    }
    holders
}
