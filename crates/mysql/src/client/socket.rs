//! The stream of a session: connecting, blocking or not, and cutting it from another thread.

use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use assay_event_loop::{Handle, Watch};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::tls::TlsStream;
use crate::endpoint::Address;
use crate::session::Interrupter;

/// Time limit of a connection on an event loop, login included: thousands may log in at the same
/// time.
pub(super) const LOOP_CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Time limit of a blocking connection, from looking up the host to the end of the login.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);

/// A socket shared by threads: one talks, another may cut it.
#[derive(Debug, Clone)]
pub(super) struct Socket {
    kind: Kind,
    /// Deadline of reads and writes through this handle, even if each waits only briefly: a peer
    /// that sends a byte now and then cannot extend it. For blocking sockets.
    pub(super) until: Option<Instant>,
}

#[derive(Debug, Clone)]
enum Kind {
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Socket {
        Socket { kind: Kind::Unix(Arc::new(stream)), until: None }
    }
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Socket {
        Socket { kind: Kind::Tcp(Arc::new(stream)), until: None }
    }
}

impl Socket {
    /// Connects before `until`, which limits the socket's reads and writes too.
    pub(super) fn connect(address: &Address, until: Instant) -> io::Result<Socket> {
        let socket = match address {
            Address::Socket(path) => Socket::from(connect_unix(path, until)?),
            Address::Tcp { host, port } => Socket::from(connect_tcp(host, *port, until)?),
        };
        Ok(Socket { until: Some(until), ..socket })
    }

    /// Connects without blocking. The current task waits, and is polled from then on when the
    /// socket is readable.
    pub(super) async fn connect_on(
        address: &Address,
        events: &Handle,
    ) -> io::Result<(Socket, Watch)> {
        match address {
            Address::Socket(path) => {
                let socket = open_unix(path, events).await?;
                let watch = events.watch(&socket)?;
                Ok((Socket::from(UnixStream::from(socket)), watch))
            }
            Address::Tcp { host, port } => {
                let mut error = io::Error::new(ErrorKind::NotFound, NO_ADDRESS);
                for address in resolve(host, *port, events).await? {
                    match open_tcp(address, events).await {
                        Ok((socket, watch)) => return Ok((Socket::from(socket), watch)),
                        Err(refusal) => error = refusal,
                    }
                }
                Err(error)
            }
        }
    }

    /// Limits reads and writes from now on; `None` removes the limit.
    pub(super) fn limit(&mut self, until: Option<Instant>) -> io::Result<()> {
        // While there is a limit, the kernel's timeouts are set before each read and write.
        if until.is_none() && self.until.is_some() {
            self.set_timeout(None)?;
        }
        self.until = until;
        Ok(())
    }

    /// Sets the timeout of the next read or write to the remaining time.
    #[inline]
    fn keep_limit(&self) -> io::Result<()> {
        let Some(until) = self.until else { return Ok(()) };
        self.set_timeout(Some(time_left(until)?))
    }

    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &self.kind {
            Kind::Unix(s) => s.set_read_timeout(timeout).and(s.set_write_timeout(timeout)),
            Kind::Tcp(s) => s.set_read_timeout(timeout).and(s.set_write_timeout(timeout)),
        }
    }

    fn is_unix(&self) -> bool {
        matches!(self.kind, Kind::Unix(_))
    }

    /// Waits until the socket is readable, if that is worth a system call of its own.
    ///
    /// A thread that blocks in `recv` on a Unix socket is also woken when the peer has *read* what
    /// it was sent, since the socket becomes writable; then it sleeps again. Across CPUs such a
    /// wake-up costs more than the answer. `poll` sleeps through it, because the kernel tells it
    /// the kind of event.
    #[inline]
    pub(super) fn wait_readable(&self) -> io::Result<()> {
        let Kind::Unix(stream) = &self.kind else { return Ok(()) };
        loop {
            match poll(&mut [PollFd::new(stream, PollFlags::IN)], None) {
                Err(Errno::INTR) => {}
                answer => return answer.map(drop).map_err(io::Error::from),
            }
        }
    }

    /// Returns a handle that ends the connection in both directions from any thread: one that waits
    /// for an answer wakes with an error. The handle does not keep the socket open, and does
    /// nothing once it is closed.
    pub(super) fn interrupter(&self) -> Interrupter {
        match &self.kind {
            Kind::Unix(socket) => cutting(socket, |socket| socket.shutdown(Shutdown::Both)),
            Kind::Tcp(socket) => cutting(socket, |socket| socket.shutdown(Shutdown::Both)),
        }
    }
}

fn cutting<S: Send + Sync + 'static>(
    socket: &Arc<S>,
    cut: impl Fn(&S) -> io::Result<()> + Send + Sync + 'static,
) -> Interrupter {
    let socket = Arc::downgrade(socket);
    Interrupter::new(move || {
        // The peer may have closed it already, which is as good.
        let _ = socket.upgrade().map(|socket| cut(&socket));
    })
}

/// Interval between attempts while the server's queue of new connections is full: it reports that
/// at once, but not its end.
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

/// Checks whether a connection is established: then it has a peer.
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

/// The addresses of a host. A thread of its own looks up a name, since the system's lookup blocks.
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

/// The remaining time; an error if there is none.
fn time_left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// A blocking connection, made without blocking: a server with a full queue of new connections
/// could delay it for ever.
fn connect_unix(path: &Path, until: Instant) -> io::Result<UnixStream> {
    let socket = open_socket(AddressFamily::UNIX)?;
    let address = SocketAddrUnix::new(path)?;
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::AGAIN) => thread::sleep(QUEUE_FULL_WAIT.min(time_left(until)?)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn connect_tcp(host: &str, port: u16, until: Instant) -> io::Result<TcpStream> {
    let mut error = io::Error::new(ErrorKind::NotFound, NO_ADDRESS);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, time_left(until)?) {
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
        match &self.kind {
            Kind::Unix(stream) => stream.as_fd(),
            Kind::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for Socket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.keep_limit()?;
        match &self.kind {
            Kind::Unix(stream) => (&mut &**stream).read(buffer),
            Kind::Tcp(stream) => (&mut &**stream).read(buffer),
        }
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.keep_limit()?;
        match &self.kind {
            Kind::Unix(stream) => (&mut &**stream).write(bytes),
            Kind::Tcp(stream) => (&mut &**stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket, with or without encryption.
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// Returns true without encryption: reads then return the socket's bytes.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Stream::Plain(_))
    }

    /// The underlying socket.
    pub(super) fn socket(&self) -> &Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => &stream.sock,
        }
    }

    /// The handle of the underlying socket that this stream uses.
    pub(super) fn socket_mut(&mut self) -> &mut Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => &mut stream.sock,
        }
    }

    /// Returns true if a password may be sent as it is, as nobody can read along.
    pub(super) fn is_private(&self) -> bool {
        !self.is_plain() || self.socket().is_unix()
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
