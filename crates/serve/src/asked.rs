//! How a server tells its health to whoever asks: over a socket, from which one can turn away.
//!
//! The file beside the disk tells the same, but who reads that from a server that hangs cannot even be killed: the
//! kernel waits until a request that was taken is answered.

use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;

/// Who does not take an answer keeps others waiting no longer than this.
const WRITE_PATIENCE: Duration = Duration::from_secs(2);

/// Begins to answer with what is told at the time, on a thread that ends with the process.
///
/// # Errors
/// The socket cannot be made, or no thread started.
pub fn answer(directory: &Path, told: impl Fn() -> String + Send + 'static) -> io::Result<()> {
    let listener = UnixListener::bind_addr(&address(directory)?)?;
    let serve = move || {
        for asking in listener.incoming().flatten().filter(may_ask) {
            tell(asking, &told).unwrap_or_else(|error| log::debug!("nobody hears: {error}"));
        }
    };
    std::thread::Builder::new().name("asked".into()).spawn(serve).map(drop)
}

/// What the server with this directory says of itself; nothing where none listens.
///
/// # Errors
/// It does not answer within `patience`.
pub fn ask(directory: &Path, patience: Duration) -> io::Result<Option<String>> {
    let Ok(mut server) = UnixStream::connect_addr(&address(directory)?) else { return Ok(None) };
    server.set_read_timeout(Some(patience))?;
    let mut text = String::new();
    server.read_to_string(&mut text)?;
    Ok(Some(text))
}

/// The server's directory has a name of its own on this machine. Names of this kind need no file, and end with the process.
fn address(directory: &Path) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(directory.file_name().unwrap_or_default().as_encoded_bytes())
}

/// Root, and whoever the server belongs to, as with its directory.
fn may_ask(asking: &UnixStream) -> bool {
    let ours = rustix::process::geteuid();
    socket_peercred(asking).is_ok_and(|peer| peer.uid == ours || peer.uid.is_root())
}

fn tell(mut asking: UnixStream, told: &impl Fn() -> String) -> io::Result<()> {
    asking.set_write_timeout(Some(WRITE_PATIENCE))?;
    asking.write_all(told().as_bytes())
}
