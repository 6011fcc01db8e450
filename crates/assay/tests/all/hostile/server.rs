//! A fake MySQL server that is hostile or broken; it implements only the part of the protocol that
//! its behaviour needs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const SSL: u32 = 1 << 11;
/// Capabilities of MySQL 9, without TLS and compression.
const CAPABILITIES: u32 = 0xdfff_ffff & !SSL & !(1 << 5) & !(1 << 26) & !(1 << 24);

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
/// A column's definition; the client skips it.
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x2d\0\0\x01\0\0\xfd\0\0\0\0\0";

/// Escape sequences that clear a terminal's screen and set its title.
pub const ESCAPES: &str = "\x1b[2J\x1b]0;owned\x07\r\nassay: all is well";

/// Behaviour towards a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    EndlessGreeting,
    /// The greeting arrives byte by byte.
    DrippedGreeting,
    GarbageGreeting,
    MuteAfterConnect,
    MuteAfterLogin,
    /// Answers pings, and no other command.
    MuteAfterQuestion,
    /// Announces 2^64 - 1 columns.
    ManyColumns,
    EndlessRows,
    /// A row of which almost nothing arrives.
    GiganticRow,
    /// Rows of 16 MiB each, in several packets.
    LongRow,
    LengthPastEnd,
    MalformedKey,
    WrongSequence,
    /// An error at login with escape sequences.
    HostileRefusal,
    /// An error of 16 MB in answer to a statement.
    HostileError,
    CleartextPlugin,
    SwitchLoop,
    LocalInfile,
    ClosedWithinPacket,
    TlsGarbage,
    TlsMute,
}

impl Behaviour {
    pub const ALL: [Behaviour; 20] = [
        Behaviour::EndlessGreeting,
        Behaviour::DrippedGreeting,
        Behaviour::GarbageGreeting,
        Behaviour::MuteAfterConnect,
        Behaviour::MuteAfterLogin,
        Behaviour::ManyColumns,
        Behaviour::EndlessRows,
        Behaviour::GiganticRow,
        Behaviour::LongRow,
        Behaviour::LengthPastEnd,
        Behaviour::MalformedKey,
        Behaviour::WrongSequence,
        Behaviour::HostileRefusal,
        Behaviour::HostileError,
        Behaviour::CleartextPlugin,
        Behaviour::SwitchLoop,
        Behaviour::LocalInfile,
        Behaviour::ClosedWithinPacket,
        Behaviour::TlsGarbage,
        Behaviour::TlsMute,
    ];
}

/// Listens for as long as the process lives; returns the port.
pub fn listen(behaviour: Behaviour) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // The client may disconnect at any point.
            std::thread::spawn(move || drop(Peer { client: Arc::new(client) }.meet(behaviour)));
        }
    });
    port
}

struct Peer {
    client: Arc<TcpStream>,
}

impl Peer {
    fn send(&self, sequence: u8, payload: &[u8]) -> std::io::Result<()> {
        let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
        packet[3] = sequence;
        packet.extend_from_slice(payload);
        (&*self.client).write_all(&packet)
    }

    /// Sequence number and payload of the client's next packet.
    fn take(&self) -> std::io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 4];
        (&*self.client).read_exact(&mut header)?;
        let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
        (&*self.client).read_exact(&mut payload)?;
        Ok((header[3], payload))
    }

    /// Sends nothing more until the client disconnects.
    fn be_mute(&self) -> std::io::Result<()> {
        let mut taken = [0; 4096];
        while (&*self.client).read(&mut taken)? > 0 {}
        Ok(())
    }

    fn greet(&self, plugin: &str, more: u32) -> std::io::Result<()> {
        let capabilities = (CAPABILITIES | more).to_le_bytes();
        let mut greeting = b"\x0a9.7.4\0\x09\0\0\0abcdefgh\0".to_vec();
        greeting.extend_from_slice(&capabilities[..2]);
        greeting.extend_from_slice(&[45, 2, 0]);
        greeting.extend_from_slice(&capabilities[2..]);
        greeting.push(21);
        greeting.extend_from_slice(&[0; 10]);
        greeting.extend_from_slice(format!("ijklmnopqrst\0{plugin}\0").as_bytes());
        self.send(0, &greeting)
    }

    fn meet(&self, behaviour: Behaviour) -> std::io::Result<()> {
        match behaviour {
            Behaviour::MuteAfterConnect => return self.be_mute(),
            Behaviour::GarbageGreeting => {
                (&*self.client)
                    .write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
                return self.be_mute();
            }
            Behaviour::EndlessGreeting => {
                (&*self.client).write_all(&[0xfe, 0xff, 0xff, 0, 10])?;
                loop {
                    (&*self.client).write_all(&[b'9'; 4096])?;
                }
            }
            Behaviour::DrippedGreeting => {
                (&*self.client).write_all(&[0x50, 0, 0, 0, 10])?;
                loop {
                    (&*self.client).write_all(b"9")?;
                    std::thread::sleep(Duration::from_millis(300));
                }
            }
            Behaviour::TlsGarbage | Behaviour::TlsMute => {
                self.greet("caching_sha2_password", SSL)?;
                self.take()?;
                if behaviour == Behaviour::TlsGarbage {
                    (&*self.client).write_all(&[b'x'; 100_000])?;
                }
                return self.be_mute();
            }
            Behaviour::MalformedKey => {
                self.greet("caching_sha2_password", 0)?;
                let (sequence, _) = self.take()?;
                self.send(sequence + 1, &[1, 4])?;
                let (sequence, _) = self.take()?;
                self.send(
                    sequence + 1,
                    b"\x01-----BEGIN PUBLIC KEY-----\nno key\n-----END PUBLIC KEY-----\n",
                )?;
                return self.be_mute();
            }
            _ => {}
        }
        self.greet("mysql_native_password", 0)?;
        let (sequence, _) = self.take()?;
        match behaviour {
            Behaviour::HostileRefusal => {
                let mut refusal = b"\xff\x15\x04#28000".to_vec();
                refusal.extend_from_slice(ESCAPES.repeat(1000).as_bytes());
                self.send(sequence + 1, &refusal)?;
                return self.be_mute();
            }
            Behaviour::CleartextPlugin => {
                self.send(sequence + 1, b"\xfemysql_clear_password\0")?;
                return self.be_mute();
            }
            Behaviour::SwitchLoop => {
                let mut sequence = sequence;
                loop {
                    self.send(
                        sequence.wrapping_add(1),
                        b"\xfemysql_native_password\0abcdefghijklmnopqrst\0",
                    )?;
                    sequence = self.take()?.0;
                }
            }
            _ => self.send(sequence + 1, OK)?,
        }
        loop {
            let (sequence, said) = self.take()?;
            self.answer(behaviour, sequence, &said)?;
        }
    }

    fn answer(&self, behaviour: Behaviour, sequence: u8, said: &[u8]) -> std::io::Result<()> {
        let next = |count: u8| sequence.wrapping_add(count);
        let head = || {
            self.send(next(1), &[1])?;
            self.send(next(2), COLUMN)?;
            self.send(next(3), EOF)
        };
        match behaviour {
            Behaviour::MuteAfterQuestion if said.ends_with(b"DO 0") => self.send(next(1), OK)?,
            Behaviour::ManyColumns => {
                self.send(next(1), &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])?
            }
            Behaviour::EndlessRows => {
                head()?;
                let mut at = 4u8;
                loop {
                    let mut rows = Vec::new();
                    for _ in 0..1000 {
                        rows.extend_from_slice(&[2, 0, 0, next(at), 1, b'x']);
                        at = at.wrapping_add(1);
                    }
                    (&*self.client).write_all(&rows)?;
                }
            }
            Behaviour::GiganticRow => {
                head()?;
                (&*self.client).write_all(&[0xfe, 0xff, 0xff, next(4), 1, b'x'])?;
            }
            Behaviour::LongRow => {
                head()?;
                (&*self.client).write_all(&[0xff, 0xff, 0xff, next(4)])?;
                loop {
                    (&*self.client).write_all(&[b'x'; 4096])?;
                }
            }
            Behaviour::LengthPastEnd => {
                head()?;
                self.send(next(4), &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, b'x'])?;
                self.send(next(5), EOF)?;
            }
            Behaviour::WrongSequence => self.send(next(7), OK)?,
            Behaviour::HostileError => {
                let mut error = b"\xff\x15\x04#HY000".to_vec();
                error.extend_from_slice(ESCAPES.repeat(16_000_000 / ESCAPES.len()).as_bytes());
                self.send(next(1), &error)?;
            }
            Behaviour::LocalInfile => self.send(next(1), b"\xfb/etc/passwd")?,
            Behaviour::ClosedWithinPacket => {
                (&*self.client).write_all(&[200, 0, 0, next(1), 1, 2, 3])?;
                self.client.shutdown(std::net::Shutdown::Both)?;
            }
            // No answer.
            _ => {}
        }
        Ok(())
    }
}
