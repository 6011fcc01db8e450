//! Database servers: found or downloaded, initialised, started, asked, stopped.
//!
//! The way of a server: `find` (an installed one), `fetch` (a private one) or `archive` (its
//! maker's) gives a [`Binary`]; `template` initialises a data directory once per version and layout
//! and clones it; `instance` runs the binary on a clone.
//!
//! Relies on `assay_ports::child` for processes that cannot outlive us, and on apt only for
//! fetching. Guarantees: nothing outside the cache and the directories named by the caller changes;
//! a server listens on a Unix socket in a directory of mode 0700, on TCP only when asked, with a
//! password; programs are started with argument lists.

mod archive;
mod binary;
mod error_log;
mod fetch;
mod find;
mod instance;
mod layout;
mod memory;
mod places;
mod shelf;
mod tcp_port;
mod template;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
mod validate;

use std::path::Path;

use anyhow::{Result, anyhow, bail};

use assay_plan::settings;
use assay_system::cache;

pub use binary::{Binary, Flavour, Origin};
pub use error_log::Repaired;
pub use fetch::fetch;
pub use find::{FoundServer, WantedServer, find, list};
pub use instance::{Restarted, Server, Start, start};
pub use memory::memory_needed_bytes;
pub use settings::Settings;
pub use tcp_port::TcpPort;
pub use template::{layout_settings, make_datadir};
pub use validate::check_settings;

/// Checks that servers can be told of what will lie in `location`, and of what the cache keeps.
///
/// # Errors
/// One line that says which directory to name otherwise.
pub fn check_places(location: &Path) -> Result<()> {
    places::check_path(location).map_err(|error| anyhow!("{error}; take another directory"))?;
    check_cache()
}

fn check_cache() -> Result<()> {
    places::check_path(&cache::root()?)
        .map_err(|error| anyhow!("{error}; set ASSAY_CACHE to another directory"))
}

/// Repairs of recovery in the log of a server that may not have come up.
pub fn repaired_in(log: &Path) -> Repaired {
    error_log::repaired(&error_log::read_from(log, 0))
}

/// The server that `wanted` asks for; when none is there and none was named by path, one is fetched
/// into the cache. An archive that is named is unpacked into the cache. `progress` gets a plain
/// line for each step that takes time.
///
/// # Errors
/// A path that holds no usable server; nothing to fetch from; no network.
pub fn find_or_fetch(wanted: &WantedServer, progress: &dyn Fn(&str)) -> Result<Binary> {
    if let Some(binary) = find(wanted)? {
        return Ok(binary);
    }
    let flavour = match wanted {
        WantedServer::Flavour(Flavour::Percona) => {
            bail!("Percona Server is not installed; install it, or give the path of its mysqld")
        }
        WantedServer::Flavour(flavour) => *flavour,
        WantedServer::Any => Flavour::Mysql,
        WantedServer::Path(archive) => return archive::unpack(archive, progress),
    };
    fetch::fetch_unless(|| find(wanted), flavour, progress)
}

/// The newest server of a make in the cache, downloaded now if there is none, whatever is
/// installed.
///
/// # Errors
/// As [`fetch`].
pub fn downloaded(flavour: Flavour, progress: &dyn Fn(&str)) -> Result<Binary> {
    let find = || find::downloaded(flavour);
    match find()? {
        Some(binary) => Ok(binary),
        None => fetch::fetch_unless(find, flavour, progress),
    }
}
