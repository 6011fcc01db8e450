//! The line between a primary and its replica: it delays what it carries, as a network does, and
//! what is on its way when it is cut is lost.
//!
//! Without it a replica on the same machine would get what the primary sent as it lost its power,
//! which no network carries.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parking_lot::Mutex;

/// Bytes that are carried at once, at the most.
const PIECE_BYTES: usize = 64 << 10;

/// Such a line, on loopback; it is cut when it is dropped.
#[derive(Debug)]
pub(super) struct Link {
    port: u16,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    to: SocketAddrV4,
    delay: Duration,
    is_cut: AtomicBool,
    /// Both ends of all connections.
    ends: Mutex<Vec<TcpStream>>,
}

impl Link {
    /// A line to that port on loopback, on which everything takes `delay`.
    ///
    /// # Errors
    /// There is no free port.
    pub(super) fn to(port: u16, delay: Duration) -> Result<Link> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
        let own = listener.local_addr().context("no free port")?.port();
        let state = Arc::new(State {
            to: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
            delay,
            is_cut: AtomicBool::new(false),
            ends: Mutex::default(),
        });
        let carrying = Arc::clone(&state);
        let accepting = thread::spawn(move || carrying.accept(&listener));
        Ok(Link { port: own, state, accepting: Some(accepting) })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Cuts it: nothing arrives any more, on neither side.
    pub(super) fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for end in self.state.ends.lock().drain(..) {
            // It may be closed already.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.cut();
        // Lets the thread that waits for connections see it.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl State {
    fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::SeqCst)
    }

    fn accept(self: &Arc<State>, listener: &TcpListener) {
        for near in listener.incoming().map_while(Result::ok) {
            if self.is_cut() {
                return;
            }
            if let Err(error) = self.connect(near) {
                log::debug!("the line to the primary: {error}");
            }
        }
    }

    /// Carries a connection both ways, until an end closes it or the line is cut.
    fn connect(self: &Arc<State>, near: TcpStream) -> std::io::Result<()> {
        let far = TcpStream::connect(self.to)?;
        for end in [&near, &far] {
            end.set_nodelay(true)?;
            self.ends.lock().push(end.try_clone()?);
        }
        for (from, to) in [(near.try_clone()?, far.try_clone()?), (far, near)] {
            let (sender, receiver) = channel();
            let (reading, writing) = (Arc::clone(self), Arc::clone(self));
            thread::spawn(move || reading.read(from, &sender));
            thread::spawn(move || writing.write(to, &receiver));
        }
        if self.is_cut() {
            self.ends.lock().drain(..).try_for_each(|end| end.shutdown(Shutdown::Both))?;
        }
        Ok(())
    }

    /// Takes what comes, with the time at which it arrives.
    fn read(&self, mut from: TcpStream, sender: &Sender<(Instant, Vec<u8>)>) {
        let mut piece = vec![0; PIECE_BYTES];
        while let Ok(bytes @ 1..) = from.read(&mut piece) {
            if sender.send((Instant::now() + self.delay, piece[..bytes].to_vec())).is_err() {
                return;
            }
        }
    }

    /// Lets it arrive, unless the line was cut meanwhile.
    fn write(&self, mut to: TcpStream, receiver: &Receiver<(Instant, Vec<u8>)>) {
        while let Ok((due, piece)) = receiver.recv() {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if self.is_cut() || to.write_all(&piece).is_err() {
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line with this delay, and both ends of a connection over it.
    fn connected(delay: Duration) -> (Link, TcpStream, TcpStream) {
        let far = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let link = Link::to(far.local_addr().unwrap().port(), delay).unwrap();
        let near = TcpStream::connect((Ipv4Addr::LOCALHOST, link.port())).unwrap();
        let (far, _) = far.accept().unwrap();
        (link, near, far)
    }

    #[test]
    fn what_is_sent_arrives_in_order_and_later() {
        let delay = Duration::from_millis(30);
        let (_link, mut near, mut far) = connected(delay);
        let began = Instant::now();
        near.write_all(b"one").unwrap();
        near.write_all(b" two").unwrap();
        let mut said = [0; 7];
        far.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"one two");
        assert!(began.elapsed() >= delay, "{:?}", began.elapsed());
        far.write_all(b"yes").unwrap();
        let mut answer = [0; 3];
        near.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"yes");
        drop(far);
        assert_eq!(near.read(&mut answer).unwrap(), 0, "an end that is closed closes the other");
    }

    #[test]
    fn what_is_on_its_way_when_the_line_is_cut_is_lost() {
        let (link, mut near, mut far) = connected(Duration::from_secs(60));
        near.write_all(b"too late").unwrap();
        link.cut();
        let mut rest = Vec::new();
        // Closed in order or reset, the end has received nothing.
        let _ = far.read_to_end(&mut rest);
        assert_eq!(rest, b"");
        assert_eq!(near.read(&mut [0; 1]).unwrap_or(0), 0);
    }
}
