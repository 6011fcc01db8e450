//! The program on a host: our end of the session.
//!
//! Guarantees: it ends with the connection, with this value, and with this process. A silent link
//! counts as cut after [`PATIENCE`], and every waiting call returns an error then. A host cannot
//! fill the memory here: the length of lines and the amount of unread messages are limited.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use assay_base::text::on_one_line;
use assay_ports::child::{self, Child, Identity};
use parking_lot::Mutex;
use rustix::process::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::clock::{ClockOffset, RoundTrip, now_ns};
use crate::connection::{Connection, LOST, STOP_SEEN_WITHIN, here, memory_file, no_client, read};
use crate::facts::HostFacts;
use crate::failure::{Failure, FailureReason, Result};
use crate::protocol::{ASK_EVERY, FromHost, Hello, PATIENCE, PROTOCOL, ToHost};

/// Longest start of the program.
const HELLO_PATIENCE: Duration = Duration::from_secs(30);

/// Longest answer to a request for the time.
const ANSWER_PATIENCE: Duration = Duration::from_secs(8);

/// Bytes of the longest line before the program's [`Hello`].
const HELLO_BYTES_MAX: usize = 64 << 10;

/// Bytes of the longest line of a job, unless the job allows more ([`HostSession::allow_lines`]):
/// an outcome has a few hundred kilobytes.
const LINE_BYTES_MAX: usize = 4 << 20;

/// Limit of unread messages, in longest lines.
const UNTAKEN_LINES_MAX: usize = 2;

/// Longest end of the program.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// Lines that a shell may print before the program's first.
const GREETING_LINES_MAX: usize = 100;

/// Round trips of a comparison of clocks.
const ROUND_TRIPS: u64 = 20;

/// Characters of a version that are shown.
const VERSION_CHARS_MAX: usize = 64;

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Line,
    TooLong,
    End,
}

/// Reads a line of at most `bytes_max` bytes into `line`, without its end; an unfinished line is
/// dropped.
fn next_line(
    hear: &mut impl BufRead,
    line: &mut Vec<u8>,
    bytes_max: usize,
) -> std::io::Result<Next> {
    line.clear();
    // Releases the memory of a long line.
    line.shrink_to(HELLO_BYTES_MAX);
    let read = hear.take(bytes_max as u64 + 1).read_until(b'\n', line)?;
    Ok(match line.pop() {
        Some(b'\n') => Next::Line,
        _ if read > bytes_max => Next::TooLong,
        _ => Next::End,
    })
}

/// A message of a job.
#[derive(Debug)]
pub enum Message<T, D, E> {
    /// The job goes on.
    Something(T),
    Done(D),
    Failed(E),
}

/// A session with the program on a host.
#[derive(Debug)]
pub struct HostSession {
    connection: Arc<Connection>,
    hello: Hello,
    line: Arc<Line>,
    work: Mutex<Receiver<(FromHost, usize)>>,
    trips: Mutex<Receiver<RoundTrip>>,
    /// Dropping it ends the keep-alive messages.
    asking: Option<Sender<()>>,
}

/// State shared by the threads of a session.
#[derive(Debug)]
struct Line {
    tell: Mutex<Option<PipeWriter>>,
    client: Mutex<Child>,
    /// The client's output.
    said: File,
    heard: Mutex<Instant>,
    /// Number and time of the request whose answer a comparison of clocks waits for.
    asked: Mutex<Option<(u64, u64)>>,
    /// Bytes of the longest line.
    line_bytes_max: AtomicUsize,
    /// Bytes of the unread messages.
    untaken: AtomicUsize,
    /// Why the session was ended, if the host violated the protocol.
    wrong: Mutex<Option<&'static str>>,
}

impl HostSession {
    /// Starts a session: `words` start the program on the host, which is at `program`.
    pub(crate) fn begin(
        connection: &Arc<Connection>,
        program: &str,
        words: &str,
    ) -> Result<HostSession, FailureReason> {
        let ((told, tell), (hear, said)) = (pipe().map_err(here)?, pipe().map_err(here)?);
        let complaints = memory_file()?;
        let mut command = connection.command(words);
        command.stdin(Stdio::from(told)).stdout(Stdio::from(said));
        command.stderr(complaints.try_clone().map_err(here)?);
        let client = child::spawn(command, &[]).map_err(no_client)?;
        let line = Arc::new(Line {
            tell: Some(tell).into(),
            client: client.into(),
            said: complaints,
            heard: Instant::now().into(),
            asked: None.into(),
            line_bytes_max: HELLO_BYTES_MAX.into(),
            untaken: 0.into(),
            wrong: None.into(),
        });
        let (send_work, work) = channel();
        let (send_trips, trips) = channel();
        let (asking, asked) = channel();
        let lines = Arc::clone(&line);
        let listen = move || lines.listen(hear, &send_work, &send_trips);
        thread::Builder::new().name("host hears".into()).spawn(listen).map_err(here)?;
        // The listener would keep a client without use running.
        let hello = line.await_hello(&work, connection, program).inspect_err(|_| line.end())?;
        let lines = Arc::clone(&line);
        let ask = move || lines.ask_on(&asked);
        thread::Builder::new().name("host asks".into()).spawn(ask).map_err(here)?;
        let connection = Arc::clone(connection);
        let (work, trips, asking) = (work.into(), trips.into(), Some(asking));
        Ok(HostSession { connection, hello, line, work, trips, asking })
    }

    /// The host's name, as given by the user.
    #[must_use]
    pub fn host(&self) -> &str {
        self.connection.name()
    }

    /// The host's system.
    #[must_use]
    pub fn facts(&self) -> &HostFacts {
        &self.hello.facts
    }

    /// The program's process on the host.
    #[must_use]
    pub fn process(&self) -> Identity {
        self.hello.process
    }

    /// The address at which MySQL's traffic reaches the host.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        self.connection.spec().address.as_deref().or(self.hello.facts.address.as_deref())
    }

    /// A failure of this host.
    #[must_use]
    pub fn failure(&self, reason: FailureReason) -> Failure {
        reason.of(self.host())
    }

    fn lost(&self) -> Failure {
        self.failure(self.line.why_lost(&self.connection))
    }

    /// Compares the host's clock with ours in twenty round trips.
    ///
    /// # Errors
    /// The connection is lost, or the comparison is too uncertain.
    pub fn compare_clocks(&self) -> Result<ClockOffset> {
        let offset = self.clock_offset()?;
        offset.check().map_err(|reason| self.failure(reason))?;
        Ok(offset)
    }

    /// Checks that the host's clock has kept pace with ours since `before`.
    ///
    /// # Errors
    /// It has not, or the connection is lost.
    pub fn check_clock_since(&self, before: ClockOffset) -> Result<()> {
        let now = self.clock_offset()?;
        before.check_until(now).map_err(|reason| self.failure(reason))
    }

    /// The offset of the host's clock, however uncertain.
    pub(crate) fn clock_offset(&self) -> Result<ClockOffset> {
        let trips: Vec<RoundTrip> =
            (1..=ROUND_TRIPS).map(|number| self.round_trip(number)).collect::<Result<_>>()?;
        let offset = ClockOffset::of(&trips).ok_or_else(|| self.lost())?;
        if !offset.is_plausible() {
            return Err(self.failure(FailureReason::Protocol("a time that no clock shows".into())));
        }
        Ok(offset)
    }

    fn round_trip(&self, number: u64) -> Result<RoundTrip> {
        *self.line.asked.lock() = Some((number, now_ns()));
        self.line.say(&ToHost::Ask { number });
        let deadline = Instant::now() + ANSWER_PATIENCE;
        while Instant::now() < deadline {
            match self.trips.lock().recv_timeout(STOP_SEEN_WITHIN) {
                Ok(trip) => return Ok(trip),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.connection.check_interrupt().map_err(|reason| self.failure(reason))?;
                }
            }
        }
        Err(self.lost())
    }

    /// Allows longer lines, for a job that sends more at once than a load.
    pub fn allow_lines(&self, bytes: usize) {
        self.line.line_bytes_max.store(bytes.max(LINE_BYTES_MAX), Ordering::Relaxed);
    }

    /// Starts a job on the host. There is one at a time.
    pub fn begin_work(&self, work: &str, task: &impl Serialize) -> Result<()> {
        let task = self.value(task)?;
        self.line.say(&ToHost::Begin { work: work.to_owned(), task });
        Ok(())
    }

    /// Sends a message to the current job.
    pub fn tell(&self, what: &impl Serialize) -> Result<()> {
        self.line.say(&ToHost::Tell(self.value(what)?));
        Ok(())
    }

    /// Asks the current job to end early.
    pub fn stop(&self) {
        self.line.say(&ToHost::Stop);
    }

    fn value(&self, what: &impl Serialize) -> Result<Value> {
        serde_json::to_value(what)
            .map_err(|error| self.failure(FailureReason::Here(error.to_string())))
    }

    /// Returns the next message of the current job; `None` after `patience`.
    ///
    /// # Errors
    /// The connection is lost, or the message is of none of these types.
    pub fn next<T: DeserializeOwned, D: DeserializeOwned, E: DeserializeOwned>(
        &self,
        patience: Duration,
    ) -> Result<Option<Message<T, D, E>>> {
        let message = match self.work.lock().recv_timeout(patience) {
            Ok((message, bytes)) => {
                self.line.untaken.fetch_sub(bytes, Ordering::Relaxed);
                message
            }
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => return Err(self.lost()),
        };
        let told = match message {
            FromHost::Told(value) => serde_json::from_value(value).map(Message::Something),
            FromHost::Done(value) => serde_json::from_value(value).map(Message::Done),
            FromHost::Failed(value) => serde_json::from_value(value).map(Message::Failed),
            FromHost::Hello(_) | FromHost::Here { .. } => return Ok(None),
        };
        told.map(Some).map_err(|error| self.failure(FailureReason::Protocol(error.to_string())))
    }

    /// Ends the session after the program there has removed what it made.
    pub fn end(mut self) -> Result<()> {
        self.line.say(&ToHost::End);
        self.line.tell.lock().take();
        self.asking.take();
        let ended = self.line.client.lock().wait(END_PATIENCE);
        match ended {
            Ok(Some(status)) if status.success() => Ok(()),
            _ => Err(self.lost()),
        }
    }
}

impl Drop for HostSession {
    fn drop(&mut self) {
        self.line.end();
    }
}

impl Line {
    /// Sends a message. An end that no longer listens is noticed by its silence.
    fn say(&self, message: &ToHost) {
        let Ok(text) = serde_json::to_string(message) else { return };
        if let Some(tell) = self.tell.lock().as_mut() {
            let _ = tell.write_all(format!("{text}\n").as_bytes());
        }
    }

    /// Reads messages until the stream ends, and forwards them.
    fn listen(
        &self,
        hear: PipeReader,
        work: &Sender<(FromHost, usize)>,
        trips: &Sender<RoundTrip>,
    ) {
        let mut hear = BufReader::new(hear);
        let (mut greeting, mut line) = (0, Vec::new());
        loop {
            let bytes_max = self.line_bytes_max.load(Ordering::Relaxed);
            match next_line(&mut hear, &mut line, bytes_max) {
                Ok(Next::Line) => {}
                Ok(Next::End) | Err(_) => return,
                Ok(Next::TooLong) => return self.refuse("a line without end"),
            }
            let heard_ns = now_ns();
            *self.heard.lock() = Instant::now();
            match serde_json::from_slice(&line) {
                Ok(FromHost::Here { number, received_ns, answered_ns }) => {
                    let asked = self.asked.lock().take_if(|(asked, _)| *asked == number);
                    let trip = asked.map(|(_, asked_ns)| RoundTrip {
                        asked_ns,
                        received_ns,
                        answered_ns,
                        heard_ns,
                    });
                    // Other answers have no waiting thread.
                    trip.map(|trip| trips.send(trip));
                }
                Ok(message) => {
                    if matches!(message, FromHost::Hello(_)) {
                        self.line_bytes_max.fetch_max(LINE_BYTES_MAX, Ordering::Relaxed);
                    }
                    let untaken = self.untaken.fetch_add(line.len(), Ordering::Relaxed);
                    if untaken + line.len() > UNTAKEN_LINES_MAX * bytes_max.max(LINE_BYTES_MAX) {
                        return self.refuse("more than anybody asked for");
                    }
                    if work.send((message, line.len())).is_err() {
                        return;
                    }
                }
                Err(_) if greeting < GREETING_LINES_MAX => greeting += 1,
                Err(_) => return self.refuse("lines that are none of the program's"),
            }
        }
    }

    fn await_hello(
        &self,
        work: &Receiver<(FromHost, usize)>,
        connection: &Connection,
        program: &str,
    ) -> Result<Hello, FailureReason> {
        let deadline = Instant::now() + HELLO_PATIENCE;
        let first = loop {
            match work.recv_timeout(STOP_SEEN_WITHIN) {
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {
                    connection.check_interrupt()?;
                }
                first => break first,
            }
        };
        let Ok((FromHost::Hello(hello), bytes)) = first else {
            if !matches!(first, Err(RecvTimeoutError::Disconnected)) {
                self.end();
            }
            let said = on_one_line(&read(&self.said));
            let ended = self.client.lock().wait(END_PATIENCE);
            // Exit codes of a shell for a program that it cannot start (POSIX, "Exit Status for
            // Commands"), or of the loader.
            let cannot = ended.ok().flatten().and_then(|status| status.code());
            return Err(match cannot {
                Some(code) if code != LOST => {
                    FailureReason::CannotRun { program: program.to_owned(), words: said }
                }
                _ => self.why_lost(connection),
            });
        };
        match (hello.protocol, hello.version.as_str()) {
            (PROTOCOL, env!("CARGO_PKG_VERSION")) => {
                self.untaken.fetch_sub(bytes, Ordering::Relaxed);
                Ok(*hello)
            }
            _ => {
                let printed = hello.version.chars().filter(|sign| !sign.is_control());
                Err(FailureReason::OtherVersion {
                    theirs: printed.take(VERSION_CHARS_MAX).collect(),
                })
            }
        }
    }

    /// Sends keep-alive messages until the session ends.
    fn ask_on(&self, asked: &Receiver<()>) {
        while asked.recv_timeout(ASK_EVERY) == Err(RecvTimeoutError::Timeout) {
            if self.heard.lock().elapsed() > PATIENCE {
                return self.end();
            }
            self.say(&ToHost::Ask { number: 0 });
        }
    }

    /// Ends a session whose far end violates the protocol.
    fn refuse(&self, what: &'static str) {
        *self.wrong.lock() = Some(what);
        self.end();
    }

    /// Ends the client; the listener notices.
    fn end(&self) {
        let _ = self.client.lock().signal(Signal::KILL);
    }

    fn why_lost(&self, connection: &Connection) -> FailureReason {
        if let Some(what) = *self.wrong.lock() {
            return FailureReason::Protocol(what.into());
        }
        let said = Some(on_one_line(&read(&self.said))).filter(|words| !words.is_empty());
        FailureReason::Lost(connection.last_words().or(said))
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
