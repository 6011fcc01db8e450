//! A session with a server that sends given bytes: the body of the fuzz target `mysql`, shared with
//! the test next to it and with the examples in the crate's documentation.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::path::Path;

use assay_mysql::{BoundValue, ClientSession, Endpoint, SessionError};

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
    packet[3] = sequence;
    packet.extend_from_slice(payload);
    packet
}

/// All packets of a server in a session: greeting, OK, a prepared statement, its rows, and rows of
/// text.
pub fn answers() -> Vec<Vec<u8>> {
    const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x2d\0\0\x01\0\0\xfd\0\0\0\0\0";
    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
    let mut greeting = b"\x0a8.0.36\0\x01\0\0\0abcdefgh\0\xff\xf7\x2d\x02\0\xff\xde\x15".to_vec();
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    let rows = |first: &[u8], second: &[u8]| {
        [&[1][..], COLUMN, EOF, first, second, EOF]
            .into_iter()
            .zip(1..)
            .map(|(payload, sequence)| packet(sequence, payload))
            .collect::<Vec<_>>()
    };
    let mut all = vec![packet(0, &greeting), packet(2, &[0, 0, 0, 2, 0, 0, 0])];
    // One column, one parameter.
    all.push(packet(1, &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]));
    all.extend([COLUMN, EOF, COLUMN, EOF].into_iter().zip(2..).map(|(one, at)| packet(at, one)));
    all.extend(rows(b"\0\0\x01x", b"\0\0\x02yz"));
    all.extend(rows(b"\x05hello", b"\xfb"));
    all.push(packet(1, b"\xff\x15\x04#28000Access denied"));
    all
}

/// Serves one connection: sends all of `sent`, and reads until the client closes.
pub fn serve(listener: &UnixListener, sent: &[u8]) {
    let Ok((mut server, _)) = listener.accept() else { return };
    // The client may close early.
    let _ = server.write_all(sent);
    let _ = server.shutdown(Shutdown::Write);
    let mut received = [0; 4096];
    while server.read(&mut received).is_ok_and(|count| count > 0) {}
}

/// Logs in to a server that sends exactly these bytes, and runs a few statements. Returns the
/// number of rows of one of them.
pub fn session(listener: &UnixListener, path: &Path, sent: &[u8]) -> Result<usize, SessionError> {
    std::thread::scope(|scope| {
        scope.spawn(|| serve(listener, sent));
        let mut session = ClientSession::open(&Endpoint::root_over(path, ""))?;
        let statement = session.prepare("SELECT a FROM t WHERE id = ?")?;
        session.execute(statement, &[BoundValue::Int(7)])?;
        let rows = session.rows("SELECT a FROM t")?;
        let _ = session.query(b"DO 0");
        Ok(rows.len())
    })
}
