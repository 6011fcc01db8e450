//! Facts about a host, as seen by the program there.

use std::path::{Path, PathBuf};

use assay_ports::cpu;
use assay_system::state;
use assay_system::{cache, free_bytes};
use serde::{Deserialize, Serialize};

/// A host's system. Values that it does not report are absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    pub name: String,
    pub kernel: String,
    /// The processor architecture, e.g. `x86_64`.
    pub machine: String,
    /// Number of usable CPUs.
    pub cpus: usize,
    pub memory_bytes: Option<u64>,
    pub is_root: bool,
    pub cache: Option<PathBuf>,
    /// Free space in the cache directory, in bytes.
    pub cache_free_bytes: Option<u64>,
    pub state: Option<PathBuf>,
    /// The address that `ssh` connected to (`ssh(1)`, `SSH_CONNECTION`).
    pub address: Option<String>,
    /// Our address, as seen by the host.
    pub client: Option<String>,
}

impl HostFacts {
    /// The facts of this machine.
    pub(crate) fn here() -> HostFacts {
        let uname = rustix::system::uname();
        let part = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        let cache = cache::root().ok();
        HostFacts {
            name: part(uname.nodename()),
            kernel: part(uname.release()),
            machine: part(uname.machine()),
            cpus: cpu::available().map_or(1, |cpus| cpus.len()),
            memory_bytes: memory_bytes(
                &std::fs::read_to_string("/proc/meminfo").unwrap_or_default(),
            ),
            is_root: rustix::process::geteuid().is_root(),
            cache_free_bytes: cache.as_deref().and_then(free_near),
            cache,
            state: state::directory().ok(),
            address: connected(2),
            client: connected(0),
        }
    }
}

/// Free space in the file system of a directory, which need not exist yet.
fn free_near(path: &Path) -> Option<u64> {
    free_bytes(path.ancestors().find(|part| part.is_dir())?).ok()
}

/// `MemTotal` of `/proc/meminfo`, which is in KiB (`proc(5)`).
fn memory_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// A word of `SSH_CONNECTION`: the client's address and port, the server's address and port.
fn connected(place: usize) -> Option<String> {
    word(&std::env::var("SSH_CONNECTION").ok()?, place)
}

fn word(connection: &str, place: usize) -> Option<String> {
    connection.split(' ').nth(place).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told() {
        let facts = HostFacts::here();
        assert!(facts.cpus > 0 && facts.memory_bytes.is_some_and(|bytes| bytes > 1 << 20));
        assert_eq!(facts.machine, std::env::consts::ARCH);
        assert_eq!(memory_bytes("MemFree: 1 kB\nMemTotal:    2048 kB\n"), Some(2 << 20));
        let connection = "10.0.0.1 4242 10.0.0.2 22";
        assert_eq!(word(connection, 0).as_deref(), Some("10.0.0.1"));
        assert_eq!(word(connection, 2).as_deref(), Some("10.0.0.2"));
    }
}
