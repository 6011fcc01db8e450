//! The stream under a session: how it comes to be, with and without blocking, and how another thread cuts it.

use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use assay_event_loop::{Handle, Watch};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::tls::TlsStream;
use crate::endpoint::Address;

/// How long to try one address of a host, and how long a login may take.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A socket that several threads may hold: one that talks, one that may end the talk.
#[derive(Debug, Clone)]
pub(super) enum Socket {
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
}

impl Socket {
    pub(super) fn connect(address: &Address, patience: Duration) -> io::Result<Socket> {
        let socket = match address {
            Address::Socket(path) => Socket::Unix(Arc::new(UnixStream::connect(path)?)),
            Address::Tcp { host, port } => {
                Socket::Tcp(Arc::new(connect_tcp(host, *port, patience)?))
            }
        };
        socket.set_timeout(Some(patience))?;
        Ok(socket)
    }

    /// The same without blocking: the task at hand waits, and is polled from here on when there is something to read.
    pub(super) async fn connect_on(
        address: &Address,
        events: &Handle,
    ) -> io::Result<(Socket, Watch)> {
        match address {
            Address::Socket(path) => {
                let socket = open_unix(path, events).await?;
                let watch = events.watch(&socket)?;
                Ok((Socket::Unix(Arc::new(socket.into())), watch))
            }
            Address::Tcp { host, port } => {
                let mut error = io::Error::new(ErrorKind::NotFound, NO_ADDRESS);
                for address in resolve(host, *port, events).await? {
                    match open_tcp(address, events).await {
                        Ok((socket, watch)) => return Ok((Socket::Tcp(Arc::new(socket)), watch)),
                        Err(refusal) => error = refusal,
                    }
                }
                Err(error)
            }
        }
    }

    /// Limits every read and write; nothing for no limit.
    pub(super) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Unix(s) => s.set_read_timeout(timeout).and(s.set_write_timeout(timeout)),
            Socket::Tcp(s) => s.set_read_timeout(timeout).and(s.set_write_timeout(timeout)),
        }
    }

    /// Waits until there is something to read, if that is worth a call of its own.
    ///
    /// A thread that blocks in `recv` on a Unix socket is also woken when the peer has *read* what it was sent, since
    /// that makes room to write; then it sleeps again. Across CPUs such a wake-up costs more than the answer.
    /// `poll` sleeps through it, because it is told what happened.
    #[inline]
    pub(super) fn wait_readable(&self) -> io::Result<()> {
        let Socket::Unix(stream) = self else { return Ok(()) };
        loop {
            match poll(&mut [PollFd::new(stream, PollFlags::IN)], None) {
                Err(Errno::INTR) => {}
                answer => return answer.map(drop).map_err(io::Error::from),
            }
        }
    }

    /// Ends the connection in both directions: a thread that waits for an answer wakes with an error.
    pub(super) fn cut(&self) {
        // It may be closed already, which is what was wanted.
        let _ = match self {
            Socket::Unix(s) => s.shutdown(Shutdown::Both),
            Socket::Tcp(s) => s.shutdown(Shutdown::Both),
        };
    }
}

/// A server whose queue of newcomers is full says so at once, and says nothing when it no longer is.
const QUEUE_FULL_WAIT: Duration = Duration::from_millis(1);

async fn open_unix(path: &Path, events: &Handle) -> io::Result<OwnedFd> {
    let socket = open_socket(AddressFamily::UNIX)?;
    let address = SocketAddrUnix::new(path)?;
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => return Ok(socket),
            Err(Errno::AGAIN) => events.sleep(QUEUE_FULL_WAIT).await,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

async fn open_tcp(address: SocketAddr, events: &Handle) -> io::Result<(TcpStream, Watch)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = open_socket(family)?;
    let watch = events.watch(&socket)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => {
            watch.want_room(&socket, true)?;
            poll_fn(|_| connected(&socket)).await?;
            watch.want_room(&socket, false)?;
        }
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    Ok((stream, watch))
}

/// Whether a connection came to be: then it has a peer.
fn connected(socket: &OwnedFd) -> Poll<io::Result<()>> {
    match rustix::net::sockopt::socket_error(socket) {
        Ok(Err(error)) | Err(error) => Poll::Ready(Err(error.into())),
        Ok(Ok(())) => match rustix::net::getpeername(socket) {
            Ok(_) => Poll::Ready(Ok(())),
            Err(Errno::NOTCONN) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error.into())),
        },
    }
}

fn open_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?)
}

/// The addresses of a host. A name is looked up on a thread of its own, as the system knows no other way than to block.
async fn resolve(host: &str, port: u16, events: &Handle) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let host = host.to_owned();
    let lookup = thread::Builder::new().name("resolve".into());
    let lookup = lookup.spawn(move || Ok((host.as_str(), port).to_socket_addrs()?.collect()))?;
    while !lookup.is_finished() {
        events.sleep(LOOKUP_SEEN_WITHIN).await;
    }
    lookup.join().unwrap_or_else(|_| Err(io::Error::new(ErrorKind::NotFound, NO_ADDRESS)))
}

const LOOKUP_SEEN_WITHIN: Duration = Duration::from_millis(1);

const NO_ADDRESS: &str = "the host has no address";

fn connect_tcp(host: &str, port: u16, patience: Duration) -> io::Result<TcpStream> {
    let mut error = io::Error::new(ErrorKind::NotFound, NO_ADDRESS);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(refusal) => error = refusal,
        }
    }
    Err(error)
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Unix(stream) => stream.as_fd(),
            Socket::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for Socket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => (&mut &**stream).read(buffer),
            Socket::Tcp(stream) => (&mut &**stream).read(buffer),
        }
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => (&mut &**stream).write(bytes),
            Socket::Tcp(stream) => (&mut &**stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket, perhaps with encryption over it.
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// Whether what arrives on the socket is what is read.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Stream::Plain(_))
    }

    /// The socket at the bottom.
    pub(super) fn socket(&self) -> &Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => &stream.sock,
        }
    }

    /// Whether a password may be sent as it is: nobody else can read along.
    pub(super) fn is_private(&self) -> bool {
        matches!(self, Stream::Plain(Socket::Unix(_)) | Stream::Tls(_))
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}
