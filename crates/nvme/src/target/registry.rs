//! The subsystems of a target and their live controllers, for Connect and for discovery.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use zerocopy::IntoBytes;

use crate::controller::{
    Controller, Directory, Finder, HostAccess, HostIdentity, Subsystem, Texts,
};
use crate::wire::{DiscoveryHeader, DiscoveryRecord, Nqn};

/// Generation of the discovery log: it does not change while a target runs.
const GENERATION: u64 = 1;

/// Subsystems by name, controllers by number.
pub struct Registry {
    subsystems: BTreeMap<Nqn, Arc<Subsystem>>,
    controllers: Mutex<Vec<Weak<Controller>>>,
}

impl Registry {
    pub(super) fn new(subsystems: Vec<Arc<Subsystem>>) -> Registry {
        let texts = Texts {
            serial: "0".into(),
            model: "Assay discovery".into(),
            firmware: env!("CARGO_PKG_VERSION").into(),
        };
        let discovery = Subsystem::new(Nqn::discovery(), texts, HostAccess::default(), Vec::new());
        let all = subsystems.into_iter().chain([Arc::new(discovery)]);
        Registry {
            subsystems: all.map(|one| (one.name().clone(), one)).collect(),
            controllers: Mutex::default(),
        }
    }

    /// The subsystems but the discovery service.
    pub fn subsystems(&self) -> impl Iterator<Item = &Arc<Subsystem>> {
        self.subsystems.values().filter(|one| !one.is_discovery())
    }

    /// Hosts that are connected to a subsystem, by name.
    #[must_use]
    pub fn hosts(&self, subsystem: &Nqn) -> Vec<Nqn> {
        let live = self.live();
        let of = live.iter().filter(|one| one.subsystem().name() == subsystem);
        of.map(|one| one.host().name.clone()).collect()
    }

    pub(super) fn add(&self, controller: &Arc<Controller>) {
        let mut controllers = self.controllers.lock();
        controllers.retain(|one| one.strong_count() > 0);
        controllers.push(Arc::downgrade(controller));
    }

    /// The controllers whose associations go on.
    pub(super) fn live(&self) -> Vec<Arc<Controller>> {
        let controllers = self.controllers.lock();
        controllers.iter().filter_map(Weak::upgrade).filter(|one| !one.is_over()).collect()
    }
}

/// A registry as the connections of one address see it.
pub(super) struct AtAddress {
    pub(super) registry: Arc<Registry>,
    pub(super) address: SocketAddr,
}

impl Finder for AtAddress {
    fn subsystem(&self, name: &Nqn) -> Option<Arc<Subsystem>> {
        self.registry.subsystems.get(name).cloned()
    }

    fn controller(&self, subsystem: &Subsystem, number: u16) -> Option<Arc<Controller>> {
        let is_it = |one: &Arc<Controller>| {
            one.id() == number && one.subsystem().name() == subsystem.name()
        };
        self.registry.live().into_iter().find(is_it)
    }

    fn directory(&self) -> Option<Arc<dyn Directory>> {
        let (registry, address) = (Arc::clone(&self.registry), self.address);
        Some(Arc::new(AtAddress { registry, address }))
    }
}

impl Directory for AtAddress {
    /// The subsystems that the host may connect to, at the address at which it asks.
    fn log(&self, host: &HostIdentity) -> Vec<u8> {
        let seen: Vec<DiscoveryRecord> = self
            .registry
            .subsystems()
            .filter(|one| one.allows(&host.name))
            .map(|one| DiscoveryRecord::new(one.name(), self.address))
            .collect();
        let header = DiscoveryHeader::new(GENERATION, seen.len() as u64);
        [header.as_bytes(), seen.as_slice().as_bytes()].concat()
    }
}
