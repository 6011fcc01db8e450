//! A remote disk behaves as the disk below.

use std::sync::Arc;

use assay_disk::{BLOCK_BYTES, Disk, DiskError, Guarantees, MemoryDisk, Result};
use assay_nvme::admin::Admin;
use assay_nvme::controller::HostAccess;
use assay_nvme::initiator::{Remote, RemoteDisk};
use assay_nvme::target::NvmeTarget;
use assay_nvme::wire::Digests;

use crate::server::{ATOMIC_BYTES, BLOCKS, memory, remote, serve, subsystem};

/// A target with one disk, and that disk from afar.
fn attached(digests: Digests) -> (NvmeTarget, RemoteDisk) {
    let target = serve(vec![subsystem("one", HostAccess::default(), vec![memory()])]);
    let remote = Remote { digests, ..remote(&target, "one", 1) };
    let disk = RemoteDisk::connect(remote, 1).unwrap();
    (target, disk)
}

/// Bytes that tell where they belong.
fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn writes_of_every_way_to_travel_come_back_with_and_without_digests() {
    for (header, data) in [(false, false), (true, false), (false, true), (true, true)] {
        let (_target, disk) = attached(Digests { header, data });
        assert_eq!(disk.size(), BLOCKS * BLOCK_BYTES);
        // In the capsule; just beyond; the atomic limit; the largest transfer; more than one.
        for (place, kib) in (0_u64..).zip([4, 16, 20, 256, 1024, 1028, 2560]) {
            let (offset, data) = (place * (1 << 20), pattern(place + 1, kib << 10));
            disk.write(offset, &data, place % 2 == 0).unwrap();
            let mut found = vec![0; data.len()];
            disk.read(offset, &mut found).unwrap();
            assert!(found == data, "{kib} KiB, digests {header} {data:?}", data = &data[..4]);
        }
        disk.flush().unwrap();
    }
}

#[test]
fn discarded_blocks_read_as_zeroes_and_their_neighbours_stay() {
    let (_target, disk) = attached(Digests::default());
    disk.write(0, &[7; 3 * BLOCK_BYTES as usize], false).unwrap();
    disk.discard(BLOCK_BYTES, BLOCK_BYTES).unwrap();
    let mut found = vec![1; 3 * BLOCK_BYTES as usize];
    disk.read(0, &mut found).unwrap();
    let block = BLOCK_BYTES as usize;
    assert!(found[..block].iter().all(|byte| *byte == 7));
    assert!(found[block..2 * block].iter().all(|byte| *byte == 0));
    assert!(found[2 * block..].iter().all(|byte| *byte == 7));
}

#[test]
fn ranges_outside_the_disk_are_refused_here_and_there() {
    let (_target, disk) = attached(Digests::default());
    let size = disk.size();
    for (offset, length) in [(size, 4096), (size - 4096, 8192), (1, 4096), (0, 100)] {
        let error = disk.write(offset, &vec![0; length], false).unwrap_err();
        assert!(matches!(error, DiskError::OutOfRange { .. }), "{error}");
    }
}

#[test]
fn identify_and_logs_say_what_the_disk_and_its_owner_say() {
    let (_target, disk) = attached(Digests { header: true, data: true });
    let guarantees = Guarantees { atomic_write_bytes: ATOMIC_BYTES, volatile_cache: true };
    assert_eq!(disk.guarantees(), guarantees);
    let admin = disk.admin();
    let namespace = admin.namespace(1).unwrap();
    assert_eq!(namespace.atomic_write_power_fail_0.get(), 63);
    assert_eq!(namespace.used_blocks.get(), 10);
    assert_eq!(namespace.capacity_bytes.get(), 1 << 20);
    assert_eq!(namespace.optimal_write_0.get(), 15);
    assert_eq!(namespace.features, 0b1_0011, "thin, NSABP, OPTPERF");
    assert_eq!(namespace.nguid, [1; 16]);
    let controller = admin.controller().unwrap();
    assert_eq!(controller.atomic_write_power_fail_0.get(), 0, "never of the controller alone");
    assert_eq!((controller.multi_path, controller.volatile_cache & 1), (0, 1));
    let smart = admin.smart(1).unwrap();
    assert_eq!((smart.read_units.get(), smart.written_units.get()), (2, 2), "rounded up");
    assert_eq!((smart.used_percent, smart.spare_percent, smart.critical_warning), (9, 40, 0));
    let ocp = admin.ocp_smart(u32::MAX).unwrap();
    assert_eq!((ocp.media_written_bytes.get(), ocp.used_blocks.get()), (99_999, 10));
}

/// A disk whose commands fail as it is told.
struct Failing(MemoryDisk, fn() -> DiskError);

impl Disk for Failing {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn guarantees(&self) -> Guarantees {
        self.0.guarantees()
    }

    fn read(&self, _: u64, _: &mut [u8]) -> Result<()> {
        Err((self.1)())
    }

    fn write(&self, _: u64, _: &[u8], _: bool) -> Result<()> {
        Err((self.1)())
    }

    fn flush(&self) -> Result<()> {
        Err((self.1)())
    }

    fn discard(&self, _: u64, _: u64) -> Result<()> {
        Err((self.1)())
    }
}

#[test]
fn errors_of_the_disk_arrive_as_the_same_errors() {
    type Case = (fn() -> DiskError, fn(&DiskError) -> bool);
    let cases: [Case; 5] = [
        (|| DiskError::Full, |error| matches!(error, DiskError::Full)),
        (
            || DiskError::ReadOnly { reason: "worn".into() },
            |error| matches!(error, DiskError::ReadOnly { .. }),
        ),
        (
            || DiskError::Corrupt { offset: 0, what: "a sum".into() },
            |error| matches!(error, DiskError::Corrupt { .. }),
        ),
        (
            || DiskError::Io(std::io::ErrorKind::TimedOut.into()),
            |error| matches!(error, DiskError::Io(_)),
        ),
        (
            || DiskError::Stopped { reason: "a failed flush".into() },
            |error| matches!(error, DiskError::Io(_)),
        ),
    ];
    for (fails, is_it) in cases {
        let below = Failing(MemoryDisk::new(64 * BLOCK_BYTES).unwrap(), fails);
        let target = serve(vec![subsystem("bad", HostAccess::default(), vec![Arc::new(below)])]);
        let disk = RemoteDisk::connect(remote(&target, "bad", 1), 1).unwrap();
        let large = vec![0; 64 << 10];
        let errors = [
            disk.read(0, &mut [0; 4096]).unwrap_err(),
            disk.write(0, &[0; 4096], false).unwrap_err(),
            disk.write(0, &large, false).unwrap_err(),
            disk.flush().unwrap_err(),
        ];
        assert!(errors.iter().all(is_it), "{errors:?}");
    }
}

#[test]
fn many_threads_share_the_queues_and_see_their_own_data() {
    let (_target, disk) = attached(Digests { header: true, data: true });
    std::thread::scope(|scope| {
        for thread in 0..12_u64 {
            let disk = &disk;
            scope.spawn(move || {
                for round in 0..50 {
                    let (offset, data) = (thread << 20, pattern(thread * 1000 + round, 96 << 10));
                    disk.write(offset, &data, false).unwrap();
                    let mut found = vec![0; data.len()];
                    disk.read(offset, &mut found).unwrap();
                    assert!(found == data);
                }
            });
        }
    });
}
