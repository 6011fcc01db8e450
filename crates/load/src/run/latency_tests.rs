//! Serving many connections on one thread does not change their latencies: compared with a thread
//! for each connection, on the same server of known service time, which speaks the protocol and
//! does nothing else.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use assay_event_loop::Handle;
use assay_mysql::{
    BoundValue, ClientSession, Endpoint, LoopSession, Reply, SessionError, StatementId,
};

use super::*;
use crate::fake::load;
use crate::mode::Mode;
use crate::recipe::Recipe;
use crate::schema::Schema;
use crate::workload::PsMode;
use crate::workload::Workload;

const CONNECTIONS: u32 = 8;
const SERVICE: Duration = Duration::from_millis(2);
/// Delay with which the deliberately slow client handles an answer.
const LATE: Duration = Duration::from_millis(1);
/// Largest relative difference of an event loop's latency from that of threads.
const TOLERANCE: f64 = 0.2;
const ROUNDS: usize = 20;

/// The greeting of a MySQL server: version 10, a nonce, the flags for long protocol, transactions,
/// secure connections and plugins, and no marks after definitions.
fn greeting() -> Vec<u8> {
    let mut packet = b"\x0afake\0".to_vec();
    packet.extend_from_slice(&[1, 0, 0, 0]);
    packet.extend_from_slice(b"abcdefgh\0");
    packet.extend_from_slice(&[0x00, 0xa2, 45, 2, 0, 0x08, 0x01, 21]);
    packet.extend_from_slice(&[0; 10]);
    packet.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    packet
}

fn send(stream: &mut UnixStream, sequence: u8, payload: &[u8]) -> Option<()> {
    let mut packet = vec![payload.len() as u8, 0, 0, sequence];
    packet.extend_from_slice(payload);
    stream.write_all(&packet).ok()
}

fn receive(stream: &mut UnixStream) -> Option<()> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let length = usize::from(header[0]) | usize::from(header[1]) << 8;
    stream.read_exact(&mut vec![0; length]).ok()
}

/// Logs a client in, and answers each statement after the service time, until the client closes.
fn serve(mut stream: UnixStream) -> Option<()> {
    const DONE: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];
    send(&mut stream, 0, &greeting())?;
    receive(&mut stream)?;
    send(&mut stream, 2, &DONE)?;
    loop {
        receive(&mut stream)?;
        thread::sleep(SERVICE);
        send(&mut stream, 1, &DONE)?;
    }
}

/// Starts a server at a socket, for any number of connections.
fn listen(directory: &Path) -> Endpoint {
    let socket: PathBuf = directory.join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(stream));
        }
    });
    Endpoint::root_over(&socket, "")
}

/// The lowest medians and 90th percentiles of all rounds, in ms: other processes can only raise
/// them.
#[derive(Debug, Clone, Copy)]
struct Best {
    p50: f64,
    p90: f64,
}

impl Best {
    const NONE: Best = Best { p50: f64::MAX, p90: f64::MAX };

    fn with(self, (p50, p90): (f64, f64)) -> Best {
        Best { p50: self.p50.min(p50), p90: self.p90.min(p90) }
    }

    fn is_like(self, other: Best) -> bool {
        self.p50 <= other.p50 * (1.0 + TOLERANCE) && self.p90 <= other.p90 * (1.0 + TOLERANCE)
    }
}

/// Latencies with a blocking thread for each connection.
fn by_threads(endpoint: &Endpoint) -> (f64, f64) {
    let timed = || {
        let mut session = ClientSession::open(endpoint).unwrap();
        let one = |_| {
            let began = Instant::now();
            session.query(b"DO 0").unwrap();
            began.elapsed().as_secs_f64() * 1e3
        };
        (0..100).map(one).collect::<Vec<f64>>()
    };
    let mut all: Vec<f64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(timed)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_by(f64::total_cmp);
    (all[all.len() / 2], all[all.len() * 9 / 10])
}

/// Latencies of a run on event loops.
fn by_loops<C: Connect>(connect: &C) -> (f64, f64) {
    let workload = Workload {
        recipe: Recipe::OltpPointSelect,
        mode: Mode::Strict,
        db_ps_mode: PsMode::Disable,
        ..Workload::default()
    };
    let schedule = Schedule { threads: CONNECTIONS, seconds: 0.2, ..Schedule::default() };
    let (schema, stop) = (Schema::default(), AtomicBool::new(false));
    let outcome =
        run_on(connect, &load(&schema, &workload, &schedule), Start::AtOnce, &(), &stop).unwrap();
    let service = &outcome.latency_of("transaction").unwrap().service;
    let floor_ms = SERVICE.as_secs_f64() * 1e3 * 0.999;
    assert!(service.latency_ms_min >= floor_ms, "answers are not timed before they come");
    (service.latency_ms_p50, service.quantile_ms(0.9))
}

/// A client that handles answers some time after they arrived.
struct LateConnect(ClientConnect);

struct LateSession {
    session: LoopSession,
    events: Handle,
}

impl Connect for LateConnect {
    type Session = LateSession;

    async fn connect_on(&self, events: &Handle) -> Result<LateSession, SessionError> {
        let session = self.0.connect_on(events).await?;
        Ok(LateSession { session, events: events.clone() })
    }
}

impl Session for LateSession {
    async fn prepare(&mut self, sql: &str) -> Result<StatementId, SessionError> {
        self.session.prepare(sql).await
    }

    fn put_execute(
        &mut self,
        id: StatementId,
        values: &[BoundValue<'_>],
    ) -> Result<(), SessionError> {
        self.session.put_execute(id, values)
    }

    fn put_query(&mut self, sql: &[u8]) {
        self.session.put_query(sql);
    }

    async fn exchange(&mut self) -> Result<Reply, SessionError> {
        let answer = self.session.exchange().await;
        self.events.sleep(LATE).await;
        answer
    }
}

#[test]
fn event_loops_see_the_latencies_that_a_thread_for_each_connection_sees() {
    let directory = tempfile::tempdir().unwrap();
    let endpoint = listen(directory.path());
    let connect = ClientConnect::new(&endpoint).unwrap();
    let late = LateConnect(ClientConnect::new(&endpoint).unwrap());
    let (mut threads, mut loops, mut lates) = (Best::NONE, Best::NONE, Best::NONE);
    for round in 0..ROUNDS {
        threads = threads.with(by_threads(&endpoint));
        loops = loops.with(by_loops(&connect));
        lates = lates.with(by_loops(&late));
        if round >= 2 && loops.is_like(threads) && !lates.is_like(threads) {
            return;
        }
    }
    assert!(loops.is_like(threads), "{loops:?} on event loops, {threads:?} on threads");
    assert!(!lates.is_like(threads), "the late client is not caught: {lates:?}, {threads:?}");
}
