//! The software drive in the lab: arms on it run like any others, what cannot be is refused, and however a run ends,
//! nothing of it is left.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;
#[path = "common/drives.rs"]
mod drives;

use std::process::Command;

use common::{World, small_plan};
use drives::has_drives;

const DRIVE: &str = "kind = \"drive\"\ncapacity = \"300M\"\nlogical = \"600M\"";

/// The plan is refused with a line that says this, and nothing is there that was not there before.
fn refused(rig: &str, says: &str) {
    let world = World::new();
    world.write("plan.toml", &small_plan(rig));
    let line = world.refused(&["run", "plan.toml", "--out", "study"]);
    assert!(line.starts_with("assay: ") && line.contains(says), "`{says}` is not in: {line}");
    assert_eq!(world.listing(), ["plan.toml"]);
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[test]
fn a_drive_that_this_machine_cannot_have_is_refused() {
    if !has_drives("a_drive_that_this_machine_cannot_have_is_refused") {
        return;
    }
    refused(&DRIVE.replace("300M", "900T"), "no space: the run needs about");
    refused(
        &DRIVE.replace("600M", "512M").replace("300M", "300M\"\ncodec = \"none"),
        "do not fit on a disk of 300M",
    );
    let device = "kind = \"drive\"\ndevice = \"/dev/null\"";
    refused(device, "/dev/null is not a block device");
}

#[test]
fn without_fuse_there_is_no_drive() {
    if !has_drives("without_fuse_there_is_no_drive") {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(DRIVE));
    // A mount namespace of its own, in which /dev holds little.
    let script = "mount -t tmpfs none /dev && mknod /dev/null c 1 3 && exec \"$0\" run plan.toml";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_assay")])
        .current_dir(world.path(""))
        .env("ASSAY_STATE", world.path("state"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("assay: arm `on`: there is no FUSE here"), "{said}");
    assert_eq!(world.listing(), ["plan.toml"]);
}
