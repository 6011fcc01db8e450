//! Who runs the load of a study: this process, or other machines on its behalf.

use std::fmt::Debug;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Result;
use assay_hosts::ClockOffset;
use assay_load::{LoadSpec, Observer, Outcome, Shortage};
use assay_study::Warning;
use serde::{Deserialize, Serialize};

/// By which way the load reaches a server of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// Over its socket, from this process.
    Socket,
    /// Over the network, where this is the address or name of this machine.
    Network(String),
}

/// What is known of the machines that had a part in a load. Of this one alone: nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AboutHosts {
    /// The clock of each beside that of the machine that began the study.
    pub clocks: Vec<HostClock>,
    /// Why their seconds may not lie beside each other as they are put.
    pub doubts: Vec<Warning>,
}

/// A host's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostClock {
    /// As the user named the host.
    pub host: String,
    /// When the load began.
    pub clock: ClockOffset,
}

/// What a load found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// All together, by the run's clock.
    pub outcome: Outcome,
    /// Where it came from.
    pub about: AboutHosts,
}

/// Runs loads.
pub trait Loads: Debug + Sync {
    /// By which way they come.
    ///
    /// # Errors
    /// It is not known by which address others reach this machine.
    fn way(&self) -> Result<Way>;

    /// Makes sure that all who have a part in a load are there; called before each run.
    ///
    /// # Errors
    /// Somebody is not, and has not come back after a while.
    fn make_ready(&self) -> Result<()>;

    /// Looks for what would stop a load; says if its rate cannot be carried.
    ///
    /// # Errors
    /// What was found.
    fn preflight(&self, load: &LoadSpec) -> assay_load::Result<Option<Shortage>>;

    /// Loads. Seconds are counted from `origin`, on a whole second of which the load begins; `stop` ends it early, with what was
    /// measured.
    ///
    /// # Errors
    /// What the load met first.
    fn run(
        &self,
        load: &LoadSpec,
        origin: Instant,
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> assay_load::Result<LoadResult>;
}

/// Loads from this process.
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
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> assay_load::Result<LoadResult> {
        let outcome = assay_load::run(load, Some(origin), observer, stop)?;
        Ok(LoadResult { outcome, about: AboutHosts::default() })
    }
}
