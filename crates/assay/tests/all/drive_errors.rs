//! Tests that a user's errors with a drive, and damage of the drive, are reported in one line with
//! exit code 2 and change nothing.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::World;
use crate::drives::{Drives, MIB, SMALL, has_drives, noise};

/// Asserts that the command is refused with a line that contains `says`, and creates no file.
fn refused(drives: &Drives, words: &[&str], says: &[&str]) {
    let (files, bytes) = (drives.listing(), fs::read(drives.path("vol.img")).ok());
    let line = drives.refused(words);
    assert!(line.starts_with("assay: "), "{line}");
    for part in says {
        assert!(line.contains(part), "`{part}` is not in: {line}");
    }
    assert_eq!(drives.listing(), files);
    assert!(fs::read(drives.path("vol.img")).ok() == bytes, "the drive is as it was");
    drives.assert_nothing_left();
}

/// Asserts the same for status, attach, check and resize, which all open the drive.
fn opening_is_refused(drives: &Drives, says: &[&str]) {
    refused(drives, &["drive", "status", "vol.img"], says);
    refused(drives, &["drive", "check", "vol.img"], says);
    refused(drives, &["drive", "resize", "vol.img", "--logical", "1G"], says);
    if has_drives() {
        refused(drives, &["drive", "attach", "vol.img"], says);
    }
}

#[test]
fn sizes_that_cannot_be() {
    let drives = Drives::new();
    let create = |words: &[&str], says: &[&str]| {
        refused(&drives, &[&["drive", "create", "vol.img"], words].concat(), says);
    };
    create(&[], &["give the space that vol.img may take", "--capacity"]);
    create(
        &["--capacity", "1M"],
        &["vol.img: a drive needs a capacity of at least 25.8 MiB (27004928 bytes)"],
    );
    create(&["--capacity", "10T"], &["no space for", "free some, or use a smaller capacity"]);
    for size in ["900T", "7E", "9E", "15E"] {
        create(
            &["--capacity", size, "--sparse"],
            &["vol.img: the capacity may be 32.0 TiB", "at most"],
        );
    }
    create(&["--capacity", "1000000"], &["1000000 bytes, which is not a multiple of 4096"]);
    create(&["--capacity", "64M", "--logical", "1000"], &["the logical size must be a multiple"]);
    create(&["--capacity", "64M", "--logical", "1E"], &["the logical size may be"]);
    create(&["--capacity", "64M", "--segment", "3M"], &["a segment is a power of two"]);
    create(&["--capacity", "64M", "--codec", "lz4", "--dictionary"], &["need the codec zstd"]);
    create(&["--capacity", "64M", "--erase", "vol.img"], &["--erase is for block devices"]);
    refused(&drives, &["drive", "create", "no/vol.img", "--capacity", "64M"], &["no/vol.img"]);
}

#[test]
fn what_is_there_already() {
    let drives = Drives::with(&SMALL);
    let words = ["drive", "create", "vol.img", "--capacity", "64M"];
    let says = "vol.img already exists and is a drive; use `assay drive attach vol.img`, or give";
    refused(&drives, &words, &[says]);
    fs::write(drives.path("vol.img"), "a letter").unwrap();
    refused(&drives, &words, &["vol.img already exists; give a new file"]);
}

#[test]
fn what_is_not_there() {
    let drives = Drives::new();
    opening_is_refused(&drives, &["vol.img: No such file"]);
    refused(&drives, &["drive", "detach", "vol.img"], &["vol.img is not attached"]);
    refused(&drives, &["drive", "detach", "/dev/loop99"], &["/dev/loop99 is not attached"]);
}

#[test]
fn what_is_no_drive() {
    let drives = Drives::new();
    fs::write(drives.path("vol.img"), noise(MIB as usize, 1)).unwrap();
    opening_is_refused(&drives, &["vol.img: this is not an Assay drive; make one with"]);
    fs::write(drives.path("vol.img"), "too short").unwrap();
    opening_is_refused(&drives, &["vol.img: this is not an Assay drive; make one with"]);
    fs::write(drives.path("vol.img"), "").unwrap();
    opening_is_refused(&drives, &["vol.img: this is not an Assay drive; make one with"]);
}

/// Changes the format version of a superblock, and its checksum (`format/superblock.rs` of crate
/// `drive`).
fn make_newer(block: &mut [u8; 4096]) {
    block[8] = 99;
    let checksum = crc32c::crc32c(&block[..4092]);
    block[4092..].copy_from_slice(&checksum.to_le_bytes());
}

const SUPERBLOCKS: [u64; 2] = [0, 64 * MIB - 4096];

#[test]
fn a_drive_of_a_newer_format() {
    let drives = Drives::with(&SMALL);
    SUPERBLOCKS.iter().for_each(|place| drives.change(*place, make_newer));
    opening_is_refused(&drives, &["vol.img: the drive has format 99", "use a newer Assay"]);
}

#[test]
fn both_superblocks_damaged() {
    let drives = Drives::with(&SMALL);
    SUPERBLOCKS.iter().for_each(|place| drives.change(*place, |block| block[100] ^= 1));
    opening_is_refused(&drives, &["vol.img: both superblocks of the drive are damaged"]);
}

#[test]
fn one_superblock_damaged_is_said_and_does_no_harm() {
    if !has_drives() {
        return;
    }
    for (place, says) in SUPERBLOCKS.into_iter().zip([
        "the first superblock is damaged; the second was used",
        "the second superblock is damaged; the first was used",
    ]) {
        let drives = Drives::with(&SMALL);
        let data = noise(4096, 2);
        File::options()
            .write(true)
            .open(drives.attach(&[]))
            .unwrap()
            .write_all_at(&data, 0)
            .unwrap();
        drives.detach();
        drives.change(place, |block| block[100] ^= 1);
        assert_eq!(drives.status()["state"], "damaged");
        let output = drives.run(&["drive", "check", "vol.img"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8(output.stdout).unwrap().contains(says));
        let (device, said) = drives.attach_saying(&[]);
        assert!(said.contains(&format!("problem: {says}; the next write mends it")), "{said}");
        let mut back = vec![0; 4096];
        let device = File::options().read(true).write(true).open(device).unwrap();
        device.read_exact_at(&mut back, 0).unwrap();
        assert!(back == data);
        // The next write makes both superblocks whole again.
        assert_eq!(drives.status()["state"], "damaged");
        device.write_all_at(&data, 4096).unwrap();
        device.sync_data().unwrap();
        let status = drives.status();
        assert_eq!(
            (&status["state"], &status["recovery_mended"][0]),
            (&"healthy".into(), &format!("{says}; rewritten since").into())
        );
        drop(device);
        drives.detach();
        assert_eq!(drives.status()["problems"], serde_json::json!([]));
        assert_eq!(drives.status()["state"], "healthy");
    }
}

#[test]
fn media_that_has_lost_its_end() {
    let drives = Drives::with(&SMALL);
    let file = File::options().write(true).open(drives.path("vol.img")).unwrap();
    file.set_len(32 * MIB).unwrap();
    opening_is_refused(&drives, &["vol.img: the media has 32 MiB, but the drive needs 64 MiB"]);
}

#[test]
fn less_than_what_is_used() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let device = drives.attach(&[]);
    File::options().write(true).open(device).unwrap().write_all_at(&[1; 4096], 32 * MIB).unwrap();
    drives.detach();
    let words = ["drive", "resize", "vol.img", "--logical", "32M"];
    refused(&drives, &words, &["vol.img cannot shrink to 32M: there are data beyond"]);
    let words = ["drive", "resize", "vol.img", "--logical", "1E"];
    refused(
        &drives,
        &words,
        &["vol.img cannot grow to 1E: the logical size is at most 65536 times the capacity"],
    );
}

#[test]
fn a_drive_that_is_attached() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let device = drives.attach(&[]);
    let at = format!("attached as {device}; detach it first");
    let line = drives.refused(&["drive", "attach", "vol.img"]);
    assert!(line.contains(&format!("is already attached, as {device}")), "{line}");
    let line = drives.refused(&["drive", "check", "vol.img"]);
    assert!(line.contains(&at), "{line}");
    let line = drives.refused(&["drive", "create", "vol.img", "--capacity", "64M"]);
    assert!(line.contains("already exists"), "{line}");

    // Attached by another user, whose ledgers are not read.
    let elsewhere = World::new();
    let path = drives.path("vol.img");
    let line = elsewhere.refused(&["drive", "attach", path.to_str().unwrap()]);
    assert!(line.contains("vol.img is in use; detach what uses it"), "{line}");
    assert_eq!(elsewhere.leftovers(), Vec::<String>::new());
    assert_eq!(drives.status()["device"], device);
    drives.detach();
    refused(&drives, &["drive", "status", "vol.img", "--watch"], &["is not attached"]);
}

#[test]
fn what_holds_the_device_for_a_moment_is_waited_for() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let device = drives.attach(&[]);
    let mut holder =
        Command::new("sleep").arg("0.3").stdin(File::open(&device).unwrap()).spawn().unwrap();
    drives.detach();
    assert!(holder.wait().unwrap().success());
    drives.assert_nothing_left();
}

#[test]
fn what_uses_the_device_is_named() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let device = drives.attach(&[]);
    let file = File::open(&device).unwrap();
    let line = drives.refused(&["drive", "detach", "vol.img"]);
    let named = format!("{device} is in use: open in");
    assert!(line.contains(&named), "{line}");
    assert!(line.contains(&format!("(process {})", std::process::id())), "{line}");
    // The drive is still served.
    let mut block = [1; 4096];
    file.read_exact_at(&mut block, 0).unwrap();
    assert!(block == [0; 4096]);
    drop(file);
    drives.detach();
    drives.assert_nothing_left();
}

#[test]
fn a_directory_that_is_none() {
    let drives = Drives::with(&SMALL);
    let words = ["drive", "attach", "vol.img", "--directory", "nowhere"];
    refused(&drives, &words, &["nowhere is not a directory; create it"]);
}

#[test]
fn nobody_but_root_attaches_a_device() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    fs::set_permissions(drives.path(""), PermissionsExt::from_mode(0o777)).unwrap();
    let program = drives.path("assay");
    // A hard link instead of a copy: a process forked by another test could still have a copy open
    // for writing.
    fs::hard_link(crate::common::program(), &program).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["drive", "attach", "vol.img"])
        .current_dir(drives.path(""))
        .env("ASSAY_STATE", drives.path("state"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("missing here: root; run as root"), "{said}");
    drives.assert_nothing_left();
}

#[test]
fn no_fuse() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let before = drives.bytes();
    // A mount namespace of its own, whose /dev has almost no devices.
    let script =
        "mount -t tmpfs none /dev && mknod /dev/null c 1 3 && exec \"$0\" drive attach vol.img";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, crate::common::program()])
        .current_dir(drives.path(""))
        .env("ASSAY_STATE", drives.path("state"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("missing here: /dev/fuse, loop devices; start a container with")
            && said.lines().count() == 1,
        "{said}"
    );
    assert!(drives.bytes() == before);
    drives.assert_nothing_left();
}

#[test]
fn media_that_fails_stops_the_drive_and_is_told_at_its_end() {
    if !has_drives() {
        return;
    }
    // A drive on another drive's device, whose server is killed: like a disk that is pulled out.
    let drives = Drives::with(&["--capacity", "128M"]);
    let media = drives.attach(&[]);
    drives.done(&["drive", "create", &media, "--erase", &media]);
    let said = drives.done(&["drive", "attach", &media]);
    let device = File::options().write(true).open(said.lines().last().unwrap()).unwrap();
    device.write_all_at(&noise(MIB as usize, 3), 0).unwrap();
    device.sync_data().unwrap();
    drives.kill_server();
    let written = device.write_all_at(&noise(MIB as usize, 4), MIB);
    let flushed = written.and_then(|()| device.sync_data());
    assert!(flushed.is_err(), "what cannot be kept is not said to be flushed");
    drop(device);
    let status = drives.told(&["drive", "status", &media, "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["state"], "stopped", "{status}");
    assert!(status["problems"][0].as_str().is_some(), "{status}");
    let line = drives.refused(&["drive", "detach", &media]);
    for part in ["is detached, but could not be closed", "later writes may be lost", "has stopped"]
    {
        assert!(line.contains(part), "{line}");
    }
    let said = drives.done(&["clean", "--dry-run"]);
    assert!(
        said.contains("vol.img") && said.lines().count() == 1,
        "only the killed one is left: {said}"
    );
    drives.done(&["drive", "detach", "vol.img"]);
    drives.assert_nothing_left();
    // Attached again, the media hold what was flushed.
    let media = drives.attach(&[]);
    let said = drives.done(&["drive", "attach", &media, "--read-only"]);
    let mut back = vec![0; MIB as usize];
    File::open(said.lines().last().unwrap()).unwrap().read_exact_at(&mut back, 0).unwrap();
    assert!(back == noise(MIB as usize, 3));
    drives.done(&["drive", "detach", &media]);
    drives.detach();
    drives.assert_nothing_left();
}
