//! The load of a study from several other machines concurrently.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use assay_base::HostSpec;
use assay_hosts::load::{HostOutcome, LoadFound, preflight, run};
use assay_hosts::{Failure, FailureReason, HostSession};
use assay_load::{Error, LoadObserver, LoadSpec, Shortage};
use assay_study::Warning;
use parking_lot::Mutex;

use super::reach::{HostContext, STOPS};
use crate::run::loads::{AboutHosts, HostClock, LoadResult, Loads, Way};

#[derive(Debug)]
pub struct FromHosts<'a> {
    specs: Vec<HostSpec>,
    ways: HostContext<'a>,
    /// One with each host, or none after one was lost.
    sessions: Mutex<Vec<HostSession>>,
}

impl<'a> FromHosts<'a> {
    /// Connects to all hosts.
    ///
    /// # Errors
    /// One cannot be used.
    pub fn connect(specs: Vec<HostSpec>, ways: HostContext<'a>) -> Result<FromHosts<'a>> {
        let sessions = with_each(&specs, |spec| ways.to(spec))?;
        Ok(FromHosts { specs, ways, sessions: sessions.into() })
    }

    /// Ends all sessions, once the programs there have removed their resources.
    ///
    /// # Errors
    /// A session does not end in order.
    pub fn end(self) -> Result<()> {
        Ok(self.sessions.into_inner().into_iter().try_for_each(HostSession::end)?)
    }

    /// Runs `act` on all sessions. A failure closes them, since any of them may be the lost one.
    fn with<T>(&self, act: impl FnOnce(&[HostSession]) -> Result<T, Failure>) -> Result<T, Error> {
        let mut sessions = self.sessions.lock();
        act(&sessions).map_err(|failure| {
            sessions.clear();
            Error::Host(failure.to_string())
        })
    }
}

/// Runs `act` on all hosts concurrently.
fn with_each<T: Send>(
    specs: &[HostSpec],
    act: impl Fn(&HostSpec) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    thread::scope(|scope| {
        let threads: Vec<_> = specs.iter().map(|spec| scope.spawn(|| act(spec))).collect();
        let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
        // Passes on a thread's panic.
        ended.map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

impl Loads for FromHosts<'_> {
    /// Uses the address at which the first host saw this machine.
    fn way(&self) -> Result<Way> {
        let sessions = self.sessions.lock();
        let address = sessions.first().and_then(|session| session.facts().client.clone());
        let what =
            || format!("{} does not tell by which address it saw us come", self.specs[0].ssh);
        Ok(Way::Network(address.with_context(what)?))
    }

    fn make_ready(&self) -> Result<()> {
        let mut sessions = self.sessions.lock();
        if sessions.is_empty() {
            *sessions = with_each(&self.specs, |spec| self.ways.back_to(spec)).context(STOPS)?;
        }
        Ok(())
    }

    fn preflight(&self, load: &LoadSpec) -> assay_load::Result<Option<Shortage>> {
        let stop = self.ways.interrupt.flag();
        self.with(|sessions| preflight(sessions, load, stop))
    }

    fn run(
        &self,
        load: &LoadSpec,
        origin: Instant,
        observer: &dyn LoadObserver,
        stop: &AtomicBool,
    ) -> assay_load::Result<LoadResult> {
        let found = self.with(|sessions| run(sessions, load, Some(origin), observer, stop));
        let LoadFound { outcome, hosts, doubt } = found?;
        let clock = |HostOutcome { host, clock, .. }| HostClock { host, clock };
        let clocks = hosts.into_iter().map(clock).collect();
        let doubts = doubt.iter().map(doubted).collect();
        Ok(LoadResult { outcome, about: AboutHosts { clocks, doubts } })
    }
}

/// The warning that the seconds of a host may be shifted.
pub(super) fn doubted(failure: &Failure) -> Warning {
    let by_ms = match failure.reason {
        FailureReason::ClockMoved { by_ms } => Some(by_ms),
        _ => None,
    };
    Warning::ClockMoved { host: failure.host.clone(), by_ms }
}
