//! A target with disks in memory, and remotes that lead to it.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use assay_disk::{BLOCK_BYTES, Disk, Guarantees, MemoryDisk, Result};
use assay_nvme::controller::{
    HostAccess, HostIdentity, Namespace, NamespaceFacts, NamespaceHealth, NamespaceId, Report,
    Subsystem, Texts,
};
use assay_nvme::initiator::Remote;
use assay_nvme::target::{NvmeTarget, TargetLimits};
use assay_nvme::wire::{Digests, Nqn};

pub(crate) const BLOCKS: u64 = 4096;
pub(crate) const ATOMIC_BYTES: u64 = 256 << 10;

/// Blocks in memory that promise what the drive does.
pub(crate) struct Promising(pub(crate) MemoryDisk);

impl Disk for Promising {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: ATOMIC_BYTES, volatile_cache: true }
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.0.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        self.0.write(offset, data, force_unit_access)
    }

    fn flush(&self) -> Result<()> {
        self.0.flush()
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.0.discard(offset, length)
    }
}

/// Fixed facts and health.
#[derive(Clone, Copy)]
pub(crate) struct Told(pub(crate) NamespaceFacts, pub(crate) NamespaceHealth);

impl Report for Told {
    fn facts(&self) -> NamespaceFacts {
        self.0
    }

    fn health(&self) -> NamespaceHealth {
        self.1
    }
}

pub(crate) fn health() -> NamespaceHealth {
    NamespaceHealth {
        host_read_bytes: 1_024_000,
        host_written_bytes: 512_001,
        reads: 3,
        writes: 4,
        media_read_bytes: 77,
        media_written_bytes: 99_999,
        free_percent: 40,
        free_threshold_percent: 10,
        endurance_bytes: Some(1_000_000),
        media_errors: 0,
        power_cycles: 5,
        unsafe_shutdowns: 1,
        powered_s: 7200,
        is_read_only: false,
        is_damaged: false,
    }
}

pub(crate) fn facts() -> NamespaceFacts {
    NamespaceFacts {
        used_bytes: 10 * BLOCK_BYTES,
        media_bytes: 1 << 20,
        is_thin: true,
        optimal_write_bytes: 64 << 10,
        is_read_only: false,
    }
}

pub(crate) fn name(text: &str) -> Nqn {
    Nqn::parse(&format!("nqn.2026-11.test:{text}")).unwrap()
}

pub(crate) fn host(number: u8) -> HostIdentity {
    HostIdentity { name: name(&format!("host-{number}")), id: [number; 16] }
}

pub(crate) fn subsystem(
    text: &str,
    access: HostAccess,
    disks: Vec<Arc<dyn Disk>>,
) -> Arc<Subsystem> {
    let texts = Texts { serial: "S1".into(), model: "Test".into(), firmware: "1".into() };
    let numbered = (1..).zip(disks);
    let namespaces = numbered.map(|(number, disk)| {
        let id = NamespaceId { nguid: [number; 16], uuid: [number + 100; 16] };
        Namespace::new(disk, id, Box::new(Told(facts(), health())))
    });
    Arc::new(Subsystem::new(name(text), texts, access, namespaces.collect()))
}

pub(crate) fn memory() -> Arc<dyn Disk> {
    Arc::new(Promising(MemoryDisk::new(BLOCKS * BLOCK_BYTES).unwrap()))
}

pub(crate) fn serve(subsystems: Vec<Arc<Subsystem>>) -> NvmeTarget {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    NvmeTarget::start(listener, subsystems, TargetLimits::default()).unwrap()
}

pub(crate) fn remote(target: &NvmeTarget, subsystem: &str, number: u8) -> Remote {
    Remote {
        address: target.address(),
        subsystem: name(subsystem),
        host: host(number),
        queues: 4,
        digests: Digests::default(),
        keep_alive: Duration::from_secs(5),
        patience: Duration::from_secs(20),
    }
}
