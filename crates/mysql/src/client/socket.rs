//! The stream under a session, and how another thread cuts it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

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

fn connect_tcp(host: &str, port: u16, patience: Duration) -> io::Result<TcpStream> {
    let mut error = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
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
    pub(super) fn connect(address: &Address, patience: Duration) -> io::Result<Stream> {
        Socket::connect(address, patience).map(Stream::Plain)
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
