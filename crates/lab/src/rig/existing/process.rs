//! The process of somebody else's server, where that runs on this machine: what it uses is not
//! other programs'.

use std::path::{Path, PathBuf};

use assay_mysql::ClientSession;
use assay_mysql::account::Account;

/// Its number, found by the server's own word where that stands; nothing where the word leads
/// nowhere, or is of another machine.
pub(super) fn of(account: &Account, session: &mut ClientSession) -> Option<u32> {
    if !account.address.is_local() {
        return None;
    }
    let rows = session.rows("SELECT @@hostname, @@datadir, @@pid_file").ok()?;
    let mut row = rows.into_iter().next()?.into_iter();
    let (host, datadir, file) = (row.next()??, row.next()??, row.next()??);
    if rustix::system::uname().nodename().to_bytes() != host.as_bytes() {
        return None;
    }
    number_in(&PathBuf::from(datadir).join(file)).filter(|pid| is_server(*pid))
}

fn number_in(file: &Path) -> Option<u32> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// In another container the same number is another process.
fn is_server(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    ["mysqld", "mariadbd"].iter().any(|server| name.trim().starts_with(server))
}
