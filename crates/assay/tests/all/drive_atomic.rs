//! Tests that writes which the kernel merges on their way to a drive are each atomic.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::drives::{Drives, has_drives, system};
use assay_testing::skip;

/// Index in `commands_by_size` of the largest class: commands that the drive splits.
const IN_PARTS: usize = 7;

#[test]
fn joined_writes_are_no_longer_than_what_is_atomic() {
    if Command::new("fio").arg("--version").output().is_err() {
        return skip("fio");
    }
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&["--capacity", "256M"]);
    let device = drives.attach(&[]);
    let queue = directory(&device).join("queue");
    let in_parts = || {
        // Sixteen adjacent writes are submitted at a time.
        let filename = format!("--filename={device}");
        let words = ["--name=job", &filename, "--rw=write", "--bs=100k", "--size=64M"];
        let depth = ["--direct=1", "--ioengine=libaio", "--iodepth=16", "--iodepth_batch=16"];
        let batch = ["--iodepth_batch_complete=16"];
        system("fio", &[&words[..], &depth, &batch].concat());
        drives.status()["commands_by_size"][IN_PARTS].as_u64().unwrap()
    };
    assert_eq!(limit_of(&device), "256\n");
    assert_eq!(in_parts(), 0);
    // Negative control: with the kernel's own limit.
    let most = std::fs::read_to_string(queue.join("max_hw_sectors_kb")).unwrap();
    std::fs::write(queue.join("max_sectors_kb"), most).unwrap();
    assert!(in_parts() > 0, "nothing was joined");
    drives.detach();
    drives.assert_nothing_left();
    // The limit does not stay with the device's number. Devices that other tests attached meanwhile
    // have their own.
    let is_free = |device: &str| !directory(device).join("loop/backing_file").exists();
    let left = std::iter::repeat_with(|| {
        let device = drives.attach(&[]);
        drives.detach();
        let was_free = is_free(&device);
        let left = limit_of(&device);
        (was_free && is_free(&device)).then_some(left)
    });
    assert_ne!(left.take(100).flatten().next().expect("others took every device"), "256\n");
}

fn directory(device: &str) -> PathBuf {
    Path::new("/sys/block").join(device.trim_start_matches("/dev/"))
}

fn limit_of(device: &str) -> String {
    std::fs::read_to_string(directory(device).join("queue/max_sectors_kb")).unwrap()
}
