//! A TCP proxy in this process that cuts connections on demand.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of requests after which a connection is cut: far more than setting up and filling tables
/// takes, far fewer than a second of load.
const REQUESTS: u32 = 300;

/// Forwards to a port of this machine for as long as the process lives.
pub struct Proxy {
    pub port: u16,
    /// Number of connections still to be cut.
    cuts: Arc<AtomicU32>,
}

impl Proxy {
    pub fn to(server: u16) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let cuts = Arc::new(AtomicU32::new(0));
        let shared = Arc::clone(&cuts);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                join(client, server, &shared);
            }
        });
        Proxy { port, cuts }
    }

    /// Cuts the next connections that carry a load.
    pub fn cut(&self, connections: u32) {
        self.cuts.store(connections, Ordering::SeqCst);
    }

    /// Number of connections that are still to be cut.
    pub fn uncut(&self) -> u32 {
        self.cuts.load(Ordering::SeqCst)
    }
}

fn join(client: TcpStream, server: TcpStream, cuts: &Arc<AtomicU32>) {
    let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let cuts = Arc::clone(cuts);
    std::thread::spawn(move || {
        let mut requests = 0;
        pass_on(client, server, || {
            requests += 1;
            let take = |left: u32| left.checked_sub(1);
            requests > REQUESTS
                && cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
        });
    });
    std::thread::spawn(move || pass_on(back.0, back.1, || false));
}

/// Forwards until either side ends or `is_cut` returns true.
fn pass_on(mut from: TcpStream, mut to: TcpStream, mut is_cut: impl FnMut() -> bool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 || is_cut() || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
