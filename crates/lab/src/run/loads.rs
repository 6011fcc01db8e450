//! The load of a study, run by this process or by other machines.

use std::fmt::Debug;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Result;
use assay_hosts::ClockOffset;
use assay_load::{LoadObserver, LoadOutcome, LoadSpec, Shortage};
use assay_study::Warning;
use serde::{Deserialize, Serialize};

/// The way from the load to a server of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// From this process.
    Socket,
    /// Over the network, to this address or name of this machine.
    Network(String),
}

/// Facts of the other machines that took part in a load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AboutHosts {
    /// Compared with the clock of the machine that started the study.
    pub clocks: Vec<HostClock>,
    /// Reasons why their seconds may be shifted.
    pub doubts: Vec<Warning>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostClock {
    /// The host's name as the user gave it.
    pub host: String,
    /// At the start of the load.
    pub clock: ClockOffset,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// All hosts together, by the run's clock.
    pub outcome: LoadOutcome,
    pub about: AboutHosts,
}

pub trait Loads: Debug + Sync {
    /// # Errors
    /// The address of this machine for others is not known.
    fn way(&self) -> Result<Way>;

    /// Called before each run: reconnects to machines that were lost.
    ///
    /// # Errors
    /// A machine has not come back after a while.
    fn make_ready(&self) -> Result<()>;

    /// Checks that the load can be run. Reports a shortage that the run can tolerate.
    fn preflight(&self, load: &LoadSpec) -> assay_load::Result<Option<Shortage>>;

    /// Runs a load. Its seconds count from `origin`, and it starts on a whole second; `stop` ends
    /// it early, with everything measured until then.
    fn run(
        &self,
        load: &LoadSpec,
        origin: Instant,
        observer: &dyn LoadObserver,
        stop: &AtomicBool,
    ) -> assay_load::Result<LoadResult>;
}

/// Runs loads in this process.
#[derive(Debug)]
pub struct FromHere;

impl Loads for FromHere {
    fn way(&self) -> Result<Way> {
        Ok(Way::Socket)
    }

    fn make_ready(&self) -> Result<()> {
        Ok(())
    }

    fn preflight(&self, load: &LoadSpec) -> assay_load::Result<Option<Shortage>> {
        assay_load::preflight(load)?;
        assay_load::shortage(load)
    }

    fn run(
        &self,
        load: &LoadSpec,
        origin: Instant,
        observer: &dyn LoadObserver,
        stop: &AtomicBool,
    ) -> assay_load::Result<LoadResult> {
        let outcome = assay_load::run(load, Some(origin), observer, stop)?;
        Ok(LoadResult { outcome, about: AboutHosts::default() })
    }
}
