//! Who may connect, and what becomes of those before.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_disk::{BLOCK_BYTES, Disk, DiskError, Guarantees, MemoryDisk, Result};
use assay_nvme::controller::HostAccess;
use assay_nvme::initiator::{ConnectError, Remote, RemoteDisk, discover};
use parking_lot::{Condvar, Mutex};

use crate::server::{host, memory, name, remote, serve, subsystem};

#[test]
fn a_second_host_is_refused_until_the_first_has_left_unless_sharing_was_said() {
    let shared = HostAccess { is_shared: true, ..HostAccess::default() };
    let target = serve(vec![
        subsystem("one", HostAccess::default(), vec![memory()]),
        subsystem("shared", shared, vec![memory()]),
    ]);
    let first = RemoteDisk::connect(remote(&target, "one", 1), 1).unwrap();
    let refused = RemoteDisk::connect(remote(&target, "one", 2), 1).err();
    assert!(matches!(refused, Some(ConnectError::Busy)), "{refused:?}");
    drop(first);
    let deadline = Instant::now() + Duration::from_secs(30);
    while RemoteDisk::connect(remote(&target, "one", 2), 1).is_err() {
        assert!(Instant::now() < deadline, "the first has left");
    }
    let _one = RemoteDisk::connect(remote(&target, "shared", 1), 1).unwrap();
    let _two = RemoteDisk::connect(remote(&target, "shared", 2), 1).unwrap();
}

#[test]
fn hosts_that_are_not_listed_neither_connect_nor_see_the_subsystem() {
    let listed = HostAccess { hosts: Some(vec![host(1).name]), is_shared: false };
    let target = serve(vec![
        subsystem("listed", listed, vec![memory()]),
        subsystem("open", HostAccess::default(), vec![memory()]),
    ]);
    let seen = |number| {
        let found = discover(&remote(&target, "open", number)).unwrap();
        assert!(found.iter().all(|(_, address)| *address == target.address()));
        found.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(seen(1), [name("listed"), name("open")]);
    assert_eq!(seen(2), [name("open")]);
    let refused = RemoteDisk::connect(remote(&target, "listed", 2), 1).err();
    assert!(matches!(refused, Some(ConnectError::NotAllowed)), "{refused:?}");
    RemoteDisk::connect(remote(&target, "listed", 1), 1).unwrap();
}

#[test]
fn names_that_are_not_there_are_told() {
    let target = serve(vec![subsystem("one", HostAccess::default(), vec![memory()])]);
    let error = RemoteDisk::connect(remote(&target, "two", 1), 1).err().unwrap();
    assert!(matches!(error, ConnectError::Invalid { field: 0x1_0100, .. }), "{error}");
    let error = RemoteDisk::connect(remote(&target, "one", 1), 9).err().unwrap();
    assert!(matches!(error, ConnectError::NoNamespace(9)), "{error}");
    let nobody = Remote {
        host: assay_nvme::controller::HostIdentity { id: [0; 16], ..host(1) },
        ..remote(&target, "one", 1)
    };
    let error = RemoteDisk::connect(nobody, 1).err().unwrap();
    assert!(matches!(error, ConnectError::Invalid { field: 0x1_0000, .. }), "{error}");
}

/// A disk whose writes wait until they are let go.
struct Held {
    below: MemoryDisk,
    gate: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    is_open: bool,
    waiting: usize,
}

impl Disk for Held {
    fn size(&self) -> u64 {
        self.below.size()
    }

    fn guarantees(&self) -> Guarantees {
        self.below.guarantees()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.below.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        let (state, changed) = &*self.gate;
        let mut state = state.lock();
        state.waiting += 1;
        changed.notify_all();
        while !state.is_open {
            changed.wait(&mut state);
        }
        self.below.write(offset, data, force_unit_access)
    }

    fn flush(&self) -> Result<()> {
        self.below.flush()
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.below.discard(offset, length)
    }
}

#[test]
fn a_host_that_comes_back_waits_for_its_former_commands() {
    let gate = Arc::new((Mutex::new(State::default()), Condvar::new()));
    let below = MemoryDisk::new(64 * BLOCK_BYTES).unwrap();
    let held: Arc<dyn Disk> = Arc::new(Held { below, gate: Arc::clone(&gate) });
    let target = serve(vec![subsystem("one", HostAccess::default(), vec![held])]);
    let quick = Remote { patience: Duration::from_secs(1), ..remote(&target, "one", 1) };
    let former = RemoteDisk::connect(quick.clone(), 1).unwrap();
    std::thread::scope(|scope| {
        let write = scope.spawn(|| former.write(0, &[1; 4096], false));
        let (state, changed) = &*gate;
        let mut state = state.lock();
        while state.waiting == 0 {
            changed.wait(&mut state);
        }
        drop(state);
        // The write is at the disk: the host is not admitted again before it has ended there.
        let busy = RemoteDisk::connect(quick.clone(), 1).err();
        assert!(matches!(busy, Some(ConnectError::Busy)), "{busy:?}");
        let error = write.join().unwrap().unwrap_err();
        assert!(matches!(error, DiskError::Stopped { .. }), "its association is over: {error}");
        gate.0.lock().is_open = true;
        gate.1.notify_all();
    });
    let deadline = Instant::now() + Duration::from_secs(30);
    let again = loop {
        match RemoteDisk::connect(quick.clone(), 1) {
            Ok(disk) => break disk,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
    };
    let mut found = [0; 4096];
    again.read(0, &mut found).unwrap();
    assert_eq!(found, [1; 4096], "it was applied before, not after");
}
