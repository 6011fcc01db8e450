//! A fake server for tests: it answers after a set time, fails on demand, and logs all statements.

use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::schedule::Schedule;
use crate::schema::Schema;
use crate::spec::LoadSpec;
use crate::worker::render;
use crate::workload::Workload;
use assay_event_loop::Handle;
use assay_mysql::{BoundValue, Connect, Endpoint, Reply, Session, SessionError, StatementId};

type Failure = dyn Fn(usize, &str) -> Option<SessionError> + Send + Sync;
type Held = dyn Fn(usize) -> bool + Send + Sync;

/// Interval at which a held statement checks whether it still is held.
const HELD_FOR: Duration = Duration::from_micros(200);

/// A load of a fake server.
pub(crate) fn load(schema: &Schema, workload: &Workload, schedule: &Schedule) -> LoadSpec {
    LoadSpec {
        endpoint: Endpoint::root_over("/fake".as_ref(), "sbtest"),
        schema: schema.clone(),
        workload: workload.clone(),
        schedule: schedule.clone(),
    }
}

/// The log of a fake server.
#[derive(Default)]
struct Log {
    texts: Vec<String>,
    connections: usize,
    /// Statements executed, without connections and preparations.
    statements: usize,
}

/// A fake server. Clones share their state.
#[derive(Clone)]
pub(crate) struct FakeServer {
    service: Duration,
    log: Arc<Mutex<Log>>,
    failure: Arc<Failure>,
    held: Arc<Held>,
    /// True if statements find rows.
    finds_rows: bool,
    connections_max: usize,
    /// Numbers of the connections, from 0, that get no answer.
    away_for: Range<usize>,
}

impl FakeServer {
    /// A server with the service time `service` that never fails.
    pub(crate) fn new(service: Duration) -> FakeServer {
        FakeServer {
            service,
            log: Arc::default(),
            failure: Arc::new(|_, _| None),
            held: Arc::new(|_| false),
            finds_rows: true,
            connections_max: usize::MAX,
            away_for: 0..0,
        }
    }

    /// A server that calls `failure` with the number and text of each statement, except
    /// preparations.
    pub(crate) fn failing(
        failure: impl Fn(usize, &str) -> Option<SessionError> + Send + Sync + 'static,
    ) -> FakeServer {
        FakeServer::answering(Duration::ZERO, failure)
    }

    /// The same with a service time.
    pub(crate) fn answering(
        service: Duration,
        failure: impl Fn(usize, &str) -> Option<SessionError> + Send + Sync + 'static,
    ) -> FakeServer {
        FakeServer { failure: Arc::new(failure), ..FakeServer::new(service) }
    }

    /// Holds back the answers to the statements whose numbers `held` accepts.
    pub(crate) fn that_holds(
        self,
        held: impl Fn(usize) -> bool + Send + Sync + 'static,
    ) -> FakeServer {
        FakeServer { held: Arc::new(held), ..self }
    }

    /// Makes all tables empty.
    pub(crate) fn that_finds_nothing(self) -> FakeServer {
        FakeServer { finds_rows: false, ..self }
    }

    /// Refuses connections after the first `connections_max`.
    pub(crate) fn that_turns_away_after(self, connections_max: usize) -> FakeServer {
        FakeServer { connections_max, ..self }
    }

    /// Refuses the connections with these numbers.
    pub(crate) fn that_is_away_for(self, away_for: Range<usize>) -> FakeServer {
        FakeServer { away_for, ..self }
    }

    /// All statements so far, including `connect` and `prepare …`.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().texts.clone()
    }

    /// Logs a connection and returns its number, from 0.
    fn note_connection(&self) -> usize {
        let mut log = self.log.lock();
        log.texts.push("connect".into());
        log.connections += 1;
        log.connections - 1
    }

    fn note_prepared(&self, sql: &str) {
        self.log.lock().texts.push(format!("prepare {sql}"));
    }

    /// Logs a statement and returns its number, from 1.
    fn note_statement(&self, text: String) -> usize {
        let mut log = self.log.lock();
        log.texts.push(text);
        log.statements += 1;
        log.statements
    }
}

pub(crate) fn refusal(code: u16) -> SessionError {
    SessionError::Server { code, state: "HY000".into(), message: format!("error {code}") }
}

impl Connect for FakeServer {
    type Session = FakeSession;

    async fn connect_on(&self, events: &Handle) -> Result<FakeSession, SessionError> {
        let number = self.note_connection();
        if number >= self.connections_max || self.away_for.contains(&number) {
            return Err(SessionError::Connect("nobody listens".into()));
        }
        let (server, events) = (self.clone(), events.clone());
        Ok(FakeSession { server, events, statements: Vec::new(), asked: Vec::new() })
    }
}

pub(crate) struct FakeSession {
    server: FakeServer,
    events: Handle,
    statements: Vec<String>,
    asked: Vec<u8>,
}

impl Session for FakeSession {
    async fn prepare(&mut self, sql: &str) -> Result<StatementId, SessionError> {
        if sql == "BEGIN" {
            return Err(refusal(1295));
        }
        self.server.note_prepared(sql);
        self.statements.push(sql.into());
        Ok(StatementId(self.statements.len() - 1))
    }

    fn put_execute(
        &mut self,
        id: StatementId,
        values: &[BoundValue<'_>],
    ) -> Result<(), SessionError> {
        self.asked.clear();
        render(&self.statements[id.0], values, &mut self.asked);
        Ok(())
    }

    fn put_query(&mut self, sql: &[u8]) {
        self.asked = sql.to_vec();
    }

    async fn exchange(&mut self) -> Result<Reply, SessionError> {
        // Also without a service time, so that other tasks have their turn.
        self.events.sleep(self.server.service.max(Duration::from_nanos(1))).await;
        let text = String::from_utf8_lossy(&self.asked).into_owned();
        let number = self.server.note_statement(text.clone());
        while (self.server.held)(number) {
            self.events.sleep(HELD_FOR).await;
        }
        if let Some(error) = (self.server.failure)(number, &text) {
            return Err(error);
        }
        let found = u64::from(self.server.finds_rows);
        Ok(match text.split(' ').next() {
            Some("SELECT") => Reply::Rows { rows: found },
            Some("UPDATE" | "DELETE" | "INSERT") => Reply::Done { affected: found },
            _ => Reply::Done { affected: 0 },
        })
    }
}
