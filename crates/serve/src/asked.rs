//! Answers requests for a server's health over a socket, which a client can give up.
//!
//! The status file next to the disk has the same contents, but a process that reads it from a
//! hanging server cannot even be killed: the kernel waits until the request is answered.

use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;

/// How long a client that does not read its answer may block others.
const WRITE_PATIENCE: Duration = Duration::from_secs(2);

/// Answers each request with the current `health`, on a thread that ends with the process.
pub fn answer(directory: &Path, told: impl Fn() -> String + Send + 'static) -> io::Result<()> {
    let listener = UnixListener::bind_addr(&address(directory)?)?;
    let serve = move || {
        for asking in listener.incoming().flatten().filter(may_ask) {
            tell(asking, &told).unwrap_or_else(|error| log::debug!("nobody hears: {error}"));
        }
    };
    std::thread::Builder::new().name("asked".into()).spawn(serve).map(drop)
}

/// The health that the server in this directory reports; `None` if no server listens. Fails if it
/// does not answer within `patience`.
pub fn ask(directory: &Path, patience: Duration) -> io::Result<Option<String>> {
    let Ok(mut server) = UnixStream::connect_addr(&address(directory)?) else { return Ok(None) };
    server.set_read_timeout(Some(patience))?;
    let mut text = String::new();
    server.read_to_string(&mut text)?;
    Ok(Some(text))
}

/// An address derived from the server's directory, in the abstract namespace: it needs no file, and
/// ends with the process.
fn address(directory: &Path) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(directory.file_name().unwrap_or_default().as_encoded_bytes())
}

/// Root, and the owner of the server's directory.
fn may_ask(asking: &UnixStream) -> bool {
    let ours = rustix::process::geteuid();
    socket_peercred(asking).is_ok_and(|peer| peer.uid == ours || peer.uid.is_root())
}

fn tell(mut asking: UnixStream, told: &impl Fn() -> String) -> io::Result<()> {
    asking.set_write_timeout(Some(WRITE_PATIENCE))?;
    asking.write_all(told().as_bytes())
}
