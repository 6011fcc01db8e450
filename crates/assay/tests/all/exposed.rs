//! Tests what another user of the machine can access while a study, a drive and a private cluster
//! run, with a script that tries.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};

use assay_testing::skip;

use crate::common::{IMAGE, World, has_server, small_plan};
use crate::drives::{Drives, has_drives};
use crate::pool::cluster::has_ceph;
use crate::runs::{server_under_load, start_run};

fn can_be_tried(world: &World) -> bool {
    let is_open = |path: &Path| path.metadata().is_ok_and(|found| found.mode() & 0o001 != 0);
    let can = world.path("").ancestors().skip(2).all(is_open);
    if !can {
        skip("a target directory that every user may enter");
    }
    can
}

fn exposed(directory: &Path) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/judge/exposed");
    let tried = Command::new("python3").arg(script).arg(directory).output().unwrap();
    println!(
        "{}{}",
        String::from_utf8_lossy(&tried.stderr),
        String::from_utf8_lossy(&tried.stdout)
    );
    tried
}

#[test]
fn another_user_reaches_what_is_meant_and_nothing_else() {
    if !has_drives() || !has_server() || !has_ceph() {
        return;
    }
    let drives = Drives::with(&["--capacity", "64M"]);
    if !can_be_tried(&drives) {
        return;
    }
    let directory = drives.path("");
    // The user's own directory has the mode of a home directory on many machines.
    std::fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
    let device = drives.attach(&[]);
    drives.done(&["pool", "start", "--json"]);
    drives.write("plan.toml", &small_plan(IMAGE).replace("seconds = 2", "seconds = 20"));
    let mut run = start_run(&drives);
    server_under_load(&drives, 1);
    let tried = exposed(&directory);
    let works = String::from_utf8_lossy(&tried.stderr).into_owned();
    for name in ["mysqld", "ceph-mon", "ceph-osd", "assay"] {
        assert!(works.contains(name), "{name} was not tried: {works}");
    }
    assert_eq!(tried.status.code(), Some(0), "more than crates/assay/judge/exposed.allowed");
    // Negative controls: the private directory is opened, and the device is made accessible.
    std::fs::set_permissions(drives.path("state"), Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&device, Permissions::from_mode(0o666)).unwrap();
    let tried = exposed(&directory);
    std::fs::set_permissions(&device, Permissions::from_mode(0o660)).unwrap();
    let found = String::from_utf8_lossy(&tried.stdout).into_owned();
    assert_eq!(tried.status.code(), Some(1));
    for line in ["TOO MUCH  list DIRECTORY/state", "TOO MUCH  read loop device"] {
        assert!(found.contains(line), "{line}");
    }
    let pid = rustix::process::Pid::from_raw(run.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    run.wait().unwrap();
    drives.done(&["pool", "stop"]);
    drives.detach();
    drives.assert_nothing_left();
}
