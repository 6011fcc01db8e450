//! A served disk as a loop device, and a file system on it.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::testing::{TestMount, has_fuse, is_root, run, skip};
use crate::common::{Command, Growing, KIB, MIB, Recorder, Served, open, pattern};
use assay_disk::{Disk, MemoryDisk};
use assay_ports::fuse::{FuseError, FuseMount, FuseOptions, Resize};
use assay_ports::loopdev::{self, LoopError};
use assay_ports::media::{Access, FileMedia};
use rustix::fs::OFlags;

/// A loop device over a served disk, detached at the end of the test before the mount is removed.
struct Looped {
    device: PathBuf,
    served: Served,
}

impl Looped {
    fn new(disk: Arc<dyn Disk>) -> Looped {
        Looped::over(Served::new(disk))
    }

    fn over(served: Served) -> Looped {
        let device = loopdev::attach_disk(&served.mount.disk_path(), MIB / 2).unwrap();
        Looped { device, served }
    }

    fn open(&self) -> fs::File {
        open(&self.device, OFlags::DIRECT.bits().cast_signed())
    }

    fn text(&self) -> &str {
        self.device.to_str().unwrap()
    }

    /// A limit of the device's queue.
    fn limit(&self, name: &str) -> u64 {
        let number = self.device.file_name().unwrap();
        let path = Path::new("/sys/block").join(number).join("queue").join(name);
        fs::read_to_string(path).unwrap().trim().parse().unwrap()
    }
}

impl Drop for Looped {
    fn drop(&mut self) {
        let _ = loopdev::detach(&self.device, self.served.mount.mount_point());
    }
}

fn stat(disk: &Path) -> std::process::Command {
    let mut command = std::process::Command::new("stat");
    command.arg(disk);
    command
}

/// A server that waits for its own threads could not be killed meanwhile.
#[test]
fn a_server_comes_up_and_gives_its_device_back_without_asking_itself() {
    if !has_fuse() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let options = FuseOptions { asked_by: Some(stat), ..crate::common::options(directory.path()) };
    let disk = Arc::new(MemoryDisk::new(16 * MIB).unwrap());
    let mount = FuseMount::serve(options, disk.clone(), vec![], None).unwrap();
    let refused = fs::File::open(mount.disk_path()).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::Deadlock, "{refused}");
    let device = loopdev::attach_disk(&mount.disk_path(), MIB).unwrap();
    let wanted = pattern(MIB);
    // Open, so that closing it does not flush it.
    let opened = open(&device, 0);
    opened.write_all_at(wanted.as_ref(), 0).unwrap();
    loopdev::hand_over(&device).unwrap();
    let mut found = pattern(MIB);
    found.as_mut().fill(0);
    disk.read(0, found.as_mut()).unwrap();
    assert!(found.as_ref() == wanted.as_ref(), "what was not synced is handed over");
    drop(opened);
    loopdev::detach(&device, mount.mount_point()).unwrap();
    mount.unmount().unwrap();
}

#[test]
fn a_write_of_a_quarter_mebibyte_is_one_write() {
    if !has_fuse() {
        return;
    }
    let disk = Recorder::new(64 * MIB);
    let looped = Looped::new(disk.clone());
    assert_eq!(looped.limit("logical_block_size"), 4096);
    assert_eq!(looped.limit("max_sectors_kb"), 512);
    let file = looped.open();
    disk.take();
    // The queue guarantees up to 128 segments of a page each; larger writes are merged only if
    // their pages happen to be adjacent.
    for (offset, length) in
        [(0, 4 * KIB), (20 * KIB, 16 * KIB), (12 * KIB, 256 * KIB), (MIB, 512 * KIB)]
    {
        let data = pattern(length);
        file.write_all_at(data.as_ref(), offset).unwrap();
        assert_eq!(disk.take(), [Command::Write(offset, length)]);
        let mut back = pattern(length);
        back.as_mut().fill(0);
        file.read_exact_at(back.as_mut(), offset).unwrap();
        assert_eq!(disk.take(), [Command::Read(offset, length)]);
        assert!(back.as_ref() == data.as_ref());
    }
    file.sync_all().unwrap();
    assert_eq!(disk.take(), [Command::Flush]);
}

#[test]
fn discards_and_zeroes_reach_the_disk() {
    if !has_fuse() {
        return;
    }
    let disk = Recorder::new(64 * MIB);
    let looped = Looped::new(disk.clone());
    assert_eq!(looped.limit("discard_granularity"), 4096);
    let requests: [(&str, Vec<&str>); 3] = [
        ("blkdiscard", vec!["--offset", "4096", "--length", "12288", looped.text()]),
        ("blkdiscard", vec!["-z", "--offset", "4096", "--length", "12288", looped.text()]),
        ("fallocate", vec!["-z", "--offset", "4096", "--length", "12288", looped.text()]),
    ];
    for (program, arguments) in requests {
        looped.open().write_all_at(pattern(64 * KIB).as_ref(), 0).unwrap();
        disk.take();
        run(program, &arguments);
        assert!(disk.take().contains(&Command::Discard(4096, 12288)), "{program} {arguments:?}");
        let mut plain = pattern(64 * KIB);
        plain.as_mut()[4096..16384].fill(0);
        let mut back = pattern(64 * KIB);
        looped.open().read_exact_at(back.as_mut(), 0).unwrap();
        assert!(back.as_ref() == plain.as_ref(), "{program} {arguments:?}");
    }
}

#[test]
fn the_device_takes_a_new_size() {
    if !has_fuse() {
        return;
    }
    let disk = Growing::new(8 * MIB);
    let owner = disk.clone();
    let resize: Resize = Box::new(move |size| owner.resize(size));
    let looped = Looped::over(Served::with(disk.clone(), vec![], Some(resize)));
    let size = || run("blockdev", &["--getsize64", looped.text()]).trim().parse::<u64>().unwrap();
    assert_eq!(size(), 8 * MIB);
    // Through the file, and bypassing it.
    looped.served.open().set_len(16 * MIB).unwrap();
    loopdev::update_size(&looped.device).unwrap();
    assert_eq!(size(), 16 * MIB);
    disk.resize(32 * MIB).unwrap();
    loopdev::update_size(&looped.device).unwrap();
    assert_eq!(size(), 32 * MIB);
    looped.open().write_all_at(pattern(4096).as_ref(), 32 * MIB - 4096).unwrap();
}

#[test]
fn a_place_without_direct_io_is_refused_and_not_attached() {
    if !is_root() {
        return;
    }
    let place = TestMount::new("ramfs", Path::new("ramfs"), "defaults");
    let image = place.path().join("image");
    fs::write(&image, vec![0; MIB as usize]).unwrap();
    let error = loopdev::attach_disk(&image, MIB).unwrap_err();
    assert!(matches!(error, LoopError::NotDirect { .. }), "{error}");
    assert!(loopdev::shown().unwrap().iter().all(|shown| shown.backing != image));
    // The other way of attaching works without, and so do media.
    let attached = loopdev::attach(&image).unwrap();
    loopdev::detach(&attached.device, &image).unwrap();
    assert!(!attached.is_direct);
    let media = FileMedia::open(&image, Access::ReadWrite).unwrap();
    assert!(!media.direct());
    media.write(4096, &[5; 4096], true).unwrap();
    assert_eq!(fs::read(&image).unwrap()[4096..8192], [5; 4096]);
}

#[test]
fn a_device_that_shows_something_else_is_not_detached() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let [ours, theirs] = ["ours", "theirs"].map(|name| directory.path().join(name));
    fs::write(&ours, vec![0; MIB as usize]).unwrap();
    let device = loopdev::attach(&ours).unwrap().device;
    // The later process has the number of a device that was its own; also of one that no longer
    // exists.
    loopdev::detach(&device, &theirs).unwrap();
    loopdev::detach(Path::new("/dev/loop-that-is-not-there"), &theirs).unwrap();
    let is_shown = || loopdev::shown().unwrap().iter().any(|shown| shown.backing == ours);
    assert!(is_shown());
    // An open device is detached at its last close; until then nobody else can take it.
    let held = fs::File::open(&device).unwrap();
    let detached = std::thread::spawn({
        let (device, ours) = (device.clone(), ours.clone());
        move || loopdev::detach(&device, &ours)
    });
    let flag = Path::new("/sys/block").join(device.file_name().unwrap()).join("loop/autoclear");
    let deadline = Instant::now() + Duration::from_secs(10);
    while fs::read_to_string(&flag).unwrap().trim() != "1" {
        assert!(Instant::now() < deadline, "it was not detached");
        std::thread::yield_now();
    }
    assert!(is_shown());
    drop(held);
    detached.join().unwrap().unwrap();
    assert!(!is_shown());
}

#[test]
fn media_over_a_served_disk_are_as_good_as_the_disk() {
    if !has_fuse() {
        return;
    }
    let disk = Recorder::new(4 * MIB);
    let served = Served::new(disk.clone());
    let media = FileMedia::open(&served.mount.disk_path(), Access::ReadWrite).unwrap();
    assert!(media.direct() && media.size() == 4 * MIB);
    disk.take();
    let data = pattern(MIB);
    media.write(4096, data.as_ref(), true).unwrap();
    media.write(2 * MIB, &data.as_ref()[1..4097], false).unwrap();
    media.flush().unwrap();
    media.discard(8192, 4096).unwrap();
    let forced = Command::ForcedWrite(4096, MIB);
    let plain = Command::Write(2 * MIB, 4096);
    assert_eq!(disk.take(), [forced, plain, Command::Flush, Command::Discard(8192, 4096)]);
}

#[test]
fn the_users_of_a_mount_are_named_until_they_are_detached() {
    if !has_fuse() {
        return;
    }
    let looped = Looped::new(Recorder::new(MIB));
    let mount = &looped.served.mount;
    assert_eq!(
        loopdev::attached_under(mount.mount_point()).unwrap(),
        std::slice::from_ref(&looped.device)
    );
    let error = mount.unmount().unwrap_err();
    assert!(error.to_string().contains(looped.text()), "{error}");
    assert!(matches!(error, FuseError::InUse { .. }));
    loopdev::detach(&looped.device, mount.mount_point()).unwrap();
    assert!(loopdev::attached_under(mount.mount_point()).unwrap().is_empty());
    mount.unmount().unwrap();
}

#[test]
fn a_file_system_keeps_what_fio_writes() {
    if !has_fuse() {
        return;
    }
    if std::process::Command::new("fio").arg("--version").output().is_err() {
        return skip("fio");
    }
    let looped = Looped::new(Arc::new(MemoryDisk::new(256 * MIB).unwrap()));
    run("mkfs.ext4", &["-q", "-F", looped.text()]);
    let files = TestMount::new("ext4", &looped.device, "defaults");
    let directory = format!("--directory={}", files.path().display());
    run(
        "fio",
        &[
            "--name=check",
            &directory,
            "--rw=randrw",
            "--bsrange=4k-256k",
            "--size=64m",
            "--numjobs=2",
            "--ioengine=libaio",
            "--iodepth=16",
            "--direct=1",
            "--fsync=64",
            "--verify=crc32c",
            "--verify_fatal=1",
            "--verify_state_save=0",
        ],
    );
    run("fstrim", &[files.path().to_str().unwrap()]);
    drop(files);
    run("e2fsck", &["-f", "-n", looped.text()]);
}

/// Control for the check above: fio fails if the disk returns wrong bytes.
#[test]
fn fio_finds_a_disk_that_lies() {
    if !has_fuse() {
        return;
    }
    let disk = Arc::new(MemoryDisk::new(16 * MIB).unwrap());
    let looped = Looped::new(disk.clone());
    let fio = |steps: &[&str]| {
        let file = format!("--filename={}", looped.text());
        let common = ["--name=check", &file, "--rw=write", "--bs=64k", "--size=8m", "--direct=1"];
        let verify = ["--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0"];
        std::process::Command::new("fio").args(common).args(verify).args(steps).output()
    };
    let Ok(written) = fio(&["--do_verify=0"]) else {
        return skip("fio");
    };
    assert!(written.status.success());
    assert!(fio(&["--verify_only=1"]).unwrap().status.success());
    disk.write(4 * MIB, &[1; 4096], false).unwrap();
    assert!(!fio(&["--verify_only=1"]).unwrap().status.success());
}
