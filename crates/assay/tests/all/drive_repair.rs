//! Tests `assay drive check --repair` on a drive with a file system: losses are named by address
//! and file, stay unreadable until overwritten, and affect nothing else.

use std::fs;
use std::process::Output;

use crate::drives::{Drives, MIB, has_drives, noise, system};
use serde_json::Value;

/// Number of files of 1 MiB, and the damaged one.
const FILES: u64 = 12;
const DAMAGED: u64 = 5;

fn name_of(file: u64) -> String {
    format!("file-{file}")
}

/// A drive with a file that is unreadable in two places.
fn damaged_drive() -> Drives {
    let drives = Drives::with(&["--capacity", "64M", "--codec", "none"]);
    let device = drives.attach(&[]);
    let files = drives.make_files(&device);
    for file in 0..FILES {
        fs::write(files.join(name_of(file)), noise(MIB as usize, file + 1)).unwrap();
    }
    drives.unmount();
    drives.detach();
    let (bytes, data) = (drives.bytes(), noise(MIB as usize, DAMAGED + 1));
    for block in [17, 200] {
        let wanted = &data[block * 4096 + 100..][..64];
        let place = bytes.windows(64).position(|window| window == wanted).unwrap();
        drives.change(place as u64 / 4096 * 4096, |block| block[place % 4096] ^= 1);
    }
    drives
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Answer of `debugfs`: the last field of its last line.
fn debugfs(request: &str, device: &str) -> String {
    let said = text(&system("debugfs", &["-R", request, device]));
    said.lines().last().unwrap().split_whitespace().last().unwrap().to_owned()
}

/// Numbers of the files that cannot be read.
fn unreadable(drives: &Drives) -> Vec<u64> {
    let device = drives.attach(&[]);
    let files = drives.mount(&device);
    let is_read = |file: u64| match fs::read(files.join(name_of(file))) {
        Ok(data) => {
            assert!(data == noise(MIB as usize, file + 1), "{file} came back as something else");
            true
        }
        Err(_) => false,
    };
    let lost = (0..FILES).filter(|file| !is_read(*file)).collect();
    drives.unmount();
    drives.detach();
    lost
}

#[test]
fn a_repair_names_what_is_lost_and_whose_it_was() {
    if !has_drives() {
        return;
    }
    let drives = damaged_drive();
    let found = drives.run(&["drive", "check", "vol.img", "--json"]);
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    let damages = found["damages"].as_array().unwrap();
    assert_eq!(damages.len(), 2, "{found}");

    let repaired = drives.run(&["drive", "check", "vol.img", "--repair"]);
    let said = text(&repaired);
    assert_eq!(repaired.status.code(), Some(1), "{said}");
    for damage in damages {
        let offset = damage["offset"].as_u64().unwrap();
        assert!(said.contains(&format!("lost from byte {offset} to ")), "{said}");
    }
    assert!(said.contains("8.0 KiB lost in 2 ranges"), "{said}");

    // The printed commands lead to the file.
    let icheck = said.split('"').nth(1).unwrap();
    let device = drives.attach(&[]);
    let inode = debugfs(icheck, &device);
    let file = debugfs(&format!("ncheck {inode}"), &device);
    assert_eq!(file.trim_start_matches('/'), name_of(DAMAGED));
    drives.detach();

    // Reads fail until the file is written again, instead of returning other data.
    assert_eq!(unreadable(&drives), [DAMAGED]);
    let device = drives.attach(&[]);
    let files = drives.mount(&device);
    let file = fs::OpenOptions::new().write(true).open(files.join(name_of(DAMAGED))).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &noise(MIB as usize, DAMAGED + 1), 0).unwrap();
    drop(file);
    drives.unmount();
    drives.detach();
    assert_eq!(unreadable(&drives), Vec::<u64>::new());
    assert!(drives.done(&["drive", "check", "vol.img"]).contains("no damage"));
    let said = drives.done(&["drive", "check", "vol.img", "--repair"]);
    assert!(said.trim_end().ends_with("nothing is lost"), "{said}");
}

#[test]
fn what_is_discarded_reads_as_zeroes_and_the_json_says_the_same() {
    if !has_drives() {
        return;
    }
    let drives = damaged_drive();
    let refused = drives.run(&["drive", "check", "vol.img", "--discard"]);
    assert_eq!(refused.status.code(), Some(2), "it is said to be a repair: {refused:?}");
    let words = ["drive", "check", "vol.img", "--repair", "--discard", "--json"];
    let repaired = drives.run(&words);
    let told: Value = serde_json::from_slice(&repaired.stdout).unwrap();
    assert_eq!((repaired.status.code(), told["lost_bytes"].as_u64()), (Some(1), Some(8192)));
    let lost = told["lost"].as_array().unwrap();
    assert_eq!((lost.len(), &lost[0]["loss"]), (2, &"unreadable".into()), "{told}");
    assert!(drives.done(&["drive", "check", "vol.img"]).contains("no damage"));
    let device = drives.attach(&[]);
    let bytes = fs::read(&device).unwrap();
    for range in lost {
        let offset = range["offset"].as_u64().unwrap() as usize;
        assert!(bytes[offset..offset + 4096].iter().all(|byte| *byte == 0), "{range}");
    }
    let line = drives.refused(&words);
    assert!(line.contains("is attached as") && line.contains("detach it first"), "{line}");
    drives.detach();
}
