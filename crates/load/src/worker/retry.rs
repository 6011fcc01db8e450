//! Retries of an event: after errors that the load ignores, on the same connection or a new one.

use std::time::Duration;

use assay_mysql::{Connect, LOST_IN_QUERY, Session, SessionError};

use super::statement::Slots;
use super::{Statements, Worker};
use crate::connect::{At, is_of_changed_table, is_of_restart};
use crate::error::{Error, Result};
use crate::generator::Generator;
use crate::mode::Mode;
use crate::oltp::StatementKind;
use crate::record::{Event, Time};

/// Approximate interval between attempts to connect to a restarting server.
const KNOCK_EVERY_NS: u64 = 100_000_000;

/// The failure of an attempt at an event.
pub(super) enum Setback {
    /// Ends the events of this worker; this one does not count.
    GiveUp,
    /// Runs the event again.
    Again { code: u16 },
    /// Connects anew, then runs the event again.
    Reconnect { code: u16 },
    /// Connects anew once the server answers again, then runs the event again.
    AwaitServer { code: u16 },
    /// Gives up the whole run.
    Fatal(Error),
}

impl<C: Connect> Worker<'_, Statements<'_, C>> {
    /// Repeats the event until it succeeds, the run is over, or an error is not ignored.
    pub(super) async fn end_event(&mut self, planned: u64) -> Result<()> {
        let mut attempt = 0;
        let drawn_from = self.rng.clone();
        self.set_again(false);
        loop {
            let began = self.now;
            match self.attempt().await {
                Ok(()) => {
                    self.note_event(planned, began);
                    return Ok(());
                }
                Err(Setback::GiveUp) => {
                    self.gave_up = true;
                    return Ok(());
                }
                Err(setback) => self.recover(setback, attempt).await?,
            }
            attempt += 1;
            self.set_again(true);
            if self.program().generator == Generator::V04 {
                // Requests are built before they run: a retry sends the same ids.
                self.rng = drawn_from.clone();
            }
            if self.stopped() || self.now >= self.shared.window.stop() {
                self.leave_unfinished(planned);
                return Ok(());
            }
        }
    }

    pub(super) fn setback(
        &self,
        error: SessionError,
        kind: StatementKind,
        table: usize,
    ) -> Setback {
        let rides_out = self.shared.task.rides_out;
        let code = error.code();
        if rides_out.restarts && is_of_restart(&error) {
            return Setback::AwaitServer { code: code.unwrap_or(LOST_IN_QUERY) };
        }
        let is_ridden_out = rides_out.changed_tables && is_of_changed_table(&error);
        let ignored = code.filter(|_| !self.never_reconnects(&error)).filter(|code| {
            is_ridden_out || self.program().workload.mysql_ignore_errors.covers(*code)
        });
        match (ignored, &error) {
            (Some(code), SessionError::Lost { .. }) => Setback::Reconnect { code },
            (Some(code), _) => Setback::Again { code },
            (None, _) => {
                let text = self.program().statement(kind, table);
                Setback::Fatal(error.at(self.shared.task.endpoint, text))
            }
        }
    }

    async fn recover(&mut self, setback: Setback, attempt: u32) -> Result<()> {
        match setback {
            Setback::GiveUp => {}
            Setback::Fatal(error) => return Err(error),
            Setback::Again { code } => {
                self.note(Event::Ignored, Time::Both, u64::from(code));
                if self.program().workload.mode == Mode::Strict {
                    self.roll_back().await?;
                    self.back_off(attempt).await;
                }
            }
            Setback::Reconnect { code } => {
                self.note(Event::Ignored, Time::Both, u64::from(code));
                let connected = self.shared.task.connect(&self.events).await;
                self.take_up(connected.map_err(|error| not_anew(code, error))?);
            }
            Setback::AwaitServer { code } => {
                self.note(Event::Ignored, Time::Both, u64::from(code));
                self.await_server().await;
            }
        }
        self.now = self.clock.now();
        Ok(())
    }

    fn take_up(&mut self, (session, slots): (C::Session, Vec<Slots>)) {
        self.hand.session = session;
        self.hand.slots = slots;
        self.note(Event::Reconnect, Time::Both, 0);
    }

    /// Tries to connect until the server accepts, or the load is over. Errors are expected: the
    /// server restarts.
    async fn await_server(&mut self) {
        while !self.stopped() && self.clock.now() < self.shared.window.stop() {
            let connect = self.shared.task.connect(&self.events);
            let connected = self.events.until(None, || self.stopped(), connect).await;
            if let Some(Ok(connected)) = connected {
                self.now = self.clock.now();
                return self.take_up(connected);
            }
            // Random, so that the workers, which all lost their connections at once, do not
            // reconnect at once.
            let until = self.clock.now() + KNOCK_EVERY_NS / 2 + self.rng.below(KNOCK_EVERY_NS);
            self.wait_until(until).await;
        }
    }

    /// After error 1205 the server keeps the transaction open, and the retry's `BEGIN` would commit
    /// half of it.
    async fn roll_back(&mut self) -> Result<()> {
        self.hand.session.put_query(b"ROLLBACK");
        let answer = self.hand.session.exchange().await;
        answer.map(drop).map_err(|error| error.at(self.shared.task.endpoint, "ROLLBACK"))
    }

    /// Waits 0 to 1 ms before the first retry, twice as long before each further one, at most 64
    /// ms.
    async fn back_off(&mut self, attempt: u32) {
        let longest = Duration::from_millis(1 << attempt.min(6)).as_nanos() as u64;
        let until = self.clock.now() + self.rng.below(longest);
        self.wait_until(until).await;
    }
}

/// The error of a connection that broke with `code` and could not be made anew.
fn not_anew(code: u16, error: Error) -> Error {
    let reason = match error {
        Error::Connect { reason, .. } => reason,
        other => other.to_string(),
    };
    Error::Lost(format!("a connection broke with error {code}, and reconnecting failed ({reason})"))
}
