//! Packets: three bytes of length, one of sequence, then the payload.
//!
//! Received bytes are kept in one buffer and parsed in place; outgoing bytes are built in another.
//! Both wait while a watch reports that the socket is not ready; on a blocking socket they never
//! do.

use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::ops::Range;
use std::task::Poll;
use std::time::Instant;

use super::ready::Ready;
use super::socket::Stream;
use super::tls;
use crate::endpoint::Tls;
use crate::session::{Interrupter, LOST_IN_QUERY, SessionError};

const HEADER: usize = 4;
/// The longest payload of one packet; a longer one is sent in pieces.
pub(super) const PAYLOAD_MAX: usize = 0xff_ffff;
/// Size of the receive buffer, in bytes.
const BUFFER_BYTES: usize = 16 * 1024;
/// The longest packet before the end of the login, in bytes: greetings, keys and refusals are
/// shorter than a kilobyte.
const LOGIN_PAYLOAD_MAX: usize = 64 * 1024;
/// The most columns of a result (MySQL reference manual, "Limits on Table Column Count").
const COLUMNS_MAX: u64 = 4096;
/// The longest message of an error (`MYSQL_ERRMSG_SIZE` in MySQL's `mysql_com.h`), in bytes.
const MESSAGE_BYTES_MAX: usize = 512;

/// A stream of packets.
pub(super) struct Wire<R> {
    stream: Stream,
    /// The readiness of the socket.
    ready: R,
    out: Vec<u8>,
    /// Number of bytes of `out` already sent.
    sent: usize,
    arrived: Vec<u8>,
    /// The part of `arrived` that is not parsed yet.
    unread: Range<usize>,
    sequence: u8,
    /// True if result sets mark the end of their column definitions.
    pub(super) definitions_end_marked: bool,
    lost: bool,
    logged_in: bool,
    /// Mode of encryption.
    tls: Tls,
    /// True once blocking has no time limit.
    patient: bool,
}

/// The state of the next packet.
pub(super) enum Step {
    /// Complete; the place of its payload.
    Packet(Range<usize>),
    /// Incomplete: this many unparsed bytes are needed to tell more.
    Wants(usize),
}

/// The first packet of a result.
pub(super) enum Head {
    Done { affected: u64, status: u16 },
    Columns(u64),
}

impl<R: Ready> Wire<R> {
    pub(super) fn new(stream: Stream, ready: R) -> Wire<R> {
        Wire {
            stream,
            ready,
            out: Vec::with_capacity(1024),
            sent: 0,
            arrived: vec![0; BUFFER_BYTES],
            unread: 0..0,
            sequence: 0,
            definitions_end_marked: true,
            lost: false,
            logged_in: false,
            tls: Tls::Off,
            patient: false,
        }
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Allows long packets. With `patient`, a blocking socket has no time limit; otherwise see
    /// [`Wire::limit`].
    pub(super) fn be_logged_in(&mut self, patient: bool) -> std::io::Result<()> {
        self.logged_in = true;
        self.patient = patient;
        if R::BLOCKS && patient { self.limit(None) } else { Ok(()) }
    }

    /// Limits reads and writes of a blocking socket from now on.
    pub(super) fn limit(&mut self, until: Option<Instant>) -> std::io::Result<()> {
        self.patient = until.is_none();
        self.stream.socket_mut().limit(until)
    }

    pub(super) fn is_patient(&self) -> bool {
        self.patient
    }

    /// Remembers an error that loses the connection: later bytes are no answer to anything.
    pub(super) fn noted(&mut self, error: SessionError) -> SessionError {
        self.lost |= matches!(error, SessionError::Lost { .. });
        error
    }

    /// Ends the connection because of an invalid answer.
    pub(super) fn give_up(&mut self, reason: &str) -> SessionError {
        self.lost = true;
        lost(reason)
    }

    /// Moves the packets to another stream, such as an encrypted one over this.
    pub(super) fn over(
        self,
        tls: &Tls,
        change: impl FnOnce(Stream) -> Result<Stream, SessionError>,
    ) -> Result<Wire<R>, SessionError> {
        Ok(Wire { stream: change(self.stream)?, tls: tls.clone(), ..self })
    }

    pub(super) fn interrupter(&self) -> Interrupter {
        self.stream.socket().interrupter()
    }

    /// Starts a command.
    #[inline]
    pub(super) fn begin(&mut self, command: u8) {
        self.sequence = 0;
        self.begin_packet();
        self.out.push(command);
    }

    /// Starts a packet that continues an exchange.
    pub(super) fn begin_packet(&mut self) {
        self.out.clear();
        self.out.extend_from_slice(&[0; HEADER]);
    }

    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    pub(super) fn put_zeroes(&mut self, count: usize) {
        self.out.resize(self.out.len() + count, 0);
    }

    /// Appends bytes after their count.
    #[inline]
    pub(super) fn put_counted(&mut self, bytes: &[u8]) {
        let count = bytes.len() as u64;
        match count {
            0..=250 => self.put(&[count as u8]),
            251..=0xffff => {
                self.put(&[0xfc]);
                self.put(&count.to_le_bytes()[..2]);
            }
            0x1_0000..=0xff_ffff => {
                self.put(&[0xfd]);
                self.put(&count.to_le_bytes()[..3]);
            }
            _ => {
                self.put(&[0xfe]);
                self.put(&count.to_le_bytes());
            }
        }
        self.put(bytes);
    }

    /// Sends the packet in the buffer.
    #[inline]
    pub(super) async fn send(&mut self) -> Result<(), SessionError> {
        if self.lost {
            return Err(lost("the connection was lost before"));
        }
        let payload = self.out.len() - HEADER;
        if payload < PAYLOAD_MAX {
            let header = self.next_header(payload);
            self.out[..HEADER].copy_from_slice(&header);
        } else {
            self.cut_in_pieces();
        }
        self.sent = 0;
        poll_fn(|_| self.poll_send()).await
    }

    fn next_header(&mut self, payload: usize) -> [u8; HEADER] {
        let mut header = (payload as u32).to_le_bytes();
        header[3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        header
    }

    /// Inserts a header before each piece. A last piece of full length is followed by an empty one.
    fn cut_in_pieces(&mut self) {
        let built = std::mem::take(&mut self.out);
        let payload = &built[HEADER..];
        for piece in 0..=payload.len() / PAYLOAD_MAX {
            let bytes = &payload[piece * PAYLOAD_MAX..payload.len().min((piece + 1) * PAYLOAD_MAX)];
            let header = self.next_header(bytes.len());
            self.out.extend_from_slice(&header);
            self.out.extend_from_slice(bytes);
        }
    }

    fn poll_send(&mut self) -> Poll<Result<(), SessionError>> {
        let pushed = self.push();
        let is_full = matches!(&pushed, Err(error) if error.kind() == ErrorKind::WouldBlock);
        let waits = is_full && !R::BLOCKS;
        match (self.ready.want_room(self.stream.socket(), waits), pushed) {
            (Ok(()), _) if waits => Poll::Pending,
            (wanted, pushed) => Poll::Ready(pushed.and(wanted).map_err(|error| self.lose(&error))),
        }
    }

    /// Writes as much of the rest as the socket accepts.
    #[inline]
    fn push(&mut self) -> std::io::Result<()> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.stream.flush()
    }

    fn lose(&mut self, error: &std::io::Error) -> SessionError {
        self.lost = true;
        // After the login it is a lost connection like any other.
        if let Some(reason) = tls::trouble(error).filter(|_| !self.logged_in) {
            return SessionError::Encryption(tls::with_remedy(&self.tls, &reason));
        }
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                lost("the server did not answer in time")
            }
            _ => lost(&error.to_string()),
        }
    }

    /// The state of the next packet. A complete packet counts as parsed.
    #[inline]
    pub(super) fn step(&mut self) -> Result<Step, SessionError> {
        let unread = &self.arrived[self.unread.clone()];
        let Some(&[a, b, c, sequence]) = unread.first_chunk::<HEADER>() else {
            return Ok(Step::Wants(HEADER));
        };
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        if length == PAYLOAD_MAX {
            return Err(
                self.give_up("the server sent a packet of 16 MiB, longer than any row of a load")
            );
        }
        if !self.logged_in && length > LOGIN_PAYLOAD_MAX {
            return Err(self.give_up("the server does not speak the MySQL protocol"));
        }
        if unread.len() < HEADER + length {
            return Ok(Step::Wants(HEADER + length));
        }
        // A server that ends a connection by itself has not seen our last packet: errors may be out
        // of sequence, as they are for MySQL's own clients.
        if sequence != self.sequence && unread.get(HEADER) != Some(&0xff) {
            return Err(self.give_up("the server's packets are out of order"));
        }
        self.sequence = sequence.wrapping_add(1);
        let start = self.unread.start + HEADER;
        self.unread.start = start + length;
        Ok(Step::Packet(start..start + length))
    }

    /// The bytes of a payload, valid until more is received.
    #[inline]
    pub(super) fn bytes(&self, place: Range<usize>) -> &[u8] {
        &self.arrived[place]
    }

    /// The next packet's payload, whatever it is.
    pub(super) async fn packet(&mut self) -> Result<&[u8], SessionError> {
        loop {
            match self.step()? {
                Step::Packet(place) => return Ok(&self.arrived[place]),
                Step::Wants(count) => self.receive(count).await?,
            }
        }
    }

    /// The next packet's payload; an error packet becomes an error.
    pub(super) async fn answer(&mut self) -> Result<&[u8], SessionError> {
        let packet = self.packet().await?;
        refuse_error(packet)?;
        Ok(packet)
    }

    /// Receives the next part of the `count` unparsed bytes that are needed.
    #[inline]
    pub(super) async fn receive(&mut self, count: usize) -> Result<(), SessionError> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.start > 0 && self.unread.start + count > self.arrived.len() {
            self.arrived.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        // Allocates at most twice the bytes received so far: the length of a packet is an
        // unverified claim of the server.
        if self.unread.end == self.arrived.len() {
            self.arrived.resize(count.min(2 * self.arrived.len()), 0);
        }
        poll_fn(|_| self.poll_receive()).await
    }

    fn poll_receive(&mut self) -> Poll<Result<(), SessionError>> {
        if !self.ready.take_ready() {
            return Poll::Pending;
        }
        if self.patient
            && R::BLOCKS
            && let Err(error) = self.stream.socket().wait_readable()
        {
            return Poll::Ready(Err(self.lose(&error)));
        }
        loop {
            let space = &mut self.arrived[self.unread.end..];
            let room = space.len();
            match self.stream.read(space) {
                Ok(0) => {
                    self.lost = true;
                    return Poll::Ready(Err(lost("the server closed the connection")));
                }
                Ok(read) => {
                    self.unread.end += read;
                    // A plain socket is empty if the read did not fill the buffer; an encrypted
                    // stream may hold more.
                    if read == room || !self.stream.is_plain() {
                        self.ready.set_ready();
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && !R::BLOCKS => {
                    return Poll::Pending;
                }
                Err(error) => return Poll::Ready(Err(self.lose(&error))),
            }
        }
    }

    /// Skips `count` column or parameter definitions.
    pub(super) async fn skip_definitions(&mut self, count: u64) -> Result<(), SessionError> {
        let marks = u64::from(count > 0 && self.definitions_end_marked);
        for _ in 0..count.saturating_add(marks) {
            self.answer().await?;
        }
        Ok(())
    }

    /// The next row; `None` after the last.
    pub(super) async fn row(&mut self) -> Result<Option<&[u8]>, SessionError> {
        let packet = self.answer().await?;
        Ok((!ends_rows(packet)).then_some(packet))
    }
}

/// Turns an error packet into an error.
#[inline]
pub(super) fn refuse_error(packet: &[u8]) -> Result<(), SessionError> {
    match packet.first() {
        Some(0xff) => Err(server_error(packet)),
        Some(_) => Ok(()),
        None => Err(lost("the server sent an empty packet")),
    }
}

#[inline]
pub(super) fn ends_rows(packet: &[u8]) -> bool {
    // A row that begins with 0xfe has a first field of more than 16 MiB, which no packet here
    // holds.
    packet.first() == Some(&0xfe)
}

fn number(packet: &[u8], at: usize) -> u16 {
    packet.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// The status at the end of the rows. An EOF packet has warnings before it; an OK packet in its
/// place is read as an OK packet.
pub(super) fn status_at_end(packet: &[u8], definitions_end_marked: bool) -> u16 {
    match definitions_end_marked {
        true => number(packet, 3),
        false => ok(packet).map_or(0, |(_, status)| status),
    }
}

/// Affected rows and status of an OK packet.
fn ok(packet: &[u8]) -> Option<(u64, u16)> {
    let (affected, rest) = counted_number(packet.get(1..)?)?;
    let (_insert_id, rest) = counted_number(rest)?;
    Some((affected, number(rest, 0)))
}

/// Parses the first packet of a result.
#[inline]
pub(super) fn result_head(packet: &[u8]) -> Result<Head, SessionError> {
    match packet[0] {
        0x00 => {
            let (affected, status) =
                ok(packet).ok_or_else(|| lost("the server sent a broken packet"))?;
            Ok(Head::Done { affected, status })
        }
        0xfb => Err(lost("the server asked for a file, which this client never sends")),
        _ => {
            let (columns, _) =
                counted_number(packet).ok_or_else(|| lost("the server sent a broken packet"))?;
            check_columns(columns)?;
            Ok(Head::Columns(columns))
        }
    }
}

/// Checks that a result has columns, and no more than servers allow.
pub(super) fn check_columns(columns: u64) -> Result<(), SessionError> {
    match columns {
        0..=COLUMNS_MAX => Ok(()),
        _ => Err(lost(&format!(
            "the server announced {columns} columns, and a result has at most {COLUMNS_MAX}"
        ))),
    }
}

/// A length-encoded number of one to nine bytes, and the bytes after it. A lone 0xfb stands for
/// NULL and is no number.
#[inline]
pub(super) fn counted_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let width = match first {
        0..=250 => return Some((u64::from(*first), rest)),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let (number, rest) = rest.split_at_checked(width)?;
    Some((number.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)), rest))
}

/// The fields of a text row, borrowed from the buffer. A field is `None` if it is `NULL` or missing
/// in a broken row.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
    columns: usize,
}

impl<'a> Fields<'a> {
    /// Returns true if the row holds exactly its fields.
    pub(super) fn is_whole(&self) -> bool {
        let mut rest = self.rest;
        for _ in 0..self.columns {
            let after = match counted_number(rest) {
                Some((length, after)) => {
                    usize::try_from(length).ok().and_then(|length| after.get(length..))
                }
                None if rest.first() == Some(&0xfb) => rest.get(1..),
                None => None,
            };
            let Some(after) = after else { return false };
            rest = after;
        }
        rest.is_empty()
    }

    pub(super) fn new(row: &'a [u8], columns: usize) -> Fields<'a> {
        Fields { rest: row, columns }
    }

    fn field(&mut self) -> Option<&'a [u8]> {
        let Some((length, after)) = counted_number(self.rest) else {
            self.rest = self.rest.get(1..).unwrap_or_default();
            return None;
        };
        let Some((field, after)) = after.split_at_checked(usize::try_from(length).ok()?) else {
            self.rest = &[];
            return None;
        };
        self.rest = after;
        Some(field)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Option<&'a [u8]>> {
        self.columns = self.columns.checked_sub(1)?;
        Some(self.field())
    }
}

/// Error number, state and message of an error packet.
pub(super) fn server_error(packet: &[u8]) -> SessionError {
    let code = number(packet, 1);
    let rest = packet.get(3..).unwrap_or_default();
    let (state, message) = match rest.split_first() {
        Some((b'#', rest)) => rest.split_at_checked(5).unwrap_or((b"HY000", rest)),
        _ => (&b"HY000"[..], rest),
    };
    let message = &message[..message.len().min(MESSAGE_BYTES_MAX)];
    SessionError::Server { code, state: printable(state), message: printable(message) }
}

/// A server's text for a message of one line: nothing in it moves the cursor or starts a line.
pub(super) fn printable(bytes: &[u8]) -> String {
    let shown = |sign: char| if sign.is_control() { '\u{fffd}' } else { sign };
    String::from_utf8_lossy(bytes).chars().map(shown).collect()
}

pub(super) fn lost(message: &str) -> SessionError {
    SessionError::Lost { code: LOST_IN_QUERY, message: message.into() }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod stream_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_numbers_are_read_at_every_width() {
        let read = |bytes: &[u8]| counted_number(bytes).map(|(number, rest)| (number, rest.len()));
        assert_eq!(read(&[250, 9]), Some((250, 1)));
        assert_eq!(read(&[0xfc, 1, 2]), Some((0x0201, 0)));
        assert_eq!(read(&[0xfd, 1, 2, 3]), Some((0x0003_0201, 0)));
        assert_eq!(read(&[0xfe, 1, 0, 0, 0, 0, 0, 0, 1]), Some((1 << 56 | 1, 0)));
        for broken in [&[][..], &[0xfb], &[0xfc, 1], &[0xfe, 1, 2]] {
            assert_eq!(read(broken), None);
        }
    }

    #[test]
    fn rows_and_errors_are_taken_apart() {
        let fields = |row, columns| Fields::new(row, columns).collect::<Vec<_>>();
        assert_eq!(fields(&[2, b'a', b'b', 0xfb, 0], 3), [Some(&b"ab"[..]), None, Some(&[])]);
        assert_eq!(fields(&[5, b'a'], 1), [None]);
        let past_end = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, b'a'];
        assert_eq!(fields(&past_end, 2), [None, None]);
        let is_whole = |row, columns| Fields::new(row, columns).is_whole();
        assert!(is_whole(&[2, b'a', b'b', 0xfb, 0], 3) && is_whole(&[], 0));
        for (row, columns) in
            [(&[5, b'a'][..], 1), (&past_end, 1), (&[0], 2), (&[0, 0], 1), (&[0xfc], 1)]
        {
            assert!(!is_whole(row, columns), "{row:?}");
        }
        let error = server_error(b"\xff\xbd\x04#40001Deadlock found");
        let expected = SessionError::Server {
            code: 1213,
            state: "40001".into(),
            message: "Deadlock found".into(),
        };
        assert_eq!(error, expected);
    }

    #[test]
    fn the_head_of_a_result_tells_rows_from_changes() {
        assert!(matches!(result_head(&[0, 7, 0, 2, 0]), Ok(Head::Done { affected: 7, status: 2 })));
        assert!(matches!(result_head(&[3]), Ok(Head::Columns(3))));
        assert!(result_head(&[0xfb]).is_err());
        assert!(result_head(&[0]).is_err());
    }
}
