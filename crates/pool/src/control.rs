//! Sends requests about stores to the daemon of a private cluster, over a socket.

use std::io::{self, BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::net::sockopt::socket_peercred;
use serde::{Deserialize, Serialize};

use super::layout::Layout;

/// How long a client that neither sends its request nor reads its answer may block others.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time limit for an answer: the daemon waits for a killed store to end.
const ANSWER_PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoreRequest {
    /// Kill a store at once, as a crash would.
    KillStore(u16),
    /// Start a store that is down, with its old data.
    ReturnStore(u16),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    Done,
    /// The request was refused, for this reason.
    Refused(String),
}

/// A request, and the channel for its reply.
pub(crate) type Asked = (StoreRequest, Sender<Reply>);

/// Has the daemon carry out `request`.
pub fn ask(layout: &Layout, request: StoreRequest) -> Result<()> {
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

/// Hands each request to `tell`, on a thread that ends with the process.
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

/// An address derived from the cluster's directory, in the abstract namespace: it needs no file,
/// and ends with the process.
fn address(layout: &Layout) -> io::Result<SocketAddr> {
    let name = layout.directory().file_name().unwrap_or_default();
    SocketAddr::from_abstract_name(name.as_encoded_bytes())
}

/// Root, and the owner of the cluster's directory.
fn may_ask(asking: &UnixStream) -> bool {
    let ours = rustix::process::geteuid();
    socket_peercred(asking).is_ok_and(|peer| peer.uid == ours || peer.uid.is_root())
}
