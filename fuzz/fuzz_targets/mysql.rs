#![no_main]

#[allow(dead_code)]
#[path = "../../crates/mysql/tests/fuzz/session.rs"]
mod session;

use std::os::unix::net::UnixListener;
use std::sync::LazyLock;

use tempfile::TempDir;

/// The server's socket, and its directory, which lives as long as the process.
static SERVER: LazyLock<(UnixListener, TempDir)> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let listener = UnixListener::bind(directory.path().join("s")).expect("a socket");
    (listener, directory)
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (listener, directory) = &*SERVER;
    let _ = session::session(listener, &directory.path().join("s"), bytes);
});
