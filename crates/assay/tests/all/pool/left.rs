//! A cluster whose process is killed takes its monitor, manager and stores with it, and `assay clean` removes the rest.

use std::time::Instant;

use assay_ports::child::Process;
use rustix::process::Signal;
use serde_json::Value;

use crate::drives::Drives;
use crate::pool::cluster::{PATIENCE, has_ceph};

#[test]
#[ignore = "in --full: takes a cluster of its own"]
fn a_killed_cluster_leaves_nothing_that_clean_does_not_find() {
    if !has_ceph() {
        return;
    }
    let world = Drives::new();
    let started = world.done(&["pool", "start", "--name", "short", "--json"]);
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
    assert_eq!(std::fs::read_dir(world.path("state/pools")).unwrap().count(), 0);
    world.assert_nothing_left();
}
