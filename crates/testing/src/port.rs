//! TCP ports for tests.

use std::net::TcpStream;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below those that the kernel gives to connections (from 32768 on): no connection of another test takes it meanwhile.
const FIRST: u16 = 20_000;
const PORTS: u16 = 10_000;

/// A TCP port of 127.0.0.1 that nobody listens on, and another one each time. It is asked for by connecting: a port that was
/// bound to try it is held a moment longer by a program that another thread has just begun to start.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Tests in other processes begin elsewhere.
    let begin = (std::process::id() * 97 % u32::from(PORTS)) as u16;
    loop {
        let port = FIRST + (begin + NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS;
        if TcpStream::connect(("127.0.0.1", port)).is_err() {
            return port;
        }
    }
}
