//! A session on an event loop, which serves many sessions on one thread.

use std::time::Instant;

use assay_event_loop::{Handle, Watch};

use super::ClientConnect;
use super::login;
use super::socket::{LOOP_CONNECT_TIMEOUT, Socket, Stream};
use super::talk::Talk;
use crate::session::{BoundValue, Connect, Reply, Session, SessionError, StatementId};

/// A connection to a server, used by one task of a loop.
pub struct LoopSession {
    talk: Talk<Watch>,
}

impl ClientConnect {
    async fn log_in_on(&self, events: &Handle) -> Result<LoopSession, SessionError> {
        let failed = |error: std::io::Error| SessionError::Connect(error.to_string());
        let connected = Socket::connect_on(&self.endpoint.address, events).await;
        let (socket, watch) = connected.map_err(failed)?;
        let stream = Stream::Plain(socket);
        let login =
            login::log_in(stream, watch, &self.endpoint, self.tls.as_ref(), self.counts_matches);
        let mut wire = login.await?;
        wire.be_logged_in(true).map_err(failed)?;
        Ok(LoopSession { talk: Talk::over(wire, u64::MAX) })
    }
}

impl Connect for ClientConnect {
    type Session = LoopSession;

    async fn connect_on(&self, events: &Handle) -> Result<LoopSession, SessionError> {
        // Boxed: the login's large state is needed once and must not enlarge the task for good.
        let login = Box::pin(self.log_in_on(events));
        let deadline = Instant::now() + LOOP_CONNECT_TIMEOUT;
        let connected = events.until(Some(deadline), || false, login).await;
        connected.unwrap_or_else(|| {
            Err(SessionError::Connect("the server did not answer in time".into()))
        })
    }
}

impl Session for LoopSession {
    async fn prepare(&mut self, sql: &str) -> Result<StatementId, SessionError> {
        self.talk.prepare(sql).await
    }

    #[inline]
    fn put_execute(
        &mut self,
        id: StatementId,
        values: &[BoundValue<'_>],
    ) -> Result<(), SessionError> {
        self.talk.put_execute(id, values)
    }

    #[inline]
    fn put_query(&mut self, sql: &[u8]) {
        self.talk.put_query(sql);
    }

    #[inline]
    fn exchange(&mut self) -> impl Future<Output = Result<Reply, SessionError>> {
        self.talk.exchange()
    }
}
