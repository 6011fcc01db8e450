//! A server of MySQL's protocol that sends recorded packets, for examples in documentation.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Definition of a text column named `a`.
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x2d\0\0\x01\0\0\xfd\0\0\0\0\0";
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

/// A server for one session with one query.
#[derive(Debug)]
pub struct RecordedServer {
    directory: PathBuf,
}

impl RecordedServer {
    /// Starts a server that answers the query with one column of these rows.
    #[must_use]
    pub fn start(rows: &[Option<&str>]) -> RecordedServer {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-recorded-{}-{number}", std::process::id());
        let server = RecordedServer { directory: std::env::temp_dir().join(name) };
        let listener = std::fs::create_dir_all(&server.directory)
            .and_then(|()| UnixListener::bind(server.socket()))
            .unwrap_or_else(|error| panic!("cannot listen: {error}"));
        let answers = answers(rows);
        std::thread::spawn(move || serve(&listener, &answers));
        server
    }

    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.directory.join("s")
    }
}

impl Drop for RecordedServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Sends everything at once: the client reads each answer when it needs it.
fn serve(listener: &UnixListener, answers: &[u8]) {
    let Ok((mut client, _)) = listener.accept() else { return };
    let _ = client.write_all(answers);
    let _ = client.shutdown(Shutdown::Write);
    let mut received = [0; 4096];
    while client.read(&mut received).is_ok_and(|count| count > 0) {}
}

/// The greeting, the OK after the login, and the rows.
fn answers(rows: &[Option<&str>]) -> Vec<u8> {
    let mut greeting = b"\x0a8.0.36\0\x01\0\0\0abcdefgh\0\xff\xf7\x2d\x02\0\xff\xde\x15".to_vec();
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    let mut sent = [packet(0, &greeting), packet(2, &[0, 0, 0, 2, 0, 0, 0])].concat();
    let fields = rows.iter().map(|row| match row {
        Some(text) => [&[text.len() as u8], text.as_bytes()].concat(),
        None => vec![0xfb],
    });
    let head = [vec![1], COLUMN.to_vec(), EOF.to_vec()];
    let result = head.into_iter().chain(fields).chain([EOF.to_vec()]);
    result.zip(1..).for_each(|(payload, sequence)| sent.extend(packet(sequence, &payload)));
    sent
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
    packet[3] = sequence;
    packet.extend_from_slice(payload);
    packet
}
