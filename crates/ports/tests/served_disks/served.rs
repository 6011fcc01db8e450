//! A disk served over FUSE: requests of the kernel and the resulting commands of the disk.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::common::testing::{has_fuse, run};
use crate::common::{Command, Growing, KIB, MIB, Recorder, Served, open, options, pattern};
use assay_disk::{Disk, DiskError, Guarantees, Result};
use assay_ports::filesystem;
use assay_ports::fuse::{FILE_SYSTEM, FuseError, FuseMount, TextFile, abort, abort_and_unmount};
use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::{Errno, ReadWriteFlags};

fn is_mounted(path: &Path) -> bool {
    filesystem::mounts().unwrap().iter().any(|mount| mount.target == path)
}

#[test]
fn commands_arrive_whole() {
    if !has_fuse() {
        return;
    }
    let disk = Recorder::new(16 * MIB);
    let served = Served::new(disk.clone());
    let file = served.open();
    assert_eq!(file.metadata().unwrap().len(), 16 * MIB);
    disk.take();
    for (offset, length) in [(0, 4 * KIB), (12 * KIB, 16 * KIB), (4 * KIB, 256 * KIB), (MIB, MIB)] {
        let data = pattern(length);
        file.write_all_at(data.as_ref(), offset).unwrap();
        assert_eq!(disk.take(), [Command::Write(offset, length)]);
        let mut back = pattern(length);
        back.as_mut().fill(0);
        file.read_exact_at(back.as_mut(), offset).unwrap();
        assert_eq!(disk.take(), [Command::Read(offset, length)]);
        assert!(back.as_ref() == data.as_ref());
    }
    // Memory that is not aligned to pages needs one more page, which a whole MiB does not have.
    let data = vec![7; 256 * KIB as usize + 1];
    file.write_all_at(&data[1..], 8 * MIB).unwrap();
    assert_eq!(disk.take(), [Command::Write(8 * MIB, 256 * KIB)]);
    let data = pattern(3 * MIB);
    file.write_all_at(data.as_ref(), 8 * MIB).unwrap();
    let mut parts = disk.take();
    parts.sort_by_key(|command| format!("{command:?}"));
    let thirds = [8, 9, 10].map(|at| Command::Write(at * MIB, MIB));
    assert_eq!(parts.len(), 3);
    assert!(thirds.iter().all(|third| parts.contains(third)), "{parts:?}");
}

#[test]
fn durable_writes_and_flushes_reach_the_disk() {
    if !has_fuse() {
        return;
    }
    let disk = Recorder::new(MIB);
    let served = Served::new(disk.clone());
    let path = served.mount.disk_path();
    let file = open(&path, OFlags::SYNC.bits().cast_signed());
    disk.take();
    file.write_all_at(&[1; 4096], 0).unwrap();
    assert_eq!(disk.take(), [Command::ForcedWrite(0, 4096)]);
    let file = served.open();
    let block = [io::IoSlice::new(&[2; 4096])];
    for flags in [ReadWriteFlags::DSYNC, ReadWriteFlags::SYNC] {
        rustix::io::pwritev2(&file, &block, 8192, flags).unwrap();
        assert_eq!(disk.take(), [Command::ForcedWrite(8192, 4096)]);
    }
    file.write_all_at(&[1; 4096], 0).unwrap();
    assert_eq!(disk.take(), [Command::Write(0, 4096)]);
    file.sync_data().unwrap();
    file.sync_all().unwrap();
    assert_eq!(disk.take(), [Command::Flush, Command::Flush]);
    drop(file);
    assert_eq!(disk.take(), []);
}

#[test]
fn zeroing_is_discarding_and_nothing_else_can_be_allocated() {
    if !has_fuse() {
        return;
    }
    let disk = Recorder::new(MIB);
    let served = Served::new(disk.clone());
    let file = served.open();
    let keep = FallocateFlags::KEEP_SIZE;
    for mode in [
        FallocateFlags::PUNCH_HOLE | keep,
        FallocateFlags::ZERO_RANGE,
        FallocateFlags::ZERO_RANGE | keep,
    ] {
        file.write_all_at(pattern(MIB).as_ref(), 0).unwrap();
        disk.take();
        fallocate(&file, mode, 8192, 65536).unwrap();
        assert_eq!(disk.take(), [Command::Discard(8192, 65536)]);
        fallocate(&file, mode, 100, 8192).unwrap();
        assert!(disk.take().contains(&Command::Discard(4096, 4096)));
        let mut plain = pattern(MIB);
        plain.as_mut()[100..8292].fill(0);
        plain.as_mut()[8192..][..65536].fill(0);
        assert!(fs::read(served.mount.disk_path()).unwrap() == plain.as_ref());
    }
    disk.take();
    for mode in [FallocateFlags::empty(), keep, FallocateFlags::COLLAPSE_RANGE] {
        assert_eq!(fallocate(&file, mode, 0, 4096), Err(Errno::OPNOTSUPP), "{mode:?}");
    }
    assert_eq!(fallocate(&file, FallocateFlags::ZERO_RANGE, MIB, 4096), Err(Errno::OPNOTSUPP));
    fallocate(&file, FallocateFlags::PUNCH_HOLE | keep, MIB, 4096).unwrap();
    assert_eq!(disk.take(), []);
    assert_eq!(file.metadata().unwrap().len(), MIB);
}

#[test]
fn parts_of_blocks_and_the_end_behave_as_a_file() {
    if !has_fuse() {
        return;
    }
    let served = Served::new(Recorder::new(64 * KIB));
    let file = served.open();
    let mut plain = vec![0; 64 * KIB as usize];
    for (offset, length) in [(1, 1), (4000, 200), (8192, 1), (20_000, 20_000), (65_535, 1)] {
        file.write_all_at(&vec![9; length], offset).unwrap();
        plain[offset as usize..][..length].fill(9);
    }
    assert!(fs::read(served.mount.disk_path()).unwrap() == plain);
    assert_eq!(file.read_at(&mut [0; 100], 64 * KIB - 10).unwrap(), 10);
    assert_eq!(file.read_at(&mut [0; 100], 64 * KIB).unwrap(), 0);
    assert_eq!(file.write_at(&[1; 8192], 60 * KIB).unwrap(), 4096);
    let error = file.write_at(&[1; 4096], 64 * KIB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}

#[test]
fn the_size_changes_only_when_the_owner_agrees() {
    if !has_fuse() {
        return;
    }
    let fixed = Served::new(Recorder::new(MIB));
    let error = fixed.open().set_len(2 * MIB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    fixed.open().set_len(MIB).unwrap();
    fs::File::create(fixed.mount.disk_path()).unwrap_err();

    let disk = Growing::new(MIB);
    let owner = disk.clone();
    let served = Served::with(disk, vec![], Some(Box::new(move |size| owner.resize(size))));
    let file = served.open();
    file.write_all_at(&[5; 4096], MIB - 4096).unwrap();
    file.set_len(2 * MIB).unwrap();
    assert_eq!(fs::metadata(served.mount.disk_path()).unwrap().len(), 2 * MIB);
    file.write_all_at(&[6; 4096], 2 * MIB - 4096).unwrap();
    let mut block = [0; 4096];
    file.read_exact_at(&mut block, MIB - 4096).unwrap();
    assert_eq!(block, [5; 4096]);
    assert_eq!(file.set_len(1000).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn texts_are_written_when_they_are_opened() {
    if !has_fuse() {
        return;
    }
    let opened = Arc::new(AtomicU64::new(0));
    let count = opened.clone();
    let status = move || format!("opened {}\n", count.fetch_add(1, Ordering::SeqCst) + 1);
    let text = |name: &str, content: Box<dyn Fn() -> String + Send + Sync>| TextFile {
        name: name.into(),
        content,
    };
    let long = "line\n".repeat(200_000);
    let content = long.clone();
    let texts = vec![
        text("status.json", Box::new(status)),
        text("long", Box::new(move || content.clone())),
    ];
    let served = Served::with(Recorder::new(MIB), texts, None);
    let directory = served.mount.mount_point();
    let path = directory.join("status.json");
    assert_eq!(opened.load(Ordering::SeqCst), 0);
    for number in 1..=3 {
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("opened {number}\n"));
    }
    let file = fs::File::open(&path).unwrap();
    for _ in 0..2 {
        let mut start = [0; 8];
        file.read_exact_at(&mut start, 0).unwrap();
        assert_eq!(&start, b"opened 4");
    }
    assert!(fs::read_to_string(directory.join("long")).unwrap() == long);
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["disk", "long", "status.json"]);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o400);
    assert_eq!(fs::metadata(directory.join("disk")).unwrap().mode() & 0o777, 0o600);
    for refused in
        [fs::write(&path, "x"), fs::write(directory.join("new"), "x"), fs::remove_file(&path)]
    {
        refused.unwrap_err();
    }
}

/// A disk that fails with the given error.
struct Failing(fn() -> DiskError);

impl Disk for Failing {
    fn size(&self) -> u64 {
        MIB
    }
    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: 4096, volatile_cache: true }
    }
    fn read(&self, _: u64, _: &mut [u8]) -> Result<()> {
        Err(self.0())
    }
    fn write(&self, _: u64, _: &[u8], _: bool) -> Result<()> {
        Err(self.0())
    }
    fn flush(&self) -> Result<()> {
        Err(self.0())
    }
    fn discard(&self, _: u64, _: u64) -> Result<()> {
        Err(self.0())
    }
}

#[test]
fn failures_have_the_numbers_that_file_systems_know() {
    if !has_fuse() {
        return;
    }
    let cases: [(fn() -> DiskError, Errno); 5] = [
        (|| DiskError::Full, Errno::NOSPC),
        (|| DiskError::Corrupt { offset: 0, what: "checksum".into() }, Errno::IO),
        (|| DiskError::Io(io::Error::other("broken")), Errno::IO),
        (|| DiskError::Stopped { reason: "an earlier failure".into() }, Errno::IO),
        (|| panic!("a disk with a bug"), Errno::IO),
    ];
    for (failure, errno) in cases {
        let served = Served::new(Arc::new(Failing(failure)));
        let file = served.open();
        let number = Some(errno.raw_os_error());
        for _ in 0..8 {
            assert_eq!(file.read_at(&mut [0; 4096], 0).unwrap_err().raw_os_error(), number);
            assert_eq!(file.write_at(&[0; 4096], 0).unwrap_err().raw_os_error(), number);
            assert_eq!(file.sync_all().unwrap_err().raw_os_error(), number);
            let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            assert_eq!(fallocate(&file, punch, 0, 4096), Err(errno));
        }
    }
}

/// A disk whose writes return only once `wanted` of them have arrived.
struct Meeting {
    wanted: usize,
    here: Mutex<usize>,
    all_here: Condvar,
    late: AtomicUsize,
}

impl Disk for Meeting {
    fn size(&self) -> u64 {
        MIB
    }
    fn guarantees(&self) -> Guarantees {
        Guarantees { atomic_write_bytes: MIB, volatile_cache: false }
    }
    fn read(&self, _: u64, _: &mut [u8]) -> Result<()> {
        Ok(())
    }
    fn write(&self, _: u64, _: &[u8], _: bool) -> Result<()> {
        let mut here = self.here.lock().unwrap();
        *here += 1;
        self.all_here.notify_all();
        let limit = Duration::from_secs(20);
        let waiting = |here: &mut usize| *here < self.wanted;
        let (_here, waited) = self.all_here.wait_timeout_while(here, limit, waiting).unwrap();
        self.late.fetch_add(usize::from(waited.timed_out()), Ordering::SeqCst);
        Ok(())
    }
    fn flush(&self) -> Result<()> {
        Ok(())
    }
    fn discard(&self, _: u64, _: u64) -> Result<()> {
        Ok(())
    }
}

#[test]
fn writes_to_the_one_file_run_side_by_side() {
    if !has_fuse() {
        return;
    }
    let disk = Arc::new(Meeting {
        wanted: 4,
        here: Mutex::new(0),
        all_here: Condvar::new(),
        late: AtomicUsize::new(0),
    });
    let served = Served::new(disk.clone());
    let file = served.open();
    std::thread::scope(|scope| {
        for part in 0..4 {
            let file = &file;
            scope.spawn(move || file.write_all_at(&[1; 4096], part * 8192).unwrap());
        }
    });
    assert_eq!(disk.late.load(Ordering::SeqCst), 0, "a write waited for another to end");
}

#[test]
fn a_mount_in_use_stays_and_is_served() {
    if !has_fuse() {
        return;
    }
    let served = Served::new(Recorder::new(MIB));
    let mount_point = served.mount.mount_point().to_owned();
    let file = served.open();
    let error = served.mount.unmount().unwrap_err();
    assert!(matches!(error, FuseError::InUse { .. }), "{error}");
    file.write_all_at(&[1; 4096], 0).unwrap();
    drop(file);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| served.mount.wait());
        served.mount.unmount().unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert!(!is_mounted(&mount_point));
    served.mount.unmount().unwrap();
}

#[test]
fn the_disk_is_free_again_after_unmounting() {
    if !has_fuse() {
        return;
    }
    let disk = Recorder::new(MIB);
    let served = Served::new(disk.clone());
    served.open().write_all_at(&[1; 4096], 0).unwrap();
    served.mount.unmount().unwrap();
    assert_eq!(Arc::strong_count(&disk), 1);
}

#[test]
fn somebody_else_may_unmount_and_mount_there() {
    if !has_fuse() {
        return;
    }
    let served = Served::new(Recorder::new(MIB));
    let mount_point = served.mount.mount_point().to_owned();
    run("umount", &[mount_point.to_str().unwrap()]);
    served.mount.wait().unwrap();
    let second =
        FuseMount::serve(options(&mount_point), Recorder::new(2 * MIB), vec![], None).unwrap();
    // The first mount removes the second neither on request nor when dropped.
    served.mount.unmount().unwrap();
    assert_eq!(fs::metadata(second.disk_path()).unwrap().len(), 2 * MIB);
    let Served { mount: first, directory: _directory } = served;
    drop(first);
    assert_eq!(fs::metadata(second.disk_path()).unwrap().len(), 2 * MIB);
    second.unmount().unwrap();
    assert!(!is_mounted(&mount_point));
}

#[test]
fn dropping_takes_the_mount_away_from_whoever_uses_it() {
    if !has_fuse() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let disk = Recorder::new(MIB);
    let mount = FuseMount::serve(options(directory.path()), disk.clone(), vec![], None).unwrap();
    let file = open(&mount.disk_path(), 0);
    drop(mount);
    assert!(!is_mounted(directory.path()));
    assert_eq!(Arc::strong_count(&disk), 1);
    file.read_at(&mut [0; 4096], 0).unwrap_err();
}

#[test]
fn an_ended_connection_is_unmounted_too() {
    if !has_fuse() {
        return;
    }
    let served = Served::new(Recorder::new(MIB));
    let mount_point = served.mount.mount_point().to_owned();
    let file = served.open();
    abort(&mount_point).unwrap();
    file.read_at(&mut [0; 4096], 0).unwrap_err();
    served.mount.wait().unwrap();
    assert!(is_mounted(&mount_point));
    drop(file);
    served.mount.unmount().unwrap();
    assert!(!is_mounted(&mount_point));
}

#[test]
fn wrong_places_and_options_are_refused_in_words() {
    if !has_fuse() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let serve = |options, texts| FuseMount::serve(options, Recorder::new(MIB), texts, None);
    let missing = options(&directory.path().join("missing"));
    let error = serve(missing, vec![]).unwrap_err().to_string();
    assert!(error.contains("missing: No such file or directory"), "{error}");
    let plain = directory.path().join("plain");
    fs::write(&plain, "").unwrap();
    let error = serve(options(&plain), vec![]).unwrap_err().to_string();
    assert!(error.contains("Not a directory"), "{error}");
    let mut idle = options(directory.path());
    idle.threads = 0;
    assert!(matches!(serve(idle, vec![]).unwrap_err(), FuseError::Options { .. }));
    for name in ["", "disk", "a/b"] {
        let text = TextFile { name: name.into(), content: Box::new(String::new) };
        let error = serve(options(directory.path()), vec![text]).unwrap_err();
        assert!(matches!(error, FuseError::Options { .. }), "{name}: {error}");
    }
    let first = serve(options(directory.path()), vec![]).unwrap();
    let error = serve(options(directory.path()), vec![]).unwrap_err();
    assert!(matches!(error, FuseError::Taken { .. }), "{error}");
    drop(first);
    assert!(!is_mounted(directory.path()));
}

#[test]
fn only_our_own_mounts_are_taken_down_by_force() {
    if !has_fuse() {
        return;
    }
    let foreign = crate::common::testing::TestMount::new("tmpfs", Path::new("tmpfs"), "size=64k");
    abort(foreign.path()).unwrap();
    abort_and_unmount(foreign.path()).unwrap();
    assert!(is_mounted(foreign.path()));
    let served = Served::new(Recorder::new(MIB));
    let mount_point = served.mount.mount_point().to_owned();
    let mounts = filesystem::mounts().unwrap();
    let mount = mounts.iter().find(|mount| mount.target == mount_point).unwrap();
    assert_eq!((&*mount.file_system, &*mount.source), (FILE_SYSTEM, "test, \\ disk"));
    let file = served.open();
    abort_and_unmount(&mount_point).unwrap();
    assert!(!is_mounted(&mount_point));
    file.read_at(&mut [0; 4096], 0).unwrap_err();
    served.mount.wait().unwrap();
}
