//! A target: subsystems at a TCP address.
//!
//! Each connection is one queue of one host and has threads of its own, so that a slow or silent
//! client holds nobody up. Connections, the memory of their writes and the time of their handshake
//! are bounded, see [`TargetLimits`].
//!
//! Guarantees: a connection that breaks the protocol ends alone. When an association ends, all of
//! its connections end. [`NvmeTarget::stop`] returns when no command is at a disk any more.

mod connection;
mod registry;
mod shared;
mod writes;

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

pub use self::registry::Registry;
use self::shared::Shared;
use crate::controller::Subsystem;

/// Limits of what clients can make a target hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetLimits {
    /// Connections of all hosts.
    pub connections: usize,
    /// Threads of a connection, and so its commands at a disk at a time.
    pub threads: usize,
    /// Bytes of a connection's writes that are on their way to the disk.
    pub write_bytes: usize,
    /// Time for a new connection to become a queue.
    pub handshake: Duration,
    /// Time for the rest of a PDU that has begun, or for the host to take an answer.
    pub stall: Duration,
}

impl Default for TargetLimits {
    fn default() -> TargetLimits {
        TargetLimits {
            connections: 512,
            threads: 16,
            write_bytes: 16 << 20,
            handshake: Duration::from_secs(10),
            stall: Duration::from_secs(30),
        }
    }
}

/// Interval at which silent hosts are looked for.
const LOOK: Duration = Duration::from_millis(500);

/// A running target. Dropping it stops it.
pub struct NvmeTarget {
    address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl NvmeTarget {
    /// Serves `subsystems`, and the discovery service, at a listener.
    ///
    /// # Errors
    /// Those of the system, when the listener's address or a thread is not to be had.
    pub fn start(
        listener: TcpListener,
        subsystems: Vec<Arc<Subsystem>>,
        limits: TargetLimits,
    ) -> io::Result<NvmeTarget> {
        let address = listener.local_addr()?;
        let registry = Registry::new(subsystems);
        let shared = Arc::new(Shared::new(registry, limits));
        let mut target = NvmeTarget { address, shared: Arc::clone(&shared), threads: Vec::new() };
        let accepting = Arc::clone(&shared);
        target.threads.push(thread("nvme-accept", move || accept(&listener, &accepting))?);
        target.threads.push(thread("nvme-look", move || shared.look(LOOK))?);
        Ok(target)
    }

    /// The address at which the target listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The subsystems and the hosts that are connected.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        self.shared.registry()
    }

    /// Ends all associations and waits until no command is at a disk.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.shared.end();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(reachable(self.address)).map(|one| one.shutdown(Shutdown::Both));
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.shared.wait_for_connections();
    }
}

impl Drop for NvmeTarget {
    fn drop(&mut self) {
        self.end();
    }
}

/// An address at which a listener of this machine is reached: that of all interfaces is none.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        ip if ip.is_ipv4() => std::net::Ipv4Addr::LOCALHOST.into(),
        _ => std::net::Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, address.port())
}

fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(run)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.has_ended() {
            return;
        }
        match accepted {
            Ok((stream, from)) => connection::begin(shared, stream, from),
            Err(error) => {
                log::warn!("cannot accept a connection: {error}");
                // A process without free descriptors fails at once, over and over.
                shared.pause(LOOK);
            }
        }
    }
}
