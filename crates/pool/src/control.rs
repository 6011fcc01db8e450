//! Asking the daemon of a private cluster to do something to its stores, over a socket.

use std::io::{self, BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::net::sockopt::socket_peercred;
use serde::{Deserialize, Serialize};

use super::layout::Layout;

/// Who does not say what they want, or does not take an answer, keeps others waiting no longer than this.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long an answer may take: a store that is killed is waited for.
const ANSWER_PATIENCE: Duration = Duration::from_secs(60);

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Kill a store at once, as a crash would.
    KillStore(u16),
    /// Start a store that is down, with what it had kept.
    ReturnStore(u16),
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// It is done.
    Done,
    /// It is not; why.
    Refused(String),
}

/// A request, and where its reply goes.
pub(crate) type Asked = (Request, Sender<Reply>);

/// Has the process of the cluster carry out `request`.
///
/// # Errors
/// One line: why it did not.
pub fn ask(layout: &Layout, request: Request) -> Result<()> {
    let unreachable = "the cluster's process does not answer";
    let mut server = UnixStream::connect_addr(&address(layout)?).context(unreachable)?;
    server.set_read_timeout(Some(ANSWER_PATIENCE))?;
    server.write_all((serde_json::to_string(&request)? + "\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(server).read_line(&mut line).context(unreachable)?;
    match serde_json::from_str(&line).context(unreachable)? {
        Reply::Done => Ok(()),
        Reply::Refused(reason) => bail!(reason),
    }
}

/// Hands what is asked to `tell`, on a thread that ends with the process.
///
/// # Errors
/// The socket cannot be made, or no thread started.
pub(crate) fn listen(layout: &Layout, tell: impl Fn(Asked) + Send + 'static) -> io::Result<()> {
    let listener = UnixListener::bind_addr(&address(layout)?)?;
    let serve = move || {
        for asking in listener.incoming().flatten().filter(may_ask) {
            serve_one(asking, &tell).unwrap_or_else(|error| log::debug!("not served: {error}"));
        }
    };
    std::thread::Builder::new().name("asked".into()).spawn(serve).map(drop)
}

fn serve_one(mut asking: UnixStream, tell: &impl Fn(Asked)) -> io::Result<()> {
    asking.set_read_timeout(Some(PATIENCE))?;
    asking.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(asking.try_clone()?).read_line(&mut line)?;
    let request = serde_json::from_str(&line)?;
    let (reply, replied) = channel();
    tell((request, reply));
    let reply = replied.recv().map_err(io::Error::other)?;
    asking.write_all((serde_json::to_string(&reply)? + "\n").as_bytes())
}

/// The cluster's directory has a name of its own on this machine. Names of this kind need no file, and end with the process.
fn address(layout: &Layout) -> io::Result<SocketAddr> {
    let name = layout.directory().file_name().unwrap_or_default();
    SocketAddr::from_abstract_name(name.as_encoded_bytes())
}

/// Root, and whoever the cluster belongs to, as with its directory.
fn may_ask(asking: &UnixStream) -> bool {
    let ours = rustix::process::geteuid();
    socket_peercred(asking).is_ok_and(|peer| peer.uid == ours || peer.uid.is_root())
}
