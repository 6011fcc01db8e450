//! Tests that the cache's entries are listed, and removed unless they are in use.

use std::fs::File;

use crate::common::World;
use rustix::fs::{FlockOperation, flock};

/// Runs `assay clean` with these arguments; returns its standard output and standard error.
fn clean(world: &World, words: &[&str]) -> (String, String) {
    let words = [&["clean"], words].concat();
    let output = world.command(&words).env("ASSAY_CACHE", world.path("cache")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn the_cache_is_told_listed_and_emptied_but_for_what_is_in_use() {
    let world = World::new();
    assert_eq!(clean(&world, &[]), ("nothing to clean\n".into(), String::new()));
    for entry in
        ["preconditioned/gp3-1", "preconditioned/gp3-2", "templates/mysql-1", "servers/mysql-9"]
    {
        let directory = world.path("cache").join(entry);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("file"), vec![1; 1 << 20]).unwrap();
        // A process that adds entries holds a lock on this file, which stays.
        std::fs::write(directory.with_file_name(".lock"), "").unwrap();
    }
    // A directory with a name like one of the cache's.
    std::fs::create_dir_all(world.path("cache/ceph/etc")).unwrap();
    let there = |entry: &str| world.path("cache").join(entry).exists();
    let (_, note) = clean(&world, &[]);
    assert!(
        note.contains("2.0 MiB of preconditioned devices, 1.0 MiB of empty data directories"),
        "{note}"
    );
    assert!(note.contains("`assay clean --cache` empties it"), "{note}");

    // A process that uses an entry locks its directory.
    let used = File::open(world.path("cache/preconditioned/gp3-1")).unwrap();
    flock(&used, FlockOperation::LockShared).unwrap();
    let (listed, _) = clean(&world, &["--cache", "--dry-run"]);
    for line in
        ["preconditioned devices: 2.0 MiB", "still in use: gp3-1", "would remove gp3-2, 1.0 MiB"]
    {
        assert!(listed.contains(line), "{line} in {listed}");
    }
    assert!(there("preconditioned/gp3-2") && there("servers/mysql-9"), "a dry run leaves all");

    let (listed, _) = clean(&world, &["--cache"]);
    assert!(listed.contains("removed mysql-9") && listed.contains("freed 3.0 MiB in "), "{listed}");
    assert!(there("preconditioned/gp3-1/file") && !there("preconditioned/gp3-2"));
    assert!(!there("templates/mysql-1") && !there("servers/mysql-9") && there("ceph/etc"));
    flock(&used, FlockOperation::Unlock).unwrap();
    let json = clean(&world, &["--cache", "--json"]).0;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["kinds"][0]["removed"][0]["name"], "gp3-1");
    assert!(!there("preconditioned/gp3-1"));
}

#[test]
fn half_a_download_goes_when_its_process_is_gone_and_not_before() {
    let world = World::new();
    let cache = world.path("cache");
    let half = cache.join("servers/.staging-4194305");
    std::fs::create_dir_all(half.join("apt")).unwrap();
    std::fs::write(half.join("apt/package.deb"), "half").unwrap();
    let entry = cache.join("servers/mysql-9.9.9");
    std::fs::create_dir(&entry).unwrap();
    let clean = |words: &[&str]| {
        let words = [&["clean"], words].concat();
        let output = world.command(&words).env("ASSAY_CACHE", &cache).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let told = format!("unfinished downloaded servers in {}", half.display());
    // A running download holds this lock.
    let lock = std::fs::File::create(cache.join("servers/.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    for words in [&["--dry-run"][..], &[]] {
        assert_eq!(clean(words), format!("still in use: {told}\nnothing to clean\n"));
        assert!(half.join("apt/package.deb").exists());
    }
    // Closing the file would not release the lock: a child forked by another test inherits it until
    // it calls `exec`.
    flock(&lock, FlockOperation::Unlock).unwrap();
    assert_eq!(clean(&["--dry-run"]), format!("would remove {told}\n"));
    assert!(half.join("apt/package.deb").exists());
    assert_eq!(clean(&[]), format!("removed {told}\n"));
    assert!(!half.exists() && entry.exists());
    assert_eq!(clean(&[]), "nothing to clean\n");
}
