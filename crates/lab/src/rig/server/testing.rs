//! A real server for tests, or a word about why there is none.

use std::path::Path;

use super::{Binary, Flavour, Server, Settings, Start, downloaded, make_datadir, start};
use assay_system::ledger::Ledger;
use assay_testing::{Scope, scope, skip};

/// The downloaded server of that make, whatever is installed, so that tests see one server
/// everywhere. Without one the test is skipped aloud, and fails where everything is required.
pub fn binary(flavour: Flavour) -> Option<Binary> {
    if scope() == Scope::Check {
        skip(&format!("a {flavour} server"));
        return None;
    }
    match downloaded(flavour, &|line| eprintln!("{line}")) {
        Ok(binary) => Some(binary),
        Err(error) => {
            skip(&format!("a {flavour} server ({error:#})"));
            None
        }
    }
}

/// A start on a small fresh data directory within `directory`.
pub fn prepared(binary: &Binary, directory: &Path, settings: &[(&str, &str)]) -> Start {
    let ledger = Ledger::open_in(directory, None).unwrap();
    let mut start = Start::new(&directory.join("data"), &directory.join("run"), &ledger);
    start.settings = Settings::from([("innodb_buffer_pool_size".into(), "32M".into())]);
    start
        .settings
        .extend(settings.iter().map(|(name, value)| (name.to_string(), value.to_string())));
    make_datadir(binary, &start.settings, &start.datadir, &|line| eprintln!("{line}")).unwrap();
    start
}

/// A running server on a small fresh data directory within `directory`.
pub fn running(binary: &Binary, directory: &Path) -> Server {
    start(binary, &prepared(binary, directory, &[])).unwrap()
}

/// Endpoint for another client, which judges ours: `root` without a password over the socket.
#[allow(dead_code, reason = "not every including test uses all of it")]
pub fn opts(server: &super::Server) -> mysql::Opts {
    mysql::OptsBuilder::new().socket(server.socket().to_str()).user(Some("root")).into()
}
