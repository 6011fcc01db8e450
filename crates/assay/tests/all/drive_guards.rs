//! Tests a drive with other paths to its media, renamed or vanished media, and unreadable ledgers.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::drives::{Drives, MIB, SMALL, has_drives, noise, system};
use assay_drive::BlockBuffer;
use assay_ports::loopdev;
use rustix::fs::OFlags;
use serde_json::{Value, json};

/// A loop device, detached when dropped.
struct Loop(String);

impl Loop {
    fn over(drives: &Drives, name: &str) -> Loop {
        let file = drives.path(name);
        let said = system("losetup", &["--find", "--show", file.to_str().unwrap()]).stdout;
        Loop(String::from_utf8(said).unwrap().trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

fn status(drives: &Drives, named: &str) -> Value {
    serde_json::from_str(&drives.told(&["drive", "status", named, "--json"])).unwrap()
}

fn write(device: &str, offset: u64, data: &[u8]) {
    let device = File::options().write(true).open(device).unwrap();
    device.write_all_at(data, offset).unwrap();
    device.sync_data().unwrap();
}

#[test]
fn media_have_one_writer_by_whichever_way() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let device = drives.attach(&[]);
    let over = Loop::over(&drives, "vol.img");
    for words in [&["attach"][..], &["status"], &["check"], &["resize", "--logical", "1G"]] {
        let line = drives.refused(&[&["drive"], words, &[&over.0]].concat());
        let says =
            format!("{} is on {}, which is in use", over.0, drives.path("vol.img").display());
        assert!(line.contains(&says), "{words:?}: {line}");
    }
    let line = drives.refused(&["drive", "create", &over.0, "--erase", &over.0]);
    assert!(line.contains("which is in use"), "{line}");
    write(&device, 0, &noise(MIB as usize, 1));
    drives.detach();

    // The reverse order.
    drives.done(&["drive", "attach", &over.0]);
    for words in [&["attach"][..], &["status"], &["check"], &["resize", "--logical", "1G"]] {
        let line = drives.refused(&[&["drive"], words, &["vol.img"]].concat());
        assert!(line.contains("vol.img is in use"), "{words:?}: {line}");
    }
    drives.done(&["drive", "detach", &over.0]);
    // The device is not open, but any program may open it.
    let line = drives.refused(&["drive", "attach", "vol.img"]);
    assert!(line.contains(&format!("{0}; remove that", over.0)), "{line}");
    drop(over);
    drives.attach(&[]);
    drives.detach();
    let said = drives.done(&["drive", "check", "vol.img"]);
    assert!(said.contains("256 blocks") && said.trim_end().ends_with("no damage"), "{said}");
    drives.assert_nothing_left();
}

#[test]
fn a_drive_is_known_by_its_file_and_not_by_its_name() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let device = drives.attach(&[]);
    fs::rename(drives.path("vol.img"), drives.path("moved.img")).unwrap();
    fs::hard_link(drives.path("moved.img"), drives.path("link.img")).unwrap();
    drives.create("vol.img", &["--capacity", "96M", "--sparse"]);
    for name in ["moved.img", "link.img"] {
        assert_eq!(status(&drives, name)["device"], device.as_str(), "{name}");
        let line = drives.refused(&["drive", "attach", name]);
        assert!(line.contains(&format!("vol.img is already attached, as {device}")), "{line}");
    }
    // Another file under the old name is another drive.
    let other = drives.status();
    assert_eq!((&other["attached"], &other["logical_bytes"]), (&json!(false), &json!(96 * MIB)));
    drives.done(&["drive", "resize", "vol.img", "--logical", "128M"]);
    assert_eq!(drives.status()["logical_bytes"], 128 * MIB);
    assert_eq!(status(&drives, &device)["logical_bytes"], 64 * MIB);
    let second = drives.attach(&[]);
    assert_ne!(second, device);
    drives.done(&["drive", "detach", "link.img"]);
    assert_eq!(drives.status()["device"], second.as_str());
    drives.detach();
    drives.assert_nothing_left();
}

#[test]
fn media_that_came_back_as_another_file_leave_nothing_of_their_dead_server() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    drives.attach(&[]);
    drives.kill_server();
    fs::copy(drives.path("vol.img"), drives.path("back.img")).unwrap();
    fs::rename(drives.path("back.img"), drives.path("vol.img")).unwrap();
    drives.attach(&[]);
    drives.detach();
    drives.assert_nothing_left();
}

#[test]
fn media_that_are_deleted_are_told() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let device = drives.attach(&[]);
    write(&device, 0, &noise(MIB as usize, 2));
    assert_eq!(drives.status()["state"], "healthy");
    fs::remove_file(drives.path("vol.img")).unwrap();
    let told = drives.status();
    assert_eq!((&told["state"], &told["device"]), (&json!("damaged"), &json!(device)));
    let problem = told["problems"][0].as_str().unwrap();
    assert!(problem.starts_with("its media file was deleted; copy"), "{problem}");
    // As the printed advice says.
    let mut back = vec![0; MIB as usize];
    File::open(&device).unwrap().read_exact_at(&mut back, 0).unwrap();
    assert!(back == noise(MIB as usize, 2));
    let line = drives.refused(&["drive", "detach", &device]);
    assert!(line.contains("is detached, but its media file was deleted"), "{line}");
    assert!(line.ends_with("its data are gone"), "{line}");
    drives.assert_nothing_left();
}

#[test]
fn media_that_are_cut_short_are_told() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let device = drives.attach(&[]);
    write(&device, 0, &noise(16 * MIB as usize, 3));
    File::options().write(true).open(drives.path("vol.img")).unwrap().set_len(2 * MIB).unwrap();
    // Past the page cache, which keeps written data as long as any process has the device open,
    // such as a child that another test is starting.
    let flags = OFlags::DIRECT.bits().cast_signed();
    let opened = File::options().read(true).custom_flags(flags).open(&device).unwrap();
    let mut back = BlockBuffer::zeroed(16 * MIB as usize);
    opened.read_exact_at(back.first(16 * MIB as usize), 0).unwrap_err();
    drop(opened);
    let told = drives.status();
    assert_eq!(told["state"], "damaged", "{told}");
    let problems: Vec<_> = told["problems"].as_array().unwrap().iter().map(Value::as_str).collect();
    let has = |says| problems.iter().any(|problem| problem.unwrap().starts_with(says));
    assert!(has("its media were truncated to 2 MiB of 64 MiB"), "{problems:?}");
    // If a checkpoint has extended the file since, the truncated part holds zeroes.
    assert!(has("reads of media failed: ") || has("the data at byte "), "{problems:?}");
    let line = drives.refused(&["drive", "detach", "vol.img"]);
    assert!(
        line.contains("is detached, but its media were truncated to 2 MiB of 64 MiB"),
        "{line}"
    );
    drives.assert_nothing_left();
}

#[test]
fn a_killed_create_leaves_a_drive_or_nothing() {
    let drives = Drives::new();
    let directory = drives.path("");
    let mut killed_early = 0;
    for _ in 0..20 {
        let mut command = drives.command(&["drive", "create", "vol.img", "--capacity", "256M"]);
        let mut create = command.stdout(Stdio::null()).spawn().unwrap();
        let files = PathBuf::from(format!("/proc/{}/fd", create.id()));
        let has_begun = || {
            let open = fs::read_dir(&files).into_iter().flatten().flatten();
            open.filter_map(|file| fs::read_link(file.path()).ok())
                .any(|to| to.starts_with(&directory))
        };
        while !has_begun() && create.try_wait().unwrap().is_none() {}
        create.kill().unwrap();
        create.wait().unwrap();
        match drives.listing().as_slice() {
            [] => killed_early += 1,
            [name] if name == "vol.img" => {
                drives.status();
                fs::remove_file(drives.path("vol.img")).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    eprintln!("{killed_early} of 20 were killed before there was a drive");
}

#[test]
fn names_that_cannot_be_told_are_refused_in_a_line() {
    let drives = Drives::with(&SMALL);
    let odd = OsStr::from_bytes(b"vol\xff.img");
    let refused = |words: &[&str]| {
        let output = drives.command(words).arg(odd).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{words:?}: {said}");
        assert!(said.contains("the name is not UTF-8"), "{words:?}: {said}");
    };
    refused(&["drive", "create", "--capacity", "64M"]);
    assert!(!drives.path("").join(odd).exists());
    fs::rename(drives.path("vol.img"), drives.path("").join(odd)).unwrap();
    refused(&["drive", "status"]);
    refused(&["drive", "check", "--json"]);
    if has_drives() {
        refused(&["drive", "attach"]);
    }
    drives.assert_nothing_left();
}

#[test]
fn a_device_that_was_taken_away_is_not_told() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let device = drives.attach(&[]);
    // Waits until other programs that look at devices have closed it.
    loopdev::detach(device.as_ref(), &drives.path("state")).unwrap();
    let told = drives.status();
    assert_eq!((&told["device"], &told["attached"]), (&Value::Null, &json!(true)));
    let said = drives.told(&["drive", "status", "vol.img"]);
    assert!(said.contains(&format!("attached as {}", told["file"].as_str().unwrap())), "{said}");
    drives.detach();
    drives.assert_nothing_left();
}

#[test]
fn a_ledger_that_cannot_be_read_blocks_nobody() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let empty = drives.path("state/ledgers/4194305-1.json");
    let torn = drives.path("state/ledgers/4194305-2.json");
    fs::create_dir_all(empty.parent().unwrap()).unwrap();
    fs::write(&empty, "").unwrap();
    fs::write(
        &torn,
        "{\"pid\": 4194305, \"resources\": [{\"kind\": \"directory\", \"path\": \"/assay-x",
    )
    .unwrap();
    let (_, said) = drives.attach_saying(&[]);
    for path in [&empty, &torn] {
        let warning = format!("assay: warn: {} cannot be read as a ledger", path.display());
        assert!(said.contains(&warning), "{said}");
    }
    assert_eq!(drives.status()["state"], "healthy");
    drives.detach();
    drives.done(&["drive", "check", "vol.img"]);
    // A ledger that names nothing is removed; an unreadable one stays for a user who can read it.
    let output = drives.run(&["clean"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("removed {}", empty.display())) && !empty.exists(), "{said}");
    assert!(said.contains("remove what it lists") && torn.exists(), "{said}");
    fs::remove_file(torn).unwrap();
    drives.assert_nothing_left();
}

#[test]
fn what_a_living_ledger_names_is_left() {
    if !has_drives() {
        return;
    }
    let drives = Drives::with(&SMALL);
    let device = drives.attach(&[]);
    let ledgers = drives.path("state/ledgers");
    let living = fs::read_dir(&ledgers).unwrap().next().unwrap().unwrap().path();
    let mut pages: Value = serde_json::from_slice(&fs::read(&living).unwrap()).unwrap();
    (pages["pid"], pages["start_ticks"]) = (4_194_305.into(), 1.into());
    fs::write(ledgers.join("4194305-1.json"), pages.to_string()).unwrap();
    assert_eq!(drives.done(&["drive", "list"]).lines().count(), 1);
    let said = drives.done(&["clean"]);
    assert!(said.contains("still in use: drive") && said.contains("nothing to clean"), "{said}");
    assert!(!ledgers.join("4194305-1.json").exists());
    write(&device, 0, &[5; 4096]);
    assert_eq!(drives.status()["device"], device.as_str());
    drives.detach();
    drives.assert_nothing_left();
}
