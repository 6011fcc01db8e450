//! TCP ports for tests.

use std::net::TcpStream;
use std::sync::atomic::{AtomicU16, Ordering};

/// First port, below the range that the kernel gives to outgoing connections (from 32768 on), so
/// that no connection of another test occupies it.
const FIRST: u16 = 20_000;
const PORTS: u16 = 10_000;

/// A TCP port of 127.0.0.1 without a listener, a different one at each call. The port is checked by
/// connecting: after binding to it, a program that another thread is starting could still hold it.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Tests in other processes start at other ports.
    let begin = (std::process::id() * 97 % u32::from(PORTS)) as u16;
    loop {
        let port = FIRST + (begin + NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS;
        if TcpStream::connect(("127.0.0.1", port)).is_err() {
            return port;
        }
    }
}
