//! Loads that the server's machine has run by the machine that started the study.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Result;
use assay_hosts::{Talk, ns_of};
use assay_load::{Error, LoadObserver, LoadSpec, Shortage};

use super::task::{FromServer, ToServer};
use crate::run::loads::{LoadResult, Loads, Way};

#[derive(Debug)]
pub(super) struct Relayed<'a> {
    pub(super) talk: &'a Talk,
    /// The address of this machine for the load.
    pub(super) address: String,
}

impl Relayed<'_> {
    /// # Errors
    /// The session ends.
    fn hear(&self) -> assay_load::Result<ToServer> {
        let told = self.talk.hear().and_then(|value| serde_json::from_value(value).ok());
        told.ok_or_else(|| {
            Error::Host("the session with the machine that began the study ended".into())
        })
    }
}

impl Loads for Relayed<'_> {
    fn way(&self) -> Result<Way> {
        Ok(Way::Network(self.address.clone()))
    }

    fn make_ready(&self) -> Result<()> {
        Ok(())
    }

    fn preflight(&self, load: &LoadSpec) -> assay_load::Result<Option<Shortage>> {
        self.talk.tell(&FromServer::Preflight(Box::new(load.clone())));
        loop {
            if let ToServer::Preflighted(found) = self.hear()? {
                return found;
            }
        }
    }

    /// Ignores `stop`: the other end stops the load.
    fn run(
        &self,
        load: &LoadSpec,
        origin: Instant,
        observer: &dyn LoadObserver,
        _stop: &AtomicBool,
    ) -> assay_load::Result<LoadResult> {
        let load = Box::new(load.clone());
        self.talk.tell(&FromServer::Load { load, origin_ns: ns_of(origin) });
        loop {
            match self.hear()? {
                ToServer::Window { from_s, to_s } => {
                    observer.window(from_s, to_s.unwrap_or(f64::MAX));
                }
                ToServer::Second(second) => observer.second(&second),
                ToServer::Loaded(ended) => return *ended,
                ToServer::Run(_) | ToServer::Preflighted(_) => {}
            }
        }
    }
}
