//! A subsystem: the namespaces under one name, and the hosts that may use them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use parking_lot::Mutex;

use assay_disk::Disk;

use super::facts::{NamespaceFacts, NamespaceHealth};
use super::gate::Gate;
use crate::wire::Nqn;

/// Identifiers of a namespace, stable over restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NamespaceId {
    /// NGUID.
    pub nguid: [u8; 16],
    /// UUID.
    pub uuid: [u8; 16],
}

/// States a namespace's facts and health at the time of the call.
pub trait Report: Send + Sync {
    /// Facts for Identify.
    fn facts(&self) -> NamespaceFacts;

    /// Health for the log pages.
    fn health(&self) -> NamespaceHealth;
}

/// A disk as a namespace.
pub struct Namespace {
    disk: Arc<dyn Disk>,
    id: NamespaceId,
    report: Box<dyn Report>,
}

impl Namespace {
    /// A namespace with these identifiers.
    #[must_use]
    pub fn new(disk: Arc<dyn Disk>, id: NamespaceId, report: Box<dyn Report>) -> Namespace {
        Namespace { disk, id, report }
    }

    /// The disk.
    #[must_use]
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The identifiers.
    #[must_use]
    pub fn id(&self) -> NamespaceId {
        self.id
    }

    pub(crate) fn facts(&self) -> NamespaceFacts {
        self.report.facts()
    }

    pub(crate) fn health(&self) -> NamespaceHealth {
        self.report.health()
    }
}

/// Texts of Identify data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    /// Serial number, at most 20 characters.
    pub serial: String,
    /// Model, at most 40 characters.
    pub model: String,
    /// Revision, at most 8 characters.
    pub firmware: String,
}

/// A host, by what its Connect says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostIdentity {
    /// Its name.
    pub name: Nqn,
    /// Its identifier.
    pub id: [u8; 16],
}

/// Rules for hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostAccess {
    /// Names of hosts that may connect; `None` for any.
    pub hosts: Option<Vec<Nqn>>,
    /// Whether several hosts may write at the same time.
    pub is_shared: bool,
}

/// The reason for which a host gets no controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The host is not on the list.
    NotAllowed,
    /// Another host writes to the subsystem.
    Taken {
        /// That host.
        by: Nqn,
    },
    /// Every number of a controller is taken.
    Full,
    /// Commands of the host's former association have not ended.
    Busy,
}

/// Most controllers of a subsystem at a time.
pub const CONTROLLERS_MAX: usize = 64;

/// A live controller as its subsystem knows it.
#[derive(Clone)]
struct Association {
    host: HostIdentity,
    gate: Arc<Gate>,
}

/// A subsystem.
pub struct Subsystem {
    name: Nqn,
    texts: Texts,
    access: HostAccess,
    namespaces: BTreeMap<u32, Arc<Namespace>>,
    live: Mutex<BTreeMap<u16, Association>>,
    next: AtomicU16,
}

impl Subsystem {
    /// A subsystem with namespaces 1, 2, … in this order. The discovery service has its name and no
    /// namespaces.
    #[must_use]
    pub fn new(
        name: Nqn,
        texts: Texts,
        access: HostAccess,
        namespaces: Vec<Namespace>,
    ) -> Subsystem {
        let numbered = (1..).zip(namespaces.into_iter().map(Arc::new)).collect();
        let (live, next) = (Mutex::default(), AtomicU16::new(1));
        Subsystem { name, texts, access, namespaces: numbered, live, next }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &Nqn {
        &self.name
    }

    /// Returns true for the discovery service.
    #[must_use]
    pub fn is_discovery(&self) -> bool {
        self.name.is_discovery()
    }

    /// Returns true if a host of this name may connect, and so sees the subsystem in discovery.
    #[must_use]
    pub fn allows(&self, host: &Nqn) -> bool {
        self.access.hosts.as_ref().is_none_or(|hosts| hosts.contains(host))
    }

    /// The namespaces with their numbers.
    #[must_use]
    pub fn namespaces(&self) -> Vec<(u32, &Arc<Namespace>)> {
        self.namespaces.iter().map(|(number, namespace)| (*number, namespace)).collect()
    }

    pub(crate) fn namespace(&self, number: u32) -> Option<&Arc<Namespace>> {
        self.namespaces.get(&number)
    }

    pub(crate) fn highest_number(&self) -> u32 {
        self.namespaces.last_key_value().map_or(0, |(number, _)| *number)
    }

    pub(crate) fn texts(&self) -> &Texts {
        &self.texts
    }

    /// Numbers of namespaces behind `after`.
    pub(crate) fn numbers_after(&self, after: u32) -> impl Iterator<Item = u32> + '_ {
        self.namespaces.keys().copied().filter(move |number| *number > after)
    }

    /// Hosts that are connected now, by name.
    #[must_use]
    pub fn connected(&self) -> Vec<Nqn> {
        self.live.lock().values().map(|one| one.host.name.clone()).collect()
    }

    /// Ends the associations of `host`, so that none of their commands reaches a disk any more, and
    /// admits a new one.
    ///
    /// # Errors
    /// [`Refusal`]; former associations of the host stay closed after [`Refusal::Busy`].
    pub(crate) fn admit(&self, host: &HostIdentity) -> Result<(u16, Arc<Gate>), Refusal> {
        if !self.allows(&host.name) {
            return Err(Refusal::NotAllowed);
        }
        let mut live = self.live.lock();
        live.retain(|_, one| !one.gate.is_drained());
        if let Some(other) = self.other_writer(&live, host) {
            return Err(Refusal::Taken { by: other });
        }
        if !self.is_discovery() {
            let former = || live.iter().filter(|(_, one)| one.host == *host);
            former().for_each(|(_, one)| one.gate.close());
            if former().any(|(_, one)| !one.gate.is_drained()) {
                return Err(Refusal::Busy);
            }
            live.retain(|_, one| !one.gate.is_drained());
        }
        if live.len() >= CONTROLLERS_MAX {
            return Err(Refusal::Full);
        }
        let number = self.free_number(&live);
        let gate = Arc::new(Gate::new());
        live.insert(number, Association { host: host.clone(), gate: Arc::clone(&gate) });
        Ok((number, gate))
    }

    fn other_writer(&self, live: &BTreeMap<u16, Association>, host: &HostIdentity) -> Option<Nqn> {
        if self.is_discovery() || self.access.is_shared {
            return None;
        }
        live.values().find(|one| one.host != *host).map(|one| one.host.name.clone())
    }

    /// Numbers of controllers go round, so that a queue of a former one finds no new one.
    fn free_number(&self, live: &BTreeMap<u16, Association>) -> u16 {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            // FFF0h and above are reserved (Base, 3.1.1), 0 is not used.
            if (1..0xfff0).contains(&number) && !live.contains_key(&number) {
                return number;
            }
        }
    }

    /// Ends an association that `admit` made. Its commands in flight end by themselves; until then
    /// its host's next Connect is refused as busy.
    pub(crate) fn release(&self, number: u16, gate: &Arc<Gate>) {
        gate.close();
        let mut live = self.live.lock();
        let is_its = live.get(&number).is_some_and(|one| Arc::ptr_eq(&one.gate, gate));
        if is_its && gate.is_drained() {
            live.remove(&number);
        }
    }
}
