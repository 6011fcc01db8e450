//! Tests `assay estimate`: table, JSON, refusals, Ctrl-C.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::World;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Digits that do not repeat.
fn digits(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b'0' + (state >> 33) as u8 % 10
    });
    next.take(length).collect()
}

#[test]
fn a_directory_becomes_a_table_with_the_largest_first() {
    let world = World::new();
    fs::create_dir_all(world.path("data/db")).unwrap();
    fs::write(world.path("data/db/large.ibd"), digits(900_000)).unwrap();
    for number in 0..30 {
        fs::write(world.path(&format!("data/f{number}")), digits(5000)).unwrap();
    }
    let output = world.run(&["estimate", "data"]);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[2].starts_with("db/large.ibd "), "{text}");
    assert!(text.contains("\n11 more files"), "{text}");
    assert!(text.contains("\nThis drive with zstd would store it in "), "{text}");
    assert!(text.contains("31 files with 1.1 MiB of data"), "{text}");
    assert!(!text.contains('±'), "everything was read: {text}");

    let all = world.run(&["estimate", "--all", "data"]);
    let all = String::from_utf8(all.stdout).unwrap();
    assert!(all.contains("\nf29 ") && !all.contains("more files"), "{all}");
}

#[test]
fn json_has_every_file_and_what_was_left_out() {
    let world = World::new();
    fs::create_dir(world.path("data")).unwrap();
    fs::create_dir(world.path("elsewhere")).unwrap();
    fs::write(world.path("data/a"), digits(700_000)).unwrap();
    fs::write(world.path("elsewhere/b"), vec![0; 8192]).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere/b"), world.path("data/link")).unwrap();
    std::os::unix::fs::symlink("nowhere", world.path("data/broken")).unwrap();
    let words = ["estimate", "--json", "--sample", "256K", "--seed", "7", "data"];
    let output = world.run(&words);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("assay: skipped data/link: it links to /"), "{said}");
    assert!(
        said.contains("/elsewhere/b, outside the named paths; name that too, or use --follow"),
        "{said}"
    );
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts = ["files", "skipped", "links"].map(|key| json[key].as_array().unwrap().len());
    assert_eq!(counts, [1, 2, 0]);
    let output = world.run(&[&words[..], &["--follow"]].concat());
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("assay: skipped data/broken: No such file"), "{said}");
    assert!(said.contains("/elsewhere/b, which is included"), "{said}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["files"].as_array().unwrap().len(), 2);
    assert_eq!(json["files"][0]["label"], "a");
    assert_eq!(json["total"]["data_bytes"].as_f64().unwrap() as u64, 700_416 + 8192);
    assert_eq!(json["sample"]["seed"], 7);
    assert_eq!(json["sample"]["is_exact"], false);
    assert_eq!(json["skipped"].as_array().unwrap().len(), 1);
    assert_eq!(json["links"].as_array().unwrap().len(), 1);
    let configs = json["total"]["configs"].as_object().unwrap();
    assert_eq!(configs.len(), 8, "no file is InnoDB's");
    let zstd = &configs["drive_zstd_4k"];
    assert!(zstd["ratio"].as_f64().unwrap() > 2.0, "{zstd}");
    let stored = zstd["stored_bytes"].as_f64().unwrap();
    let expected = zstd["stored_share"].as_f64().unwrap() * 708_608.0;
    assert!((stored - expected).abs() < 1.0, "{zstd}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let world = World::new();
    fs::create_dir(world.path("empty")).unwrap();
    fs::write(world.path("file"), b"x").unwrap();
    for (words, says) in [
        (&["estimate", "nowhere"][..], "assay: cannot read nowhere: No such file or directory"),
        (
            &["estimate", "/dev/null"],
            "assay: /dev/null is neither a file, a directory nor a block device",
        ),
        (&["estimate", "/proc/self"], "assay: nothing could be read; name readable files"),
        (&["estimate", "empty"], "assay: nothing could be read; name readable files"),
        (&["estimate", "--sample", "4K", "file"], "assay: a sample of 4K is too small; use 256K"),
    ] {
        let line = world.refused(words);
        assert!(line.starts_with(says), "{line}");
    }
}

fn wait_until_open(child: &Child, name: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let directory = format!("/proc/{}/fd", child.id());
    let is_open = || {
        let links = fs::read_dir(&directory).unwrap().flatten();
        let mut targets = links.filter_map(|link| fs::read_link(link.path()).ok());
        targets.any(|target| target.ends_with(name))
    };
    while !is_open() {
        assert!(Instant::now() < deadline, "{name} was never opened");
        std::thread::yield_now();
    }
}

#[test]
fn ctrl_c_ends_it_at_once_and_cleanly() {
    let world = World::new();
    fs::write(world.path("large"), digits(48 << 20)).unwrap();
    let mut command = world.command(&["estimate", "--full", "--threads", "1", "large"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_open(&child, "large");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "assay: interrupted\n");
    assert!(output.stdout.is_empty());
}
