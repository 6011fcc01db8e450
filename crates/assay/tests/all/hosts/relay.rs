//! A slow link: a TCP relay in this process that delays data in both directions.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Relays a port of this machine to `server` with `delay` each way, for as long as the process
/// lives; returns the port.
pub fn relay(server: (String, u16), delay: Duration) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect((server.0.as_str(), server.1)).unwrap();
            for stream in [&client, &server] {
                stream.set_nodelay(true).unwrap();
            }
            let ends = [(&client, &server), (&server, &client)];
            for (from, to) in ends.map(|(from, to)| (from.try_clone().unwrap(), to.try_clone())) {
                one_way(from, to.unwrap(), delay);
            }
        }
    });
    port
}

fn one_way(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (send, pieces) = channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let piece = (Instant::now() + delay, buffer[..length].to_vec());
            if send.send(piece).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for (due, piece) in pieces {
            // Models the link's latency.
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&piece).is_err() {
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
