//! Tests a drive whose media's file system fills up.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::drives::{Drives, MIB, has_drives, noise, system};
use assay_testing::skip;
use rustix::fs::{FallocateFlags, fallocate};

/// Mounts a small file system on `below`; `None` if its `mkfs` is missing.
fn below(kind: &str) -> Option<(Drives, PathBuf)> {
    if !has_drives() {
        return None;
    }
    if Command::new(format!("mkfs.{kind}")).arg("-V").output().is_err() {
        skip(&format!("mkfs.{kind}"));
        return None;
    }
    let drives = Drives::new();
    let target = drives.path("below");
    std::fs::create_dir(&target).unwrap();
    let image = drives.path("below.img");
    File::create_new(&image).unwrap().set_len(600 * MIB).unwrap();
    make_file_system(kind, &image);
    system("mount", &["-o", "loop", image.to_str().unwrap(), target.to_str().unwrap()]);
    Some((drives, target))
}

/// Runs `mkfs`. That of btrfs asks every mount about the image, and fails while another test's
/// drive is dead and still mounted.
fn make_file_system(kind: &str, image: &Path) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let output = Command::new(format!("mkfs.{kind}")).arg("-q").arg(image).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return;
        }
        let is_of_others = said.contains("Transport endpoint is not connected");
        assert!(is_of_others && Instant::now() < deadline, "mkfs.{kind}: {said}");
        std::thread::yield_now();
    }
}

/// Fills all free space.
fn fill(directory: &Path) {
    let filler = File::create_new(directory.join("filler")).unwrap();
    let (mut end, mut step) = (0, 64 * MIB);
    while step >= 4096 {
        match fallocate(&filler, FallocateFlags::empty(), end, step) {
            Ok(()) => end += step,
            Err(_) => step /= 2,
        }
    }
    filler.sync_all().unwrap();
}

/// Overwrites the same 32 MiB of the device with incompressible data, three times, each write
/// synchronously.
fn overwrite(device: &str, seed: u64) -> std::io::Result<()> {
    let device = File::options().write(true).open(device)?;
    for round in 0..3 {
        for piece in 0..32 {
            device.write_all_at(&noise(MIB as usize, seed + 100 * round + piece), piece * MIB)?;
            device.sync_data()?;
        }
    }
    Ok(())
}

fn assert_healthy(drives: &Drives, space: &str) {
    let status = drives.status_of("below/vol.img");
    assert_eq!((&status["state"], &status["media_space"]), (&"healthy".into(), &space.into()));
}

#[test]
fn a_drive_that_is_allocated_goes_on_where_its_file_system_is_full() {
    for kind in ["btrfs", "xfs"] {
        let Some((drives, target)) = below(kind) else { continue };
        drives.done(&["drive", "create", "below/vol.img", "--capacity", "128M"]);
        let device = drives.done(&["drive", "attach", "below/vol.img"]);
        fill(&target);
        overwrite(device.trim(), 1).unwrap();
        assert_healthy(&drives, "allocated");
        drives.done(&["drive", "detach", "below/vol.img"]);
    }
}

/// Shared blocks are reported, and the copy stays unchanged.
#[test]
fn a_drive_goes_on_where_a_copy_shares_its_media_and_the_file_system_is_full() {
    for kind in ["btrfs", "xfs"] {
        let Some((drives, target)) = below(kind) else { continue };
        drives.done(&["drive", "create", "below/vol.img", "--capacity", "128M"]);
        let device = drives.done(&["drive", "attach", "below/vol.img"]);
        overwrite(device.trim(), 1).unwrap();
        let (path, copy) = (target.join("vol.img"), target.join("copy.img"));
        let (from, to) = (path.to_str().unwrap(), copy.to_str().unwrap());
        match kind {
            "xfs" => drop(system("cp", &["--reflink=always", from, to])),
            _ => {
                let snapshot = target.join("snapshot");
                let words = ["subvolume", "snapshot", target.to_str().unwrap()];
                system("btrfs", &[&words[..], &[snapshot.to_str().unwrap()]].concat());
                // A snapshot opens no file; a program that reads it does.
                drop(File::open(&path).unwrap());
            }
        }
        // Reported as soon as the kernel has reported it to the server.
        let status = || drives.status_of("below/vol.img");
        let deadline = Instant::now() + Duration::from_secs(30);
        while status()["media_space"] != "shared" {
            assert!(Instant::now() < deadline, "{kind}: {:?}", status());
        }
        let shared = status();
        let bytes = |key: &str| shared[key].as_u64().unwrap();
        assert!(bytes("media_shared_bytes") >= 32 * MIB, "{kind}: {shared}");
        assert!(bytes("media_set_aside_bytes") > bytes("media_shared_bytes"), "{kind}: {shared}");
        let text = drives.told(&["drive", "status", "below/vol.img"]);
        assert!(text.contains("shared with a copy or snapshot, so writes there take"), "{text}");
        fill(&target);
        overwrite(device.trim(), 2).unwrap();
        assert_healthy(&drives, "shared");
        drives.done(&["drive", "detach", "below/vol.img"]);
        // The file system is full: no more space can be reserved, as attaching reports.
        let output = drives.run(&["drive", "attach", "below/vol.img"]);
        let said = String::from_utf8(output.stderr).unwrap();
        if kind == "xfs" {
            drives.done(&["drive", "check", "below/copy.img"]);
        }
        assert!(output.status.success(), "{said}");
        drives.done(&["drive", "detach", "below/vol.img"]);
    }
}

/// Control: a sparse drive stops, and names the full file system.
#[test]
fn a_sparse_drive_stops_where_its_file_system_is_full_and_says_which_is() {
    let Some((drives, target)) = below("xfs") else { return };
    drives.done(&["drive", "create", "below/vol.img", "--capacity", "128M", "--sparse"]);
    let device = drives.done(&["drive", "attach", "below/vol.img"]);
    fill(&target);
    overwrite(device.trim(), 1).unwrap_err();
    let status = drives.status_of("below/vol.img");
    assert_eq!((&status["state"], &status["media_space"]), (&"stopped".into(), &"sparse".into()));
    let problem = status["problems"][0].as_str().unwrap();
    assert!(problem.contains("that holds the media is full; free space there"), "{problem}");
    let text = drives.told(&["drive", "status", "below/vol.img"]);
    assert!(text.contains("allocated on demand; if its file system fills, the drive stops"));
    std::fs::remove_file(target.join("filler")).unwrap();
    let _ = drives.run(&["drive", "detach", "below/vol.img"]);
    drives.done(&["drive", "attach", "below/vol.img"]);
    assert_healthy(&drives, "sparse");
    drives.done(&["drive", "detach", "below/vol.img"]);
}

/// A file system that is frozen until this is dropped.
struct Frozen(PathBuf);

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(&self.0).status();
    }
}

/// The drive's checkpoint waits for the frozen file system.
#[test]
fn detaching_says_whom_it_waits_for_and_ends_when_that_goes_on() {
    if Command::new("fsfreeze").arg("--version").output().is_err() {
        return skip("fsfreeze");
    }
    let Some((drives, target)) = below("ext4") else { return };
    drives.done(&["drive", "create", "below/vol.img", "--capacity", "64M"]);
    let device = drives.done(&["drive", "attach", "below/vol.img"]);
    overwrite(device.trim(), 1).unwrap();
    let pid = drives.status_of("below/vol.img")["pid"].as_u64().unwrap();
    system("fsfreeze", &["-f", target.to_str().unwrap()]);
    let frozen = Frozen(target);
    let mut detach = drives.command(&["drive", "detach", "below/vol.img"]);
    let mut detach = detach.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(detach.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let awaited = format!("waiting for process {pid} to close the drive on ");
    assert!(said.contains(&awaited), "{said}");
    drop(frozen);
    assert!(detach.wait().unwrap().success());
    assert_eq!(drives.status_of("below/vol.img")["attached"], false);
}
