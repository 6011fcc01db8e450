//! What a load host is told, and what it tells.

use std::fmt;

use assay_load::{
    Address, Endpoint, Outcome, Schedule, Schema, Second, ServerKey, Shortage, Tls, Workload,
};
use serde::{Deserialize, Serialize};

use super::files::Carried;

/// The works, as they are called.
pub(super) const LOAD: &str = "load";
pub(super) const PREFLIGHT: &str = "preflight";

/// A load: of all hosts, but for the part that is in the schedule. Files that it names are of this machine.
#[derive(Debug, Clone)]
pub struct LoadTask {
    /// The server, as the hosts reach it.
    pub endpoint: Endpoint,
    /// On which tables.
    pub schema: Schema,
    /// What is run.
    pub workload: Workload,
    /// How, all hosts together.
    pub schedule: Schedule,
}

/// The same on its way.
#[derive(Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) account: Account,
    pub(super) schema: Schema,
    pub(super) workload: Workload,
    pub(super) schedule: Schedule,
    pub(super) files: Vec<Carried>,
}

/// An endpoint on its way, with its password: never stored, never shown.
#[derive(Clone, Serialize, Deserialize)]
pub struct Account {
    address: Address,
    user: String,
    password: String,
    database: String,
    tls: Tls,
    key: ServerKey,
    hides_user: bool,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("address", &self.address).finish_non_exhaustive()
    }
}

impl From<Endpoint> for Account {
    fn from(endpoint: Endpoint) -> Account {
        let Endpoint { address, user, password, database, tls, key, hides_user } = endpoint;
        Account { address, user, password, database, tls, key, hides_user }
    }
}

impl From<Account> for Endpoint {
    fn from(account: Account) -> Endpoint {
        let Account { address, user, password, database, tls, key, hides_user } = account;
        Endpoint { address, user, password, database, tls, key, hides_user }
    }
}

/// When to begin, in ns since 1970 of the clock of whoever is told.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Begin {
    pub(super) at_ns: u64,
}

/// What a load tells while it runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoadTold {
    /// All connections are ready.
    Ready,
    /// The measuring window lies there, in seconds of the load's clock; without an end where it ends with the last event.
    Window { from_s: f64, to_s: Option<f64> },
    /// A second has ended.
    Second(Box<Second>),
    /// An error ends the load, which follows: what was measured until then.
    BrokenOff(Box<Outcome>),
}

/// Why a load, or the look before it, came to nothing there.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoadFailed {
    /// As the load has it.
    Load(assay_load::Error),
    /// The word to begin came so much too late, in ms.
    Late(f64),
    /// Something of the host's own.
    Host(String),
}

/// What comes of a load.
pub(super) type LoadDone = Outcome;

/// What comes of the look before it.
pub(super) type PreflightDone = Option<Shortage>;
