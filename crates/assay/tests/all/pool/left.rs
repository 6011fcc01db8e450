//! Tests that killing a cluster's process ends its monitor, manager and stores, and that `assay
//! clean` removes the rest.
//!
//! The cluster is on a file system with less than 5 % free space, where Ceph's monitor would not
//! start by default.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use assay_ports::child::Process;
use rustix::fs::FallocateFlags;
use rustix::process::Signal;
use serde_json::Value;

use crate::common::has_loop_devices;
use crate::drives::{Drives, system};
use crate::pool::cluster::{PATIENCE, has_ceph};

/// Space that an empty cluster needs, with a margin.
const LEFT_FREE: u64 = 1_600 << 20;

/// A sparse file system of 40 GiB, filled except for `LEFT_FREE`.
struct NearlyFull(PathBuf);

impl Drop for NearlyFull {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["--lazy"]).arg(&self.0).status();
    }
}

fn nearly_full(world: &Drives) -> NearlyFull {
    let (image, target) = (world.path("image"), world.path("nearly-full"));
    File::create(&image).unwrap().set_len(40 << 30).unwrap();
    std::fs::create_dir(&target).unwrap();
    system("mkfs.ext4", &["-q", "-m", "0", image.to_str().unwrap()]);
    system("mount", &["-o", "loop", image.to_str().unwrap(), target.to_str().unwrap()]);
    let free = rustix::fs::statvfs(&target).unwrap();
    let filler = File::create(target.join("filler")).unwrap();
    let bytes = free.f_bavail * free.f_frsize - LEFT_FREE;
    rustix::fs::fallocate(&filler, FallocateFlags::empty(), 0, bytes).unwrap();
    NearlyFull(target)
}

#[test]
#[ignore = "in --full: takes a cluster of its own"]
fn a_killed_cluster_leaves_nothing_that_clean_does_not_find() {
    if !has_ceph() || !has_loop_devices() {
        return;
    }
    let world = Drives::new();
    let place = nearly_full(&world);
    let directory = place.0.to_str().unwrap();
    let started =
        world.done(&["pool", "start", "--name", "short", "--directory", directory, "--json"]);
    let started: Value = serde_json::from_str(&started).unwrap();
    assert_eq!(world.servers().len(), 6, "its process, a monitor, a manager and three stores");
    let pid = u32::try_from(started["pid"].as_u64().unwrap()).unwrap();
    assert!(world.done(&["clean"]).contains("still in use: pool short in "));
    let process = Process::open(pid).unwrap().unwrap();
    process.signal(Signal::KILL).unwrap();
    assert!(process.wait(Some(PATIENCE)).unwrap());
    let deadline = Instant::now() + PATIENCE;
    while !world.servers().is_empty() {
        assert!(Instant::now() < deadline, "{:?}", world.servers());
        std::thread::yield_now();
    }
    let line = world.refused(&["pool", "status"]);
    assert!(line.contains("no Ceph cluster is known here"), "{line}");
    assert!(world.done(&["clean"]).contains("removed pool short in "));
    assert!(std::fs::read_dir(&place.0).unwrap().all(|entry| {
        ["filler", "lost+found"].contains(&entry.unwrap().file_name().to_str().unwrap())
    }));
    drop(place);
    world.assert_nothing_left();
}
